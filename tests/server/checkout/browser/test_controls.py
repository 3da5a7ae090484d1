"""Each control of each page is large enough for a finger."""

import pytest

from tests.depth import usually
from tests.server.checkout.browser.boxes import small_controls
from tests.server.checkout.browser.states import STATES
from tests.server.checkout.browser.tabs import LANGUAGES, PHONE, OpenTab

WIDTHS = (360, 1280)


@pytest.mark.sampled
@pytest.mark.parametrize("language", usually(["en"], deep=LANGUAGES))
async def test_every_control_has_24_by_24_pixels(open_tab: OpenTab, language: str) -> None:
    small = {}
    async with open_tab(PHONE.speaking(language)) as customer:
        for name, state in STATES.items():
            await state.reach(customer)
            for width in WIDTHS:
                await customer.page.set_viewport_size({"width": width, "height": 740})
                small[name, width] = await small_controls(customer.page)
            await customer.page.unroute_all()
    assert not any(small.values()), small
