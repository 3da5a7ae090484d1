"""Histories: which exist, in which order they run, and which have the same facts."""

from itertools import islice

import pytest
from msgspec.structs import replace

from emulator.domain.webhooks import STANDARD
from emulator.scenarios.webhook_form_file import shipped_form
from emulator.tools.explore.anomalies import ANOMALIES, ANOMALY_BY_NAME, left_out
from emulator.tools.explore.histories import (
    History,
    build_history,
    facts,
    histories_of_size,
    random_histories,
    without_repetitions,
)
from emulator.tools.explore.steps import CREATED, PROCESSING, Capabilities, Outcome, StepAction

ALL = Capabilities(frozenset({"webhook", "return", "settle", "durable"}))
ALL_KEYS = ALL.keys | {"again", "between", "tamper", "payment", "common job", "unusual"}
FULL = replace(ALL, keys=ALL_KEYS)
UNSIGNED = replace(ALL, form=shipped_form("unsigned"))
TIMES = ["later-1h", "later-3d", "night"]
POLLS = Capabilities(frozenset({"settle"}))


def history(outcome: str, *names: str, can: Capabilities = ALL) -> History:
    anomalies = [ANOMALY_BY_NAME[name] for name in names]
    built = build_history(Outcome(outcome), anomalies, can)
    assert built is not None
    return built


def words(built: History) -> list[str]:
    parts = [
        (step.action.name, step.event.removeprefix("payment."), step.manner and step.manner.name)
        for step in built.steps
    ]
    return [" ".join(filter(None, part)).lower().replace("_", " ") for part in parts]


BASE = "start", "deliver created", "submit", "deliver processing", "approve", "deliver completed"
EXPIRY = "deliver created", "expire", "deliver expired"
STEPS = [
    ("paid", [], [*BASE, "return"]),
    ("failed", [], [*BASE[:4], "decline", "deliver failed"]),
    ("expired", [], ["start", "deliver created", "expire", "deliver expired"]),
    ("paid", ["late payment.completed"], [*BASE[:5], "return", "deliver completed"]),
    ("paid", ["lost payment.completed", "no-return"], [*BASE[:5], "lose completed"]),
    (
        "paid",
        ["delayed payment.processing"],
        [*BASE[:3], "approve", "deliver processing", "deliver completed", "return"],
    ),
    (
        "refunded",
        ["swapped payment.completed"],
        [*BASE[:5], "return", "refund", "deliver refunded", "deliver completed"],
    ),
    (
        "failed",
        ["late-success", "at-once payment.completed"],
        [*BASE[:4], "decline", "deliver failed", "complete", "deliver completed at once"],
    ),
    ("failed", ["rotation"], ["start", "rotate", *BASE[1:4], "decline", "deliver failed"]),
    (
        "expired",
        ["read-500 payment.expired"],
        ["start", "deliver created", "expire", "deliver expired read error"],
    ),
    ("paid", ["return-at-once"], [*BASE[:5], "deliver completed with return"]),
    (
        "failed",
        ["outage"],
        [
            *("start", "submit", "decline"),
            *("deliver created together", "deliver processing together", "deliver failed"),
        ],
    ),
    ("expired", ["amharic"], ["start", "encode amharic", *EXPIRY]),
    ("expired", ["cancel-opened"], ["start", EXPIRY[0], "cancel", *EXPIRY[1:]]),
    ("paid", ["cancel-opened-paid"], [*BASE, "return", "cancel"]),
    (
        "failed",
        ["later-1h"],
        [*BASE[:4], "decline", "deliver failed", "pass time an hour", "deliver failed"],
    ),
    (
        "paid",
        ["night"],
        [
            *("pass time night", "start", "lose created", "submit", "lose processing"),
            *("approve", "lose completed", "return"),
        ],
    ),
    ("paid", ["return-processing"], [*BASE[:4], "return", *BASE[4:], "return"]),
    ("paid", ["job-twice-at-once"], [*BASE[:5], "settle job twice", BASE[5], "return"]),
    (
        "paid",
        ["expiry-while-processing"],
        ["start", "deliver created", "wait", "submit", "pass expiry", *BASE[3:], "return"],
    ),
]


@pytest.mark.parametrize(("outcome", "names", "steps"), STEPS)
def test_anomalies_change_the_steps_of_the_outcome(
    outcome: str, names: list[str], steps: list[str]
) -> None:
    assert words(history(outcome, *names)) == steps


def numbered(built: History) -> list[str]:
    """The steps with the numbers of their order and payment."""
    numbers = ((step.order, step.payment) for step in built.steps)
    return [f"{word} {o}.{p}" for word, (o, p) in zip(words(built), numbers, strict=True)]


START = "start 0.0", "deliver created 0.0"
SEVERAL = [
    (
        "failed-then-paid",
        [],
        [
            *START,
            *("submit 0.0", "deliver processing 0.0", "decline 0.0", "deliver failed 0.0"),
            *("again 0.1", "deliver created 0.1", "submit 0.1", "deliver processing 0.1"),
            *("approve 0.1", "deliver completed 0.1", "return 0.1"),
        ],
    ),
    (
        "paid",
        ["two-tabs"],
        [
            *START,
            "again second tab 0.1",
            *("submit 0.0", "deliver processing 0.0", "approve 0.0", "deliver completed 0.0"),
            "return 0.0",
        ],
    ),
    (
        "paid",
        ["second-order"],
        [
            *(f"{word} 0.0" for word in (*BASE, "return")),
            "start same customer 1.0",
            *(f"{word} 1.0" for word in (*BASE[1:], "return")),
        ],
    ),
    (
        "paid",
        ["two-open-orders"],
        [
            *("start 0.0", "start open order 1.0"),
            *(f"{word} {order}.0" for order in (0, 1) for word in (*BASE[1:], "return")),
        ],
    ),
    (
        "paid",
        ["two-orders"],
        [
            "start two customers 0.0",
            *(f"{word} {order}.0" for word in (*BASE[1:], "return") for order in (0, 1)),
        ],
    ),
    (
        "paid",
        ["twelve-orders"],
        [
            *(f"start {order}.0" for order in range(12)),
            "settle 0.0",
            *(f"{word} {order}.0" for order in range(12) for word in ("submit", "approve")),
        ],
    ),
]


@pytest.mark.parametrize(("outcome", "names", "steps"), SEVERAL)
def test_a_step_names_its_order_and_its_payment(
    outcome: str, names: list[str], steps: list[str]
) -> None:
    assert numbered(history(outcome, *names, can=FULL)) == steps


def test_a_repeated_fact_is_no_new_fact() -> None:
    usual = history("paid").steps
    for name in ("twice payment.completed", "read-500 payment.completed", "return-twice"):
        assert without_repetitions(history("paid", name).steps) == usual
    assert without_repetitions(history("paid", "settle-at-once").steps) == usual
    lost = history("paid", "lost payment.created").steps
    assert without_repetitions(lost) == lost != usual


def test_anomalies_that_do_not_fit_together_are_no_history() -> None:
    pairs = [
        ("paid", "lost payment.completed", "twice payment.completed"),
        ("paid", "at-once payment.completed", "slow payment.completed"),
        ("paid", "create-429", "create-cut"),
        ("paid", "late-success"),
        ("failed", "create-slow"),
        ("paid", "outage", "at-once payment.created"),
        ("refunded", "late-success"),
        ("failed", "second-order"),
        ("paid", "twelve-orders", "create-cut"),
        ("paid", "second-order", "two-orders"),
        ("paid", "two-orders", "tampered"),
        ("paid", "two-open-orders", "expiry-while-processing"),
        ("paid", "two-orders", "expiry-while-processing"),
    ]
    for outcome, *names in pairs:
        anomalies = [ANOMALY_BY_NAME[name] for name in names]
        assert build_history(Outcome(outcome), anomalies, ALL) is None, names


def test_small_histories_come_first_and_those_that_wait_last() -> None:
    outcomes = ["paid", "failed", "expired", "refunded"]
    assert [h.title for h in histories_of_size(0, ALL)] == outcomes
    more = ["failed-then-paid", "reversed", "expired-processing"]
    assert [h.title for h in histories_of_size(0, FULL)] == outcomes + more
    singles = histories_of_size(1, ALL)
    assert {len(h.anomalies) for h in singles} == {1}
    assert [h.waits for h in singles] == sorted(h.waits for h in singles)
    waiting = (
        "create-429",
        "create-slow",
        "overlapping payment.created",
        "overlapping payment.processing",
        "read-429 payment.completed",
        "slow-read payment.completed",
    )
    assert {h.title for h in singles if h.waits} == {f"paid, {name}" for name in waiting}


def test_the_history_of_many_orders_comes_last() -> None:
    singles = histories_of_size(1, FULL)
    assert singles[-1].title == "paid, twelve-orders"
    longest = max(len(h.steps) for h in singles[:-1])
    assert longest < len(singles[-1].steps)


def test_histories_whose_start_fails_are_spread_among_the_others() -> None:
    """They follow each other, because a repeated create must not meet another fault."""
    histories = [h for h in histories_of_size(2, ALL) if not (h.waits or h.runs_alone)]
    are_faulty = [bool(h.steps[0].manner) for h in histories if not h.moves_clock]
    most = max(sum(are_faulty[i : i + 64]) for i in range(len(are_faulty) - 64))
    assert most <= 64 * sum(are_faulty) / len(are_faulty) + 3


def test_histories_that_concern_all_payments_are_known() -> None:
    alone = {h.anomalies[0].kind.name for h in histories_of_size(1, ALL) if h.runs_alone}
    reads = {"read-500", "second-read-500", "read-429", "read-cut", "slow-read"}
    kills = {"killed", "killed-again", "killed-in-handler"}
    assert alone == {"overlapping", *kills, *reads, *TIMES}
    moving = {h.anomalies[0].kind.name for h in histories_of_size(1, ALL) if h.moves_clock}
    assert moving == {"expiry-while-processing", *TIMES}


def test_time_passes_only_where_the_clock_of_the_shop_can_be_moved() -> None:
    can = replace(ALL, no_clock="the file has no `run`")
    assert left_out(can)["the file has no `run`"] == TIMES
    titles = {h.anomalies[0].kind.name for h in histories_of_size(1, can)}
    assert not titles & {*TIMES}


def test_a_payment_is_unknown_only_where_the_file_allows_what_is_unusual() -> None:
    assert left_out(ALL)["the file has no `unusual: true`"] == ["read-404"]
    assert "paid, read-404 payment.completed" in [h.title for h in histories_of_size(1, FULL)]


def test_a_shop_is_killed_only_where_its_file_allows_that() -> None:
    singles = histories_of_size(1, replace(ALL, keys=ALL.keys - {"durable"}))
    assert "killed" not in {h.anomalies[0].kind.name for h in singles}


def test_a_shop_without_webhooks_has_histories_without_deliveries() -> None:
    histories = [h for size in (0, 1, 2) for h in histories_of_size(size, POLLS)]
    assert histories
    assert not [word for h in histories for word in words(h) if word.startswith(("del", "for"))]


def test_an_event_that_the_form_does_not_send_is_in_no_history() -> None:
    form = STANDARD._replace(events=((CREATED, None), (PROCESSING, "charge.pending")))
    histories = [h for size in (0, 1, 2) for h in histories_of_size(size, replace(ALL, form=form))]
    steps = {(step.action, step.event) for h in histories for step in h.steps}
    assert (StepAction.DELIVER, PROCESSING) in steps
    assert CREATED not in {event for _, event in steps}


def test_every_anomaly_occurs_and_is_found_by_its_name() -> None:
    occurring = {a for size in (1, 2) for h in histories_of_size(size, FULL) for a in h.anomalies}
    occurring |= {a for h in histories_of_size(1, UNSIGNED) for a in h.anomalies}
    assert occurring == set(ANOMALIES)
    assert list(ANOMALY_BY_NAME.values()) == list(ANOMALIES)


def test_facts_are_equal_whatever_their_order() -> None:
    others = (
        "late payment.completed",
        "return-at-once",
        "swapped payment.created",
        "outage",
        "overlapping payment.processing",
    )
    orders = [(), *((name,) for name in others)]
    assert len({facts(history("paid", *names).steps) for names in orders}) == 1
    assert facts(history("paid", "no-return").steps) != facts(history("paid").steps)


def test_random_histories_are_larger_and_follow_from_the_seed() -> None:
    def titles(seed: int) -> list[str]:
        return [h.title for h in islice(random_histories(seed, 2, ALL), 50)]

    assert titles(1) == titles(1) != titles(2)
    assert all(len(h.anomalies) > 2 for h in islice(random_histories(1, 2, ALL), 50))
    assert len(set(titles(1))) == 50


@pytest.mark.deep
def test_random_histories_end_when_none_is_left() -> None:
    assert len(list(random_histories(1, 7, POLLS))) < 1_000
