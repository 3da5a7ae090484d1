"""The boxes of controls: WCAG 2.2, 2.5.8 wants 24 pixels of width and height."""

from playwright.async_api import Page

_SMALL = """() => {
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  return [...document.querySelectorAll(controls)]
    .filter((each) => each.checkVisibility() && !each.matches(".skip"))
    .flatMap((each) => {
      const boxes = [...each.getClientRects()].filter(({ width, height }) => width && height);
      const width = Math.max(...boxes.map((box) => box.width));
      const height = Math.max(...boxes.map((box) => box.height));
      if (!boxes.length || (width >= 23.99 && height >= 23.99)) return [];
      return [`${Math.round(width)} x ${Math.round(height)}: ${each.outerHTML.slice(0, 160)}`];
    });
}"""


async def small_controls(page: Page) -> list[str]:
    """The controls that are smaller, with their sizes."""
    found: list[str] = await page.evaluate(_SMALL)
    return found
