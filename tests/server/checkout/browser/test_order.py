"""The name of a merchant, which has one line where it fits."""

import pytest
from playwright.async_api import expect

from tests.server.checkout.browser.tabs import DESKTOP, LANGUAGES, PHONE, Device, Windows
from tests.server.checkout.browsing import Emulator

NAMES = (
    *("Abeba Coffee", "አበባ ቡና", "Addis Ababa Books", "ሸገር መጻሕፍት መደብር"),
    *("Addis Books & Coffee Trading PLC of Bole Road", "W" * 100),
)
# How many lines the name has, whether it would fit on one, whether its first character is on the
# line of what is written with it, and what is too wide.
_NAME = """() => {
  const payee = document.querySelector(".payee"), name = payee.querySelector(".name");
  const lines = new Set([...name.querySelector("b").getClientRects()].map(({ top }) => top)).size;
  const bold = name.querySelector("b").cloneNode(true);
  Object.assign(bold.style, { position: "absolute", whiteSpace: "nowrap" });
  payee.append(bold);
  const fits = bold.getBoundingClientRect().width + 20 < name.parentElement.offsetWidth;
  bold.remove();
  const first = document.createRange(), tops = [];
  const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    first.setStart(text, 0);
    first.setEnd(text, 1);
    tops.push(Math.round(first.getBoundingClientRect().bottom / 10));
  }
  return { lines, fits, isTogether: new Set(tops).size === 1,
    overflow: document.documentElement.scrollWidth - innerWidth };
}"""


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("device", [PHONE, DESKTOP], ids=str)
async def test_the_name_of_a_merchant_breaks_only_where_it_must(
    windows: Windows, server: Emulator, device: Device, language: str
) -> None:
    for name in NAMES:
        merchant = await server.merchant(name)
        async with windows.tab(merchant, device.speaking(language)) as customer:
            await customer.open(await merchant.create())
            shown = await customer.page.evaluate(_NAME)
            assert shown["overflow"] <= 0, name
            assert shown["isTogether"], name
            assert shown["lines"] == 1 or not shown["fits"], (name, shown)
            await expect(customer.page.get_by_test_id("merchant")).to_contain_text(
                customer.says("pay_to", merchant=name)
            )
