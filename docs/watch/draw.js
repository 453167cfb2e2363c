"use strict";
// Drawing: elements, and a table of buckets as a list that suits screen readers.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const MARKS = {
  O: ["outline", "a copy that is being brought in; the mover may still give way. Not a copy yet."],
  S: ["shadow", "the same, but no longer about to give way; it counts as the copy as soon as T is in the other bucket."],
  T: ["trailing", "the original of a decided move, about to be erased. No longer a copy."],
  D: ["delivered", "the copy of a decided move, until T is gone."],
  K: ["killed", "a shadow or delivered copy whose item a remove has taken. Not a copy."],
};

function legend() {
  const list = element("dl", { class: "legend" });
  for (const [letter, [name, says]] of Object.entries(MARKS)) {
    list.append(
      element("div", {}, element("dt", {}, element("span", { class: `mark ${letter}` }, letter), ` ${name}`), element("dd", {}, says)),
    );
  }
  return element("details", { class: "marks" }, element("summary", {}, "What the marks O, S, T, D and K mean"), list);
}

// The description of a slot.
function slotText(stored, slot, word, names) {
  if (word.reserved && slot === word.slots.length - 1) return "a reservation";
  if (stored === 0) return "an empty slot";
  const mark = slot === 0 && word.mark ? ` marked ${word.mark}` : "";
  const of = names.length ? ` (${names.join(" or ")})` : "";
  return `${hex(stored)}${of}${mark}`;
}

function drawSlot(stored, slot, word, names, before) {
  const mark = slot === 0 ? word.mark : undefined;
  const empty = stored === 0;
  const changed = before !== undefined && before !== `${stored} ${mark ?? ""}`;
  const classes = ["slot", empty ? "empty" : "used", mark ?? "", changed ? "changed" : ""];
  const box = element("span", { class: classes.filter(Boolean).join(" ") });
  if (empty) {
    box.append("empty");
    return box;
  }
  // A hue for each fingerprint. The number has the same information for readers who do not see it.
  box.style.setProperty("--hue", String((stored * 137) % 360));
  box.append(element("b", {}, hex(stored)));
  if (names.length) box.append(element("span", { class: "name" }, names.join(" / ")));
  if (mark) box.append(element("span", { class: `mark ${mark}` }, mark));
  return box;
}

// `look` maps the number of a word to its tags: ["P"], ["read"], ["written"].
function drawTable(state, names, look = {}, previous = undefined, labels = undefined) {
  const planes = state.words.length / state.buckets;
  const rows = planes > 1 && state.buckets <= 4 ? " rows" : "";
  const list = element("ul", { class: `buckets${planes > 1 ? " planes" : ""}${rows}` });
  list.style.setProperty("--buckets", String(state.buckets));
  state.words.forEach((word, index) => {
    const bucket = index % state.buckets;
    const plane = Math.floor(index / state.buckets);
    const label = labels?.[index] ?? (planes > 1 ? `bucket ${bucket}, plane ${plane}` : `bucket ${bucket}`);
    const tags = [...(look[index] ?? [])];
    if (word.frozen) tags.push("frozen");
    if (word.unmade) tags.push("not made yet");
    const named = word.slots.map((stored) => (stored === 0 ? [] : names.of(stored, index, state)));
    const said = word.slots.map((stored, slot) => slotText(stored, slot, word, named[slot]));
    const old = previous?.words[index];
    const slots = word.slots.map((stored, slot) => {
      const before = old && !old.unmade ? `${old.slots[slot] ?? 0} ${(slot === 0 && old.mark) || ""}` : undefined;
      return drawSlot(stored, slot, word, named[slot], before);
    });
    const item = element(
      "li",
      { class: ["bucket", ...tags.map((tag) => `is-${tag.split(" ")[0]}`)].join(" "), "data-word": index },
      element("span", { class: "unseen" }, `${label}${tags.length ? ` (${tags.join(", ")})` : ""}: ${word.unmade ? "nothing" : said.join(", ")}.`),
      element(
        "span",
        { class: "card", "aria-hidden": "true" },
        element("span", { class: "label" }, label, ...tags.map((tag) => element("span", { class: `tag ${tag.split(" ")[0]}` }, tag))),
        element("span", { class: "slots" }, ...(word.unmade ? [element("span", { class: "slot empty" }, "–")] : slots)),
      ),
    );
    list.append(item);
  });
  return list;
}
