"use strict";
// The scene of a filter that grows: its words are split one by one.
SCENES.push({
  id: "growth",
  title: "Growth",
  lead: "A filter that grows doubles while in use: its words are split one by one. A plane is one word for each bucket; the doubling brings a second plane. One bit of each fingerprint selects its plane. The place implies that bit, so the slots need not store it: they become one bit shorter, and here a third slot fits.",
  frames() {
    const filter = new Filter("8x2 growing", 4, { more: 2 });
    const added = [];
    // Three words that stay, and three that move.
    for (const word of BIRDS) {
      const odd = (word) => engine.call("item", word).fingerprint % 2;
      const alike = added.filter((one) => odd(one) === odd(word)).length;
      if (alike < 3 && filter.do("insert", word).answer) added.push(word);
    }
    const frames = [still(filter, `A filter of four buckets that can grow. ${added.length} words are inserted: ${list(added)}.`)];
    engine.call("begin");
    filter.state = engine.call("state");
    frames.push(still(filter, "The doubling begins: plane 1 has a word for each bucket, and none of them is in use yet. No fingerprint has moved."));
    for (let bucket = 0; bucket < 4; bucket++) {
      const before = filter.state;
      const { steps, state } = engine.call("split", 0, bucket);
      let last = before;
      for (const { step, state: after } of steps) {
        if (after === undefined) continue;
        const index = changed(last, after);
        last = after;
        frames.push(still(filter, GROWTH_STEPS[step](bucketName(index, after), after.words[index]), { state: after, look: { [index]: ["written"] } }));
      }
      filter.state = state;
      if (bucket === 0 || bucket === 2) {
        const split = added.find((word) => wordOf(filter.item(word), bucket, filter.state) !== bucket && [filter.item(word).p, filter.item(word).q].includes(bucket));
        const word = split ?? added[bucket];
        // Leaves out the sentence about the hash.
        const [, first, ...found] = narrate(filter, "contains", word);
        frames.push({ ...first, text: `Now a lookup of “${word}”, in the middle of the doubling. ${first.text}` }, ...found.slice(0, -1));
        const { answer } = found.at(-1);
        frames.push({ ...found.at(-1), text: `In each of its two buckets it has read the word that counts for “${word}”: the level in a word says whether it is split. ${ANSWERS.contains(word, answer)}` });
      }
    }
    const { state } = engine.call("finish");
    filter.state = state;
    const found = added.filter((word) => filter.do("contains", word).answer).length;
    const slots = state.words.reduce((sum, word) => sum + word.slots.length, 0);
    frames.push(still(filter, `All words are split: the filter has doubled once. It had 8 slots and has ${slots} now. All ${found} words are found, and a lookup still reads two words.`));
    return frames;
  },
});
