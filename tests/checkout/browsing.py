"""Real processes for the browser's tests: the emulator, a merchant's shop, and Chromium."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, async_playwright

from tests.world import LIVE_KEY, START, TEST_KEY, headers, order

REPOSITORY = Path(__file__).resolve().parents[2]
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
_ANSWERS_WITHIN_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A merchant's site: it answers every address with that address, but for the one to stay at."""

    base: str

    @property
    def success_url(self) -> str:
        return f"{self.base}/ok?order=1&name=%C3%A9&amp;x=;+%22#thanks"

    @property
    def cancel_url(self) -> str:
        return f"{self.base}/no?back=%2F%3Fa%3D1&&x"

    @property
    def nowhere_url(self) -> str:
        """An address that leads nowhere: a browser on its way there stays where it is."""
        return f"{self.base}/nowhere"


@dataclass(frozen=True, kw_only=True)
class Merchant:
    """An account of the emulator, and what a test does with it through the APIs."""

    api: httpx.AsyncClient
    shop: Shop
    checkout: str
    key: str = TEST_KEY
    live_key: str = LIVE_KEY

    def in_live_mode(self) -> "Merchant":
        return replace(self, key=self.live_key)

    async def create(self, **changes: Any) -> dict[str, Any]:
        urls = {"success_url": self.shop.success_url, "cancel_url": self.shop.cancel_url}
        return await self._post("/v1/payments", order(**{**urls, **changes}))

    async def pay(self, payment: dict[str, Any], method: str, **target: str) -> None:
        """What the customer does on another page: `phone=` or `bank=` is the target."""
        await self._post(_path(payment, "pay"), {"method": method, **target})

    async def answer(self, payment: dict[str, Any], answer: str) -> None:
        """What the customer does on the phone, or at the bank."""
        await self._post(_path(payment, "answer"), {"answer": answer})

    async def transition(self, payment: dict[str, Any], *statuses: str) -> None:
        for status in statuses:
            await self._post(_path(payment, "transition"), {"status": status})

    async def advance(self, seconds: float) -> None:
        await self._post("/_emulator/clock/advance", {"seconds": seconds})

    async def set_clock(self, *, frozen: bool) -> None:
        response = await self.api.put(
            "/_emulator/clock", json={"frozen": frozen}, headers=headers(self.key)
        )
        assert response.is_success, response.text

    async def timeline(self, payment: dict[str, Any]) -> list[str]:
        response = await self.api.get(_path(payment), headers=headers(self.key))
        return [entry["status"] for entry in response.json()["timeline"]]

    async def status(self, payment: dict[str, Any]) -> str:
        return (await self.timeline(payment))[-1]

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await self.api.post(path, json=body, headers=headers(self.key))
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
        """The account that is there at start; its clock flows."""
        return Merchant(api=self.api, shop=self.shop, checkout=self.checkout)

    async def merchant(self, name: str, *, clock: str = f"frozen@{START}") -> Merchant:
        """An account of its own, whose time stands still unless it is asked to flow."""
        response = await self.api.post("/_emulator/accounts", json={"name": name, "clock": clock})
        assert response.status_code == 201, response.text
        account = response.json()
        return replace(self.demo, key=account["test_key"], live_key=account["live_key"])


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
async def running_emulator(
    shop: Shop, log: Path, *options: str, ports: tuple[int, ...] = ()
) -> AsyncIterator[Emulator]:
    """An emulator on free ports, unless two are given: the API's and the checkout's."""
    port, checkout_port = ports or free_ports(2)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("EMULATOR_")}
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "emulator", "serve", "--allow-http-localhost"),
            *("--port", str(port), "--checkout-port", str(checkout_port), *options),
            cwd=REPOSITORY,
            env=inherited,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        # A refused connection is tried again; an accepted one is answered when all is ready.
        transport = httpx.AsyncHTTPTransport(retries=8)
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(
            transport=transport, base_url=base, timeout=_ANSWERS_WITHIN_S
        ) as api:
            health = await api.get("/_emulator/health")
            assert health.status_code == 200, f"see {log}"
            yield Emulator(api=api, shop=shop, checkout=f"http://127.0.0.1:{checkout_port}")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def free_ports(count: int) -> tuple[int, ...]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = tuple(int(one.getsockname()[1]) for one in held)
    for one in held:
        one.close()
    return ports


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
