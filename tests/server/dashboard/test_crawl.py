"""All pages: each link works, texts are complete and safe, lists have pages, mistakes are clear."""

import re
from html import unescape
from urllib.parse import urljoin

import pytest

from tests.server.dashboard import BROWSER, VIEW, get, page, texts
from tests.server.engine.webhook_world import webhook_world
from tests.server.openapi.rich_world import rich_world
from tests.world import World, headers, order

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


# By address: the status, and a part of the sentence about the problem.
MISTAKES = {
    "payments?created_gte=now": (400, "created_gte"),
    "payments?stat=pending": (400, "stat"),
    "requests?status=20": (400, "a status such as 201"),
    "requests?foo=1": (400, "There is no parameter 'foo'."),
    **{f"payments/{name}": (404, "payment") for name in ("pay_1", "latest", "%3Cscript%3E")},
    **{f"webhooks/{name}": (404, name) for name in ("dlv_1", "evt_1", "paused")},
    "webhooks/latest": (404, ""),
    "webhooks?endpoint=we_1": (404, "we_1"),
    "requests/req_x": (404, "There is no request 'req_x'."),
    "scenarios/refun": (404, "There is no scenario 'refun'."),
    **{
        path: (404, path.partition("/")[0])
        for path in (
            *("checklist/x", "foo", "foo/<b>", "payments/pay_1/x", "search/x", "requests/count"),
            *("none/%3Cscript%3Ealert(1)", "webhooks/%3Cscript%3Ealert(1)"),
        )
    },
}


@pytest.mark.parametrize("path", MISTAKES)
async def test_an_unknown_address_and_a_wrong_filter_have_a_clear_page(
    emulator: World, path: str
) -> None:
    status, words = MISTAKES[path]
    response = await get(emulator, path)
    assert response.status_code == status
    [problem] = texts(response.text, "problem")
    assert words in problem
    assert not re.search("<b>|<script>", response.text)
    assert 'href="/_emulator/view/webhooks"' in response.text


async def test_a_program_gets_a_problem_as_json(emulator: World) -> None:
    response = await emulator.api.get(f"{VIEW}/payments/pay_1")
    assert response.json()["error"]["code"] == "payment_not_found"


@pytest.mark.parametrize(
    ("path", "row", "listed"),
    [
        ("payments?status=pending", "payment-row", "payments"),
        ("webhooks?event=payment.created", "delivery-row", "deliveries"),
        ("requests?status=201&limit=100", "request-row", "requests"),
    ],
)
async def test_a_list_shows_25_entries_newest_first_and_links_to_older_ones(
    path: str, row: str, listed: str
) -> None:
    async with webhook_world() as hooks:
        for _ in range(27):
            await hooks.create()
        entries = (await hooks.emulator.shown(f"/{listed}?limit=100"))["data"]
        html = await page(hooks.emulator, path)
        [older] = re.findall(r'href="/_emulator/view/([^"]*)" data-testid="older"', html)
        assert path.partition("?")[2].partition("&")[0] in older
        older_html = await page(hooks.emulator, unescape(older))
        ids = [each["id"] for each in entries]
        link = rf'(?s)data-testid="{row}".*?/({"|".join(ids)})'
        shown = [re.findall(link, part) for part in (html, older_html)]
        assert shown == [ids[:25], ids[25:]]
        assert texts(older_html, "older") == []
        # A page of older entries is not live.
        assert 'data-stream=""' in older_html
