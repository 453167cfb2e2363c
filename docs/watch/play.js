"use strict";
// Free play: any word, any operation, several layouts and sizes, next to a Bloom filter of the same
// size.
const LAYOUTS = {
  "8x2": "8 bits, 2 slots: as in the scenes",
  "10x6": "10 bits, 6 slots",
  "12x5": "12 bits, 5 slots",
  "15x4": "15 bits, 4 slots",
  "20x3": "20 bits, 3 slots",
  "30x2": "30 bits, 2 slots",
  "8x2 growing": "8 bits, 2 slots, doubles twice",
  "18x3 growing": "18 bits, 3 slots, doubles twice",
};

const BITS = (layout) => Number(layout.split("x")[0]);
const PROBES = 2000;

// A Bloom filter of the same number of bits, with the best number of hashes for a full cuckoo filter.
class Bloom {
  constructor(bits, items) {
    this.bits = bits;
    this.hashes = Math.max(1, Math.round((Math.LN2 * bits) / items));
    this.set = new Set();
  }

  // All hashes are computed from the two halves of one (Kirsch and Mitzenmacher 2006).
  *places(hash) {
    const one = parseInt(hash.slice(0, 8), 16);
    const other = parseInt(hash.slice(8), 16) | 1;
    for (let number = 0; number < this.hashes; number++) yield (one + number * (other >>> 0)) % this.bits;
  }

  add(hash) {
    for (const place of this.places(hash)) this.set.add(place);
  }

  has(hash) {
    return [...this.places(hash)].every((place) => this.set.has(place));
  }
}

class FreePlay {
  constructor() {
    this.id = "play";
    this.title = "Free play";
    this.lead = "Any words, as many as you like. Next to the cuckoo filter is a Bloom filter of the same size, which can neither remove nor count.";
  }

  build() {
    const draw = (frame, previous) => [drawTable(frame.state, frame.names, frame.look, previous?.state)];
    this.stepper = new Stepper({ draw });
    this.key = (event) => this.stepper.key(event);
    const options = (choices) => Object.entries(choices).map(([value, text]) => element("option", { value }, text));
    const word = element("input", { id: "word", type: "text", value: "ani", maxlength: 40, autocomplete: "off", spellcheck: "false" });
    const layout = element("select", { id: "layout", onchange: () => this.reset() }, ...options(LAYOUTS));
    const sizes = Object.fromEntries([4, 8, 16, 32, 64].map((size) => [size, String(size)]));
    const size = element("select", { id: "size", onchange: () => this.reset() }, ...options(sizes));
    layout.value = "15x4";
    size.value = "8";
    const act = (text, operation) => element("button", { type: "button", "data-do": operation, onclick: () => this.act(operation, cleaned(word.value)) }, text);
    const more = (text, count) => element("button", { type: "button", onclick: () => this.addMany(count) }, text);
    this.layout = layout;
    this.size = size;
    this.facts = element("div", { class: "facts" });
    const form = element(
      "form",
      { class: "field", onsubmit: (event) => { event.preventDefault(); this.act("insert", cleaned(word.value)); } },
      element("label", { for: "word" }, "Word: "),
      word,
      element("button", { type: "submit", class: "main", "data-do": "insert" }, "Add"),
      act("Check", "contains"),
      act("Remove", "remove"),
      act("Count", "count"),
    );
    const choice = element(
      "div",
      { class: "field" },
      element("label", { for: "layout" }, "Layout: "),
      layout,
      element("label", { for: "size" }, " Buckets: "),
      size,
      more("Add 5 birds", 5),
      more("Add birds until Full", Infinity),
      element("button", { type: "button", onclick: () => this.reset() }, "Empty it"),
    );
    const made = element("div", {}, form, choice, legend(), this.stepper.element, this.facts);
    this.reset();
    return made;
  }

  reset(seed = 1) {
    const layout = this.layout.value;
    this.filter = new Filter(layout, Number(this.size.value), { more: layout.includes("growing") ? 2 : 0, seed });
    this.birds = birds();
    this.bloom = new Bloom(this.bits, Math.max(1, Math.round(0.95 * this.slots)));
    this.stepper.show([still(this.filter, "An empty filter. Type a word and add it.")]);
    this.tell();
  }

  get bits() {
    return 64 * this.filter.state.words.length;
  }

  get slots() {
    return this.filter.state.words.reduce((sum, word) => sum + (word.unmade ? 0 : word.slots.length), 0);
  }

  // Performs one operation on both filters, and returns its frames and the Bloom filter's answer.
  act(operation, word) {
    if (word === "") {
      this.stepper.show([still(this.filter, "Type a word first: it must not be empty.")]);
      return undefined;
    }
    const frames = narrate(this.filter, operation, word);
    const { answer, item } = { answer: frames.at(-1).answer, item: frames[0].item };
    const { bloom } = this;
    let beside = "";
    if (operation === "insert" && answer) {
      bloom.add(item.hash);
      beside = ` The Bloom filter sets ${plural(bloom.hashes, "bit")} for it.`;
    } else if (operation === "contains") {
      beside = ` The Bloom filter says “${bloom.has(item.hash) ? "probably" : "surely not"}”.`;
    } else if (operation === "remove" && answer) {
      beside = " The Bloom filter cannot remove it: it still says “probably”.";
    } else if (operation === "count") {
      beside = " A Bloom filter cannot count.";
    }
    frames.at(-1).text += beside;
    this.stepper.show(frames, 0);
    // An operation without moves is shown at once, and a chain step by step.
    if (!frames.some((frame) => frame.state.words.some((one) => one.mark))) this.stepper.go(frames.length - 1);
    else this.stepper.toggle();
    this.tell();
    return answer;
  }

  addMany(count) {
    let full;
    let added = 0;
    while (added < count && full === undefined && added < 2000) {
      const word = this.birds.next().value;
      const { answer } = this.filter.do("insert", word);
      if (answer) {
        added++;
        this.bloom.add(this.filter.item(word).hash);
      } else full = word;
    }
    const text = full === undefined ? `${plural(added, "bird")} added.` : `${plural(added, "bird")} added; “${full}” got Full. No word was lost.`;
    this.stepper.show([still(this.filter, text)]);
    this.tell();
  }

  // Load, rates and sizes of both filters.
  tell() {
    const { state } = this.filter;
    const { bloom } = this;
    const load = state.len / this.slots;
    const percent = (share) => {
      if (share > 0 && share < 0.000001) return "less than 0.0001 %";
      return `${(100 * share).toFixed(share > 0 && share < 0.001 ? 4 : 2)} %`;
    };
    // An absent word is compared with the used slots of two words.
    const layout = this.layout.value;
    const first = layout === "18x3 growing" ? 9 : 0;
    const stored = BITS(layout) - Math.max(...state.words.map((word) => (word.level ?? first) - first));
    const compared = (2 * state.len) / state.words.filter((word) => !word.unmade).length;
    const expected = 1 - (1 - 1 / 2 ** stored) ** compared;
    const wrong = engine.call("measure", PROBES) / PROBES;
    const probes = Array.from({ length: PROBES }, (_, number) => engine.call("item", `absent ${number}`).hash);
    const bloomWrong = probes.filter((hash) => bloom.has(hash)).length / PROBES;
    const bloomExpected = (bloom.set.size / bloom.bits) ** bloom.hashes;
    const rows = [
      ["", "Cuckoo filter", "Bloom filter"],
      ["memory", `${this.bits} bits`, `${bloom.bits} bits`],
      ["items", String(state.len), "cannot say"],
      ["bits an item", state.len ? (this.bits / state.len).toFixed(1) : "–", state.len ? (bloom.bits / state.len).toFixed(1) : "–"],
      ["load", percent(load), `${percent(bloom.set.size / bloom.bits)} of the bits are set`],
      ["false positives expected", percent(expected), percent(bloomExpected)],
      [`measured with ${PROBES} absent words`, percent(wrong), percent(bloomWrong)],
      ["can remove and count", "yes", "no"],
    ];
    const [head, ...body] = rows;
    this.facts.replaceChildren(
      element(
        "table",
        {},
        element("caption", {}, "Both filters now"),
        element("thead", {}, element("tr", {}, ...head.map((text, at) => (at === 0 ? element("td", {}) : element("th", { scope: "col" }, text))))),
        element("tbody", {}, ...body.map(([name, ...cells]) => element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", {}, cell))))),
      ),
      layout.startsWith("8x2") ? element("p", {}, "This layout leaves most bits of its 64-bit words unused, so that it is easy to read. The others use them all.") : "",
      layout.includes("growing") ? element("p", {}, "A Bloom filter cannot grow: it keeps the memory that it has at the start.") : "",
    );
  }
}
