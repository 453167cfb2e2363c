"use strict";
// The library in the page: commands in, replies out. watch/src/session.rs lists the commands.
const engine = (() => {
  let library;

  async function load() {
    const packed = Uint8Array.from(atob(GUIRA_WASM), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(stream).arrayBuffer();
    library = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  }

  // An operation that stops in its middle traps. Its stack is abandoned.
  function go() {
    const stack = library.__stack_pointer.value;
    try {
      library.go();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      library.__stack_pointer.value = stack;
    }
  }

  function call(...parts) {
    const command = parts.join("\t");
    const bytes = new TextEncoder().encode(command);
    const at = library.input(bytes.length);
    new Uint8Array(library.memory.buffer, at, bytes.length).set(bytes);
    let runs = library.begin();
    while (runs) {
      go();
      runs = library.finish();
    }
    const reply = new TextDecoder().decode(
      new Uint8Array(library.memory.buffer, library.output(), library.output_len()),
    );
    // A test compares these with the results of the library outside a browser.
    if (globalThis.recorded) globalThis.recorded.push([command, reply]);
    const value = JSON.parse(reply);
    if (value !== null && value.error) throw new Error(`${value.error}: ${command}`);
    return value;
  }

  return { load, call };
})();

// Words as the user types them, without tabs and line ends, which separate commands.
function cleaned(word) {
  return word.replace(/\s+/g, " ").trim().slice(0, 40);
}

// A table of words, with the page's data about each.
class Filter {
  constructor(layout, buckets, { more = 0, seed = 1 } = {}) {
    this.state = engine.call("new", layout, buckets, more, seed);
    this.names = new Names();
  }

  item(word) {
    const item = engine.call("item", word);
    this.names.learn(word, item);
    return { word, ...item };
  }

  // Performs one operation. Returns its answer, its steps, and the state after it.
  do(operation, word) {
    this.item(word);
    const result = engine.call(operation, word);
    this.state = result.state;
    return result;
  }
}

// The words that a fingerprint may stand for. The page stores them, because the filter does not.
class Names {
  constructor() {
    this.known = new Map();
  }

  // The words that are known so far.
  now() {
    const names = new Names();
    names.known = new Map(this.known);
    return names;
  }

  learn(word, item) {
    if (!this.known.has(word)) this.known.set(word, item);
  }

  // The words that a slot of a bucket may stand for. After a split, a slot stores only the upper bits.
  of(stored, index, state) {
    const level = state.words[index].level ?? 0;
    const first = state.first ?? 0;
    const bucket = index % state.buckets;
    const plane = Math.floor(index / state.buckets);
    const found = [];
    for (const [word, { fingerprint, p, q }] of this.known) {
      const here = bucket === p || bucket === q;
      const low = (fingerprint % 2 ** level) / 2 ** first;
      if (here && low === plane && Math.floor(fingerprint / 2 ** level) === stored) found.push(word);
    }
    return found;
  }
}

function hex(number) {
  return number.toString(16).padStart(2, "0");
}
