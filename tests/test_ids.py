"""The ids of a stream, and the search for one of them."""

from cProfile import Profile

import pytest

from emulator import ids

KEY = bytes(32)
COUNT = 100_000


@pytest.mark.parametrize("ordinal", [0, 1, 8_191, 8_192, 50_000, 98_303, 98_304, COUNT - 1])
def test_an_event_is_found_by_its_id(ordinal: int) -> None:
    assert ids.event_ordinal(KEY, ids.event_id(KEY, ordinal), COUNT) == ordinal


@pytest.mark.parametrize(
    "unknown",
    [
        "",
        "evt_",
        "evt_é" + 23 * "0",
        "evt_" + 24 * "0",
        ids.event_id(KEY, 7)[4:],
        f"evt_{ids.event_id(KEY, 7)[-12:]}{ids.event_id(KEY, 8)[4:16]}",
        ids.event_id(KEY, COUNT),
    ],
)
def test_an_unknown_id_is_not_found(unknown: str) -> None:
    assert ids.event_ordinal(KEY, unknown, COUNT) is None


def test_a_second_search_does_not_compute_each_id() -> None:
    ids.event_ordinal(KEY, f"evt_{24 * '1'}", COUNT)
    calls = Profile()
    assert calls.runcall(ids.event_ordinal, KEY, f"evt_{24 * '2'}", COUNT) is None
    calls.create_stats()
    assert sum(entry.callcount for entry in calls.getstats()) < COUNT / 2


def test_the_token_of_a_checkout_depends_on_the_key_and_is_not_in_the_id_of_the_payment() -> None:
    for ordinal in range(100):
        token = ids.checkout_token(KEY, ordinal)
        other = ids.checkout_token(bytes(31) + b"x", ordinal)
        assert token[:6] == other[:6]
        payment = ids.payment_id(token)
        parts = [token[start : start + 5] for start in range(6, len(token) - 4)]
        assert [part for part in parts if part in other or part in payment] == []
