"""The door to webhooks: behind it nothing is loaded or at work before there is an endpoint."""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from emulator.clock import SystemClock
from emulator.domain.payment import Payment
from emulator.domain.timers import ComingAttempt, Due, DueKey
from emulator.engine.state.account import Account, Owner
from emulator.storage import endpoints
from emulator.storage.batch import ORDINAL_BITS, Transaction
from emulator.storage.database import Database
from emulator.storage.invalid_rows import reading

if TYPE_CHECKING:
    from emulator.domain.webhooks import Endpoint
    from emulator.engine.delivery.attempts import Attempts
    from emulator.engine.delivery.deliveries import Deliveries
    from emulator.engine.delivery.dispatcher import Dispatcher
    from emulator.engine.delivery.endpoints import Endpoints
    from emulator.engine.delivery.outbox import Outbox
    from emulator.webhooks.sending import Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenEndpoint:
    """The endpoint that the settings give the first account; a secret of None is drawn."""

    url: str
    secret: str | None = field(repr=False)


class Webhooks:
    """What the other verbs ask of webhooks; all of it costs nothing where nobody listens."""

    def __init__(
        self,
        *,
        database: Database,
        wall: SystemClock,
        given: GivenEndpoint | None,
        stamps_business_time: bool,
    ) -> None:
        self._database = database
        self._wall = wall
        self._given = given
        self._stamps_business_time = stamps_business_time
        # What the first account has at start, by the number of the owner, and again after a reset.
        self._founding: dict[int, Endpoint] = {}
        self._dispatching: asyncio.Task[None] | None = None

    @cached_property
    def endpoints(self) -> "Endpoints":
        from emulator.engine.delivery.endpoints import Endpoints

        return Endpoints(database=self._database, before_first=self.make_ready)

    @cached_property
    def deliveries(self) -> "Deliveries":
        from emulator.engine.delivery.deliveries import Deliveries

        return Deliveries(database=self._database, attempts=self._attempts)

    @cached_property
    def _sender(self) -> "Sender":
        from emulator.http.addresses import is_in_container
        from emulator.webhooks.sending import Sender

        return Sender(self._wall, is_in_container=is_in_container(os.environ))

    @cached_property
    def _attempts(self) -> "Attempts":
        from emulator.engine.delivery.attempts import Attempts

        return Attempts(
            database=self._database,
            wall=self._wall,
            sender=self._sender,
            stamps_business_time=self._stamps_business_time,
        )

    @cached_property
    def _dispatcher(self) -> "Dispatcher":
        from emulator.engine.delivery.dispatcher import Dispatcher

        return Dispatcher(database=self._database, wall=self._wall, attempts=self._attempts)

    @cached_property
    def outbox(self) -> "Outbox":
        """For events of who has endpoints."""
        from emulator.engine.delivery.outbox import Outbox

        return Outbox(self._dispatcher)

    def make_ready(self) -> None:
        """Begin to send; from now on there may be endpoints, and events told of on any thread."""
        if self._dispatching is None:
            self._dispatching = asyncio.create_task(self._dispatcher.run())
            _ = self.outbox

    async def open(self, accounts: Iterable[Account], first: Account) -> None:
        """Take up the endpoints of the database; the given one is added where it is missing.

        Raises InvalidRow.
        """
        owners = {owner.number: owner for account in accounts for owner in account.owners}
        with reading("endpoints"):
            stored = await self._database.read(endpoints.load_all)
            for endpoint in stored:
                owner = owners[endpoint.position >> ORDINAL_BITS]
                owner.endpoints = {**owner.endpoints, endpoint.position: endpoint}
        if stored:
            # The dispatcher, which reads them next, could only try again and again.
            with reading("deliveries"):
                for owner in owners.values():
                    await self._database.read(partial(self._dispatcher.check, owner=owner))
        if self._given is not None:
            self._founding = await self.endpoints.give(first, self._given)
        if stored:
            self.make_ready()
            for account in accounts:
                self.wake(account)

    async def close(self) -> None:
        """Stop sending; what is under way will be sent again by the next program."""
        if self._dispatching is not None:
            self._dispatching.cancel()
            await asyncio.gather(self._dispatching, return_exceptions=True)
            await self._dispatcher.close()
            await self._sender.close()

    def next_due(self, tx: Transaction, account: Account) -> tuple[DueKey, Due] | None:
        """The account's next attempt."""
        if not account.is_listening:
            return None
        return self._attempts.next_due(tx, account)

    def coming(self, tx: Transaction, owner: Owner, payment: Payment) -> list[ComingAttempt]:
        """The attempts that are to be made for a payment, soonest first."""
        return self._attempts.coming(tx, owner, payment.position) if owner.endpoints else []

    def wake(self, account: Account) -> None:
        """Look whether attempts are due, since the clock was moved."""
        for owner in account.owners:
            if owner.endpoints:
                self._dispatcher.wake(owner)

    async def wait_for_due(self, account: Account, deadline_ms: float) -> bool:
        """Wait until all attempts that are due have been made, or for monotonic time.

        Returns whether they have.
        """
        if self._dispatching is None:
            return True
        return await self._dispatcher.wait_for_due(account, deadline_ms)

    async def head_start(self, owner: Owner, payment_id: str) -> None:
        """Let what a scenario wants to arrive before an answer arrive, for two seconds at most."""
        await self._dispatcher.head_start(owner, payment_id)

    def remove(self, tx: Transaction, account: Account) -> None:
        """Remove all endpoints and deliveries of an account."""
        for owner in account.owners:
            endpoints.delete_all(tx, owner.number)
            tx.undo.append(partial(setattr, owner, "endpoints", owner.endpoints))
            owner.endpoints = {}
        self.reset(tx, account)

    def reset(self, tx: Transaction, account: Account) -> None:
        """Forget what is under way in an account, once that is committed, and look afresh."""
        if self._dispatching is not None:
            tx.after_commit.append(partial(self._dispatcher.drop, account))

    def found(self, tx: Transaction, account: Account) -> None:
        """Give an account that begins anew the endpoints that it had at start."""
        for owner in account.owners:
            endpoint = self._founding.get(owner.number)
            if endpoint is not None:
                endpoints.insert(tx, endpoint)
                owner.endpoints = {endpoint.position: endpoint}
