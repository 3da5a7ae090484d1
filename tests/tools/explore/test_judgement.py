"""The judgement of an observation, as a function of what was observed."""

import json
from typing import Any

import pytest

from emulator.http.response import HttpResponse
from emulator.tools.explore.judgement import (
    Comparison,
    compare_ends,
    is_comparable,
    judge,
    unstable_places,
)
from emulator.tools.explore.observation import (
    AccountGrowth,
    Observation,
    ObservedOrder,
    Sample,
    Unacknowledged,
)
from emulator.tools.explore.response_value import Condition
from emulator.tools.explore.service import ServiceEvent
from tests.tools.explore.test_histories import history


def sample(status: str, **members: Any) -> Sample:
    values = {"is_paid": False, "is_closed": False, "is_refunded": False, "fulfilled": None}
    return Sample(money=status, **{**values, "state": b"{}", "step": 3, **members})


def ordered(*samples: Sample, number: str = "7", payment: str = "pay_1") -> ObservedOrder:
    """An order with one payment, which has the status of the last sample."""
    url = f"http://127.0.0.1:8081/c/{payment}"
    paid_by = {"id": payment, "checkout_url": url, "amount": 15_000}
    statuses = {payment: samples[-1].money}
    return ObservedOrder(id=number, payments=[paid_by], statuses=statuses, samples=[*samples])


def observed(*samples: Sample, **members: Any) -> Observation:
    order = ordered(*samples)
    order.live_payments = members.pop("live_payments", ("pay_1",))
    known = {("pay_1", status) for status in members.pop("could_know", ())}
    members = {"history": history("paid"), "orders": [order], **members}
    return Observation(could_know=known, **members)


PAID = {"is_paid": True}
FORGED = (sample("processing"), sample("processing", **PAID))
LOST = Unacknowledged(ServiceEvent("evt_1", "payment.completed", b"", "pay_1"), 2, ["500", "500"])
JUDGED: list[tuple[Observation, str | None]] = [
    (observed(sample("completed", **PAID), could_know={"completed"}), None),
    (observed(sample("processing", **PAID), sample("completed", **PAID)), "paid-without-money"),
    (observed(sample("failed", **PAID)), "paid-without-money"),
    (observed(sample("refunded", **PAID)), None),
    (observed(sample("refunded", **PAID), could_know={"refunded"}), "paid-without-money"),
    (observed(sample("refunded", **PAID, is_refunded=True), could_know={"refunded"}), None),
    (observed(sample("refunded"), could_know={"refunded"}), None),
    (observed(sample("completed"), could_know={"completed"}), "money-without-paid"),
    (observed(sample("completed"), could_know={"processing"}), None),
    (observed(sample("completed", **PAID, fulfilled=2)), "fulfilled-twice"),
    (observed(sample("completed", **PAID), live_payments=("pay_1", "pay_2")), "charged-twice"),
    (observed(sample("completed", **PAID, fulfilled=0), could_know={"completed"}), "not-fulfilled"),
    (observed(sample("completed", **PAID, fulfilled=1), could_know={"completed"}), None),
    (observed(sample("completed", **PAID, fulfilled=0)), None),
    (observed(sample("refunded", fulfilled=0), could_know={"refunded"}), None),
    (observed(sample("failed"), could_know={"failed"}), "not-closed"),
    (observed(sample("failed", is_closed=True), could_know={"failed"}), None),
    (observed(sample("expired")), None),
    (observed(sample("completed", **PAID), unacknowledged={"evt_1": LOST}), "never-acknowledged"),
    (observed(sample("processing", **PAID), forged=(FORGED,)), "forged-accepted"),
    (observed(sample("pending"), forged=(FORGED[:1] * 2,)), None),
]


@pytest.mark.parametrize(("observation", "expected"), JUDGED)
def test_an_observation_is_judged(observation: Observation, expected: str | None) -> None:
    failure = judge(observation)
    assert (None if failure is None else failure.verdict.id) == expected
    assert failure is None or (failure.expected and failure.seen)


def ended(order: str, payment: str, state: object) -> Observation:
    end = sample("completed", state=json.dumps(state).encode())
    return Observation(
        history=history("paid"), orders=[ordered(end, number=order, payment=payment)]
    )


OR_IGNORE = "; derive it from the payment, or add `{}` to `ignore`"
ENDS: list[tuple[object, object, str | None]] = [
    ({"id": 7, "p": "pay_1"}, {"id": 8, "p": "pay_2"}, None),
    ({"url": "/orders/7?p=pay_1"}, {"url": "/orders/8?p=pay_2"}, None),
    ({"count": 7}, {"count": 7}, None),
    ({"count": 1}, {"count": 2}, f"$.count is 2, not 1{OR_IGNORE.format('$.count')}"),
    ({"points": 1, "at": "x"}, {"points": 1, "at": "y"}, None),
    ({"log": ["a", "b"]}, {"log": ["b", "a"]}, "$.log[0] is 'b', not 'a'"),
    ({"log": ["a"]}, {"log": []}, "$.log[0] is missing, not 'a'"),
    ({"done": True}, {"done": 1}, "$.done is 1, not True"),
    ({"log": {}}, {"log": []}, "$.log is [], not {}"),
    ({"log": None}, {"log": [1]}, "$.log is missing, not None"),
    ({"log": None}, {}, "$.log is missing, not None"),
    ({"at": {"day": 1}}, {"at": ["x"]}, None),
    ({"att": 1}, {"att": 2}, f"$.att is 2, not 1{OR_IGNORE.format('$.att')}"),
]


@pytest.mark.parametrize(("first", "second", "seen"), ENDS)
def test_ends_are_compared_without_ids_and_ignored_values(
    first: object, second: object, seen: str | None
) -> None:
    ends = (ended("8", "pay_2", second), ended("7", "pay_1", first))
    failure = compare_ends(*ends, Comparison(ignored=("$.at",)))
    assert (None if failure is None else failure.seen) == seen


def test_a_failure_of_the_end_names_the_value_beside_those_that_are_accepted() -> None:
    condition = Condition(path="$.status", values=("PAID",))
    shown = condition.shown(HttpResponse(status=200, body=b'{"status": "paid"}'))
    assert shown == "`$.status` is 'paid'; `in` has 'PAID'"
    for status, key, text in (
        ("completed", "paid", "not paid"),
        ("failed", "closed", "still open"),
    ):
        failure = judge(observed(sample(status, shown={key: shown}), could_know={status}))
        assert failure is not None
        assert failure.seen == f"the order is {text}: {shown}"


def test_short_ids_do_not_make_equal_ends_different() -> None:
    ends = [ended(order, f"pay_{order}", {"payment": f"pay_{order}"}) for order in ("1", "10")]
    assert compare_ends(*ends, Comparison()) is None


KNOWN = frozenset({"completed", "refunded", "failed"})
COMPARED = [
    ("completed", "paid", ["late payment.processing"], True),
    ("completed", "paid", ["twice payment.completed"], True),
    ("expired", "paid", ["late payment.processing"], False),
    ("expired", "paid", ["twice payment.completed"], False),
    ("refunded", "refunded", ["late payment.completed"], False),
    ("refunded", "refunded", ["twice payment.completed"], True),
    ("refunded", "refunded", ["settle-first"], True),
    ("refunded", "refunded", ["read-500 payment.completed"], False),
    ("failed", "failed", ["twice payment.failed"], True),
    ("failed", "failed", ["late payment.processing"], False),
    ("completed", "failed", ["late-success", "swapped payment.failed"], False),
    ("completed", "expired", ["late-success", "twice payment.created"], False),
]


@pytest.mark.parametrize(("status", "outcome", "anomalies", "is_compared"), COMPARED)
def test_a_repetition_is_compared_and_another_order_where_the_end_is_judged(
    status: str, outcome: str, anomalies: list[str], is_compared: bool
) -> None:
    """Here `closed` is not declared, and `expired` is not known.

    After a late success nothing is compared: a correct shop may have sent an e-mail about the
    failure, or not have known of it.
    """
    runs = [
        observed(
            sample(status),
            history=history(outcome, *names),
            could_know=KNOWN,
            unjudged=frozenset({"failed"}),
        )
        for names in (anomalies, [])
    ]
    assert is_comparable(*runs) is is_compared


def test_a_place_at_which_equal_histories_differ_is_not_compared() -> None:
    runs = [
        ended("7", "pay_1", {"log": ["a"] * n, "status": f"s{n}", "at": {"ms": n}}) for n in (1, 2)
    ]
    unstable = unstable_places(*runs)
    assert unstable == {"$.log", "$.status", "$.at.ms"}
    assert compare_ends(*runs, Comparison(unstable=unstable)) is None
    failure = compare_ends(*runs, Comparison(unstable=unstable, declared=("$.status",)))
    assert failure is not None
    assert failure.seen == "$.status is 's1', not 's2'"


def mailed(*counts: int) -> dict[str, Any]:
    return {"once": tuple((f"$.mails[{i}]", count) for i, count in enumerate(counts))}


EFFECTS: list[tuple[str, list[str], Sample, str | None]] = [
    ("paid", [], sample("completed", **PAID, amount=15_000), None),
    ("paid", [], sample("completed", **PAID, amount=20_000), "wrong-amount"),
    ("paid", [], sample("completed", amount=20_000), None),
    ("paid", ["other-amount"], sample("completed", **PAID, amount=100), None),
    ("paid", [], sample("completed", **PAID, **mailed(1, 0)), None),
    ("paid", [], sample("completed", **PAID, **mailed(1, 2)), "done-twice"),
    ("paid", [], sample("completed", **PAID, **mailed(-1)), "done-twice"),
    ("refunded", [], sample("refunded", **mailed(2)), None),
    ("refunded", [], sample("refunded", **mailed(3)), "done-twice"),
]


@pytest.mark.parametrize(("outcome", "anomalies", "end", "expected"), EFFECTS)
def test_the_price_and_what_happens_once_are_judged(
    outcome: str, anomalies: list[str], end: Sample, expected: str | None
) -> None:
    failure = judge(observed(end, history=history(outcome, *anomalies)))
    assert (None if failure is None else failure.verdict.id) == expected


ACCOUNTS = [
    ("completed", {"completed"}, None, 15_000, True),
    ("completed", {"completed"}, None, 30_000, False),
    ("completed", {"completed"}, None, 0, False),
    ("completed", {"processing"}, None, 0, True),
    ("completed", {"processing"}, None, 15_000, True),
    ("refunded", {"refunded"}, None, 0, True),
    ("failed", {"failed"}, None, 15_000, False),
    ("completed", {"completed"}, -1, -1, True),
    ("completed", {"completed"}, -1, -2, False),
    ("completed", set(), -1, 0, True),
    ("completed", set(), -1, 1, False),
    ("expired", {"expired"}, -1, 0, True),
    ("expired", {"expired"}, -1, -1, False),
    ("expired", set(), -1, 0, True),
    ("expired", set(), -1, -1, True),
    ("expired", set(), -1, -2, False),
]


@pytest.mark.parametrize(("status", "known", "by", "growth", "is_right"), ACCOUNTS)
def test_an_account_grows_by_what_was_paid(
    status: str, known: set[str], by: int | None, growth: int, is_right: bool
) -> None:
    is_paid = status == "completed"
    end = sample(status, is_paid=is_paid, is_closed=not is_paid)
    observation = observed(end, could_know=known)
    observation.orders[0].account = "GET /wallet"
    observation.accounts = {"GET /wallet": AccountGrowth(before=7, now=7 + growth, by=by)}
    failure = judge(observation)
    assert (None if failure is None else failure.verdict.id) == (
        None if is_right else "account-wrong"
    )


def test_two_orders_with_one_payment_are_wrong() -> None:
    orders = [ordered(sample("completed", **PAID), number=number) for number in ("7", "8")]
    failure = judge(Observation(history=history("paid"), orders=orders))
    assert failure is not None
    assert failure.verdict.id == "payment-shared"


def test_a_changed_order_may_be_left_unpaid_and_is_charged_once() -> None:
    observation = observed(sample("completed"), could_know={"completed"})
    observation.orders[0].is_changed = True
    observation.orders[0].live_payments = ("pay_1", "pay_2")
    assert judge(observation) is None


MONEY = [
    (["failed"], "failed"),
    (["failed", "pending"], "pending"),
    (["processing", "failed"], "processing"),
    (["completed", "processing"], "completed"),
    (["refunded", "expired"], "refunded"),
    (["refunded", "completed"], "completed"),
    (["failed", "expired"], "expired"),
]


@pytest.mark.parametrize(("statuses", "money"), MONEY)
def test_the_money_of_an_order_follows_from_all_its_payments(
    statuses: list[str], money: str
) -> None:
    payment = f"pay_{statuses.index(money)}"
    numbered = {f"pay_{number}": status for number, status in enumerate(statuses)}
    assert ObservedOrder(statuses=numbered).money == (payment, money)


def test_each_order_is_judged_by_its_own_payment() -> None:
    first = ordered(sample("completed", **PAID))
    second = ordered(sample("completed"), number="8", payment="pay_2")
    known = {("pay_1", "completed")}
    observation = Observation(history=history("paid"), orders=[first, second], could_know=known)
    assert judge(observation) is None
    known.add(("pay_2", "completed"))
    failure = judge(observation)
    assert failure is not None
    assert failure.verdict.id == "money-without-paid"
