"""The cache of encoded payments has limits in bytes and contains no payment that has changed."""

import asyncio

from emulator.domain.payment import Status
from emulator.domain.transitions import Change
from emulator.server.engine.state.context import (
    ENTRY_BYTES,
    MAX_GENERATION_BYTES,
    PaymentCache,
)
from emulator.server.storage.batch import ORDINAL_BITS
from emulator.settings import Settings
from tests.server.engine.observed_world import ENGINE_ORDER
from tests.world import world

OWNER = 2
FIRST = OWNER << ORDINAL_BITS
BODY = b"{}" * 200
# The number of payments in one of two generations.
CAPACITY = MAX_GENERATION_BYTES // (len(BODY) + ENTRY_BYTES) + 1


def filled(count: int) -> PaymentCache:
    cache = PaymentCache()
    for number in range(count):
        cache.put_created(FIRST + number, f"pay_{number}", BODY)
    return cache


def test_the_cache_drops_the_oldest_payments_when_both_generations_are_full() -> None:
    full, overfull = filled(2 * CAPACITY), filled(2 * CAPACITY + 1)
    assert full.of(OWNER, "pay_0") == BODY
    assert full.at(FIRST) == ("pay_0", BODY)
    assert overfull.of(OWNER, "pay_0") is None
    assert overfull.at(FIRST) is None


def test_large_payments_take_the_room_of_several() -> None:
    cache = PaymentCache()
    for number in range(5):
        cache.put(FIRST + number, f"pay_{number}", bytes(MAX_GENERATION_BYTES // 2))
    assert cache.of(OWNER, "pay_0") is cache.of(OWNER, "pay_1") is None
    assert cache.of(OWNER, "pay_4") is not None


def test_a_changed_payment_leaves_the_cache_from_either_generation() -> None:
    cache = filled(CAPACITY + 1)
    version = cache.version
    cache.evict({FIRST, FIRST + CAPACITY})
    assert cache.version > version, "a page that was built before is outdated"
    assert cache.of(OWNER, "pay_0") is None
    assert cache.at(FIRST) is None
    assert cache.of(OWNER, f"pay_{CAPACITY}") is None
    assert cache.of(OWNER, "pay_1") == BODY


def test_the_cache_returns_no_payment_of_another_owner() -> None:
    assert filled(1).of(OWNER + 1, "pay_0") is None


async def test_a_payment_that_changes_in_the_transaction_that_creates_it_is_not_cached() -> None:
    known_id = ""
    # The second world draws the same id, so that the change can be submitted with the create.
    for changes in (False, True):
        async with world(Settings(seed=1)) as emulator:
            engine = emulator.app.engine
            owner = engine.accounts.first.test
            calls = [engine.payments.create(owner, ENGINE_ORDER, objection=None)]
            if changes:
                change = Change(to=Status.EXPIRED)
                calls.append(engine.customer.transition(owner, known_id, change))
            created, *_ = await asyncio.gather(*calls)
            assert known_id in ("", created.id)
            known_id = created.id
            status = b'"status":"expired"' if changes else b'"status":"pending"'
            assert status in await engine.payments.retrieve(owner, known_id)
