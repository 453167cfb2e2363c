"use strict";
// Scenes of one thread. Each builds its frames from the results of the library. It searches for words
// that show its subject, so that it stays valid if hashes change.
const BIRDS = "ani koel quail robin wren finch crow jay kite lark owl swan tern rook ibis duck dove gull hawk heron stork crane egret eagle raven magpie thrush starling sparrow swallow martin swift kestrel plover snipe curlew godwit avocet puffin auk gannet shag grebe coot rail crake bittern pipit dunnock siskin linnet twite hoopoe roller nightjar cuckoo".split(" ");

// An endless list of words: the birds, and then birds with numbers.
function* birds() {
  yield* BIRDS;
  for (let number = 2; ; number++) for (const bird of BIRDS) yield `${bird} ${number}`;
}

// The first word that satisfies `wanted`. A probability of 1 in 1000 is no problem.
function findWord(wanted, most = 60000) {
  for (const word of birds()) {
    if (wanted(word)) return word;
    if (--most === 0) throw new Error("no such word");
  }
}

function small(seed = 1) {
  return new Filter("8x2", 8, { seed });
}

// Words, and a further one whose insert makes at least two moves.
function longChain() {
  for (let seed = 1; ; seed++) {
    const filter = small(seed);
    const before = [];
    for (const word of BIRDS) {
      const { answer, steps } = filter.do("insert", word);
      if (!answer) break;
      if (steps.filter(({ step }) => step === "Decide").length >= 2) return { seed, before, word };
      before.push(word);
    }
  }
}

// A word that shares fingerprint and buckets with another one.
function twinOf(filter, item, except = []) {
  const peek = (word) => engine.call("item", word);
  return findWord((word) => {
    if (word === item.word || except.includes(word)) return false;
    const { fingerprint, p, q } = peek(word);
    return fingerprint === item.fingerprint && p === item.p && q === item.q;
  });
}

const still = (filter, text, more = {}) => ({ state: filter.state, text, names: filter.names.now(), look: {}, ...more });

const SCENES = [
  {
    id: "add",
    title: "Add and check",
    lead: "A filter does not keep words. It keeps a fingerprint of each: a few bits of a hash, here 8, written as two hexadecimal digits.",
    frames() {
      const filter = small();
      return [
        still(filter, "This is an empty filter: eight buckets of two slots. A slot has room for one fingerprint."),
        still(filter, `A hash turns any word into a number that looks random; for “ani” it is ${engine.call("item", "ani").hash}, in hexadecimal digits. Its last two digits are the fingerprint, which is kept. Its first digits, with the fingerprint, select the two buckets that it may be in.`),
        ...narrate(filter, "insert", "ani", { claim: " A bucket is one 64-bit number, and it is exchanged as a whole, in one step that no other thread can see half-done.", last: "“ani” is inserted. The filter does not have the word itself, only its fingerprint, in one of two places." }),
        ...narrate(filter, "contains", "ani", { last: "One of the two holds its fingerprint, so the answer is “probably”. It is only probable because another word could have the same fingerprint and buckets." }),
        ...narrate(filter, "contains", "koel", { last: "Neither holds its fingerprint. Had “koel” been added, it would be in one of the two, so the answer is “surely not”." }),
      ];
    },
  },
  {
    id: "other",
    title: "The other bucket",
    lead: "Each word has two buckets. With one only, a filter would be full as soon as the first bucket is; with two it can be filled nearly to the last slot.",
    frames() {
      const filter = small();
      const before = [];
      const words = birds();
      const fullBucket = () => filter.state.words.findIndex(isFull);
      while (fullBucket() === -1) {
        const word = words.next().value;
        filter.do("insert", word);
        before.push(word);
      }
      const bucket = fullBucket();
      const frames = [still(filter, `${before.length} words are inserted, and bucket ${bucket} is full. We add two more words that have it as one of their two buckets.`, { look: { [bucket]: ["full"] } })];
      const added = [];
      while (added.length < 2) {
        const word = findWord((word) => {
          const { p, q } = engine.call("item", word);
          const other = p === bucket ? q : p;
          return (p === bucket || q === bucket) && !isFull(filter.state.words[other]) && filter.names.known.get(word) === undefined;
        });
        added.push(word);
        frames.push(...narrate(filter, "insert", word));
      }
      for (const word of added) frames.push(...narrate(filter, "contains", word).slice(-1));
      frames.push(
        still(filter, `“${added[0]}” and “${added[1]}” are inserted, although bucket ${bucket} had no room for them: each is in its other bucket. The other bucket follows from the first one and the fingerprint alone. So a fingerprint in a bucket is enough to know its other bucket; the word is not needed. This is what makes it possible to move it.`, { look: { [bucket]: ["full"] } }),
      );
      return frames;
    },
  },
  {
    id: "chain",
    title: "A chain of relocations",
    lead: "When both buckets of a new word are full, a resident must move: it goes to its own other bucket, and if that is full, its resident goes first. The young cuckoo throws an egg out of the nest; this one only ever moves it to its second nest. Here one thread is alone; the scenes of several threads show why a move takes so many small steps.",
    frames() {
      const { seed, before, word } = longChain();
      const filter = small(seed);
      for (const one of before) filter.do("insert", one);
      return [
        still(filter, `${before.length} words are inserted. The next one has two full buckets.`),
        ...narrate(filter, "insert", word, { last: `“${word}” is inserted. The moves began at the far end of the chain, where the empty slot was, so no word was ever outside the table, and a lookup could have found each of them at every moment.` }),
        ...before.slice(0, 3).flatMap((one) => narrate(filter, "contains", one).slice(-1)),
      ];
    },
  },
  {
    id: "remove",
    title: "Removing",
    lead: "Unlike a Bloom filter, a cuckoo filter can forget: a remove empties one slot. But it trusts you to remove only what you have added.",
    frames() {
      const filter = small();
      for (const word of ["ani", "koel", "quail"]) filter.do("insert", word);
      const frames = [still(filter, "“ani”, “koel” and “quail” are inserted.")];
      frames.push(...narrate(filter, "remove", "ani"));
      frames.push(...narrate(filter, "contains", "ani", { last: "“ani” is gone, and the answer is “surely not”." }));
      frames.push(...narrate(filter, "remove", "ani", { last: "A second remove finds nothing: the answer is false, and nothing has changed." }));
      const twin = twinOf(filter, filter.item("koel"));
      const koel = filter.item("koel");
      filter.item(twin);
      frames.push(still(filter, `“${twin}” was never added. But its fingerprint and its buckets are by chance those of “koel”: ${hex(koel.fingerprint)}, ${koel.p} and ${koel.q}. To the filter both are one.`, { look: homes(koel) }));
      frames.push(...narrate(filter, "remove", twin, { last: `The remove found the fingerprint ${hex(koel.fingerprint)} and took it. That was the one of “koel”.` }));
      frames.push(...narrate(filter, "contains", "koel", { last: "Now the answer for “koel” is “surely not”, although it was added: a false negative. So only remove what was inserted." }));
      return frames;
    },
  },
  {
    id: "false-positive",
    title: "A false positive",
    lead: "“Probably” can be wrong. Here the page tries words that were never added until the filter says “probably” for one.",
    frames() {
      const filter = small();
      const added = ["ani", "koel", "quail", "robin", "wren", "finch"];
      for (const word of added) filter.do("insert", word);
      const frames = [still(filter, `${added.length} words are inserted: ${list(added)}.`)];
      let tried = 0;
      const word = findWord((word) => {
        if (added.includes(word)) return false;
        tried++;
        return engine.call("contains", word).answer;
      });
      const item = filter.item(word);
      frames.push(still(filter, `${tried - 1} other words got “surely not”. The next one is “${word}”.`));
      frames.push(...narrate(filter, "contains", word, { last: `“Probably”, but “${word}” was never added: another word with the fingerprint ${hex(item.fingerprint)} is in one of its buckets. This is a false positive.` }));
      frames.push(still(filter, `With 8 bits there are 255 fingerprints, and a check compares with at most four slots, so about one check in ${Math.round(255 / (4 * added.length / 16))} is wrong at this load. Each additional bit halves this rate. Real filters have 9 to 30 bits.`));
      return frames;
    },
  },
  {
    id: "full",
    title: "Full",
    lead: "A full filter reports it. Many other filters drop some word to make room for the new one; this one changes nothing.",
    frames() {
      const filter = small();
      const words = birds();
      let refused;
      let before;
      while (refused === undefined) {
        const word = words.next().value;
        before = filter.state;
        const { answer } = filter.do("insert", word);
        if (!answer) refused = word;
      }
      filter.state = before;
      const frames = [still(filter, `${before.len} words are inserted, in 16 slots.`)];
      frames.push(...narrate(filter, "insert", refused));
      const same = JSON.stringify(before.words) === JSON.stringify(filter.state.words);
      const all = BIRDS.slice(0, before.len);
      const found = all.filter((word) => filter.do("contains", word).answer).length;
      frames.push(still(filter, `After Full the table is ${same ? "the same, bit for bit" : "not the same"}: ${found} of the ${all.length} words are still found. The caller can remove something, or use a filter that grows.`));
      return frames;
    },
  },
  {
    id: "copies",
    title: "Copies",
    lead: "The same word can be added several times. Each insert adds a copy, and each remove takes one.",
    frames() {
      const filter = small();
      const frames = [still(filter, "An empty filter. “ani” is added again and again.")];
      for (let count = 1; count <= 4; count++) frames.push(...narrate(filter, "insert", "ani", { last: `“ani” is in ${count === 1 ? "once" : `${count} times`}.` }).slice(count === 1 ? 0 : -2));
      frames.push(...narrate(filter, "count", "ani").slice(-1));
      frames.push(...narrate(filter, "insert", "ani", { last: "Full, although most of the table is empty: all copies of a word have the same two buckets, and these are full of it. Only twice as many copies fit as a bucket has slots." }).slice(-1));
      frames.push(...narrate(filter, "insert", "koel", { last: "Other words are not affected." }).slice(-1));
      frames.push(...narrate(filter, "remove", "ani").slice(-2));
      frames.push(...narrate(filter, "count", "ani", { last: "Three copies are left. Of n copies exactly n removes succeed." }).slice(-1));
      return frames;
    },
  },
];
