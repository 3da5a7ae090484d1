"""The diagram of a case: the steps of its events, and its lines."""

import pytest
import pytest_asyncio

from emulator.diagrams import MAX_LINES, Diagram, DrawnLine, Mark
from emulator.scenarios.runner.results import CaseResult, Trace
from emulator.tools.replay.case_diagram import case_diagram, moments_of
from tests.tools.replay.player import Player
from tests.tools.replay.sample_results import (
    BEGIN,
    LATER,
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
def diagram(played_case: CaseResult) -> Diagram:
    return diagram_of(played_case)


def diagram_of(result: CaseResult) -> Diagram:
    diagram = case_diagram(result)
    assert diagram is not None
    return diagram


def words(drawn: DrawnLine) -> str:
    """The lanes of a line, and its text."""
    line = drawn.line
    lanes = f"{line.source}>{line.target} " if line.source != line.target else ""
    return " ".join(f"{lanes}{line.status} {line.text.partition(':')[0]}".split()).replace("`", "")


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


# In each, the payment is of the fourth step.
RETRIED = {
    "a lost payment is that of the create without a response": """
        - create: {amount: 1}
        - expect: {http_status: 400}
        - fault: {then: {drop: true, point: after_commit}, times: 1}
        - create: {as: order, idempotency_key: k}
        - expect: {lost: true}
        - create: {as: order, idempotency_key: k}
        """,
    "a payment is that of the create that succeeded": """
        - fault: {then: {status: 500}, times: 1}
        - create: {as: order, idempotency_key: k}
        - expect: {http_status: 500}
        - create: {as: order, idempotency_key: k}
        - create: {as: order, idempotency_key: k}
        """,
}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("script", RETRIED.values(), ids=RETRIED)
async def test_a_payment_belongs_to_one_of_several_creates(script: str, player: Player) -> None:
    result = await player.passes(script)
    assert [moment.step for moment, _ in moments_of(result)] == [4]


def test_lines_are_in_the_order_of_what_happened(diagram: Diagram) -> None:
    assert [words(each) for each in diagram.lines] == [
        *("1>2 create", "pending paid", "2>1 payment.created of paid"),
        *("3>2 pay", "processing paid", "completed paid"),
        *("2>1 payment.processing of paid", "2>1 payment.completed of paid"),
        *("1>2 create", "pending silent", "2>1 payment.created of silent"),
        *("3>2 pay", "processing silent", "2>1 payment.processing of silent"),
        *("advance", "failed silent, timeout", "2>1 payment.failed of silent"),
        *("1>2 create", "pending third", "2>1 payment.created of third"),
        *("3>2 pay", "processing third", "2>1 payment.processing of third"),
        *("3>2 answer", "completed third", "2>1 payment.completed of third"),
        *("transition", "refunded paid", "2>1 payment.refunded of paid"),
    ]


def test_an_advance_is_followed_by_its_pauses(diagram: Diagram) -> None:
    found = [(each.since, each.gap) for each in diagram.lines if each.since]
    assert found == [("+0 s", ""), ("+30 s", "30 s later"), ("+1 h", "59 min 30 s later")]


@pytest.mark.asyncio(loop_scope="session")
async def test_refusals_and_forged_webhooks_are_failures(player: Player) -> None:
    script = "- create: {amount: 1}\n- expect: {http_status: 400}"
    [create] = diagram_of(await player.passes(script)).lines
    assert (words(create), create.line.is_failed) == ("1>2 create", True)
    assert create.line.note == "400 invalid_amount"
    trace = Trace(webhooks=(webhook("created", is_genuine=False),))
    *_, forged = diagram_of(result(trace=trace)).lines
    assert (words(forged), forged.line.marks) == ("2>1 payment.created", (Mark("forged", True),))


def test_copies_of_a_webhook_are_one_line() -> None:
    diagram = diagram_of(result(trace=Trace(webhooks=(webhook("created"),) * 100)))
    assert diagram.lines[-1].line.counted_marks == [(Mark("genuine"), 100)]


def test_the_limit_is_described() -> None:
    steps = tuple(played(number, step=step("advance: 1s")) for number in range(2 * MAX_LINES))
    diagram = diagram_of(result(steps=steps))
    assert diagram.left_out == f"The first {MAX_LINES} of {2 * MAX_LINES} lines are drawn."


def test_without_events_there_is_no_diagram() -> None:
    assert case_diagram(result(steps=())) is None
    expectation = played(step=step("expect: {events: []}"))
    assert case_diagram(result(steps=(expectation,))) is None


def test_an_event_without_a_request_belongs_to_the_advance() -> None:
    steps = (played(1, step=step("create: {}"), payment="pay_1", at=BEGIN), played(2, at=LATER))
    events = (event("created", "pay_1"), event("expired", "pay_1", "2026-01-01T00:00:10.000Z"))
    found = moments_of(result(steps=steps, trace=Trace(events=events)))
    assert [moment for moment, _ in found] == [(1, BEGIN), (2, "2026-01-01T00:00:10.000Z")]
