"""The fault rules and outcomes that one button each of the dashboard adds."""

from collections.abc import Mapping
from typing import Any

_CREATE = {"request": "create_payment"}
_SECOND_RETRIEVE = {"request": "retrieve_payment", "every": 2}


def once(**then: Any) -> Mapping[str, Any]:
    """A rule that is applied once."""
    return {"then": then, "times": 1}


ONE_CLICK_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "The next create returns 500 after the commit": (
        {"when": _CREATE, **once(status=500, point="after_commit")}
    ),
    "The next create returns 500 before the commit": {"when": _CREATE, **once(status=500)},
    "The next create gets no response after the commit": (
        {"when": _CREATE, **once(drop=True, point="after_commit")}
    ),
    "The next request gets no response": once(drop=True),
    "The next response ends in its middle": once(truncate=True),
    "The next request returns 429 with Retry-After: 3": once(status=429, retry_after=3),
    "The next request takes 10 s": once(latency="10s"),
    "Every request takes 1 s": {"then": {"latency": "1s"}},
    "Every second retrieve returns 500": {"when": _SECOND_RETRIEVE, "then": {"status": 500}},
}
"""The fault rules that one button each adds, by its text."""

# What the customer does with the next payment, and how the service answers the next request: the
# steps of an outcome, and the effect of a fault, by the texts of their buttons.
NEXT_PAYMENT = {
    "insufficient balance": {"status": "failed", "reason": "insufficient_balance"},
    "cancels": {"status": "failed", "reason": "user_cancelled"},
    "wrong PIN": {"status": "failed", "reason": "wrong_pin"},
    "no answer": {"after": "30s", "status": "failed", "reason": "timeout"},
}
NEXT_REQUEST: Mapping[str, Mapping[str, Any]] = {
    "503": {"status": 503},
    "429": {"status": 429, "retry_after": 3},
    "10 s late": {"latency": "10s"},
    "connection cut": {"drop": True},
}
