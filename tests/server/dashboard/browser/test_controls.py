"""What a person presses: each control is large enough, and a message is above everything."""

import pytest

from emulator.server.dashboard.app import SECTIONS
from tests.server.checkout.browser.tabs import DESKTOP, PHONE, Device
from tests.server.dashboard.browser.tabs import TABLET, OpenTab

DEVICES = [PHONE, TABLET, DESKTOP]
_UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"
# The points of the message at which something else is on top.
_COVERED = """() => {
  const message = document.querySelector("[data-message]");
  const { left, top, width, height } = message.getBoundingClientRect();
  const parts = [.02, .1, .2, .3, .4, .5, .6, .7, .8, .9, .98];
  const points = parts.flatMap((part) =>
    [.2, .5, .8].map((share) => [left + part * width, top + share * height]));
  return points.map((point) => document.elementFromPoint(...point))
    .filter((element) => element !== message).map((element) => element?.outerHTML.slice(0, 100));
}"""


@pytest.mark.parametrize("device", DEVICES, ids=str)
async def test_the_sentence_after_an_action_is_above_everything(
    open_tab: OpenTab, device: Device
) -> None:
    async with open_tab(device) as tab, tab.endpoint():
        payment = await tab.merchant.create()
        await tab.merchant.pay(payment, "telebirr", phone="0911223344")
        await tab.merchant.advance(0)
        await tab.merchant.answer(payment, "approve")
        await tab.merchant.transition(payment, "refunded")
        for path in (f"payments/{payment['id']}", *SECTIONS):
            await tab.open(path)
            await tab.page.evaluate(_UNFOLD)
            await tab.page.get_by_test_id("menu").evaluate("each => each.parentElement.open = true")
            await tab.click(
                "freeze" if await tab.page.get_by_test_id("freeze").count() else "unfreeze"
            )
            await tab.sees("message", "clock")
            # Whatever is below it while the page is scrolled.
            for share in (0, 0.25, 0.5, 0.75, 1):
                await tab.page.evaluate(
                    "share => scrollTo(0, share * document.body.scrollHeight)", share
                )
                assert await tab.page.evaluate(_COVERED) == [], (path, share)


async def test_an_underline_leaves_underscores_visible(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        await tab.merchant.create(metadata={"order": "under_scores_1"})
        checkout = (await tab.merchant.create())["checkout_url"]
        await tab.open("payments/latest")
        for url in (tab.page.url, checkout):
            await tab.page.goto(url)
            for link in await tab.page.locator("a").all():
                offset = "each => parseFloat(getComputedStyle(each).textUnderlineOffset) / "
                offset += "parseFloat(getComputedStyle(each).fontSize)"
                assert await link.evaluate(offset) >= 0.2


async def test_live_mode_has_a_colour_of_its_own(open_tab: OpenTab) -> None:
    colour = "each => getComputedStyle(each).backgroundColor"
    async with open_tab() as tab:
        shown = {}
        for mode in ("test", "live"):
            await tab.open(f"payments?mode={mode}")
            header = tab.page.locator("header .banner")
            merchant = tab.merchant if mode == "test" else tab.merchant.in_live_mode()
            shown[mode] = {await header.evaluate(colour)}
            await tab.page.goto((await merchant.create())["checkout_url"])
            shown[mode].add(await tab.page.locator("header").evaluate(colour))
        assert len(shown["test"]) == len(shown["live"]) == 1
        assert shown["test"] != shown["live"]
