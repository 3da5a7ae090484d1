"""One crawl of all pages: each link works, no text is missing, no text of a merchant is markup."""

import re
from html import unescape
from urllib.parse import urljoin

from tests.server.dashboard import BROWSER, VIEW, get
from tests.server.openapi.rich_world import rich_world
from tests.world import headers, order

HOSTILE = "</pre></bdi><script>alert(1)</script>\u202e\u0007" + "x" * 400
# What a template writes for a value that it lacks, or for one that it does not write as text.
_MISSING = re.compile(r"\{\{ |\{%|\b[uU]ndefined\b|>\s*None\s*<|<object at 0x|Status\.")
_LINK = re.compile(r'<a\b[^>]*\bhref="([^"#]+)')
# A page of the first account's test mode has the same address without both.
_OF_FIRST = re.compile(r"\?account=acct_demo&mode=test$")
MIN_PAGES = 60


async def test_each_page_is_complete_and_safe_and_each_of_its_links_works() -> None:
    async with rich_world() as rich:
        emulator = rich.emulator
        await emulator.create(metadata={"order": HOSTILE, HOSTILE[:40]: "1"})
        address = HOSTILE.replace("\u0007", "")
        await emulator.api.get(f"/v1/{address}?{address}=1", headers=headers())
        await emulator.api.post("/v1/payments", json=order(amount=HOSTILE), headers=headers())
        await emulator.control("PUT", "/scenarios/own", {"description": HOSTILE})
        await emulator.control("POST", "/accounts", {"name": "<script>shop"})
        queue = [f"{VIEW}/payments", f"{VIEW}/search?q=%3Cscript%3E"]
        seen = set(queue)
        hostile_pages = 0
        while queue:
            path = queue.pop()
            response = await emulator.api.get(path, headers=BROWSER, follow_redirects=True)
            assert response.status_code == 200, path
            if not response.headers["content-type"].startswith("text/html"):
                continue
            text = response.text
            assert not _MISSING.search(text), (path, _MISSING.search(text))
            assert not re.search("<script>(alert|shop)", text), path
            # Bodies as received, and commands to copy, have the characters that were sent.
            if not re.search(r"/(webhooks|requests)/", path):
                assert not set("\u202e\u0007") & set(text), path
            hostile_pages += "&lt;script&gt;alert" in text
            links = {
                _OF_FIRST.sub("", urljoin(path, unescape(link))) for link in _LINK.findall(text)
            }
            new = {link for link in links if link.startswith("/_emulator")} - seen
            seen |= new
            queue += new
        assert hostile_pages > 5
        assert len(seen) >= MIN_PAGES
        for path in (
            "payments/pay_1",
            "none/%3Cscript%3Ealert(1)",
            "webhooks/%3Cscript%3Ealert(1)",
        ):
            response = await get(emulator, path)
            assert (response.status_code, "<script>alert" in response.text) == (404, False)
