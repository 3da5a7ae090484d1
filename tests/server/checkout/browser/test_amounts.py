"""An amount stands on one line and within its box, on each page, at each width, in each font."""

from dataclasses import replace

import pytest

from tests.depth import usually
from tests.server.checkout.browser.states import MAX_AMOUNT, STATES
from tests.server.checkout.browser.tabs import LANGUAGES, PHONE, OpenTab

AMOUNTS = (10_000, 10_000_000, 999_999_999, 999_999_999_999, MAX_AMOUNT)
FONTS = ("Noto Sans", "Liberation Sans", "DejaVu Sans", "DejaVu Sans Mono")
WIDTHS = (360, 768, 1280, 1920)
PAGES = ("choose", "bank", "waiting", "phone-filled", "leaving-paid", "paid")

# The amounts of a page that are broken, cut or outside of their block.
_BROKEN = """fonts => fonts.flatMap(font => {
  document.documentElement.style.setProperty("--font", `"${font}", sans-serif`);
  const screen = document.querySelector(".screen");
  if (screen) screen.style.fontFamily = `"${font}", monospace`;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), broken = [];
  let found = 0;
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const at = text.data.search(/(ETB|ብር)\\u00a0[0-9]/);
    if (at < 0) continue;
    found += 1;
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + text.data.slice(at).search(/\\.[0-9]{2}/) + 3);
    const block = range.startContainer.parentElement.closest("p, h1, dd, button, .screen");
    const [amount, around] = [range.getBoundingClientRect(), block.getBoundingClientRect()];
    const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
    const isWithin = amount.left >= around.left - 1 && amount.right <= around.right + 1;
    if (tops.size !== 1 || !isWithin || amount.right > innerWidth)
      broken.push(`${text.data} in ${block.className || block.tagName}, ${font}`);
  }
  return found ? broken : ["no amount"];
})"""


@pytest.mark.sampled
@pytest.mark.parametrize("language", usually(["en"], deep=LANGUAGES))
@pytest.mark.parametrize("name", usually(PAGES[:3], deep=PAGES))
async def test_an_amount_is_never_broken(open_tab: OpenTab, name: str, language: str) -> None:
    broken = []
    async with open_tab(PHONE.speaking(language)) as customer:
        for amount in AMOUNTS:
            state = STATES[name]
            await replace(state, order={**state.order, "amount": amount}).reach(customer)
            for width in WIDTHS:
                await customer.page.set_viewport_size({"width": width, "height": 900})
                found = await customer.page.evaluate(_BROKEN, FONTS)
                broken += [f"{each} at {width}" for each in found]
    assert broken == []
