"""The timeline of a case: the steps of its events, and the layout."""

from itertools import pairwise

import pytest
import pytest_asyncio

from emulator.tools.replay.event_attribution import moments_of
from emulator.tools.replay.results import CaseResult, Trace
from emulator.tools.replay.timeline import MAX_PAYMENTS, MAX_SLOTS, Shape, Timeline, build_timeline
from tests.tools.replay.player import Player
from tests.tools.replay.sample_results import (
    BEGIN,
    LATER,
    ORDER,
    event,
    played,
    result,
    step,
    webhook,
)

CASE = """
- create: {as: paid}
- pay: {payment: paid, phone: "0900000001"}
- create: {as: silent}
- pay: {payment: silent, phone: "0900000003"}
- advance: 1h
- create: {as: third}
- pay: {payment: third, bank: walia_test}
- answer: {payment: third, answer: approve}
- transition: {payment: paid, status: refunded}
- expect:
    payment: paid
    webhooks: [payment.created, payment.processing, payment.completed, payment.refunded]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def played_case(player: Player) -> CaseResult:
    return await player.passes(CASE)


@pytest.fixture
def timeline(played_case: CaseResult) -> Timeline:
    return timeline_of(played_case)


def timeline_of(result: CaseResult) -> Timeline:
    timeline = build_timeline(result)
    assert timeline is not None
    return timeline


def shapes(timeline: Timeline, title: str) -> tuple[Shape, ...]:
    [found] = [row.shapes for row in timeline.rows if row.title == title]
    return found


def test_each_event_belongs_to_the_step_that_caused_it(played_case: CaseResult) -> None:
    assert [
        (played_case.name_of(event.payment), event.type.removeprefix("payment."), moment.step)
        for moment, event in moments_of(played_case)
    ] == [
        ("paid", "created", 1),
        ("paid", "processing", 2),
        ("paid", "completed", 2),
        ("silent", "created", 3),
        ("silent", "processing", 4),
        ("silent", "failed", 5),
        ("third", "created", 6),
        ("third", "processing", 7),
        ("third", "completed", 8),
        ("paid", "refunded", 9),
    ]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_lost_payment_belongs_to_the_create_without_a_response(player: Player) -> None:
    result = await player.passes(
        """
        - create: {amount: 1}
        - expect: {http_status: 400}
        - fault: {then: {drop: true, point: after_commit}, times: 1}
        - create: {as: order, idempotency_key: k}
        - expect: {lost: true}
        - create: {as: order, idempotency_key: k}
        """
    )
    assert [moment.step for moment, _ in moments_of(result)] == [4]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_payment_belongs_to_the_create_that_succeeded(player: Player) -> None:
    result = await player.passes(
        """
        - fault: {then: {status: 500}, times: 1}
        - create: {as: order, idempotency_key: k}
        - expect: {http_status: 500}
        - create: {as: order, idempotency_key: k}
        - create: {as: order, idempotency_key: k}
        """
    )
    assert [moment.step for moment, _ in moments_of(result)] == [4]


def test_the_rows_are_those_of_participants_payments_and_webhooks(timeline: Timeline) -> None:
    assert [row.title for row in timeline.rows] == [
        *("Merchant", "Customer", "Control API", "Clock"),
        *("paid", "silent", "third"),
        "Webhooks",
    ]
    assert [shape.label for shape in shapes(timeline, "Merchant")] == ["create"] * 3
    assert [shape.label for shape in shapes(timeline, "Customer")] == [
        "pay",
        "pay",
        "pay",
        "answer",
    ]
    assert [shape.label for shape in shapes(timeline, "Control API")] == ["transition"]
    assert [shape.label for shape in shapes(timeline, "Webhooks")].count("completed") == 2


def test_each_instant_has_a_column(timeline: Timeline) -> None:
    assert [column.since for column in timeline.columns] == ["+0s", "+30s", "+1h"]
    first, second, third = timeline.columns
    assert first.x + first.width < second.x < second.x + second.width < third.x


def test_an_advance_is_an_arrow_between_columns(timeline: Timeline) -> None:
    [arrow] = shapes(timeline, "Clock")
    first, *_, last = timeline.columns
    assert (arrow.kind, arrow.label) == ("arrow", "1h")
    assert (arrow.x, arrow.x + arrow.width) == (first.x + first.width, last.x)


def test_each_status_extends_to_the_next_one(timeline: Timeline) -> None:
    life = shapes(timeline, "paid")
    assert [shape.kind for shape in life] == ["pending", "processing", "completed", "refunded"]
    assert all(one.x + one.width == two.x for one, two in pairwise(life))
    assert life[-1].x + life[-1].width == timeline.columns[-1].x + timeline.columns[-1].width
    [create, *_] = shapes(timeline, "Merchant")
    assert life[0].x == create.x


def test_shapes_do_not_overlap(timeline: Timeline) -> None:
    for row in timeline.rows:
        for one, two in pairwise(row.shapes):
            assert one.x + one.width <= two.x, row.title
        assert all(shape.x >= 0 and shape.x + shape.width <= timeline.width for shape in row.shapes)
        assert row.y < timeline.height


@pytest.mark.asyncio(loop_scope="session")
async def test_refusals_and_forged_webhooks_have_their_own_kind(player: Player) -> None:
    script = "- create: {amount: 1}\n- expect: {http_status: 400}"
    timeline = timeline_of(await player.passes(script))
    [create] = shapes(timeline, "Merchant")
    assert (create.kind, create.title) == ("refused", "create: {amount: 1} → 400 invalid_amount")
    trace = Trace(webhooks=(webhook("created", is_genuine=False),))
    forged = timeline_of(result(trace=trace))
    [shape] = shapes(forged, "Webhooks")
    assert (shape.kind, shape.title) == ("forged", f"payment.created of {ORDER}, invalid signature")


def test_many_copies_are_shown_as_a_number() -> None:
    timeline = timeline_of(result(trace=Trace(webhooks=(webhook("created"),) * 100)))
    copies = shapes(timeline, "Webhooks")
    assert [shape.label for shape in copies] == ["created"] * 6 + ["+94 more"]


def test_the_limits_are_described() -> None:
    advance = step("advance: 1s")
    steps = tuple(played(number, step=advance) for number in range(1, 200))
    events = tuple(event("created", f"pay_{number:06}x") for number in range(20))
    timeline = timeline_of(result(steps=steps, trace=Trace(events=events)))
    assert timeline.left_out == (
        f"The first {MAX_SLOTS} of 199 moments are drawn.",
        f"The first {MAX_PAYMENTS} of 20 payments are drawn.",
    )


def test_without_events_there_is_no_timeline() -> None:
    assert build_timeline(result(steps=())) is None
    expectation = played(step=step("expect: {events: []}"))
    assert build_timeline(result(steps=(expectation,))) is None


def test_an_event_without_a_request_belongs_to_the_advance() -> None:
    steps = (played(1, step=step("create: {}"), payment="pay_1", at=BEGIN), played(2, at=LATER))
    events = (event("created", "pay_1"), event("expired", "pay_1", "2026-01-01T00:00:10.000Z"))
    found = moments_of(result(steps=steps, trace=Trace(events=events)))
    assert [moment for moment, _ in found] == [(1, BEGIN), (2, "2026-01-01T00:00:10.000Z")]
