"""The picture of a case: which step brought about what, and where that stands."""

from itertools import pairwise

import pytest

from emulator.replay.event_attribution import moments_of
from emulator.replay.results import Trace
from emulator.replay.timeline import MAX_PAYMENTS, MAX_SLOTS, Drawing, Shape, draw
from tests.replay.made import BEGIN, LATER, event, played, result, step, webhook
from tests.replay.stages import Plays

pytestmark = pytest.mark.asyncio(loop_scope="module")

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


async def drawn(plays: Plays, script: str) -> Drawing:
    drawing = draw(await plays.passes(script))
    assert drawing is not None
    return drawing


def shapes(drawing: Drawing, title: str) -> tuple[Shape, ...]:
    [found] = [lane.shapes for lane in drawing.lanes if lane.title == title]
    return found


async def test_each_change_is_of_the_step_that_brought_it_about(plays: Plays) -> None:
    result = await plays.passes(CASE)
    named = {payment: name for name, payment in result.names.items()}
    assert [
        (named[event.payment], event.type.removeprefix("payment."), moment.step)
        for moment, event in moments_of(result)
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


async def test_a_payment_that_was_lost_is_of_the_create_that_lost_it(plays: Plays) -> None:
    result = await plays.passes(
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


async def test_a_payment_is_of_the_create_that_made_it_and_not_of_one_that_failed(
    plays: Plays,
) -> None:
    result = await plays.passes(
        """
        - fault: {then: {status: 500}, times: 1}
        - create: {as: order, idempotency_key: k}
        - expect: {http_status: 500}
        - create: {as: order, idempotency_key: k}
        - create: {as: order, idempotency_key: k}
        """
    )
    assert [moment.step for moment, _ in moments_of(result)] == [4]


async def test_lanes_are_those_of_who_acts_and_then_of_the_payments(plays: Plays) -> None:
    drawing = await drawn(plays, CASE)
    assert [lane.title for lane in drawing.lanes] == [
        *("Merchant", "Customer", "By hand", "Clock"),
        *("paid", "silent", "third"),
        "Webhooks",
    ]
    assert [shape.label for shape in shapes(drawing, "Merchant")] == ["create"] * 3
    assert [shape.label for shape in shapes(drawing, "Customer")] == ["pay", "pay", "pay", "answer"]
    assert [shape.label for shape in shapes(drawing, "By hand")] == ["transition"]
    assert [shape.label for shape in shapes(drawing, "Webhooks")].count("completed") == 2


async def test_each_instant_has_a_column_however_far_it_is(plays: Plays) -> None:
    drawing = await drawn(plays, CASE)
    assert [column.since for column in drawing.columns] == ["+0s", "+30s", "+1h"]
    first, second, third = drawing.columns
    assert first.x + first.width < second.x < second.x + second.width < third.x


async def test_the_clock_goes_from_column_to_column(plays: Plays) -> None:
    drawing = await drawn(plays, CASE)
    [arrow] = shapes(drawing, "Clock")
    first, *_, last = drawing.columns
    assert (arrow.kind, arrow.label) == ("arrow", "1h")
    assert (arrow.x, arrow.x + arrow.width) == (first.x + first.width, last.x)


async def test_a_payment_has_each_status_as_long_as_it_lasts(plays: Plays) -> None:
    drawing = await drawn(plays, CASE)
    life = shapes(drawing, "paid")
    assert [shape.kind for shape in life] == ["pending", "processing", "completed", "refunded"]
    assert all(one.x + one.width == two.x for one, two in pairwise(life))
    assert life[-1].x + life[-1].width == drawing.columns[-1].x + drawing.columns[-1].width
    [create, *_] = shapes(drawing, "Merchant")
    assert life[0].x == create.x


async def test_nothing_stands_in_the_way_of_anything_else(plays: Plays) -> None:
    drawing = await drawn(plays, CASE)
    for lane in drawing.lanes:
        for one, two in pairwise(lane.shapes):
            assert one.x + one.width <= two.x, lane.title
        assert all(shape.x >= 0 and shape.x + shape.width <= drawing.width for shape in lane.shapes)
        assert lane.y < drawing.height


async def test_what_was_refused_or_forged_looks_different(plays: Plays) -> None:
    drawing = await drawn(plays, "- create: {amount: 1}\n- expect: {http_status: 400}")
    [create] = shapes(drawing, "Merchant")
    assert (create.kind, create.title) == ("refused", "create: {amount: 1} → 400 invalid_amount")
    forged = draw(result(trace=Trace(webhooks=(webhook("created", is_genuine=False),))))
    assert forged is not None
    [shape] = shapes(forged, "Webhooks")
    assert (shape.kind, shape.title) == ("forged", "payment.created, signature wrong")


async def test_many_copies_are_counted_and_not_drawn() -> None:
    drawing = draw(result(trace=Trace(webhooks=(webhook("created"),) * 100)))
    assert drawing is not None
    copies = shapes(drawing, "Webhooks")
    assert [shape.label for shape in copies] == ["created"] * 6 + ["+94 more"]


async def test_what_there_is_no_room_for_is_told() -> None:
    advance = step("advance: 1s")
    steps = tuple(played(number, step=advance) for number in range(1, 200))
    events = tuple(event("created", f"pay_{number:06}x") for number in range(20))
    drawing = draw(result(steps=steps, trace=Trace(events=events)))
    assert drawing is not None
    assert drawing.left_out == (
        f"The first {MAX_SLOTS} of 199 moments are drawn.",
        f"The first {MAX_PAYMENTS} of 20 payments are drawn.",
    )


async def test_where_nothing_happened_there_is_nothing_to_draw() -> None:
    assert draw(result(steps=())) is None
    expectation = played(step=step("expect: {events: []}"))
    assert draw(result(steps=(expectation,))) is None


async def test_what_happened_by_itself_is_of_the_advance_that_came_by() -> None:
    steps = (
        played(1, step=step("create: {}"), payment="pay_1", at=BEGIN),
        played(2, at=LATER),
    )
    events = (event("created", "pay_1"), event("expired", "pay_1", "2026-01-01T00:00:10.000Z"))
    found = moments_of(result(steps=steps, trace=Trace(events=events)))
    assert [moment for moment, _ in found] == [(1, BEGIN), (2, "2026-01-01T00:00:10.000Z")]
