"""The arguments of random calls."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.long_runs.plain_model import ANSWERS, BANKS, EDGES, UNUSUAL_EDGES, Refused
from tests.long_runs.plain_state import METHODS, STATUSES, Account, Owner, State

REASONS = (
    *("insufficient_balance", "user_cancelled", "timeout", "wrong_pin", "bank_declined"),
    *("limit_exceeded", "provider_error"),
)
# Mostly the first account's test mode; then its live mode, and another account.
WHO = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 3])
FOREIGN = 11
WHICH = st.sampled_from(range(FOREIGN + 1))
_PHONES = [f"0{first}0000000{last}" for first in "97" for last in "1234"]
_ASKED = ["0911111111", "+251 71-111-1111"]
_PAYERS: list[dict[str, str]] = [
    *({"method": "telebirr" if "9" in phone else "mpesa", "phone": phone} for phone in _PHONES),
    *({"phone": phone} for phone in (*_PHONES, *_ASKED * 3)),
    *({"method": METHODS[2], "bank": bank} for bank in (*BANKS, *BANKS[:2], "none")),
    *({"method": method} for method in METHODS),
    *({}, {"phone": "12"}, {"method": METHODS[2], "phone": "0911111111"}, {"bank": BANKS[0]}),
    *({"method": "mpesa", "phone": "0911111111"}, {"method": "mpesa", "bank": BANKS[0]}),
]
PAYERS = st.sampled_from(_PAYERS)
SOME_METHODS = [[each] for each in METHODS] + [[*METHODS], [*METHODS[::-1]], ["mpesa", "mpesa"]]
DRAFTS = st.fixed_dictionaries(
    {"amount": st.integers(100, 103) | st.just(123_456_789)},
    optional={
        "methods": st.sampled_from(SOME_METHODS),
        "expires_in": st.sampled_from([1, 30, 60, 1800, 3_600, 86_400, None]),
        "metadata": st.sampled_from([{}, {"order": "1"}, {"b": "2", "a": "ሀ"}, None]),
        "idempotency_key": st.sampled_from("abcdef"),
        "colour": st.just("red"),
    },
)
_CHANGES = st.sampled_from(
    [*[*EDGES, *UNUSUAL_EDGES] * 5, *((one, other) for one in STATUSES[:5] for other in STATUSES)]
)
# The calls that change payments, and their arguments.
ACTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "create": {"draft": DRAFTS},
    "pay": {"which": WHICH, "payer": PAYERS},
    "answer": {"which": WHICH, "answer": st.sampled_from([*ANSWERS])},
    "cancel": {"which": WHICH},
    "transition": {
        "which": WHICH,
        "edge": _CHANGES,
        "method": st.sampled_from([None] * 6 + [*METHODS]),
        "reason": st.sampled_from([None] * 9 + [*REASONS]),
        "unusual": st.booleans(),
    },
    "move_the_clock": {
        "span_ms": st.sampled_from(
            [*[1, 999, 1_000, 3_000, 5_000, 29_999, 30_000] * 2, 60_000, 1_800_000, 86_400_000]
        ),
        "form": st.sampled_from(["seconds", "until", "now", "next"]),
    },
}
SEVERAL_ACTS = st.lists(
    st.one_of(*(st.tuples(st.just(name), st.fixed_dictionaries(ACTS[name])) for name in ACTS)),
    min_size=3,
    max_size=9,
)
# What is wrong with a member of a create call, and the code, in the contract's order.
WRONG: dict[str, tuple[list[Any], str]] = {
    "amount": ([99, 0, -100, "15000", True, 150.5, 2**53], "invalid_amount"),
    "currency": (["USD", "etb", 1], "invalid_currency"),
    "methods": ([[], ["cash"], "mpesa", [["mpesa"]]], "invalid_methods"),
    "success_url": (["http://shop.example/", "shop", 7, "https://"], "invalid_success_url"),
    "cancel_url": (["ftp://shop.example", "https://a b"], "invalid_cancel_url"),
    "metadata": ([{"a": 1}, [], {str(n): "" for n in range(21)}], "invalid_metadata"),
    "idempotency_key": (["", 5], "invalid_idempotency_key"),
    "expires_in": ([0, -1, "60", 1.5, 315_360_001], "invalid_expires_in"),
}
REQUIRED = ("amount", "currency", "methods", "success_url", "cancel_url")
FILTERS = ("limit", "after", "status", "method", "created_gte", "created_lte")
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.sampled_from(["1", "2", "3", "100", "0", "101", "x", ""]),
        "after": WHICH,
        "status": st.sampled_from([*STATUSES, "paid", ""]),
        "method": st.sampled_from([*METHODS, "cash"]),
        "created_gte": st.tuples(WHICH, st.sampled_from([-1, 0, 1])),
        "created_lte": st.tuples(WHICH, st.sampled_from([-1, 0, 1])),
        "amount_gte": st.sampled_from(["101", "102", "x"]),
        "amount_lte": st.sampled_from(["101", "102", "-1"]),
        "phone": st.sampled_from(["0911111111", "+251 900000001", "12"]),
    },
)


class Caller(NamedTuple):
    """An account and a mode, with its key."""

    account: Account
    owner: Owner
    key: str

    @property
    def state(self) -> State:
        return self.account.state


def chosen(values: Any, which: int) -> Any:
    """One of the values, the newest for 0."""
    return values[-1 - which % len(values)]


def refusal_of(expect: Callable[[], Any]) -> tuple[tuple[Any, ...] | None, Any]:
    """The refusal of the model, or what it returns."""
    try:
        return None, expect()
    except Refused as refusal:
        return refusal.args, None
