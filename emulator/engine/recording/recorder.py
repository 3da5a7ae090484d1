"""Recorder: the history of an account and mode as a scenario file that plays it again."""

from functools import partial
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.payment import Event, Payment
from emulator.engine.payments.scheduler import Scheduler
from emulator.engine.state.account import Owner
from emulator.storage import actions, events, payments
from emulator.storage.actions import Action
from emulator.storage.batch import Transaction
from emulator.storage.database import Database


class AccountHistory(NamedTuple):
    """All that happened, the oldest first: payments with their idempotency keys, events, actions.

    By `now` nothing more is due.
    """

    payments: list[tuple[Payment, str | None]]
    events: list[Event]
    actions: list[Action]
    now: Instant


class Recorder:
    """Reads a history as a whole; what becomes of it is loaded when it is first asked for."""

    def __init__(self, *, database: Database, scheduler: Scheduler) -> None:
        self._database = database
        self._scheduler = scheduler

    async def record(self, owner: Owner) -> str:
        """The history as a scenario file. Raises TooMuchToRecord, InvalidApiKey."""
        from emulator.engine.recording.recording_file import recording_file

        await self._scheduler.fire_due(owner.account)
        past = await self._database.read(partial(self._read, owner=owner), is_long=True)
        return recording_file(past, account_id=owner.account.profile.id, mode=owner.mode)

    @staticmethod
    def _read(tx: Transaction, *, owner: Owner) -> AccountHistory:
        from emulator.engine.recording.recording_file import check_extent

        account = owner.account
        account.check_open()
        check_extent(payments.count(tx, owner.number), actions.count(tx, owner.number))
        return AccountHistory(
            payments=payments.of_owner(tx, owner.number),
            events=events.of_owner(tx, owner.number),
            actions=actions.of_owner(tx, owner.number),
            # Time that flows may have reached what the read before this one did not settle.
            now=min(account.clock.now(), account.due_at - 1),
        )
