"""Connects the other operations with webhooks."""

import asyncio
from collections.abc import Iterable
from functools import partial

from emulator.domain.transitions import Due, DueKey
from emulator.domain.webhook_forms import WebhookForm
from emulator.domain.webhooks import RegisteredEndpoint
from emulator.server.engine.delivery.deliveries import Deliveries
from emulator.server.engine.delivery.dispatcher import Dispatcher
from emulator.server.engine.delivery.endpoints import Endpoints
from emulator.server.engine.delivery.gates import Holds
from emulator.server.engine.delivery.outbox import Outbox
from emulator.server.engine.state.account import Account
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage import endpoints
from emulator.server.storage.batch import ORDINAL_BITS, DamagedDatabase, Transaction


class Webhooks(StateService):
    """What the other operations need of webhooks; cheap where there is no endpoint."""

    def __init__(self, context: StateContext) -> None:
        super().__init__(context)
        self.holds = Holds(context)
        self.dispatcher = Dispatcher(context, self.holds)
        self.deliveries = Deliveries(context, self.dispatcher)
        self.endpoints = Endpoints(context, after_delete=self.dispatcher.forget)
        self.outbox = Outbox(self.dispatcher, self._change_notifier)
        # Those that a reset of the first account creates, by the number of the owner.
        self._initial_endpoints: dict[int, RegisteredEndpoint] = {}
        self._dispatching: asyncio.Task[None] | None = None

    async def open(self, accounts: Iterable[Account], first: Account) -> None:
        """Load the endpoints of the database, create the configured one if it is missing, and send.

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
        self._dispatching = asyncio.create_task(self.dispatcher.run())
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

    def forms(self, account: Account) -> frozenset[WebhookForm]:
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
        for owner in account.owners:
            self.dispatcher.resume(owner)

    def drop(self, tx: Transaction, account: Account) -> None:
        """Cancel the attempts of an account after the commit, and read what is due then."""
        tx.after_commit.append(partial(self.dispatcher.drop, account))

    def restore_initial(self, tx: Transaction, account: Account) -> None:
        """Create the endpoints that a reset account had at start."""
        for owner in account.owners:
            endpoint = self._initial_endpoints.get(owner.number)
            if endpoint is not None:
                endpoints.insert(tx, endpoint)
                owner.endpoints = {endpoint.position: endpoint}
