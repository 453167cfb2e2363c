"use strict";
// Frames that the reader steps through. A frame has a state, a sentence, and highlighted words.
class Stepper {
  constructor({ draw, onmove = () => {} }) {
    this.draw = draw;
    this.onmove = onmove;
    this.frames = [];
    this.at = 0;
    this.timer = undefined;
    const button = (label, title, act) => element("button", { type: "button", onclick: act, title }, label);
    this.buttons = {
      reset: button("Start", "To the start (Home)", () => this.go(0)),
      back: button("Back", "One step back (left arrow)", () => this.go(this.at - 1)),
      on: button("Next step", "One step on (right arrow)", () => this.go(this.at + 1)),
      play: button("Play", "Play or pause (P)", () => this.toggle()),
    };
    this.buttons.on.classList.add("main");
    this.count = element("span", { class: "count" });
    this.sentence = element("p", { class: "sentence", role: "status" });
    this.stage = element("div", { class: "stage" });
    this.list = element("ol", { class: "transcript" });
    this.element = element(
      "div",
      { class: "stepper" },
      this.sentence,
      element("div", { class: "controls", role: "group", "aria-label": "Steps" }, this.buttons.reset, this.buttons.back, this.buttons.on, this.buttons.play, this.count),
      this.stage,
      element("details", {}, element("summary", {}, "All steps as text"), this.list),
    );
  }

  show(frames, at = 0) {
    this.pause();
    this.frames = frames;
    this.list.replaceChildren(...frames.map((frame) => element("li", {}, frame.text)));
    this.go(at);
  }

  get atEnd() {
    return this.at >= this.frames.length - 1;
  }

  go(at) {
    if (at < 0 || at >= this.frames.length) return;
    this.at = at;
    const frame = this.frames[at];
    this.sentence.textContent = frame.text;
    this.sentence.classList.toggle("wrong", Boolean(frame.wrong));
    this.count.textContent = `step ${at} of ${this.frames.length - 1}`;
    this.stage.replaceChildren(...this.draw(frame, this.frames[at - 1]));
    // `disabled` would remove the focus from a button in use.
    this.buttons.reset.setAttribute("aria-disabled", String(at === 0));
    this.buttons.back.setAttribute("aria-disabled", String(at === 0));
    this.buttons.on.setAttribute("aria-disabled", String(this.atEnd));
    [...this.list.children].forEach((item, index) => {
      if (index === at) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
    if (this.atEnd) this.pause();
    this.onmove(at);
  }

  toggle() {
    if (this.timer !== undefined) {
      this.pause();
      return;
    }
    if (this.atEnd) this.go(0);
    if (this.atEnd) return;
    this.buttons.play.textContent = "Pause";
    this.timer = setInterval(() => this.go(this.at + 1), 2600);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.buttons.play.textContent = "Play";
  }

  key(event) {
    const keys = { ArrowRight: () => this.go(this.at + 1), ArrowLeft: () => this.go(this.at - 1), Home: () => this.go(0), p: () => this.toggle(), P: () => this.toggle() };
    const act = keys[event.key];
    if (!act) return false;
    act();
    return true;
  }
}
