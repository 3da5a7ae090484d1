"""Saves and restores the state of an account: its rows, its clock and its state in memory."""

from functools import partial

import msgspec

from emulator.clock import AccountClock
from emulator.domain.accounts import BucketState
from emulator.domain.errors import TooManySnapshots, UnknownSnapshot
from emulator.server.engine.payments.scheduler import EngineService
from emulator.server.engine.state.account import Account, Advance, Owner
from emulator.server.engine.state.journal import Journal
from emulator.server.storage import accounts
from emulator.server.storage.accounts import Rows, Snapshot
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import reads, writes

MAX_SNAPSHOTS = 100
# Full journals of both modes, of as many snapshots, take 320 MiB.
MAX_SNAPSHOTS_IN_MEMORY = 20


class _Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an owner that only memory has.

    The stream of its other draws is not included: only a reset changes it, and a reset deletes the
    snapshots.
    """

    request_stream: bytes
    requests: int
    reads: dict[str, int]
    bucket: BucketState | None


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a snapshot, except its clock; all accounts share `last_timer`."""

    last_timer: int
    counts: tuple[_Counts, _Counts]
    rows: Rows


class Snapshots(EngineService):
    """Saves the state of an account under a name and restores it, in one transaction each."""

    @reads()
    def all(self, tx: Transaction, account: Account) -> list[Snapshot]:
        """Newest first."""
        return accounts.newest_snapshots(tx, account.number)

    @reads()
    def get(self, tx: Transaction, account: Account, name: str) -> Snapshot:
        """Raises UnknownSnapshot."""
        return _find(tx, account, name)

    async def save(self, account: Account, name: str) -> tuple[Snapshot, bool]:
        """Save the state of an account, after all due timers.

        Returns the snapshot, and whether its name is new. Raises TooManySnapshots,
        InvalidApiKey.
        """
        async with account.advancing:
            account.check_open()
            await self._scheduler.fire_due(account)
            # Copied on the event loop, where requests change them.
            counts = _counts(account.test), _counts(account.live)
            journals = account.test.journal.copy(), account.live.journal.copy()
            saved = await self._save(account, name, counts, journals)
        self._scheduler.reschedule(account)
        return saved

    @writes(is_long=True)
    def _save(
        self,
        tx: Transaction,
        account: Account,
        name: str,
        counts: tuple[_Counts, _Counts],
        journals: tuple[Journal, Journal],
    ) -> tuple[Snapshot, bool]:
        names = {other.name for other in accounts.newest_snapshots(tx, account.number)}
        if name not in names and len(names) >= MAX_SNAPSHOTS:
            raise TooManySnapshots(MAX_SNAPSHOTS)
        now = self._status_writer.fire_due(tx, account)
        state = _State(
            last_timer=tx.next_timer(), counts=counts, rows=accounts.take(tx, account.number)
        )
        snapshot = Snapshot(
            name=name,
            created_at=now,
            is_frozen=account.clock.is_frozen,
            rate_thousandths=account.clock.rate_thousandths,
            test_payments=tx.row_count("payments", account.test.number),
            live_payments=tx.row_count("payments", account.live.number),
        )
        accounts.put_snapshot(tx, account.number, snapshot, msgspec.msgpack.encode(state))
        saved = {**_journals_without(account, name), name: journals}
        newest = dict([*saved.items()][-MAX_SNAPSHOTS_IN_MEMORY:])
        tx.set(account, "snapshot_journals", newest)
        return snapshot, name not in names

    async def restore(self, account: Account, name: str) -> Snapshot:
        """Restore an account, its clock included. Raises UnknownSnapshot, InvalidApiKey.

        Work in progress, such as an attempt to deliver, belongs to the former state and is not
        recorded.
        """
        async with account.advancing:
            account.check_open()
            snapshot, state = await self._load(account, name)
            await self._restore(account, snapshot, state)
        self._scheduler.reschedule(account)
        return snapshot

    @reads(is_long=True)
    def _load(self, tx: Transaction, account: Account, name: str) -> tuple[Snapshot, _State]:
        snapshot = _find(tx, account, name)
        state = accounts.snapshot_state(tx, account.number, name)
        return snapshot, msgspec.msgpack.decode(state, type=_State)

    @writes(is_long=True)
    def _restore(
        self, tx: Transaction, account: Account, snapshot: Snapshot, state: _State
    ) -> None:
        accounts.put_back(tx, account.number, state.rows)
        self._forget(tx, account)
        tx.pass_timer(state.last_timer)
        restored = self._restored(tx, account, snapshot, state)
        accounts.set_clock(tx, account.number, restored.clock)
        tx.undo.append(partial(account.take_state, account.copy()))
        account.take_state(restored)

    def _restored(
        self, tx: Transaction, account: Account, snapshot: Snapshot, state: _State
    ) -> Account:
        """The account in memory, from its restored rows and the saved state of memory."""
        at = snapshot.created_at
        restored = account.copy()
        rate = snapshot.rate_thousandths
        restored.clock = AccountClock(self._wall, frozen_at=at, rate_thousandths=rate)
        if not snapshot.is_frozen:
            restored.clock.flow_from(at)
        restored.load(tx)
        restored.advance = Advance()
        restored.generation = account.generation + 1
        for owner, counts in zip(restored.owners, state.counts, strict=True):
            owner.request_stream = counts.request_stream
            owner.requests = counts.requests
            owner.reads = dict(counts.reads)
            owner.bucket = owner.bucket and owner.bucket.like(counts.bucket)
        # They are empty if an earlier process has saved the snapshot.
        journals = account.snapshot_journals.get(snapshot.name) or (Journal(), Journal())
        for owner, journal in zip(restored.owners, journals, strict=True):
            owner.journal = journal.copy()
        return restored

    async def delete(self, account: Account, name: str) -> None:
        """Raises UnknownSnapshot, InvalidApiKey."""
        async with account.advancing:
            account.check_open()
            await self._delete(account, name)

    @writes()
    def _delete(self, tx: Transaction, account: Account, name: str) -> None:
        _find(tx, account, name)
        accounts.delete_snapshot(tx, account.number, name)
        tx.set(account, "snapshot_journals", _journals_without(account, name))


def _find(tx: Transaction, account: Account, name: str) -> Snapshot:
    for snapshot in accounts.newest_snapshots(tx, account.number):
        if snapshot.name == name:
            return snapshot
    raise UnknownSnapshot(name)


def _counts(owner: Owner) -> _Counts:
    return _Counts(
        request_stream=owner.request_stream,
        requests=owner.requests,
        reads=dict(owner.reads),
        bucket=None if owner.bucket is None else owner.bucket.state(),
    )


def _journals_without(account: Account, name: str) -> dict[str, tuple[Journal, ...]]:
    saved = account.snapshot_journals
    return {other: journals for other, journals in saved.items() if other != name}
