"""Deleted, reset and restored accounts free their memory at once, without a garbage collection."""

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulator.server.engine.accounts.account_registry import NewAccount
from emulator.server.engine.delivery.webhooks import EndpointTerms
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import Account, Owner
from emulator.server.engine.state.journal import Journal
from tests.cli.processes import SHARED_HANGS_AFTER_S, ask, serving
from tests.server.control.test_requests import entry
from tests.server.engine.webhook_world import reply_after, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.world import World, order

ACCOUNTS = 60
CREATES = 350
MAX_RSS_MIB = 100


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def in_memory() -> Counter[type]:
    """The number of accounts, of their modes, and of journals with requests."""
    parts = (part for part in gc.get_objects() if isinstance(part, Account | Owner | Journal))
    return Counter(type(part) for part in parts if not isinstance(part, Journal) or part.newest)


async def use(engine: Engine, account: Account) -> None:
    """Save a snapshot with a request, and then add another request and an endpoint."""
    for owner in account.owners:
        owner.journal.add(entry())
    await engine.snapshots.save(account, "here")
    for owner in account.owners:
        owner.journal.add(entry())
    await engine.webhooks.endpoints.create(account.test, "http://127.0.0.1:9/", EndpointTerms())


async def test_a_deleted_account_is_freed_at_once(emulator: World) -> None:
    engine, before = emulator.app.engine, in_memory()
    account = await engine.accounts.create(NewAccount())
    await use(engine, account)
    assert in_memory() == before + Counter({Account: 1, Owner: 2, Journal: 4})
    await engine.accounts.delete(account.profile.id)
    assert in_memory() == before + Counter({Account: 1})  # that of this test
    del account
    assert in_memory() == before


async def test_what_a_reset_discards_is_freed_at_once(emulator: World) -> None:
    engine, before = emulator.app.engine, in_memory()
    await use(engine, engine.accounts.first)
    assert in_memory() == before + Counter({Journal: 4})
    await engine.accounts.reset(engine.accounts.first)
    assert in_memory() == before


async def test_what_a_restore_discards_is_freed_at_once(emulator: World) -> None:
    engine, before = emulator.app.engine, in_memory()
    await use(engine, engine.accounts.first)
    for _ in range(2):
        await engine.snapshots.restore(engine.accounts.first, "here")
        assert in_memory() == before + Counter({Journal: 4})
    await engine.snapshots.delete(engine.accounts.first, "here")
    assert in_memory() == before + Counter({Journal: 2})


@pytest.mark.parametrize("is_idle", [True, False])
async def test_a_deleted_endpoint_leaves_no_queue(is_idle: bool) -> None:
    answered = asyncio.Event()
    if is_idle:
        answered.set()
    async with webhook_world(reply_after(answered)) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        dispatcher = hooks.emulator.app.engine.webhooks.dispatcher
        # Each waits for the database, which the dispatcher has asked before.
        for _ in range(5 * is_idle):
            await hooks.deliveries()
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        assert (await hooks.emulator.control("DELETE", path)).status_code == 204
        answered.set()
        while dispatcher._queues:
            await hooks.settle()


async def test_no_task_waits_for_a_deleted_endpoint() -> None:
    async with webhook_world(replies(Reply(status=500))) as hooks:
        await hooks.emulator.create()
        await hooks.receiver.wait_for(1)
        await hooks.settle()
        engine = hooks.emulator.app.engine
        account, webhooks = engine.accounts.first, engine.webhooks

        async def delete_later() -> None:
            """Delete the endpoint after its retry was seen as due, before its queue is read."""
            await engine.snapshots.all(account)
            await webhooks.endpoints.delete(account.test, hooks.endpoint["id"])

        account.clock.stand_at(account.clock.now() + 3_600_000)
        waiting = webhooks.dispatcher.wait_for_due(account, deadline_ms=2**53)
        made, _ = await asyncio.gather(waiting, delete_later())
        assert made
        assert len(hooks.receiver.received) == 1


@pytest.mark.deep
def test_an_account_for_each_test_does_not_fill_the_memory(tmp_path: Path) -> None:
    metadata = {f"key_{number}": "x" * 600 for number in range(20)}
    with (
        serving(logs=tmp_path, hangs_after_s=SHARED_HANGS_AFTER_S) as server,
        closing(server.connection()) as connection,
    ):
        status = Path(f"/proc/{server.process.pid}/status")
        for _ in range(ACCOUNTS):
            account = ask(connection, "POST", "/_emulator/accounts", {}).json
            for _ in range(CREATES):
                key = account["test_key"]
                assert (
                    ask(connection, "POST", "/v1/payments", order(metadata=metadata), key).status
                    == 201
                )
            path = f"/_emulator/accounts/{account['id']}"
            assert ask(connection, "DELETE", path).status == 204
        (peak,) = (line for line in status.read_text("ascii").splitlines() if "VmHWM" in line)
    assert int(peak.split()[1]) < MAX_RSS_MIB * 1024
