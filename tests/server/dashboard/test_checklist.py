"""The page of the checklist: its items, their evidence, and when they are judged."""

import html
import re

from emulator.server.dashboard.checklist import MAX_JUDGED_RECORDS, QUESTIONS
from emulator.server.engine.accounts.checklist_items import ITEMS
from tests.server.dashboard import BROWSER, count, get
from tests.server.engine.webhook_world import register
from tests.world import World


async def test_an_item_is_a_question_with_its_answer_and_evidence(emulator: World) -> None:
    payment = await emulator.create(metadata={"order": "A-7"})
    page = (await get(emulator, "checklist")).text
    assert page.count('data-testid="item-') == len(ITEMS)
    item = _item(page, "create-idempotent")
    question = 'Does each create have an idempotency_key? <span class="chip failed">No</span>'
    assert question in item
    assert ("<bdi>A-7</bdi>" in item, payment["id"] in item) == (True, True)
    link = re.search(r'<a href="([^"]+/requests/(req_\w+))">request', item)
    assert link is not None
    found = await emulator.api.get(html.unescape(link[1]), headers=BROWSER)
    assert (found.status_code, link[2] in found.text) == (200, True)


def test_each_item_has_a_question() -> None:
    assert [*QUESTIONS] == [item.id for item in ITEMS]


async def test_failed_items_are_first_and_equal_evidence_is_one_group(emulator: World) -> None:
    for _ in range(20):
        await emulator.create()
    page = (await get(emulator, "checklist")).text
    results = re.findall(r'<span class="chip (failed|not_exercised|passed)">', page)
    assert results == sorted(results, key=("failed", "not_exercised", "passed").index)
    item = _item(page, "create-idempotent")
    assert item.count("without an idempotency_key") == 1
    assert (count(item, "payment"), "and 17 more payments" in item) == (3, True)


async def test_an_endpoint_of_many_webhooks_is_named_once(emulator: World) -> None:
    await emulator.control("POST", "/webhook_endpoints", {"url": "http://127.0.0.1:9/hooks"})
    for _ in range(5):
        await emulator.create(phone="0900000001")
    await emulator.advance(30 * 24 * 3600)
    item = _item((await get(emulator, "checklist")).text, "webhook-acknowledged")
    assert '<span class="chip failed">No</span>' in item
    assert item.count("127.0.0.1:9/hooks") == count(item, "evidence") == 1
    assert (count(item, "payment"), "and 2 more payments" in item) == (3, True)


def _item(page: str, name: str) -> str:
    """The element of an item of the checklist."""
    item = re.search(rf'(?s)data-testid="item-{name}">(.*?)</li>', page)
    assert item is not None
    return item[1]


async def test_an_account_with_many_payments_is_judged_on_request(emulator: World) -> None:
    for _ in range(MAX_JUDGED_RECORDS):
        await emulator.create()
    page = (await get(emulator, "checklist")).text
    assert (count(page, "judge"), page.count('data-testid="item-')) == (0, len(ITEMS))
    await emulator.create()
    page = (await get(emulator, "checklist")).text
    assert (count(page, "judge"), page.count('data-testid="item-')) == (1, 0)
    assert 'data-stream="payments deliveries requests"' in page
    link = re.search(r'href="([^"]+)" data-testid="judge"', page)
    assert link is not None
    judged = (await emulator.api.get(html.unescape(link[1]), headers=BROWSER)).text
    assert judged.count('data-testid="item-') == len(ITEMS)
    # A page that follows every payment would judge twice a second.
    assert 'data-stream=""' in judged


async def test_more_than_300_deliveries_are_judged_on_request(emulator: World) -> None:
    await register(emulator, "http://127.0.0.1:9/")
    copied = {"when": {}, "then": {"copies": 100, "delay": "1h"}, "times": 3}
    dropped = {"when": {}, "then": {"drop": True}}
    await emulator.done("PUT", "/scenarios/many", {"webhooks": [copied, dropped]})
    for is_on_request in (False, False, False, True):
        await emulator.create()
        assert count((await get(emulator, "checklist")).text, "judge") == is_on_request


async def test_more_than_500_requests_are_judged_on_request(emulator: World) -> None:
    await emulator.create()
    journal = emulator.app.engine.accounts.first.test.journal
    entry = journal.newest
    assert entry is not None
    for new, is_on_request in ((499, False), (1, True)):
        for _ in range(new):
            journal.add(entry)
        assert count((await get(emulator, "checklist")).text, "judge") == is_on_request
