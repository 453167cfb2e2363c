"use strict";
// Turns the steps of an operation into frames, with a sentence for each step that is shown.

// A description of the contents of a bucket.
function holds(state, index, names) {
  const word = state.words[index];
  const slots = word.slots.map((stored, slot) => slotText(stored, slot, word, stored === 0 ? [] : names.of(stored, index, state)));
  return slots.every((slot) => slot === "an empty slot") ? "only empty slots" : list(slots);
}

// The number of the word that differs, or undefined.
function changed(before, after) {
  const index = after.words.findIndex((word, at) => JSON.stringify(word) !== JSON.stringify(before.words[at]));
  return index === -1 ? undefined : index;
}

function isFull(word) {
  return word.slots.every((stored) => stored !== 0);
}

// Tags for the two buckets of an item.
function homes({ p, q }, more = {}) {
  const look = { [p]: ["its bucket"], [q]: ["its bucket"] };
  for (const [index, tag] of Object.entries(more)) look[index] = [...(look[index] ?? []), tag];
  return look;
}

function bucketName(index, state) {
  const planes = state.words.length / state.buckets;
  const bucket = index % state.buckets;
  return planes > 1 ? `bucket ${bucket} of plane ${Math.floor(index / state.buckets)}` : `bucket ${bucket}`;
}

const plural = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;

function list(things) {
  if (things.length < 2) return things.join("");
  return `${things.slice(0, -1).join(", ")} and ${things.at(-1)}`;
}

// The word that counts for an item in a bucket.
function wordOf(item, bucket, state) {
  let index = bucket;
  for (let plane = 0; plane * state.buckets < state.words.length; plane++) {
    const at = plane * state.buckets + bucket;
    const word = state.words[at];
    if (word.unmade) continue;
    const low = (item.fingerprint % 2 ** (word.level ?? 0)) / 2 ** (state.first ?? 0);
    if (low === plane) index = at;
  }
  return index;
}

const ANSWERS = {
  contains: (word, yes) => (yes ? `The answer for “${word}” is “probably”: a slot of its two buckets holds its fingerprint.` : `The answer for “${word}” is “surely not”: neither bucket holds its fingerprint.`),
  insert: (word, yes) => (yes ? `“${word}” is in.` : `The answer is Full: no chain of relocations ends in an empty slot. Every bucket is as it was before, and no word is lost for the new one.`),
  remove: (word, yes) => (yes ? `One copy of “${word}” is removed.` : `There was no such fingerprint in the two buckets, so nothing is removed.`),
  count: (word, number) => `The count of “${word}” is ${number}.`,
};

// The frames of an operation on a word. `before` is the state in which it begins.
function narrate(filter, operation, word, { last, claim = "" } = {}) {
  const before = filter.state;
  const item = filter.item(word);
  const { steps, answer } = filter.do(operation, word);
  const { names } = filter;
  const { p, q } = item;
  const frames = [];
  let state = before;
  let loads = [];
  let looked = false;
  let splits = false;
  let moving;
  const fingerprint = hex(item.fingerprint);
  const verb = { insert: "Add", contains: "Check", remove: "Remove", count: "Count" }[operation];
  const at = (bucket) => wordOf(item, bucket, state);
  const push = (text, more = {}) => frames.push({ state, text, item, names: names.now(), look: homes({ p: at(p), q: at(q) }, more) });
  push(`${verb} “${word}”: its hash gives the fingerprint ${fingerprint} and its two buckets, ${p} and ${q}. They are the same each time.`);

  const both = () => {
    if (looked) return;
    looked = true;
    const [a, b] = [at(p), at(q)];
    const said = `${bucketName(a, state)} holds ${holds(state, a, names)}; ${bucketName(b, state)} holds ${holds(state, b, names)}.`;
    push(`It checks both buckets: ${said}`, { [a]: "read", [b]: "read" });
  };
  const searched = (to) => {
    const seen = [...new Set(loads.slice(2))].filter((index) => index !== at(p) && index !== at(q));
    const where = to === undefined ? "and finds no empty slot at the end of any chain" : `and finds an empty slot in ${bucketName(to, state)}`;
    const look = Object.fromEntries(seen.map((index) => [index, "read"]));
    const most = seen.slice(0, 12).map((index) => bucketName(index, state));
    const more = seen.length > 12 ? [...most, `${seen.length - 12} more`] : most;
    const hops = path();
    const chain = to === undefined ? "" : ` The chain, from its end: ${list(hops)}; then “${word}” takes the slot that is left.`;
    push(`Both are full. Each word in them could go to its own other bucket, so the insert searches there, and continues from there: it checks ${list(more)}, ${where}. The search changes nothing.${chain}`, look);
  };
  // The moves that follow, in their order.
  const path = () => {
    const hops = [];
    let previous = before;
    let to;
    for (const { step, state: after } of steps) {
      if (after === undefined) continue;
      const index = changed(previous, after);
      if (index !== undefined && after.words[index].mark === "O") to = index;
      if (step === "Decide") {
        const stored = after.words[index].slots[0];
        const moved = names.of(stored, index, after).join(" or ") || hex(stored);
        hops.push(`${moved} from ${bucketName(index, after)} to ${bucketName(to, after)}`);
      }
      previous = after;
    }
    return hops;
  };

  steps.forEach(({ step, word: load, state: after }, number) => {
    if (step === "LoadForUpdate") loads.push(load);
    if (step === "ReadQ") both();
    if (after === undefined) return;
    if (!looked) both();
    const index = changed(state, after);
    if (step === "Outline" && moving === undefined && operation === "insert") searched(index);
    if (step === "Freeze" && !splits) {
      splits = true;
      push("The filter is doubling, and this insert splits some words of it: each insert does a little of the work, so that none has to do all of it.");
    }
    const old = state;
    state = after;
    const where = index === undefined ? "" : bucketName(index, state);
    const slot0 = index === undefined ? 0 : after.words[index].slots[0];
    const name = (stored, at) => {
      const of = names.of(stored, at, state);
      return of.length ? `${hex(stored)} (${of.join(" or ")})` : hex(stored);
    };
    const wrote = { [index]: "written" };
    switch (step) {
      case "Claim": {
        const other = index === at(p) ? at(q) : at(p);
        const used = (at) => old.words[at].slots.filter((stored) => stored !== 0).length;
        const emptier = isFull(old.words[other]) ? ", the one that has room," : used(index) < used(other) ? ", the emptier one," : "";
        push(`An empty slot of ${where}${emptier} becomes ${fingerprint}.${claim}`, wrote);
        break;
      }
      case "Outline":
        moving = slot0;
        push(`${name(slot0, index)} is to move into ${where}, its other bucket. First comes O, an outline, in an empty slot there: it does not count as a copy yet.`, wrote);
        break;
      case "Advance":
        push(`The version goes up by one: a lookup in another thread that has already read one bucket learns from it that something moved.`);
        break;
      case "Shadow":
        moving = slot0;
        push(`O becomes S, a shadow: from now on the move can be decided at any moment.`, wrote);
        break;
      case "Decide":
        push(`The original in ${where} becomes T. In this one step the copy S takes over: there is exactly one copy before it and after it.`, wrote);
        break;
      case "Deliver":
        push(`S becomes D: the copy counts by itself now.`, wrote);
        break;
      case "Erase": {
        const mark = after.words[index].mark;
        const filled = steps.slice(number + 1).every((later) => later.step !== "Outline" && later.step !== "Shadow") && after.words[index].slots.includes(item.fingerprint >> (after.words[index].level ?? 0));
        const next = mark === "O" ? ` In the same step the next one, ${name(slot0, index)}, gets its outline in the slot.` : filled && operation === "insert" ? ` In the same step ${fingerprint} (${word}) takes the slot: it is inserted.` : "";
        push(`T is erased from ${where}.${next}`, wrote);
        if (mark === "O") moving = slot0;
        break;
      }
      case "Settle":
        push(`D loses its mark: ${where} has no mark any more, and this move is complete.`, wrote);
        break;
      case "Take":
        push(`The slot of ${where} that holds ${fingerprint} becomes empty, in one step.`, wrote);
        break;
      case "Freeze":
      case "Copy":
      case "Cut":
      case "MovePointer":
      case "Complete":
        push(GROWTH_STEPS[step](where, after.words[index]), index === undefined ? {} : wrote);
        break;
      default:
        // The count of items is not a word.
        if (index !== undefined) push(`${step} in ${where}.`, wrote);
    }
  });
  if (!looked) both();
  if (operation === "insert" && answer === false) searched();
  push(last ?? ANSWERS[operation](word, answer));
  frames.at(-1).answer = answer;
  return frames;
}

// The effect of dropping the lowest bit, which was `bit`, of a fingerprint.
function shortened(word, bit) {
  const stored = word.slots.find((stored) => stored !== 0);
  const bits = (number) => number.toString(2);
  return `So ${hex(2 * stored + bit)} becomes ${hex(stored)}: in binary, ${bits(2 * stored + bit)} without its last digit is ${bits(stored)}.`;
}

const GROWTH_STEPS = {
  Freeze: (where) => `The word of ${where} is frozen: from here on no thread changes it, so each thread that continues the split computes the same two words.`,
  Copy: (where, word) => word.slots.every((stored) => stored === 0) ? `No fingerprint there has its lowest stored bit set, so ${where} is made, and is empty.` : `Fingerprints whose lowest stored bit is set are copied to ${where}, without that bit: the place implies it now. ${shortened(word, 1)} They do not count there yet.`,
  Cut: (where, word) => word.slots.every((stored) => stored === 0) ? `Nothing stays in ${where}. Now both words count, each for its own fingerprints.` : `The remaining fingerprints are packed again in ${where}, one bit shorter. ${shortened(word, 0)} Now both words count, each for its own fingerprints.`,
  MovePointer: () => `The split pointer advances: all words before it are split.`,
  Complete: () => `All words are split. The hint says so, and from now on lookups go to the new places at once.`,
};
