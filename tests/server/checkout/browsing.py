"""Starts an emulator, a merchant's shop and Chromium for tests in a browser."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, async_playwright

from emulator.domain.payment import is_change
from tests.cli.processes import HANGS_AFTER_S, serving
from tests.world import LIVE_KEY, START, TEST_KEY, headers, order

# All tests in a browser together.
MAX_RUN_S = 1_800
REPOSITORY = Path(__file__).resolve().parents[3]
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

_CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # One process draws all pages of a window: to start one for each costs a fifth of the time.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
]


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A merchant's site: each page shows its own address."""

    base: str

    @property
    def success_url(self) -> str:
        return f"{self.base}/ok?order=1&name=%C3%A9&amp;x=;+%22#thanks"

    @property
    def cancel_url(self) -> str:
        return f"{self.base}/no?back=%2F%3Fa%3D1&&x"

    @property
    def nowhere_url(self) -> str:
        """An address without content: a browser stays on the page before it."""
        return f"{self.base}/nowhere"


@dataclass(frozen=True, kw_only=True)
class Merchant:
    """An account of the emulator, with the calls that tests make."""

    api: httpx.AsyncClient
    shop: Shop
    checkout: str
    account: str = "acct_demo"
    key: str = TEST_KEY
    live_key: str = LIVE_KEY

    def in_live_mode(self) -> "Merchant":
        return replace(self, key=self.live_key)

    async def create(self, **changes: Any) -> dict[str, Any]:
        urls = {"success_url": self.shop.success_url, "cancel_url": self.shop.cancel_url}
        return await self._send("POST", "/v1/payments", order(**{**urls, **changes}))

    async def pay(self, payment: dict[str, Any], method: str, **target: str) -> None:
        """Submit a payment: `phone=` or `bank=` is the target."""
        await self._send("POST", _path(payment, "pay"), {"method": method, **target})

    async def answer(self, payment: dict[str, Any], answer: str) -> None:
        """Answer on the phone, or at the bank."""
        await self._send("POST", _path(payment, "answer"), {"answer": answer})

    async def transition(self, payment: dict[str, Any], *statuses: str) -> None:
        for status in statuses:
            await self._send("POST", _path(payment, "transition"), {"status": status})

    async def advance(self, seconds: float) -> None:
        await self._send("POST", "/_emulator/clock/advance", {"seconds": seconds})

    async def scenario(self, name: str, rules: dict[str, Any]) -> None:
        body = {"version": 1, "name": name, **rules}
        await self._send("PUT", f"/_emulator/scenarios/{name}", body)

    async def set_clock(self, *, frozen: bool) -> None:
        await self._send("PUT", "/_emulator/clock", {"frozen": frozen})

    async def timeline(self, payment: dict[str, Any]) -> list[str]:
        """The statuses of the payment, in order, and `pending` for each failed attempt to pay."""
        response = await self.api.get(_path(payment), headers=headers(self.key))
        changes = [each for each in response.json()["timeline"] if is_change(each["type"])]
        return [change["status"] for change in changes]

    async def status(self, payment: dict[str, Any]) -> str:
        return (await self.timeline(payment))[-1]

    async def _send(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self.api.request(method, path, json=body, headers=headers(self.key))
        assert response.is_success, response.text
        return dict(response.json())


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """The emulator as its own process, and a client of its API."""

    api: httpx.AsyncClient
    shop: Shop
    checkout: str

    @property
    def demo(self) -> Merchant:
        """The first account; its clock flows."""
        return Merchant(api=self.api, shop=self.shop, checkout=self.checkout)

    async def merchant(self, name: str, *, clock: str = f"frozen@{START}") -> Merchant:
        """A new account, whose clock is frozen unless the argument says otherwise."""
        response = await self.api.post("/_emulator/accounts", json={"name": name, "clock": clock})
        assert response.status_code == 201, response.text
        account = response.json()
        keys = {"key": account["test_key"], "live_key": account["live_key"]}
        return replace(self.demo, account=account["id"], **keys)


def _path(payment: dict[str, Any], *verb: str) -> str:
    return "/".join(["/_emulator/payments", payment["id"], *verb])


@asynccontextmanager
async def running_shop() -> AsyncIterator[Shop]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        if path == b"/nowhere":
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        else:
            body = b"<!doctype html><title>Shop</title><link rel=icon href=data:,><h1>%s</h1>"
            body %= path.replace(b"&", b"&amp;")
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(body), body)
            )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield Shop(base=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


@asynccontextmanager
async def running_emulator(shop: Shop, logs: Path, *options: str) -> AsyncIterator[Emulator]:
    """An emulator on free ports, unless the options name others."""
    options = ("--allow-http-localhost", *options)
    with serving(*options, logs=logs, hangs_after_s=MAX_RUN_S) as server:
        base_url = server.url
        async with httpx.AsyncClient(base_url=base_url, timeout=HANGS_AFTER_S) as api:
            yield Emulator(api=api, shop=shop, checkout=f"http://127.0.0.1:{server.checkout_port}")


@asynccontextmanager
async def running_chromium() -> AsyncIterator[Browser]:
    assert CHROMIUM is not None, "chromium is missing"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=_CHROMIUM_ARGUMENTS
        )
        try:
            yield browser
        finally:
            await browser.close()
