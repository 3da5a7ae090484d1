"""Opens pages of the dashboard in Chromium, each on an account of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx
from playwright.async_api import Browser, Page, expect

from tests.checkout.browser.axe import axe_findings, bring_axe
from tests.checkout.browser.tabs import DESKTOP, PHONE, SCHEMES, Device, Record, Scheme
from tests.checkout.browsing import Emulator
from tests.world import START, headers, order

LOOKS = [(device, scheme) for device in (PHONE, DESKTOP) for scheme in SCHEMES]
LOOK_NAMES = [f"{device.width}-{scheme}" for device, scheme in LOOKS]
HOSTILE = "</td><script>document.title='run'</script>\u202e\u0007" + "x" * 500


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A browser's page, and the account that it shows."""

    page: Page
    api: httpx.AsyncClient
    account: str
    key: str
    record: Record

    async def open(self, path: str) -> None:
        base = f"{self.api.base_url}".rstrip("/")
        path, _, fragment = path.partition("#")
        query = urlencode({"account": self.account})
        await self.page.goto(f"{base}/_emulator/view/{path}?{query}#{fragment}")

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """A call of any API with the account's key; its status may be any."""
        response = await self.api.request(method, path, json=body, headers=headers(self.key))
        return response.json() if response.content else None

    async def create(self, **changes: Any) -> dict[str, Any]:
        return dict(await self.call("POST", "/v1/payments", order(**changes)))

    async def click(self, testid: str) -> None:
        await self.page.get_by_test_id(testid).first.click()

    async def sees(self, testid: str, count: int) -> None:
        await expect(self.page.get_by_test_id(testid)).to_have_count(count)

    async def reads(self, testid: str, text: str) -> None:
        await expect(self.page.get_by_test_id(testid).first).to_contain_text(text)

    async def is_accessible_and_fits(self) -> None:
        await bring_axe(self.page)
        # Axe cannot decide about the contrast of texts on shapes of a drawing, nor about the order
        # of headings while a live part is replaced.
        undecided = ("incomplete color-contrast text", "incomplete heading-order")
        findings = [
            each for each in await axe_findings(self.page) if not each.startswith(undecided)
        ]
        assert findings == [], findings
        # A live update may be in progress.
        await self.page.wait_for_function(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )


@dataclass(frozen=True, kw_only=True)
class Screens:
    """An emulator and a browser."""

    server: Emulator
    browser: Browser

    @asynccontextmanager
    async def open(
        self, device: Device = DESKTOP, scheme: Scheme = "light", *, excused: str = "-"
    ) -> AsyncIterator[Screen]:
        """Checks at the end that no page has logged an error or called another host.

        The errors of requests to addresses with `excused` are not checked. Dialogs are accepted.
        """
        api = self.server.api
        created = await api.post("/_emulator/accounts", json={"clock": f"frozen@{START}"})
        account = created.json()
        record = Record(excused=[excused])
        context = await self.browser.new_context(
            viewport={"width": device.width, "height": device.height},
            color_scheme=scheme,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        try:
            page = await context.new_page()
            record.follow(page)
            page.on("dialog", lambda dialog: dialog.accept())
            yield Screen(
                page=page, api=api, account=account["id"], key=account["test_key"], record=record
            )
        finally:
            await context.close()
        assert record.strangers(f"{api.base_url}".rstrip("/")) == []
        assert record.unexpected() == []
