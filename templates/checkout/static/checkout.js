// Keeps an open page in step with its payment: counts down, moves on when something changes, and
// lets the keys 1 and 0 answer while the simulated phone has the focus.
// Without scripts the pages refresh themselves.
"use strict";

(() => {
  const LONGEST_ANSWER_MS = 15000;
  const LEAVES_WITHIN_MS = 5000;
  const RETRY_MS = 1000;
  const TICK_MS = 200;
  const page = document.querySelector("main[data-watch]");
  const countdowns = document.querySelectorAll("[data-left-ms]");
  const clock = document.querySelector("[data-now-ms]");
  const frozen = document.querySelector("[data-testid=clock-frozen]");
  const handset = document.querySelector("[data-handset]");
  const ADDIS_ABABA_MS = 3 * 3600 * 1000;
  const offline = document.querySelector("[data-testid=offline]");
  let leavesUntil = 0;
  let ticking;

  // A form that is on its way must not be overtaken by the news of what it did. Whoever stops it
  // stays here, so that it is not for ever.
  const leave = () => (leavesUntil = performance.now() + LEAVES_WITHIN_MS);
  const isLeaving = () => performance.now() < leavesUntil;
  const pause = (forMs) => new Promise((resolve) => setTimeout(resolve, forMs));

  function set(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  // As `minutes` on the server: begun seconds count.
  function write(countdown, leftMs) {
    const seconds = Math.ceil(Math.max(0, leftMs) / 1000);
    set(countdown, `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`);
  }

  // The times that the page shows, from those of a response, at a rate.
  function run(present) {
    clearInterval(ticking);
    const begunAt = performance.now();
    const tick = () => {
      const passedMs = (performance.now() - begunAt) * present.rate;
      for (const countdown of countdowns) {
        const leftMs = present[countdown.dataset.left];
        if (leftMs !== null) write(countdown, leftMs - passedMs);
      }
      if (clock) {
        const now = new Date(present.now_ms + passedMs + ADDIS_ABABA_MS);
        set(clock, now.toISOString().slice(11, 16));
      }
    };
    tick();
    if (frozen) frozen.hidden = Boolean(present.rate);
    if (present.rate) ticking = setInterval(tick, TICK_MS);
  }

  // What there is to show, or null where this page is no longer the one that shows it.
  async function look(seen) {
    const signal = AbortSignal.timeout(LONGEST_ANSWER_MS);
    // Not by way of the browser's cache, where two tabs that ask the same wait for each other.
    const answer = await fetch(`${page.dataset.watch}?seen=${seen}`, { signal, cache: "no-store" });
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const present = await answer.json();
    return present.status === page.dataset.status ? present : null;
  }

  async function watch() {
    for (let seen = page.dataset.moment; ; ) {
      while (isLeaving()) await pause(RETRY_MS);
      try {
        const present = await look(seen);
        if (present === null) {
          if (isLeaving()) continue;
          return location.replace(page.dataset.here);
        }
        seen = present.moment;
        offline.hidden = true;
        run(present);
        if (present.again_ms) await pause(present.again_ms);
      } catch {
        offline.hidden = isLeaving();
        // The next answer is not to wait for news: it shows that the way is open again.
        seen = "";
        await pause(RETRY_MS);
      }
    }
  }

  addEventListener("submit", leave);
  addEventListener("beforeunload", leave);
  // A page that the back button brings out of the browser's memory may be long out of date.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  handset?.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    document.getElementById(`key-${event.key}`)?.click();
  });
  const shown = { left_ms: null, open_ms: null, now_ms: Number(clock?.dataset.nowMs) };
  for (const { dataset } of countdowns) shown[dataset.left] = Number(dataset.leftMs);
  const rated = clock ?? countdowns[0];
  if (rated) run({ ...shown, rate: Number(rated.dataset.rate) });
  watch();
})();
