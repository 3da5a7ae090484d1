"""Streams what changes in an account and mode: each listener compares the state twice a second."""

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import msgspec

from emulator import __version__
from emulator.domain.errors import NotReady
from emulator.server.engine.payments.payment_history import PaymentHistory
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.storage import payments
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import DatabaseLost, reads

MIN_INTERVAL_MS = 500
MAX_EVENTS_PER_MESSAGE = 25

KINDS = ("payments", "requests", "deliveries", "clock", "rules", "endpoints", "unauthorized")


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of the stream: `hello`, or one of KINDS, and a JSON object.

    Messages about the same changes have the same `id`; that of `hello` is the revision.
    """

    kind: str
    data: str
    id: str


class _State(NamedTuple):
    """What differs after a change; one field for each kind but `deliveries`.

    Of the stream of one payment, `payments` never differs.
    """

    payments: int
    requests: object
    clock: tuple[object, ...]
    rules: object
    endpoints: object
    unauthorized: int


class Activity(EngineService):
    """The streams of all accounts; an account without listeners costs nothing."""

    def __init__(self, context: EngineContext, history: PaymentHistory) -> None:
        super().__init__(context)
        self._history = history
        self._unauthorized = context.unauthorized

    async def listen(self, owner: Owner, payment: str | None) -> AsyncIterator[StreamMessage]:
        """`hello`, then what changes; with `payment`, no requests and deliveries of other payments.

        Changes while the listener does not read are one message of each kind. It ends when the
        account is deleted or the program stops. Raises UnknownPayment.
        """
        if payment is None:
            return self._messages(owner, owner, None)
        find = partial(payments.find, owner=owner.number, payment_id=payment)
        position = (await self._database.read(find)).position
        return self._messages(owner, position, f"/v1/payments/{payment}".encode())

    def revision(self, owner: Owner) -> str:
        """Differs after each change that a stream of the owner would report, and after others."""
        newest = owner.journal.newest
        request = "" if newest is None else newest.id.decode()
        unauthorized = self._unauthorized.count
        return f"{self._database.changes}-{self._is_paused(owner)}-{request}-{unauthorized}"

    def _is_paused(self, owner: Owner) -> bool:
        return self._webhooks.deliveries.pause_left_ms(owner) is not None

    async def _messages(
        self, owner: Owner, topic: Owner | int, path: bytes | None
    ) -> AsyncIterator[StreamMessage]:
        """The messages of an owner, or of the payment with a position and a path."""
        # Of one payment, a changed delivery and a changed status are the same to its listeners.
        woken_kind = "deliveries" if path is None else "payments"
        is_woken = self._change_notifier.woken_by((topic,))
        # The program stops, or the loss was logged when it was noticed.
        with suppress(NotReady, DatabaseLost), is_woken as has_changed:
            before = await self._state(owner, path)
            hello = msgspec.json.encode({"version": __version__}).decode()
            # The following messages include all changes after this revision.
            yield StreamMessage("hello", hello, self.revision(owner))
            while await self._wait(owner):
                now = await self._state(owner, path)
                changed = [
                    kind for kind in _State._fields if getattr(before, kind) != getattr(now, kind)
                ]
                if has_changed.is_set():
                    has_changed.clear()
                    changed.append(woken_kind)
                message_id = str(self._wall.monotonic_ms())
                for kind in changed:
                    is_count = kind == "payments" and path is None
                    data = await self._new_events(owner, before.payments) if is_count else "{}"
                    yield StreamMessage(kind, data, message_id)
                before = now

    async def _wait(self, owner: Owner) -> bool:
        """Wait until the next comparison; whether the stream goes on."""
        until = self._wall.now_ms() + MIN_INTERVAL_MS
        await self._wall.wait(self._change_notifier.closed, until=until)
        return not (owner.account.is_closed or self._change_notifier.closed.is_set())

    async def _state(self, owner: Owner, path: bytes | None) -> _State:
        account, journal = owner.account, owner.journal
        is_paused = self._is_paused(owner)
        return _State(
            payments=0 if path else await self._event_count(owner),
            requests=next(journal.newest_first(path=path), None) if path else journal.newest,
            clock=(*account.clock.pace, account.due_at, account.generation, is_paused),
            rules=(account.rules, account.snapshot_journals),
            endpoints=owner.endpoints,
            unauthorized=self._unauthorized.count,
        )

    @reads()
    def _event_count(self, tx: Transaction, owner: Owner) -> int:
        return tx.row_count("events", owner.number)

    async def _new_events(self, owner: Owner, since: int) -> str:
        """The events since there were so many."""
        # A reset makes the count smaller.
        count = max(0, await self._event_count(owner) - since)
        limit = min(count, MAX_EVENTS_PER_MESSAGE)
        bodies = await self._history.events(owner, limit=limit, among=count) if limit else []
        change = {"count": count, "events": [msgspec.Raw(body) for body in bodies]}
        return msgspec.json.encode(change).decode()
