"""The page about fidelity: clauses, transitions and deliveries."""

import html
import re
from functools import partial

from emulator.domain.clauses import CLAUSES, WARNINGS
from emulator.server.dashboard.drawings import MARGIN, delivery_plot, transition_diagram
from emulator.server.dashboard.sections import MAX_JUDGED_PAYMENTS
from emulator.server.engine.accounts.checklist_items import ITEMS
from emulator.server.storage.events import transition_counts
from tests.server.dashboard import BROWSER, count, get, shown
from tests.server.engine.webhook_world import register
from tests.world import World


async def test_every_clause_is_shown_once_the_assumptions_first(emulator: World) -> None:
    page = (await get(emulator, "fidelity")).text
    numbers = re.findall(r'id="clause-([0-9.]+)"', page)
    assert sorted(numbers) == sorted(clause.number for clause in CLAUSES)
    by_number = {clause.number: clause for clause in CLAUSES}
    kinds = [(by_number[n].basis.value, by_number[n].assumed is None) for n in numbers]
    assert kinds == sorted(kinds)
    assert all(f"<code>{name}</code>" in page for c in CLAUSES for name in c.settings)


def test_each_warning_has_a_clause() -> None:
    assert {each.clause for each in WARNINGS.values()} <= {clause.number for clause in CLAUSES}


async def test_the_diagram_counts_the_transitions(emulator: World) -> None:
    assert "0 of 9 transitions have occurred" in await shown(emulator, "fidelity")
    for statuses in (("processing", "completed"), ("processing", "failed", "completed"), ()):
        payment = await emulator.create()
        await emulator.transition(payment, *statuses, unusual=True)
    counts = (await emulator.shown("/events/transitions"))["data"]
    assert {(each["source"], each["target"]): each["count"] for each in counts} == {
        ("pending", "processing"): 2,
        ("processing", "completed"): 1,
        ("processing", "failed"): 1,
        ("failed", "completed"): 1,
    }
    page = (await get(emulator, "fidelity")).text
    assert "4 of 9 transitions have occurred" in page
    assert re.search(r'data-transition="pending-processing">\n.*\n.*>2</text>', page)
    engine = emulator.running.engine
    count_newest = partial(transition_counts, owner=engine.accounts.first.test.number, limit=3)
    newest = await engine.snapshots._database.read(count_newest)
    assert {source for source, _, _ in newest} == {"failed", "processing"}
    other_mode = await emulator.control("GET", "/events/transitions?mode=live", key="live_demo_key")
    assert other_mode.json()["data"] == []


def test_the_diagram_begins_with_pending_in_its_corner() -> None:
    diagram = transition_diagram({})
    assert diagram.nodes[0][:3] == ("pending", MARGIN, MARGIN)


def _delivery(*attempts: tuple[float, int | None]) -> dict[str, object]:
    return {
        "type": "payment.created",
        "attempts": [
            {"number": n, "status": status, "error": "refused", "duration_ms": duration_ms}
            for n, (duration_ms, status) in enumerate(attempts, start=1)
        ],
    }


def test_the_plot_has_a_dot_for_each_attempt_and_a_bar_for_each_delivery() -> None:
    plot = delivery_plot([_delivery((1, 204)), _delivery((1000, 500), (10, None)), _delivery()])
    assert plot is not None
    assert plot.summary == (
        "Deliveries: 2. Attempts: 3, of which 2 failed. Latency: median 10 ms, maximum 1000 ms."
    )
    old, older, new = plot.dots
    assert old.x == older.x < new.x
    assert old.y < older.y < new.y
    assert [dot.is_success for dot in plot.dots] == [False, False, True]
    assert [bar.height for bar in plot.bars] == [16, 8]


async def test_without_deliveries_the_page_says_how_to_get_some(emulator: World) -> None:
    assert delivery_plot([]) is None
    assert count((await get(emulator, "fidelity")).text, "no-plot") == 1


async def test_the_checklist_links_to_its_evidence(emulator: World) -> None:
    await emulator.create()
    page = (await get(emulator, "fidelity")).text
    assert page.count('data-testid="item-') == len(ITEMS)
    item = re.search(r'(?s)data-testid="item-create-idempotent">(.*?)</li>', page)
    assert item is not None
    assert '<span class="chip failed">failed</span>' in item[1]
    link = re.search(r'<a href="([^"]+)"><code>(req_\w+)</code>', item[1])
    assert link is not None
    found = await emulator.api.get(html.unescape(link[1]), headers={"Accept": "text/html"})
    assert (found.status_code, link[2] in found.headers["location"]) == (303, True)


async def test_failed_items_are_first_and_equal_evidence_is_one_group(emulator: World) -> None:
    for _ in range(20):
        await emulator.create()
    page = (await get(emulator, "fidelity")).text
    results = re.findall(r'<span class="chip (failed|not_exercised|passed)">', page)
    assert results == sorted(results, key=("failed", "not_exercised", "passed").index)
    assert page.count("<summary>without an idempotency_key") == 1
    assert page.count("<code>req_") == 8
    assert "and 12 more" in page


async def test_an_account_with_many_payments_is_judged_on_request(emulator: World) -> None:
    for _ in range(int(MAX_JUDGED_PAYMENTS)):
        await emulator.create()
    page = (await get(emulator, "fidelity")).text
    assert (count(page, "judge"), page.count('data-testid="item-')) == (0, len(ITEMS))
    await emulator.create()
    page = (await get(emulator, "fidelity")).text
    assert (count(page, "judge"), page.count('data-testid="item-')) == (1, 0)
    assert 'data-stream="payments deliveries requests"' in page
    link = re.search(r'href="([^"]+)" data-testid="judge"', page)
    assert link is not None
    judged = (await emulator.api.get(html.unescape(link[1]), headers=BROWSER)).text
    assert judged.count('data-testid="item-') == len(ITEMS)
    # A page that follows every payment would judge twice a second.
    assert 'data-stream=""' in judged


async def test_more_than_100_deliveries_are_judged_on_request(emulator: World) -> None:
    await register(emulator, "http://127.0.0.1:9/")
    copied = {"when": {}, "then": {"copies": 100, "delay": "1h"}, "times": 1}
    dropped = {"when": {}, "then": {"drop": True}}
    await emulator.done("PUT", "/scenarios/many", {"webhooks": [copied, dropped]})
    for is_on_request in (False, True):
        await emulator.create()
        assert count((await get(emulator, "fidelity")).text, "judge") == is_on_request


async def test_more_than_500_requests_are_judged_on_request(emulator: World) -> None:
    await emulator.create()
    journal = emulator.running.engine.accounts.first.test.journal
    entry = journal.newest
    assert entry is not None
    for new, is_on_request in ((499, False), (1, True)):
        for _ in range(new):
            journal.add(entry)
        assert count((await get(emulator, "fidelity")).text, "judge") == is_on_request
