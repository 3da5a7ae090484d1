"""Real processes for the browser's tests: the emulator, a merchant's shop, and Chromium."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.world import headers, order

REPOSITORY = Path(__file__).resolve().parents[2]
SCREENSHOTS = REPOSITORY / "artifacts" / "checkout"
CHROMIUM = shutil.which("chromium")
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}

_CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_READY_WITHIN_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A merchant's site: it answers every address with that address."""

    base: str

    @property
    def success_url(self) -> str:
        return f"{self.base}/ok?order=1&name=%C3%A9#thanks"

    @property
    def cancel_url(self) -> str:
        return f"{self.base}/no"


@dataclass(frozen=True, kw_only=True)
class Emulator:
    """The emulator as its own process, and a client of its API."""

    api: httpx.AsyncClient
    shop: Shop

    async def create(self, **changes: Any) -> dict[str, Any]:
        urls = {"success_url": self.shop.success_url, "cancel_url": self.shop.cancel_url}
        body = order(**{**urls, **changes})
        response = await self.api.post("/v1/payments", json=body, headers=headers())
        assert response.status_code == 201, response.text
        return dict(response.json())

    async def status(self, payment: dict[str, Any]) -> str:
        response = await self.api.get(f"/v1/payments/{payment['id']}", headers=headers())
        return str(response.json()["status"])

    async def answer(self, payment: dict[str, Any], answer: str) -> None:
        """What the customer does on the phone."""
        response = await self.api.post(
            f"/_emulator/payments/{payment['id']}/answer",
            json={"answer": answer},
            headers=headers(),
        )
        assert response.status_code == 200, response.text

    async def timeline(self, payment: dict[str, Any]) -> list[str]:
        response = await self.api.get(f"/_emulator/payments/{payment['id']}", headers=headers())
        return [entry["status"] for entry in response.json()["timeline"]]


@asynccontextmanager
async def running_shop() -> AsyncIterator[Shop]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b"<!doctype html><title>Shop</title><h1>" + head.split()[1] + b"</h1>"
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield Shop(base=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")


@asynccontextmanager
async def running_emulator(shop: Shop, log: Path) -> AsyncIterator[Emulator]:
    port, checkout_port = _free_ports(2)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("EMULATOR_")}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "emulator", "serve", "--allow-http-localhost"),
            *("--port", str(port), "--checkout-port", str(checkout_port)),
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
        async with httpx.AsyncClient(transport=transport, base_url=base) as api:
            health = await api.get("/_emulator/health", timeout=_READY_WITHIN_S)
            assert health.status_code == 200, f"see {log}"
            yield Emulator(api=api, shop=shop)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


@asynccontextmanager
async def running_chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=_CHROMIUM_ARGUMENTS
        )
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(frozen=True, kw_only=True)
class Tab:
    """A browser window without JavaScript, and what its console complained about."""

    page: Page
    console: list[str]

    async def click(self, testid: str) -> None:
        await self.page.get_by_test_id(testid).click()

    async def sees(self, testid: str, text: str) -> None:
        await expect(self.page.get_by_test_id(testid)).to_contain_text(text)

    async def leaves_for(self, url: str) -> None:
        await self.page.wait_for_url(url)
        assert self.page.url == url

    async def screenshot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@asynccontextmanager
async def tab(
    browser: Browser, *, size: dict[str, int] = PHONE, is_dark: bool = False, locale: str = "en"
) -> AsyncIterator[Tab]:
    context = await browser.new_context(
        java_script_enabled=False,
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme="dark" if is_dark else "light",
        locale=locale,
    )
    console: list[str] = []
    page = await context.new_page()
    page.on("console", lambda message: console.append(message.text))
    try:
        yield Tab(page=page, console=console)
    finally:
        await context.close()
