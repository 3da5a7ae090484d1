"""`python -m tests.docs.pictures` makes the pictures of `docs/images` from the present pages.

It needs Chromium. `pictures.json` has a digest of what each picture shows, and of its file.
"""

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import httpx
from playwright.async_api import Browser

from emulator import __version__
from tests.cli.processes import run
from tests.docs.document import REPOSITORY
from tests.server.checkout.browsing import (
    Emulator,
    running_chromium,
    running_emulator,
    running_shop,
)
from tests.server.webhooks.receiver import Reply, receiving, replies
from tests.world import TEST_KEY, headers

IMAGES = REPOSITORY / "docs/images"
DIGESTS = IMAGES / "pictures.json"
SCENARIO = REPOSITORY / "scenarios/late-success.yaml"
KEY, OTHER_KEY = "test_abeba_coffee", "test_abeba_checkout"
ON_PHONE: dict[str, object] = {"method": "telebirr", "phone": "+251911223344"}
# Around a part of a page.
_MARGIN_PX = 8
# What differs between two runs of one version, or between two versions of one page.
CHANGING = (
    (re.escape(__version__), "VERSION"),
    (r"(127\.0\.0\.1|localhost)(:|%3A)\d+", "HOST"),
    (r"\d+(\.\d+)? ms\b", "DURATION"),
    (r"(?s)<script\b.*?</script>", ""),
    (r' data-revision="[^"]*"', ""),
    (r'<input\b[^>]*type="?hidden"?[^>]*>', ""),
    (r"\b[A-Za-z0-9_-]{40,}\b", "TOKEN"),
)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A page in a window; with a CSS selector `part`, only that part of it."""

    url: str
    width: int
    height: int
    scale: float = 1.5
    part: str | None = None

    def html(self) -> str:
        """The page; the names of its style sheets change with their content."""
        if self.part is None:
            return httpx.get(self.url, headers={"Accept": "text/html"}).text
        html = Path(self.url.removeprefix("file://")).read_text(encoding="utf-8")
        parts = re.findall(r"(?s)<style\b.*?</style>|<div class=\"sequence\".*?</ol>", html)
        assert len(parts) >= 2, "the report has a style and a diagram"
        return "".join(parts)

    async def digest(self) -> str:
        html = await asyncio.to_thread(self.html)
        for pattern, replacement in CHANGING:
            html = re.sub(pattern, replacement, html)
        return sha256(html.encode()).hexdigest()

    async def take(self, browser: Browser) -> bytes:
        context = await browser.new_context(
            viewport={"width": self.width, "height": self.height},
            device_scale_factor=self.scale,
            reduced_motion="reduce",
        )
        page = await context.new_page()
        await page.goto(self.url)
        await page.evaluate("document.fonts.ready")
        box = None
        if self.part is not None and (part := await page.locator(self.part).first.bounding_box()):
            box = {name: part[name] - _MARGIN_PX for name in ("x", "y")}
            box |= {name: part[name] + 2 * _MARGIN_PX for name in ("width", "height")}
        picture = await page.screenshot(animations="disabled", full_page=bool(box), clip=box)
        await context.close()
        return picture


@asynccontextmanager
async def pictures() -> AsyncIterator[dict[str, Picture]]:
    """The pictures by the names of their files, while the servers of their pages run."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.html"
        ended = run("replay", str(SCENARIO), "--report", str(report))
        assert ended.returncode == 0, ended.stderr
        options = ("--seed", "1", "--clock", "frozen@2026-01-01T09:01:02Z")
        async with (
            running_shop() as shop,
            running_emulator(shop, Path(directory), *options) as emulator,
            receiving(replies(Reply(status=500), Reply())) as receiver,
        ):
            account, payment, checkout = await _history(emulator, receiver.url)
            view = f"{emulator.api.base_url}/_emulator/view/payments/{payment}?account={account}"
            yield {
                "checkout.png": Picture(url=checkout, width=1280, height=800),
                "dashboard.png": Picture(url=view, width=1180, height=860, scale=1),
                "timeline.png": Picture(
                    url=report.as_uri(), width=1080, height=800, part=".sequence"
                ),
            }


async def _history(emulator: Emulator, receiver_url: str) -> tuple[str, str, str]:
    """An account, its payment with a history, and the checkout page of another account."""

    async def call(path: str, body: dict[str, object], key: str = KEY) -> dict[str, str]:
        response = await emulator.api.post(path, json=body, headers=headers(key))
        assert response.is_success, response.text
        return dict(response.json())

    async def pass_time(seconds: int) -> None:
        await call("/_emulator/clock/advance", {"seconds": seconds})

    order = {
        "currency": "ETB",
        "methods": ["telebirr", "mpesa", "bank_transfer"],
        "success_url": "https://shop.example/thanks",
        "cancel_url": "https://shop.example/cart",
    }
    accounts = [
        await call("/_emulator/accounts", {"name": "Abeba Coffee", "test_key": key}, TEST_KEY)
        for key in (KEY, OTHER_KEY)
    ]
    await call("/_emulator/webhook_endpoints", {"url": receiver_url})
    metadata = {"order": "A-1042"}
    paid = await call("/v1/payments", {**order, "amount": 15_000, "metadata": metadata})
    await pass_time(40)
    await call(f"/_emulator/payments/{paid['id']}/pay", ON_PHONE)
    await pass_time(12)
    await call(f"/_emulator/payments/{paid['id']}/answer", {"answer": "approve"})
    await pass_time(10)
    waiting = await call("/v1/payments", {**order, "amount": 123_450}, OTHER_KEY)
    await call(f"/_emulator/payments/{waiting['id']}/pay", ON_PHONE, OTHER_KEY)
    return accounts[0]["id"], paid["id"], waiting["checkout_url"]


def file_digest(name: str) -> str:
    return sha256((IMAGES / name).read_bytes()).hexdigest()


async def _write() -> None:
    digests = {}
    async with pictures() as shown, running_chromium() as browser:
        for name, picture in shown.items():
            (IMAGES / name).write_bytes(await picture.take(browser))
            digests[name] = {"shows": await picture.digest(), "file": file_digest(name)}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_write())
