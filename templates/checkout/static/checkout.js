// Keeps an open page in step with its payment: counts down, and moves on when something changes.
// Without scripts the pages refresh themselves.
"use strict";

(() => {
  const LONGEST_ANSWER_MS = 15000;
  const LEAVES_WITHIN_MS = 5000;
  const RETRY_MS = 1000;
  const TICK_MS = 200;
  const page = document.querySelector("main[data-watch]");
  const countdown = document.querySelector("[data-left-ms]");
  const offline = document.querySelector("[data-testid=offline]");
  let leavesUntil = 0;
  let ticking;

  // A form that is on its way must not be overtaken by the news of what it did. Whoever stops it
  // stays here, so that it is not for ever.
  const leave = () => (leavesUntil = performance.now() + LEAVES_WITHIN_MS);
  const isLeaving = () => performance.now() < leavesUntil;
  const pause = (forMs) => new Promise((resolve) => setTimeout(resolve, forMs));

  // As `minutes` on the server: begun seconds count.
  function write(leftMs) {
    const seconds = Math.ceil(Math.max(0, leftMs) / 1000);
    const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (countdown.textContent !== text) countdown.textContent = text;
  }

  function countDown(leftMs, rate) {
    clearInterval(ticking);
    if (!countdown || leftMs === null) return;
    const begunAt = performance.now();
    write(leftMs);
    if (!rate) return;
    ticking = setInterval(() => write(leftMs - (performance.now() - begunAt) * rate), TICK_MS);
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
        countDown(present.left_ms, present.rate);
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
  if (countdown) countDown(Number(countdown.dataset.leftMs), Number(countdown.dataset.rate));
  watch();
})();
