// The page in a browser: every scene to its end and back, the same replies as from the library
// outside of a browser, and an audit of accessibility. ci/watch.sh runs it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, native, shots] = process.argv.slice(2);
const require = createRequire(`${tools}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const page = pathToFileURL("docs/watch/index.html").href;
mkdirSync(shots, { recursive: true });

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const complaints = [];

// A page that reports every message, and every request for anything but its own files.
async function open({ size = "desktop", colorScheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme, reducedMotion: "reduce" });
  // Long enough for anything that does not hang.
  context.setDefaultTimeout(300_000);
  const tab = await context.newPage();
  tab.on("console", (message) => complaints.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  tab.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await tab.addInitScript(() => { globalThis.recorded = []; });
  await tab.goto(page + hash);
  await tab.waitForSelector("body[data-ready]");
  return tab;
}

async function replayed(tab, what) {
  const recorded = await tab.evaluate(() => globalThis.recorded.splice(0));
  const input = recorded.map(([command]) => `${command}\n`).join("");
  const replies = execFileSync(native, ["replay"], { input, maxBuffer: 1 << 30 }).toString().trimEnd().split("\n");
  assert.equal(replies.length, recorded.length, `${what}: replies`);
  recorded.forEach(([command, reply], at) => assert.equal(reply, replies[at], `${what}: ${command}`));
  return recorded.length;
}

async function audit(tab, what) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => globalThis.axe.run({ preload: false }));
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 120)} ${failureSummary}`).slice(0, 3).join("; ")}`);
  assert.deepEqual(found, [], `${what}: accessibility`);
}

const shown = (tab) => tab.evaluate(() => ({
  at: page.current.stepper.at,
  sentence: document.querySelector(".sentence").textContent,
  buckets: [...document.querySelectorAll(".bucket .unseen")].map((bucket) => bucket.textContent),
}));
const press = (tab, name) => tab.getByRole("button", { name, exact: true }).click();

const tests = {
  async "each scene goes to its end and back, and is drawn as it was"() {
    const tab = await open();
    const ids = await tab.evaluate(() => page.scenes.map(({ id }) => id));
    assert.equal(ids.length, 16);
    for (const id of ids) {
      await tab.evaluate((id) => { location.hash = id; }, id);
      await tab.waitForFunction((id) => page.current.id === id, id);
      const steps = await tab.evaluate(() => page.current.stepper.frames.length);
      const seen = [await shown(tab)];
      while (seen.length < steps) {
        await press(tab, "Next step");
        seen.push(await shown(tab));
      }
      for (const before of seen.slice(0, -1).reverse()) {
        await press(tab, "Back");
        const now = await shown(tab);
        // A class marks what is new in a step, so a frame looks the same forwards and backwards.
        assert.deepEqual(now, before, `${id}: back at step ${before.at}`);
      }
      for (const { sentence } of seen) assert.match(sentence, /^[A-Z0-9“].{5,}[.]$/s, id);
    }
    await replayed(tab, "all scenes");
  },

  async "the scenes end as they say"() {
    const tab = await open();
    const ends = await tab.evaluate(() => Object.fromEntries(SCENES.map(({ id, frames }) => {
      const all = frames();
      const last = all.at(-1);
      return [id, { len: last.state.len, doublings: last.state.doublings, answers: all.filter(({ answer }) => answer !== undefined).map(({ answer }) => answer), decided: all.filter(({ text }) => text.startsWith("The original in")).length, same: JSON.stringify(all[0].state) === JSON.stringify(last.state), marks: last.state.words.some(({ mark }) => mark), text: last.text }];
    })));
    assert.deepEqual(ends.add.answers, [true, true, false]);
    assert.deepEqual(ends.other.answers, [true, true, true, true]);
    assert.ok(ends.chain.decided >= 2 && ends.chain.answers.every(Boolean), "a chain of two moves");
    assert.deepEqual(ends.remove.answers, [true, false, false, true, false]);
    assert.equal(ends.remove.len, 1);
    assert.deepEqual(ends["false-positive"].answers, [true]);
    assert.deepEqual(ends.full.answers, [false]);
    assert.ok(ends.full.same, "Full changes nothing");
    assert.deepEqual(ends.copies.answers, [true, true, true, true, 4, false, true, true, 3]);
    assert.equal(ends.growth.doublings, 1);
    assert.ok(ends.growth.answers.every(Boolean) && /All 6 words are found/.test(ends.growth.text));
    for (const [id, { marks }] of Object.entries(ends)) assert.ok(!marks, `${id}: no mark is left`);
  },

  async "each step that is switched off shows its violation, and none without"() {
    const tab = await open();
    const faults = await tab.evaluate(() => page.scenes.filter((scene) => scene instanceof DuetScene).map(({ id, duet }) => [id, duet]));
    let shown = 0;
    for (const [id, duet] of faults) {
      await tab.evaluate((id) => { location.hash = id; }, id);
      await tab.waitForFunction((id) => page.current.id === id, id);
      for (const [fault, schedule] of duet.controls) {
        const item = tab.locator(`li:has([data-fault="${fault}"])`);
        for (const [name, wrong] of [["Switched off: watch it go wrong", true], ["Switched on: the same order", false]]) {
          await item.getByRole("button", { name }).click();
          const made = await tab.evaluate(() => page.current.stepper.frames.length - 1);
          assert.ok(made <= schedule.length && made > 6, `${id}, ${fault}: ${made} steps`);
          if (!wrong) await tab.evaluate(() => { const { stepper } = page.current; while (!stepper.atEnd) stepper.go(stepper.at + 1); });
          else for (let step = 0; step < made; step++) await tab.keyboard.press("ArrowRight");
          // Continues to the end of all threads if the schedule ends earlier.
          await tab.evaluate(() => {
            const { current } = page;
            const ready = () => current.stepper.frames[current.stepper.at].threads.findIndex(({ next }) => next !== null);
            for (let number = ready(); number !== -1; number = ready()) current.key({ key: String(number + 1) });
          });
          const classes = await tab.locator(".sentence").getAttribute("class");
          assert.equal(classes.includes("wrong"), wrong, `${id}, ${fault}, ${name}`);
          if (wrong) shown++;
        }
      }
    }
    assert.equal(shown, 20);
    await replayed(tab, "threads");
  },

  async "a reader steps threads in any order, and takes steps back"() {
    const tab = await open({ hash: "#threads-lookup" });
    await tab.getByRole("button", { name: "Step: thread 1" }).click();
    await tab.getByRole("button", { name: "Step: thread 2" }).click();
    await tab.keyboard.press("2");
    const after = await shown(tab);
    assert.match(after.sentence, /^Thread 2/);
    await tab.keyboard.press("ArrowLeft");
    await tab.getByLabel("Switch off one step:").selectOption("NoTrailing");
    await press(tab, "Back");
    assert.equal((await shown(tab)).at, 1);
    await tab.keyboard.press("Home");
    assert.equal((await shown(tab)).at, 0);
    const next = await tab.locator(".thread .next").first().textContent();
    assert.match(next, /^Next: .*Observe/);
  },

  async "a scene plays by itself, and pauses"() {
    const tab = await open({ hash: "#chain" });
    await press(tab, "Play");
    await tab.waitForFunction(() => page.current.stepper.at >= 1);
    await press(tab, "Pause");
    assert.equal(await tab.evaluate(() => page.current.stepper.timer), undefined);
    // On a busy machine it may have made more than one step, or reached the end.
    await press(tab, "Back");
    const { at } = await shown(tab);
    await tab.keyboard.press("p");
    await tab.waitForFunction((at) => page.current.stepper.at > at, at);
  },

  async "a thousand random operations give the words of the library"() {
    const tab = await open({ hash: "#play" });
    const layouts = await tab.evaluate(() => Object.keys(LAYOUTS));
    for (const [at, layout] of layouts.entries()) {
      await tab.locator("#layout").selectOption(layout);
      await tab.locator("#size").selectOption(["8", "4", "16"][at % 3]);
      const times = layout.startsWith("8x2") ? 1000 : 150;
      const odd = await tab.evaluate((times) => {
        const odd = [];
        let state = 1;
        const random = (below) => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return Math.floor((state / 2 ** 32) * below);
        };
        page.current.tell = () => {};
        for (let count = 0; count < times; count++) {
          const operation = ["insert", "insert", "insert", "contains", "remove", "count"][random(6)];
          page.current.act(operation, `bird ${random(90)}`);
          for (const { text } of page.current.stepper.frames) if (/undefined|NaN|null| in [.]/.test(text)) odd.push(text);
        }
        delete page.current.tell;
        return odd;
      }, times);
      assert.deepEqual(odd, [], `${layout}: sentences`);
      const made = await replayed(tab, layout);
      assert.ok(made > 2 * times, `${layout}: ${made} commands`);
    }
  },

  async "free play: what one types"() {
    const tab = await open({ hash: "#play" });
    await tab.getByLabel("Word:").fill("  <b>kö\tel</b> ");
    await press(tab, "Add");
    await press(tab, "Check");
    assert.match((await shown(tab)).sentence, /“<b>kö el<\/b>” is “probably”.*The Bloom filter says “probably”/s);
    await press(tab, "Remove");
    await press(tab, "Check");
    assert.match((await shown(tab)).sentence, /“surely not”.*The Bloom filter says “probably”/s);
    await tab.getByLabel("Word:").fill("");
    await press(tab, "Add");
    assert.match((await shown(tab)).sentence, /Type a word first/);
    await press(tab, "Add birds until Full");
    assert.match((await shown(tab)).sentence, /got Full/);
    const facts = await tab.locator(".facts").textContent();
    assert.match(facts, /bits an item.*load.*false positives expected.*measured/s);
  },

  async "text is large enough, and the page fits the screen"() {
    for (const size of Object.keys(sizes)) {
      const tab = await open({ size });
      const ids = await tab.evaluate(() => page.scenes.map(({ id }) => id));
      for (const id of ids) {
        await tab.evaluate((id) => { location.hash = id; }, id);
        await tab.waitForFunction((id) => page.current.id === id, id);
        await tab.evaluate(() => page.current.stepper.go(Math.floor(page.current.stepper.frames.length * 0.6)));
        if (id.startsWith("threads")) await tab.evaluate(() => { const { current } = page; document.querySelector("[data-fault]").click(); current.stepper.go(Math.floor(current.stepper.frames.length * 0.6)); });
        const { small, wide } = await tab.evaluate(() => ({
          small: [...document.querySelectorAll("body *")].filter((one) => one.childNodes.length && parseFloat(getComputedStyle(one).fontSize) < 14 && !one.closest(".unseen, script")).map((one) => one.outerHTML.slice(0, 80)),
          wide: document.documentElement.scrollWidth - innerWidth,
        }));
        assert.deepEqual(small, [], `${id}: small text`);
        assert.ok(wide <= 0, `${id} on a ${size} is ${wide} pixels too wide`);
        await tab.evaluate(() => scrollTo(0, 0));
        await tab.screenshot({ path: `${shots}/${id}-${size}.png`, fullPage: true });
      }
    }
  },

  async "the picture of the page"() {
    const tab = await open({ hash: "#threads-lookup" });
    await tab.setViewportSize({ width: 960, height: 900 });
    await press(tab, "The lookup runs when the move is decided but not delivered: S and T");
    for (let step = 0; step < 11; step++) await press(tab, "Next step");
    assert.match((await shown(tab)).sentence, /^Thread 1 \(lookup\) reads Q/);
    const from = await tab.locator(".threads").boundingBox();
    const to = await tab.locator(".stage").boundingBox();
    const clip = { x: 0, y: from.y, width: 960, height: to.y + to.height - from.y };
    await tab.screenshot({ path: `${shots}/picture.png`, clip });
  },

  async "an audit finds nothing, in light on a desktop and in dark on a phone"() {
    for (const [colorScheme, size] of [["light", "desktop"], ["dark", "phone"]]) {
      const tab = await open({ size, colorScheme });
      const ids = await tab.evaluate(() => page.scenes.map(({ id }) => id));
      for (const id of ids) {
        await tab.evaluate((id) => { location.hash = id; }, id);
        await tab.waitForFunction((id) => page.current.id === id, id);
        await tab.evaluate(() => page.current.stepper.go(Math.floor(page.current.stepper.frames.length * 0.6)));
        await audit(tab, `${id}, ${colorScheme}, ${size}`);
      }
      await tab.evaluate(() => { location.hash = "threads-lookup"; });
      await tab.locator("[data-fault=NoAdvance]").click();
      await tab.evaluate(() => { const { stepper } = page.current; while (!stepper.atEnd) stepper.go(stepper.at + 1); });
      await audit(tab, `a violation, ${colorScheme}`);
      await tab.screenshot({ path: `${shots}/violation-${size}.png` });
    }
  },
};

let failed = 0;
const chosen = process.env.ONLY;
for (const [name, test] of Object.entries(tests)) {
  if (chosen && !name.includes(chosen)) continue;
  const start = performance.now();
  try {
    await test();
    assert.deepEqual(complaints.splice(0), [], "messages and requests");
    console.log(`ok: ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.message.slice(0, 3000)}`, complaints.splice(0).slice(0, 5));
  }
  for (const context of browser.contexts()) await context.close();
}
await browser.close();
process.exit(failed ? 1 : 0);
