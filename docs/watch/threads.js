"use strict";
// Scenes of several threads: the reader chooses the thread that makes the next step, and may switch
// off one step of the protocol. watch/src/duets.rs has the operations and the schedules; here are the
// texts.
const DUETS = {
  lookup: {
    title: "A lookup beside a move",
    lead: "P and Q are the two buckets of “ani”. It is in Q, and one thread moves it to P. Another thread looks it up: it reads P first and Q later, and the move may happen in between. The answer must be “probably” (true), whatever the order. Two rules ensure this. The copy is made before the original is erased, so one of the two buckets has the word at every moment. And the version increases in between, so a lookup that has read the buckets at the wrong moments knows it, and reads again.",
    famous: {
      between: "The lookup runs when the move is decided but not delivered: S and T",
      passed: "The whole move happens between the two reads of the lookup",
    },
  },
  remove: {
    title: "A remove beside a move",
    lead: "“ani” is in bucket Q. One thread moves it to P, another one removes it. The remove must find it: its answer must be true, and no copy may be left.",
    famous: {
      killed: "The remove takes the shadow of a decided move: K",
      taken: "The remove is first, and the mover retracts",
    },
  },
  stopped: {
    title: "A mover that stops",
    lead: "One thread removes “ani”, checks it, and removes it once more, while a mover may stop for as long as it likes. The answers must be true, false, false: no thread waits for the mover, and the mark that it leaves is not a copy.",
    famous: {},
  },
  insert: {
    title: "An insert beside a move",
    lead: "“ani” and “koel” fill bucket P. One thread adds “quail”, and then checks it, while another thread moves “ani” to Q: both want a slot of the same bucket.",
    famous: { race: "The move takes the slot that the insert has chosen" },
  },
  window: {
    title: "A lookup during an insert and a remove",
    lead: "There is no move. “ani” is in Q; another thread adds a second copy, which goes to P, and then removes one copy. There is a copy at every moment, so the lookup must answer true.",
    famous: {},
  },
  "two movers": {
    title: "Two moves and two removes",
    lead: "“ani” is in Q once. Two threads try to move it to P, and a third one removes it twice. Exactly one of the two removes may answer true. This case is why there are so many kinds of marks.",
    famous: {},
  },
  "three moves": {
    title: "A remove that pauses while the word moves back and forth",
    lead: "One thread moves “ani” from Q to P, back to Q, and once more to P. Another one removes it twice, and may pause just before it kills the shadow of the first move. By then the bucket may have the same bits again, as the shadow of the third move. Exactly one remove may answer true.",
    famous: { held: "The hold: the later moves give way to the paused remove" },
  },
};

const FAULT_TEXTS = {
  NoAdvance: ["Without Advance: the version stays as it is", "The lookup has read P before the copy was made, and reads Q after the original was erased. Only the version shows that it must read again."],
  AdvanceLate: ["Advance too late: the version increases after the erase", "Between the erase and the late Advance, the lookup finds the version unchanged and believes that it has seen everything."],
  ContainsNoValidate: ["Without Validate: the lookup does not compare the version", "The version increases, but the lookup does not compare it."],
  EraseFirst: ["Erase first: the original is erased before the copy is made", "For a while the word is in neither bucket, and a lookup then misses it."],
  NoTrailing: ["Without T: the original is erased at once", "Between Decide and Deliver only S is left. It looks like the shadow of a move that will be retracted, so it does not count as a copy."],
  ContainsNoReread: ["Without the second read: the lookup trusts marks at once", "The lookup has seen S or O before the move was decided, and the other bucket after it. The two never existed together."],
  RemoveNoValidate: ["Without Validate: the remove does not compare the version", "As with a lookup: the remove reads P too early and Q too late."],
  RemoveNoReread: ["Without the second read: the remove trusts marks at once", "The remove has read P before the move, and T in Q after Decide, and assumes that both existed at the same time."],
  RemoveIgnoresMarks: ["Ignoring marks: the remove ignores S and D", "The copy is the S or D of a move in progress, and the remove does not take it."],
  NoRetract: ["Without Retract: an abandoned move leaves its mark", "The remove has taken the original, so the move is abandoned. Its shadow stays forever."],
  DecideBlindly: ["Without the check in Decide: the move continues although its source is gone", "The remove has taken the original, but the move still adds a copy: the removed word is back."],
  ContainsTrustsMarks: ["Without the meaning of marks: a lookup counts any mark as a copy", "The word has been removed, but the mark that the stopped mover left counts as a copy."],
  ClaimUnchecked: ["Without the check of the exchange: a failed one counts as a success", "The move has changed the bucket since the insert loaded it. The exchange fails, and “quail” is nowhere."],
  RemoveHigherFirst: ["Q before P: the remove takes from Q first", "The lookup has read P before the second copy was inserted there, and the only copy that it could still find is removed from Q."],
  NoDelivered: ["Without D: the copy becomes unmarked while T is still there", "A remove can then mistake the S of one move and the T of another for one decided move."],
  RemoveNoKilled: ["Without K: the remove empties the slot of the shadow", "Another move can now use the slot, and its S is mistaken for that of the first one: the word is removed twice."],
  KillNoHold: ["Without the hold: the remove kills a shadow without holding the version", "Between its look at T and its exchange the S may have become that of another move."],
  HoldIgnored: ["Without giving way: a mover continues though the version is held", "The remove holds the version, but the second mover ignores this and sets its own S."],
  HoldSeenEarly: ["The check too early: the mover checks for a hold before its outline is set", "The hold comes after the mover's check and before its outline, so neither sees the other."],
};

const WRONG_TEXTS = {
  missed: "The lookup answered “surely not” for a word that was present all the time: a false negative.",
  ghost: "The lookup answered “probably” for a word that has been removed, and no other word has its fingerprint and buckets.",
  "not removed": "The remove answered false, although the word was present.",
  "removed twice": "Two removes answered true for one copy.",
  "mark left": "A mark stays forever, in a slot that no thread can use again.",
  lost: "A word is lost: a copy that was added is nowhere.",
  "copy too many": "There is one copy too many: a removed word is back.",
  miscounted: "The count of items is wrong.",
  "wrong answer": "An operation answered wrongly.",
};

const NEXT_TEXTS = {
  Observe: "note the version",
  ReadP: "read P",
  ReadQ: "read Q",
  RereadP: "read P once more",
  RereadQ: "read Q once more",
  Validate: "compare the version with the one noted",
  LoadForUpdate: "load a bucket that it may change",
  Claim: "put the fingerprint into an empty slot",
  Outline: "an empty slot of the destination becomes O",
  Advance: "the version goes up",
  Shadow: "O becomes S",
  Decide: "the original becomes T",
  Deliver: "S becomes D",
  Erase: "T goes",
  Settle: "the last mark goes",
  Retract: "give up: the mark goes",
  Take: "empty the slot of the copy",
  Kill: "S or D becomes K",
  Hold: "hold the version, so that movers give way",
};

const DOES_TEXTS = { contains: "checks", insert: "adds", remove: "removes", move: "moves" };
const PLACES = ["P", "Q"];

class DuetScene {
  constructor(duet) {
    Object.assign(this, { duet, id: `threads-${duet.name.replace(" ", "-")}`, ...DUETS[duet.name] });
    this.threads = duet.threads.length;
  }

  // All frames of a schedule, with one fault.
  run(fault, schedule) {
    let scene = engine.call("duet", this.duet.name, fault);
    const names = new Names();
    for (const word of this.duet.words) names.learn(word, engine.call("item", word));
    const logs = this.duet.threads.map(() => []);
    const noted = [];
    const frame = (text, look = {}) => ({ ...scene, names, text, look, logs: logs.map((log) => [...log]), taken, wrong: scene.wrong });
    let taken = "";
    const frames = [frame("No thread has made a step yet. Choose the next thread, or one of the interleavings below.")];
    for (const digit of schedule) {
      const number = Number(digit);
      const step = scene.threads[number]?.next;
      if (!step) continue;
      const before = scene;
      scene = engine.call("step", number);
      taken += digit;
      const { text, look } = this.says(number, step, before, scene, noted, names);
      logs[number].push(step);
      const wrong = scene.wrong && !before.wrong ? ` That is wrong. ${WRONG_TEXTS[scene.wrong]}` : "";
      frames.push(frame(text + wrong, look));
    }
    return frames;
  }

  says(number, step, before, after, noted, names) {
    const part = this.duet.threads[number];
    const done = before.threads[number].answers.length;
    const [kind, word] = part.does[done];
    const who = `Thread ${number + 1} (${part.name})`;
    const same = JSON.stringify(before.state) === JSON.stringify(after.state);
    const index = changed(before.state, after.state);
    const place = PLACES[index];
    const version = ([value, holds]) => (holds ? `${value}, held` : String(value));
    const now = version(after.state.versions[0]);
    const read = (at) => ({ text: `${PLACES[at]}: ${holds(before.state, at, names)}`, look: { [at]: ["read"] } });
    const wrote = { [index]: ["written"] };
    let text;
    let look = {};
    switch (step) {
      case "Observe":
        noted[number] = now;
        text = `${who} notes the version: ${now}.`;
        look = { version: true };
        break;
      case "Validate":
        text = now === noted[number] ? `${who} compares the version: still ${now}. As far as this tells, nothing has moved since.` : `${who} compares the version: it was ${noted[number]} and is ${now}. Something has moved: it reads again.`;
        look = { version: true };
        break;
      case "ReadP":
      case "RereadP":
      case "ReadQ":
      case "RereadQ": {
        const { text: said, look: at } = read(step.endsWith("P") ? 0 : 1);
        text = `${who} reads ${step.startsWith("Reread") ? "once more " : ""}${said}.`;
        look = at;
        break;
      }
      case "LoadForUpdate": {
        const at = after.threads[number].word;
        text = at === null ? `${who} loads a bucket.` : `${who} loads ${read(at).text}.`;
        look = at === null ? {} : { [at]: ["read"] };
        break;
      }
      case "Advance":
        text = same ? `${who} leaves out Advance.` : `${who} announces the move: the version is ${version(after.state.versions[0])} now.${before.state.versions[0][1] ? " It is held by a remove, so the mover gives way." : ""}`;
        look = { version: true };
        break;
      case "Hold":
        text = `${who} holds the version: from now on, movers give way.`;
        look = { version: true };
        break;
      default:
        look = wrote;
        text = index === undefined ? `${who} wants to make the step ${step}, but the bucket has changed since it was loaded: nothing happens.` : `${who}, ${step}: ${this.wrote(step, place, word)}`;
    }
    if (before.state.versions[0][1] > after.state.versions[0][1]) text += " It releases the version.";
    const answers = after.threads[number].answers;
    if (answers.length > done) {
      const answer = answers[done];
      const ends = {
        contains: answer ? "The answer is true: “probably”." : "The answer is false: “surely not”.",
        insert: answer ? `“${word}” is added.` : "The answer is Full.",
        remove: answer ? "The answer is true: removed." : "The answer is false: there was none.",
        move: answer ? "The move is over." : "The move is given up.",
      };
      text += ` ${ends[kind]}`;
    } else if (step === "Validate" && now === noted[number]) {
      text += " But it has met a mark, so it starts again, and takes marks into account.";
    }
    return { text, look };
  }

  wrote(step, place, word) {
    return {
      Claim: `an empty slot of ${place} becomes “${word}”.`,
      Outline: `O is now in ${place}. It is not a copy yet.`,
      Shadow: `O becomes S in ${place}. It counts as soon as T is in the other bucket.`,
      Decide: `the original in ${place} becomes T. From now on S is the copy.`,
      Deliver: `S becomes D in ${place}: a copy by itself.`,
      Erase: `the original is erased from ${place}.`,
      Settle: `the mark is removed from ${place}.`,
      Retract: `the mover retracts, and its mark is removed from ${place}.`,
      Take: `the slot in ${place} becomes empty.`,
      Kill: `the copy in ${place} becomes K: its mover will empty it.`,
    }[step] ?? `${place} changes.`;
  }

  build() {
    let fault = "None";
    const stepper = new Stepper({ draw: (frame, previous) => this.drawFrame(frame, previous), onmove: () => panels() });
    const own = this.duet.threads.map((part, number) => {
      const log = element("p", { class: "log" });
      const next = element("p", { class: "next" });
      const button = element("button", { type: "button", class: "main", onclick: () => turn(number) }, `Step: thread ${number + 1}`);
      const does = part.does.map(([kind, word]) => `${DOES_TEXTS[kind]} “${word}”`);
      return { log, next, button, element: element("section", { class: "thread" }, element("h3", {}, `Thread ${number + 1}: ${does.join(", then ")}`), button, next, log) };
    });
    const panels = () => {
      const frame = stepper.frames[stepper.at];
      own.forEach(({ log, next, button }, number) => {
        const thread = frame.threads[number];
        const answers = thread.answers.map((answer) => (answer ? "true" : "false")).join(", ");
        next.textContent = thread.next ? `Next: ${NEXT_TEXTS[thread.next] ?? "a step"} (${thread.next}).` : "At its end.";
        log.textContent = `Made: ${frame.logs[number].join(", ") || "nothing yet"}.${answers ? ` Answers: ${answers}.` : ""}`;
        button.setAttribute("aria-disabled", String(!thread.next));
      });
    };
    const play = (chosen, schedule, at = 0) => {
      fault = chosen;
      select.value = chosen;
      stepper.show(this.run(fault, schedule), at);
    };
    const turn = (number) => {
      const frame = stepper.frames[stepper.at];
      if (!frame.threads[number]?.next) return;
      stepper.pause();
      play(fault, frame.taken + number, stepper.at + 1);
    };
    const select = element(
      "select",
      { id: "fault", onchange: () => {
        const { taken } = stepper.frames[stepper.at];
        const frames = this.run(select.value, taken);
        play(select.value, taken, Math.min(taken.length, frames.length - 1));
      } },
      element("option", { value: "None" }, "nothing: the real protocol"),
      ...this.duet.controls.map(([name]) => element("option", { value: name }, FAULT_TEXTS[name][0])),
    );
    const famous = this.duet.famous.map(([name, schedule]) => element("li", {}, element("button", { type: "button", onclick: () => watch("None", schedule) }, this.famous[name])));
    const bad = this.duet.controls.map(([name, schedule]) =>
      element(
        "li",
        {},
        element("h4", {}, FAULT_TEXTS[name][0]),
        element("p", {}, FAULT_TEXTS[name][1]),
        element("button", { type: "button", "data-fault": name, onclick: () => watch(name, schedule) }, "Switched off: watch it go wrong"),
        element("button", { type: "button", onclick: () => watch("None", schedule) }, "Switched on: the same order"),
      ),
    );
    // The scene may be below the fold, so the page scrolls to it.
    const watch = (chosen, schedule) => {
      play(chosen, schedule);
      made.scrollIntoView({ block: "start" });
      stepper.buttons.on.focus({ preventScroll: true });
    };
    this.key = (event) => {
      const number = Number(event.key) - 1;
      if (number >= 0 && number < this.threads) {
        turn(number);
        return true;
      }
      return stepper.key(event);
    };
    this.stepper = stepper;
    const made = element(
      "div",
      {},
      legend(),
      element("div", { class: "threads" }, ...own.map((panel) => panel.element)),
      stepper.element,
      element("p", { class: "field" }, element("label", { for: "fault" }, "Switch off one step: "), select),
      famous.length ? element("h3", {}, "Interesting interleavings") : null,
      famous.length ? element("ul", { class: "famous" }, ...famous) : null,
      bad.length ? element("h3", {}, "Why each step is there") : null,
      bad.length ? element("ul", { class: "controls-list" }, ...bad) : null,
    );
    play("None", "");
    return made;
  }

  drawFrame(frame, previous) {
    const [version, held] = frame.state.versions[0];
    const moved = previous && JSON.stringify(previous.state.versions) !== JSON.stringify(frame.state.versions);
    const card = element("p", { class: `version${frame.look.version ? " read" : ""}${moved ? " changed" : ""}` }, `version ${version}`, held ? `, held by ${plural(held, "remove")}` : "");
    return [drawTable(frame.state, frame.names, frame.look, previous?.state, ["bucket P", "bucket Q"]), card];
  }
}
