"""The arguments of random calls."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from emulator.domain.payment import Reason
from tests.long_runs.plain_model import (
    ANSWERS,
    BANKS,
    EDGES,
    METHODS,
    STATUSES,
    UNUSUAL_EDGES,
    Owner,
    Refused,
    State,
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
    *({"phone": "12"}, {"method": METHODS[2], "phone": "0911111111"}, {"bank": BANKS[0]}),
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
    [*EDGES * 10, *UNUSUAL_EDGES * 2, *((one, other) for one in STATUSES[:5] for other in STATUSES)]
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
        "reason": st.sampled_from([None] * 9 + [*map(str, Reason)]),
        "unusual": st.booleans(),
    },
    "move_the_clock": {
        "span_ms": st.sampled_from(
            [*[1, 999, 1_000, 3_000, 5_000, 29_999, 30_000] * 2, 60_000, 1_800_000, 86_400_000]
        ),
        "form": st.sampled_from(["seconds", "until", "next"]),
    },
}
SEVERAL_ACTS = st.lists(
    st.one_of(*(st.tuples(st.just(name), st.fixed_dictionaries(ACTS[name])) for name in ACTS)),
    min_size=3,
    max_size=9,
)


class Caller(NamedTuple):
    """The clock and a mode of an account, with the key of the mode."""

    state: State
    owner: Owner
    key: str


def chosen(values: Any, which: int) -> Any:
    """One of the values, the newest for 0."""
    return values[-1 - which % len(values)]


def refusal_of(expect: Callable[[], Any]) -> tuple[tuple[Any, ...] | None, Any]:
    """The refusal of the model, or what it returns."""
    try:
        return None, expect()
    except Refused as refusal:
        return refusal.args, None
