"""Reads whole pages of the dashboard."""

import re
from html import unescape

from tests.server.dashboard import get
from tests.world import World


async def shown(emulator: World, path: str, status: int = 200) -> str:
    """The text of a page, without tags and with single blanks."""
    response = await get(emulator, path)
    assert response.status_code == status, response.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", response.text)).split())


def count(page: str, testid: str) -> int:
    return page.count(f'data-testid="{testid}"')
