"use strict";
// The page shows one scene at a time, which the address selects.
class StoryScene {
  constructor(scene) {
    Object.assign(this, scene);
    this.story = scene.frames;
  }

  build() {
    const frames = this.story();
    const marks = frames.some((frame) => frame.state.words.some((word) => word.mark));
    const draw = (frame, previous) => {
      const item = frame.item;
      const card = item
        ? element("p", { class: "word" }, `“${item.word}” → hash ${item.hash} → fingerprint `, element("b", {}, hex(item.fingerprint)), `, buckets ${item.p} and ${item.q}`)
        : null;
      return [card, drawTable(frame.state, frame.names, frame.look, previous?.state), element("p", { class: "version" }, plural(frame.state.len, "item"), marks ? `, version ${frame.state.versions[0][0]}` : "")].filter(Boolean);
    };
    this.stepper = new Stepper({ draw });
    this.stepper.show(frames);
    this.key = (event) => this.stepper.key(event);
    return element("div", {}, marks ? legend() : null, this.stepper.element);
  }
}

const page = (() => {
  let scenes = [];
  let current;

  function links() {
    const groups = [
      ["One thread", scenes.filter((scene) => scene instanceof StoryScene)],
      ["Several threads", scenes.filter((scene) => scene instanceof DuetScene)],
      ["Your turn", scenes.filter((scene) => scene instanceof FreePlay)],
    ];
    return groups.map(([title, members]) =>
      element("div", { class: "group" }, element("h2", {}, title), element("ol", {}, ...members.map((scene) => element("li", {}, element("a", { href: `#${scene.id}` }, scene.title))))),
    );
  }

  function show(focus) {
    const id = decodeURIComponent(location.hash.slice(1));
    if (id === "scene") return;
    current?.stepper.pause();
    current = scenes.find((scene) => scene.id === id) ?? scenes[0];
    const main = document.getElementById("scene");
    const at = scenes.indexOf(current);
    const next = scenes[at + 1];
    main.replaceChildren(
      element("h2", {}, current.title),
      element("p", { class: "lead" }, current.lead),
      current.build(),
      next ? element("p", { class: "onwards" }, element("a", { href: `#${next.id}` }, `Next: ${next.title}`)) : "",
    );
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${current.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${current.title} – watch a cuckoo filter work`;
    if (focus) {
      main.focus({ preventScroll: true });
      main.scrollIntoView({ block: "start" });
    }
  }

  function key(event) {
    const typing = event.target.closest?.("input, select, textarea, summary");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (current?.key(event)) event.preventDefault();
  }

  async function start() {
    await engine.load();
    const duets = engine.call("duets").map((duet) => new DuetScene(duet));
    scenes = [...SCENES.map((scene) => new StoryScene(scene)), ...duets, new FreePlay()];
    // Open by default if it does not fill the screen.
    const open = matchMedia("(min-width: 48rem)").matches;
    document.querySelector("nav").replaceChildren(element("details", { open }, element("summary", {}, "All scenes"), element("div", { class: "groups" }, ...links())));
    addEventListener("hashchange", () => show(true));
    addEventListener("keydown", key);
    show(false);
    document.body.dataset.ready = "true";
  }

  return { start, get scenes() { return scenes; }, get current() { return current; } };
})();

page.start().catch((error) => {
  document.getElementById("loading").textContent = `The page cannot start: ${error.message}`;
  throw error;
});
