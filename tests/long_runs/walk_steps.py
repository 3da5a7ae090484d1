"""Draws, clicks and reads what a page shows."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - drawn from a seed
from typing import Any

from playwright.async_api import ElementHandle, Error, Page, Request, expect

from tests.server.checkout.browser.tabs import Record
from tests.server.checkout.browser_fixtures import MAX_WAIT_MS

# What can be clicked or filled in; a dialog or a menu that is open covers the rest.
CONTROLS = "a[href], button, summary, select, input:not([type=hidden]), textarea"
# Each visible control: its position among all, and whether a click on it loads a document.
_VISIBLE = """controls => {
  window.walked = controls;
  const scope = ["dialog[open]", "#menu[open]", "html"].map((each) => document.querySelector(each))
    .find((each) => each !== null);
  const here = location.href.split("#")[0];
  const loads = (each) => {
    if (each.matches("a")) {
      const isTarget = each.hash && each.href.split("#")[0] === here;
      return !isTarget && !each.matches("[download], [data-window], [data-search]");
    }
    const { form } = each;
    return each.matches("button") && form !== null && each.type === "submit" && !form.dataset.call
      && form.method !== "dialog" && form.checkValidity() && !each.closest("#search");
  };
  return controls.map((each, index) => [each, index])
    .filter(([each]) => scope.contains(each) && !each.disabled && !each.matches(".skip")
      && each.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }))
    .map(([each, index]) => ({ index, tag: each.localName, type: each.type ?? "",
      href: each.href ?? "", loads: loads(each), calls: each.dataset.call ?? "",
      formCalls: each.form?.dataset.call ?? "", inForm: Boolean(each.form),
      submits: Boolean(each.form?.matches("[data-submit-on-change]")),
      name: each.dataset.testid ?? each.name ?? "", text: each.textContent.trim().slice(0, 40) }));
}"""
# The visible texts outside of code, each with its language, and what is wider than the window.
_SHOWN = """() => {
  const texts = [], words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const parent = node.parentElement, text = node.data.trim().replace(/\\s+/g, " ");
    const isShown = text && !parent.closest("pre, code, script, noscript, textarea, .clauses")
      && parent.checkVisibility({ visibilityProperty: true });
    if (isShown) texts.push([parent.closest("[lang]")?.lang ?? "", text]);
  }
  const root = document.documentElement;
  const wide = root.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth)
    .map((each) => each.outerHTML.slice(0, 120));
  return { texts, wide, language: root.lang };
}"""
# What a program writes where a value is missing, or where a text was not filled in.
_UNFILLED = re.compile(r"\b(undefined|NaN)\b|\[object |\{\w*\}|\{\{|%\(|^(None|null)$")
_GONE = ("context was destroyed", "navigat", "ERR_ABORTED", "Not attached to an active page")


@dataclass(kw_only=True)
class Steps:
    """The record of walks: what was done, to count and to repeat it."""

    draw: Random
    trail: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def note(self, what: str) -> None:
        self.trail.append(what)

    def follow(self, page: Page) -> None:
        """Records the requests that fail; a page that is left ends its own."""

        def on_failure(request: Request) -> None:
            if request.failure != "net::ERR_ABORTED":
                self.failures.append(f"{request.method} {request.url}: {request.failure}")

        page.on("requestfailed", on_failure)

    def has_no_errors(self, record: Record) -> None:
        errors = [*record.unexpected(), *self.failures]
        assert not errors, errors

    async def control(self, page: Page) -> dict[str, Any] | None:
        """A visible control of the page, drawn."""
        controls = await page.locator(CONTROLS).evaluate_all(_VISIBLE)
        return dict(self.draw.choice(controls)) if controls else None

    async def click(self, page: Page, control: dict[str, Any]) -> None:
        """Clicks once or twice, and waits for the document that the click loads."""
        is_double = self.draw.random() < 0.15
        self.note(f"{'double ' * is_double}click {control['name'] or control['text']}")
        self.counts["double clicks" if is_double else "clicks"] += 1
        await page.evaluate("document.documentElement.dataset.walked = ''")
        element = await drawn(page, control)
        try:
            await element.click(click_count=1 + is_double, no_wait_after=True)
        except Error as error:
            # An update has removed it, such as one after a webhook that was not answered.
            if "not attached" not in error.message:
                raise
            return
        if control["loads"]:
            await has_loaded(page)

    async def history(self, page: Page) -> None:
        """Goes back or forward, or loads the page again."""
        step = self.draw.choice((page.go_back, page.go_back, page.go_forward, page.reload))
        self.note(step.__name__)
        self.counts[step.__name__.replace("_", " ")] += 1
        await _go(step)
        while page.url == "about:blank":
            await page.wait_for_load_state()
            await _go(page.go_forward)


async def _go(step: Callable[..., Awaitable[object]]) -> None:
    """One step in the history; the page that it comes to may leave for another one."""
    try:
        await step(wait_until="commit")
    except Error as error:
        if not any(part in error.message for part in _GONE):
            raise


async def drawn(page: Page, control: dict[str, Any]) -> ElementHandle:
    """The element of a control, wherever an update has moved it."""
    handle = await page.evaluate_handle("index => window.walked[index]", control["index"])
    element = handle.as_element()
    assert element is not None
    return element


async def has_loaded(page: Page) -> None:
    """Waits until another document is there than the one before a click."""
    await expect(page.locator("html:not([data-walked])")).to_have_count(1, timeout=MAX_WAIT_MS)
    await page.wait_for_load_state("domcontentloaded")


async def read(page: Page, script: str) -> Any:
    """The value of a script on the page, or on the one that replaces it meanwhile."""
    for _ in range(10):
        await page.wait_for_load_state()
        try:
            return await page.evaluate(script)
        except Error as error:
            if not any(part in error.message for part in _GONE):
                raise
    raise AssertionError("the page loads again and again")


async def shown(page: Page) -> dict[str, Any]:
    """The texts of a page; nothing is wider than the window, and no value is missing."""
    found = dict(await read(page, _SHOWN))
    assert not found["wide"], ("wider than the window", found["wide"])
    unfilled = [text for _, text in found["texts"] if _UNFILLED.search(text)]
    assert not unfilled, ("a value is missing", unfilled)
    return found
