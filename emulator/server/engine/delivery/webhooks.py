"""Connects the other operations with webhooks.

Nothing here is loaded or started before there is an endpoint.
"""

import asyncio
from collections.abc import Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from emulator.domain.transitions import Due, DueKey
from emulator.server.engine.state.account import Account
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage import endpoints
from emulator.server.storage.batch import ORDINAL_BITS, DamagedDatabase, Transaction

if TYPE_CHECKING:
    from emulator.domain.webhook_forms import WebhookForm
    from emulator.domain.webhooks import RegisteredEndpoint
    from emulator.server.engine.delivery.deliveries import Deliveries
    from emulator.server.engine.delivery.dispatcher import Dispatcher
    from emulator.server.engine.delivery.endpoints import Endpoints
    from emulator.server.engine.delivery.gates import Holds
    from emulator.server.engine.delivery.outbox import Outbox


class Webhooks(StateService):
    """What the other operations need of webhooks; cheap where there is no endpoint."""

    def __init__(self, context: StateContext) -> None:
        super().__init__(context)
        self._context = context
        # Those that a reset of the first account creates, by the number of the owner.
        self._initial_endpoints: dict[int, RegisteredEndpoint] = {}
        self._dispatching: asyncio.Task[None] | None = None

    @cached_property
    def endpoints(self) -> "Endpoints":
        from emulator.server.engine.delivery.endpoints import Endpoints

        return Endpoints(self._context, before_first=self.start, after_delete=self._forget)

    def _forget(self, endpoint: int) -> None:
        self.dispatcher.forget(endpoint)

    @cached_property
    def deliveries(self) -> "Deliveries":
        from emulator.server.engine.delivery.deliveries import Deliveries

        return Deliveries(self._context, self.dispatcher)

    @cached_property
    def holds(self) -> "Holds":
        from emulator.server.engine.delivery.gates import Holds

        return Holds(self._context)

    @cached_property
    def dispatcher(self) -> "Dispatcher":
        from emulator.server.engine.delivery.dispatcher import Dispatcher

        return Dispatcher(self._context, self.holds)

    @cached_property
    def outbox(self) -> "Outbox":
        """Writes the deliveries of owners that have endpoints."""
        from emulator.server.engine.delivery.outbox import Outbox

        return Outbox(self.dispatcher, self._change_notifier)

    def start(self) -> None:
        """Start to send; from now on there may be endpoints, and events on any thread."""
        if self._dispatching is None:
            self._dispatching = asyncio.create_task(self.dispatcher.run())
            _ = self.outbox

    async def open(self, accounts: Iterable[Account], first: Account) -> None:
        """Load the endpoints of the database, and create the configured one if it is missing.

        Raises DamagedDatabase.
        """
        owners = {owner.number: owner for account in accounts for owner in account.owners}
        stored = await self._database.read(endpoints.load_all)
        for endpoint in stored:
            owner = owners.get(endpoint.position >> ORDINAL_BITS)
            if owner is None:
                raise DamagedDatabase(f"the endpoint {endpoint.id} has no account")
            owner.endpoints = {**owner.endpoints, endpoint.position: endpoint}
        if self._config.endpoint is not None:
            self._initial_endpoints = await self.endpoints.ensure(first, self._config.endpoint)
        if stored:
            self.start()
            for account in accounts:
                self.wake(account)

    async def close(self) -> None:
        """Stop sending; attempts in progress are repeated when the program starts again."""
        if self._dispatching is not None:
            self._dispatching.cancel()
            await asyncio.gather(self._dispatching, return_exceptions=True)
            await self.dispatcher.close()

    def next_due(self, tx: Transaction, account: Account) -> tuple[DueKey, Due] | None:
        """The account's next attempt."""
        return self.dispatcher.attempts.next_due(tx, account) if account.has_endpoints else None

    def forms(self, account: Account) -> "frozenset[WebhookForm]":
        """The forms of an account's webhooks; without endpoints, the form of new ones."""
        used = {each.form for owner in account.owners for each in owner.endpoints.values()}
        default = self._config.webhook_form
        return frozenset(used or ({default} if default else ()))

    def wake(self, account: Account) -> None:
        """Read what is due, because the clock was moved."""
        if account.has_endpoints:
            self.dispatcher.release_pages(account)
        for owner in account.owners:
            if owner.endpoints:
                self.dispatcher.wake(owner)

    def resume(self, account: Account) -> None:
        """End the pauses of an account."""
        if self._dispatching is not None:
            for owner in account.owners:
                self.dispatcher.resume(owner)

    async def wait_for_due(self, account: Account, deadline_ms: float) -> bool:
        """Wait until all due attempts of an account have been made, or for monotonic time.

        Returns whether they have.
        """
        if self._dispatching is None:
            return True
        return await self.dispatcher.wait_for_due(account, deadline_ms)

    def drop(self, tx: Transaction, account: Account) -> None:
        """Cancel the attempts of an account after the commit, and read what is due then."""
        if self._dispatching is not None:
            tx.after_commit.append(partial(self.dispatcher.drop, account))

    def restore_initial(self, tx: Transaction, account: Account) -> None:
        """Create the endpoints that a reset account had at start."""
        for owner in account.owners:
            endpoint = self._initial_endpoints.get(owner.number)
            if endpoint is not None:
                endpoints.insert(tx, endpoint)
                owner.endpoints = {endpoint.position: endpoint}
