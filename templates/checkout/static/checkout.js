// Keeps an open page in step with its payment: counts down, and moves on when something changes.
// Without scripts the pages refresh themselves.
"use strict";

(() => {
  const RETRY_MS = 1000;
  const TICK_MS = 200;
  const page = document.querySelector("main[data-watch]");
  const countdown = document.querySelector("[data-left-ms]");
  const offline = document.querySelector("[data-testid=offline]");
  let isLeaving = false;
  let ticking;

  function moveOn() {
    // A form that is on its way must not be overtaken by the news of what it did.
    if (!isLeaving) location.replace(page.dataset.here);
  }

  // As `minutes` on the server: begun seconds count.
  function write(leftMs) {
    const seconds = Math.ceil(Math.max(0, leftMs) / 1000);
    const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    if (countdown.textContent !== text) countdown.textContent = text;
  }

  function countDown(leftMs, isFlowing) {
    clearInterval(ticking);
    if (!countdown || leftMs === null) return;
    const until = performance.now() + leftMs;
    write(leftMs);
    if (isFlowing) ticking = setInterval(() => write(until - performance.now()), TICK_MS);
  }

  async function watch() {
    for (let seen = page.dataset.moment; !isLeaving; ) {
      try {
        const answer = await fetch(`${page.dataset.watch}?seen=${seen}`);
        if (answer.status === 404) return moveOn();
        if (!answer.ok) throw new Error(`status ${answer.status}`);
        const present = await answer.json();
        if (present.status !== page.dataset.status) return moveOn();
        seen = present.moment;
        offline.hidden = true;
        countDown(present.left_ms, present.is_flowing);
      } catch {
        offline.hidden = isLeaving;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  addEventListener("beforeunload", () => (isLeaving = true));
  // A page that the back button brings out of the browser's memory may be long out of date.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  if (countdown) countDown(Number(countdown.dataset.leftMs), "isFlowing" in countdown.dataset);
  watch();
})();
