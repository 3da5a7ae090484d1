"""States of an account to go back to: its rows, its clock, and what memory alone knows of it."""

from functools import partial
from typing import NamedTuple

import msgspec

from emulator.clock import AccountClock, SystemClock
from emulator.domain.errors import TooManySnapshots, UnknownSnapshot
from emulator.domain.rate_limit import BucketState
from emulator.engine.delivery.webhooks import Webhooks
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.payments.status_writer import StatusWriter
from emulator.engine.state.account import NEVER, Account, Owner, copy_of
from emulator.engine.state.change_notifier import ChangeNotifier
from emulator.engine.state.journal import Journal
from emulator.engine.state.payment_cache import PaymentCache
from emulator.engine.state.rules import AccountOverrides, Rules
from emulator.storage import accounts, endpoints, payments, scenarios, snapshots, timers
from emulator.storage.batch import Transaction
from emulator.storage.database import Database
from emulator.storage.snapshots import Rows, Snapshot

MAX_SNAPSHOTS = 100
# Full journals of both modes, of as many snapshots, take 320 MiB.
MAX_SNAPSHOTS_IN_MEMORY = 20


class SnapshotExtras(NamedTuple):
    """What of an account is kept in memory alone, beside its newest snapshots.

    The rules could be read from the rows again, which takes longer than all the rest.
    """

    rules: Rules
    journals: tuple[Journal, Journal]


class _Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What memory alone knows of an owner.

    The stream of its other draws needs no place here: only a reset changes it, and that takes the
    snapshots away.
    """

    request_stream: bytes
    requests: int
    reads: dict[str, int]
    bucket: BucketState | None


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """All that a snapshot holds beside its clock; `last_timer` is of all accounts together."""

    last_timer: int
    counts: tuple[_Counts, _Counts]
    rows: dict[str, Rows]


class Snapshots:
    """Saves the state of an account under a name and restores it, in one transaction each."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        status_writer: StatusWriter,
        scheduler: Scheduler,
        payment_cache: PaymentCache,
        change_notifier: ChangeNotifier,
        webhooks: Webhooks,
    ) -> None:
        self._database = database
        self._wall = wall
        self._status_writer = status_writer
        self._scheduler = scheduler
        self._payment_cache = payment_cache
        self._change_notifier = change_notifier
        self._webhooks = webhooks

    async def all(self, account: Account) -> list[Snapshot]:
        """Newest first."""
        return await self._database.read(partial(snapshots.newest, account=account.number))

    async def get(self, account: Account, name: str) -> Snapshot:
        """Raises UnknownSnapshot."""
        return await self._database.read(partial(_find, account=account, name=name))

    async def save(self, account: Account, name: str) -> tuple[Snapshot, bool]:
        """Save how an account stands, with all that was due by now fired.

        Returns the snapshot, and whether there was none of its name. Raises TooManySnapshots,
        InvalidApiKey.
        """
        async with account.advancing:
            account.check_open()
            await self._scheduler.fire_due(account)
            # Here, on the loop, where requests are answered, counted and written down.
            work = partial(
                self._save,
                account=account,
                name=name,
                counts=(_counts(account.test), _counts(account.live)),
                journals=(account.test.journal.copy(), account.live.journal.copy()),
            )
            saved = await self._database.write(work, is_long=True)
        self._scheduler.reschedule(account)
        return saved

    def _save(
        self,
        tx: Transaction,
        *,
        account: Account,
        name: str,
        counts: tuple[_Counts, _Counts],
        journals: tuple[Journal, Journal],
    ) -> tuple[Snapshot, bool]:
        names = {other.name for other in snapshots.newest(tx, account.number)}
        if name not in names and len(names) >= MAX_SNAPSHOTS:
            raise TooManySnapshots(MAX_SNAPSHOTS)
        now = self._status_writer.fire_due(tx, account)
        state = _State(
            last_timer=tx.next_timer(),
            counts=counts,
            rows=snapshots.take(tx, account.number),
        )
        snapshot = Snapshot(
            name=name,
            created_at=now,
            is_frozen=account.clock.is_frozen,
            test_payments=payments.count(tx, account.test.number),
            live_payments=payments.count(tx, account.live.number),
        )
        snapshots.put(tx, account.number, snapshot, msgspec.msgpack.encode(state))
        kept = {other: one for other, one in account.kept.items() if other != name}
        kept[name] = SnapshotExtras(rules=account.rules, journals=journals)
        _keep(tx, account, dict(list(kept.items())[-MAX_SNAPSHOTS_IN_MEMORY:]))
        return snapshot, name not in names

    async def restore(self, account: Account, name: str) -> Snapshot:
        """Make an account as it was saved, its clock included. Raises UnknownSnapshot.

        What is under way to it, such as an attempt to deliver, is of another life and not written
        down any more. Raises InvalidApiKey.
        """
        async with account.advancing:
            account.check_open()
            load = partial(self._load, account=account, name=name)
            snapshot, state = await self._database.read(load, is_long=True)
            if state.rows["endpoints"].rows:
                self._webhooks.make_ready()
            work = partial(self._restore, account=account, snapshot=snapshot, state=state)
            await self._database.write(work, is_long=True)
        self._scheduler.reschedule(account)
        return snapshot

    @staticmethod
    def _load(tx: Transaction, *, account: Account, name: str) -> tuple[Snapshot, _State]:
        snapshot = _find(tx, account=account, name=name)
        state = snapshots.state(tx, account.number, name)
        return snapshot, msgspec.msgpack.decode(state, type=_State)

    def _restore(
        self, tx: Transaction, *, account: Account, snapshot: Snapshot, state: _State
    ) -> None:
        snapshots.put_back(tx, account.number, state.rows)
        tx.forget_ordinals()
        tx.pass_timer(state.last_timer)
        restored = self._restored(tx, account, snapshot, state)
        accounts.set_clock(
            tx,
            account.number,
            frozen_at=snapshot.created_at if snapshot.is_frozen else None,
            offset_ms=snapshot.created_at - self._wall.system_ms(),
        )
        self._webhooks.reset(tx, account)
        tx.undo.append(partial(account.restart, copy_of(account)))
        account.restart(restored)
        # Not before: what others have done in the same breath is remembered after the commit.
        tx.after_commit += [self._payment_cache.clear, self._change_notifier.all_changed]

    def _restored(
        self, tx: Transaction, account: Account, snapshot: Snapshot, state: _State
    ) -> Account:
        """The account as it is to be in memory, out of its rows and of what was saved beside."""
        at = snapshot.created_at
        restored = copy_of(account)
        restored.clock = AccountClock(
            self._wall,
            frozen_at=at if snapshot.is_frozen else None,
            offset_ms=at - self._wall.now_ms(),
        )
        restored.due_at = timers.next_due_at(tx, account.number) or NEVER
        restored.unsettled = None
        restored.generation = account.generation + 1
        for owner, counts in zip(restored.owners, state.counts, strict=True):
            owner.request_stream = counts.request_stream
            owner.requests = counts.requests
            owner.reads = dict(counts.reads)
            owner.bucket = owner.bucket and owner.bucket.like(counts.bucket)
            owner.endpoints = {
                endpoint.position: endpoint for endpoint in endpoints.of_owner(tx, owner.number)
            }
        _take_along(tx, restored, restored.kept.get(snapshot.name))
        return restored

    async def delete(self, account: Account, name: str) -> None:
        """Raises UnknownSnapshot, InvalidApiKey."""
        async with account.advancing:
            account.check_open()
            await self._database.write(partial(self._delete, account=account, name=name))

    @staticmethod
    def _delete(tx: Transaction, *, account: Account, name: str) -> None:
        _find(tx, account=account, name=name)
        snapshots.delete(tx, account.number, name)
        _keep(tx, account, {other: kept for other, kept in account.kept.items() if other != name})


def _find(tx: Transaction, *, account: Account, name: str) -> Snapshot:
    """Raises UnknownSnapshot."""
    for snapshot in snapshots.newest(tx, account.number):
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


def _keep(tx: Transaction, account: Account, kept: dict[str, SnapshotExtras]) -> None:
    tx.undo.append(partial(setattr, account, "kept", account.kept))
    account.kept = kept


def _take_along(tx: Transaction, restored: Account, kept: SnapshotExtras | None) -> None:
    """Give an account the scenarios, faults and journals that belong to its restored rows.

    Journals are empty where the process that kept them is gone.
    """
    restored.placed = scenarios.placed(tx, [owner.number for owner in restored.owners])
    restored.rules = _stored_rules(tx, restored) if kept is None else kept.rules
    for index, owner in enumerate(restored.owners):
        owner.journal = Journal() if kept is None else kept.journals[index].copy()


def _stored_rules(tx: Transaction, account: Account) -> Rules:
    if account.number not in scenarios.accounts(tx):
        return account.rules.with_overrides(AccountOverrides())
    # Reading scenario files takes what starting does not need.
    from emulator.engine.state.account_overrides import stored_overrides

    return account.rules.with_overrides(stored_overrides(tx, account.number))
