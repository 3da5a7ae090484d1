"""The cache of encoded payments has a limit and contains no payment that has changed."""

from emulator.engine.state.payment_cache import PaymentCache
from emulator.storage.batch import ORDINAL_BITS

OWNER = 2
FIRST = OWNER << ORDINAL_BITS
# The cache has two generations of this size.
CAPACITY = 16_384


def filled(count: int) -> PaymentCache:
    rendered = PaymentCache()
    for number in range(count):
        rendered.put(FIRST + number, f"pay_{number}", b"%d" % number)
    return rendered


def test_the_cache_drops_the_oldest_generation_when_both_are_full() -> None:
    full, overfull = filled(2 * CAPACITY), filled(2 * CAPACITY + 1)
    assert full.of(OWNER, "pay_0") == b"0"
    assert full.at(FIRST) == ("pay_0", b"0")
    assert overfull.of(OWNER, "pay_0") is None
    assert overfull.at(FIRST) is None


def test_a_changed_payment_leaves_the_cache_from_either_generation() -> None:
    rendered = filled(CAPACITY + 1)
    rendered.evict({FIRST, FIRST + CAPACITY})
    assert rendered.of(OWNER, "pay_0") is None
    assert rendered.at(FIRST) is None
    assert rendered.of(OWNER, f"pay_{CAPACITY}") is None
    assert rendered.of(OWNER, "pay_1") == b"1"


def test_the_cache_returns_no_payment_of_another_owner() -> None:
    assert filled(1).of(OWNER + 1, "pay_0") is None
