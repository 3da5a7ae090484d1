"""Runs axe-core on a page, with options for the checkout."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")

_OPTIONS: dict[str, Any] = {
    "runOnly": [*WCAG, "best-practice"],
    # Part of WCAG 2.2 AA, and off by default.
    "rules": {"target-size": {"enabled": True}},
    # Decorations by `::before` lie beside the text, as `text_on_decorations` proves; axe cannot.
    "checks": {"color-contrast": {"options": {"ignorePseudo": True}}},
    "resultTypes": ["violations", "incomplete"],
}
_RUN = """async (options) => {
  const results = await axe.run(options);
  return ["violations", "incomplete"].flatMap((kind) =>
    results[kind].flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${kind} ${id} ${target}: ${failureSummary}`)));
}"""

# Where a positioned `::before` is painted, and which text lies on it.
_TEXT_ON_DECORATIONS = """() => {
  const covered = [];
  for (const element of document.querySelectorAll("body *")) {
    const style = getComputedStyle(element, "::before");
    if (style.content === "none" || style.position !== "absolute") continue;
    const box = element.getBoundingClientRect();
    const left = box.left + parseFloat(style.left), top = box.top + parseFloat(style.top);
    const right = left + parseFloat(style.width), bottom = top + parseFloat(style.height);
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const at of range.getClientRects()) {
        if (at.left < right && at.right > left && at.top < bottom && at.bottom > top)
          covered.push(text.data);
      }
    }
  }
  return covered;
}"""


async def bring_axe(page: Page) -> None:
    """Load axe into a page once.

    The debugger loads it, to which the page's Content-Security-Policy does not apply.
    """
    await page.evaluate(AXE_SCRIPT)


async def axe_findings(page: Page) -> list[str]:
    """Every violation, and everything that axe could not decide."""
    return list(await page.evaluate(_RUN, _OPTIONS))


async def text_on_decorations(page: Page) -> list[str]:
    return list(await page.evaluate(_TEXT_ON_DECORATIONS))
