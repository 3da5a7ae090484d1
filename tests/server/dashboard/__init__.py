"""Tests of the dashboard's pages, without a browser; `browser` has those with one."""

import re
from html import unescape

import httpx

from tests.world import World

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
VIEW = "/_emulator/view"


async def get(emulator: World, path: str) -> httpx.Response:
    """A page, as a browser requests it."""
    return await emulator.api.get(f"{VIEW}/{path}", headers=BROWSER)


async def page(emulator: World, path: str) -> str:
    """The HTML of a page that exists."""
    response = await get(emulator, path)
    assert response.status_code == 200, response.text
    return response.text


def texts(html: str, testid: str) -> list[str]:
    """The text of each element with a test id, without markup and doubled blanks."""
    found = re.findall(rf'<(\w+)[^>]* data-testid="{testid}"[^>]*>(.*?)</\1>', html, re.DOTALL)
    return [
        " ".join(
            unescape(re.sub(r"<[^>]+>", "", inner.replace("<br>", " ")))
            .replace("\u00a0", " ")
            .split()
        )
        for _, inner in found
    ]


async def shown(emulator: World, path: str, status: int = 200) -> str:
    """The text of a page, without tags and with single blanks."""
    response = await get(emulator, path)
    assert response.status_code == status, response.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", response.text)).split())


def count(page: str, testid: str) -> int:
    return page.count(f'data-testid="{testid}"')
