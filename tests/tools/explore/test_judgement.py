"""The judgement of an observation, as a function of what was observed."""

import json
from typing import Any

import pytest

from emulator.tools.explore.judgement import (
    Observation,
    Sample,
    Unacknowledged,
    compare_ends,
    is_order_free,
    judge,
)
from emulator.tools.explore.service import ServiceEvent
from tests.tools.explore.test_histories import history


def sample(status: str, **members: Any) -> Sample:
    values = {"is_paid": False, "is_closed": False, "is_refunded": False, "fulfilled": None}
    return Sample(payment_status=status, **{**values, "state": b"{}", "step": 3, **members})


def observed(*samples: Sample, **members: Any) -> Observation:
    values: dict[str, Any] = {
        "history": history("paid"),
        "live_payments": ("pay_1",),
        "own_ids": ("http://127.0.0.1:8081/c/1", "pay_1", "7"),
    }
    return Observation(samples=[*samples], **{**values, **members})


PAID = {"is_paid": True}
FORGED = (sample("processing"), sample("processing", **PAID))
LOST = Unacknowledged(ServiceEvent("evt_1", "payment.completed", b""), 2, ["500", "500"])
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
    return observed(end, own_ids=(payment, order))


ENDS: list[tuple[object, object, str | None]] = [
    ({"id": 7, "p": "pay_1"}, {"id": 8, "p": "pay_2"}, None),
    ({"url": "/orders/7?p=pay_1"}, {"url": "/orders/8?p=pay_2"}, None),
    ({"count": 7}, {"count": 7}, None),
    ({"count": 1}, {"count": 2}, "$.count is 2, not 1"),
    ({"points": 1, "at": "x"}, {"points": 1, "at": "y"}, None),
    ({"log": ["a", "b"]}, {"log": ["b", "a"]}, "$.log[0] is 'b', not 'a'"),
    ({"log": ["a"]}, {"log": []}, "$.log[0] is missing, not 'a'"),
    ({"done": True}, {"done": 1}, "$.done is 1, not True"),
    ({"log": {}}, {"log": []}, "$.log is [], not {}"),
    ({"log": None}, {"log": [1]}, "$.log is missing, not None"),
    ({"log": None}, {}, "$.log is missing, not None"),
    ({"at": {"day": 1}}, {"at": ["x"]}, None),
    ({"att": 1}, {"att": 2}, "$.att is 2, not 1"),
]


@pytest.mark.parametrize(("first", "second", "seen"), ENDS)
def test_ends_are_compared_without_ids_and_ignored_values(
    first: object, second: object, seen: str | None
) -> None:
    failure = compare_ends(ended("8", "pay_2", second), ended("7", "pay_1", first), ["$.at"])
    assert (None if failure is None else failure.seen) == seen


def test_short_ids_do_not_make_equal_ends_different() -> None:
    ends = [ended(order, f"pay_{order}", {"payment": f"pay_{order}"}) for order in ("1", "10")]
    assert compare_ends(*ends, []) is None


def test_ends_are_compared_where_the_last_status_is_known_and_nothing_is_refunded() -> None:
    known = frozenset({"completed", "refunded"})
    assert is_order_free(observed(sample("completed"), could_know=known))
    assert not is_order_free(observed(sample("expired"), could_know=known))
    refunded = history("paid", "refund")
    assert not is_order_free(observed(sample("refunded"), history=refunded, could_know=known))
