"""Changes the endpoints of webhooks, and connects the other operations with webhooks."""

import asyncio
from collections.abc import Iterable
from functools import partial

from msgspec import Struct, field
from msgspec.structs import asdict

from emulator import ids
from emulator.domain.errors import InvalidField, TooManyEndpoints
from emulator.domain.webhooks import (
    MAX_ENDPOINTS,
    ROTATION_OVERLAP_MS,
    STANDARD,
    Profile,
    RegisteredEndpoint,
    SecretFormat,
    WebhookForm,
    tamper_problem,
)
from emulator.server.engine.delivery.deliveries import Deliveries
from emulator.server.engine.delivery.dispatcher import Dispatcher
from emulator.server.engine.delivery.gates import Holds
from emulator.server.engine.delivery.outbox import Outbox
from emulator.server.engine.state.account import Account, Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage import accounts, deliveries
from emulator.server.storage.batch import LAST_ORDINAL, Transaction
from emulator.server.storage.database import writes


class EndpointTerms(Struct, frozen=True, kw_only=True):
    """The requested properties of an endpoint; None is the default, or no change."""

    url: str | None = None
    events: tuple[str, ...] | None = None
    secret: str | None = None
    profile: Profile | None = None
    form: WebhookForm | None = field(default=None, name="format")
    is_enabled: bool | None = field(default=None, name="enabled")

    def of(self, endpoint: RegisteredEndpoint) -> RegisteredEndpoint:
        """The endpoint with these terms; a secret that they replace is no longer used.

        Raises InvalidField for a secret that does not fit the form.
        """
        changes = {name: value for name, value in asdict(self).items() if value is not None}
        if self.secret is not None:
            changes["old_secret"] = None
        return _checked(endpoint._replace(**changes))


class Endpoints(StateService):
    """Creates, changes and deletes endpoints, in one transaction each."""

    def __init__(self, context: StateContext, dispatcher: Dispatcher) -> None:
        super().__init__(context)
        self._dispatcher = dispatcher

    @property
    def _form(self) -> WebhookForm:
        """The form of endpoints that have no form of their own."""
        return self._config.webhook_form or STANDARD

    def all(self, owner: Owner) -> list[RegisteredEndpoint]:
        """Newest first."""
        return list(owner.endpoints.values())[::-1]

    @writes()
    def create(
        self, tx: Transaction, owner: Owner, url: str, terms: EndpointTerms
    ) -> RegisteredEndpoint:
        """A new endpoint, which receives later events.

        Raises TooManyEndpoints, and InvalidField for a secret that does not fit the form, or a form
        that does not fit a scenario.
        """
        _check_tampers(owner.account, terms.form or self._form)
        return self._create(tx, owner, url, terms)

    @writes()
    def change(
        self, tx: Transaction, owner: Owner, endpoint_id: str, terms: EndpointTerms
    ) -> RegisteredEndpoint:
        """Change an endpoint; disabling it cancels its pending deliveries.

        Raises UnknownEndpoint, and InvalidField for a secret that does not fit the form.
        """
        endpoint = terms.of(owner.endpoint(endpoint_id))
        owner.put_endpoint(tx, endpoint)
        tx.after_commit.append(partial(self._change_notifier.changed, (owner,)))
        return endpoint

    @writes()
    def rotate(
        self, tx: Transaction, owner: Owner, endpoint_id: str, secret: str | None
    ) -> RegisteredEndpoint:
        """Replace an endpoint's secret; the old one also signs for 24 hours of the account's clock.

        Raises UnknownEndpoint, and InvalidField for a secret that does not fit the form.
        """
        before = owner.endpoint(endpoint_id)
        endpoint = before._replace(
            secret=secret
            or ids.webhook_secret_after(
                owner.stream, before.secret, is_hex=_needs_hex(before.form)
            ),
            old_secret=before.secret,
            old_secret_until=owner.account.clock.now() + ROTATION_OVERLAP_MS,
        )
        _checked(endpoint)
        owner.put_endpoint(tx, endpoint)
        return endpoint

    @writes()
    def delete(self, tx: Transaction, owner: Owner, endpoint_id: str) -> None:
        """Delete an endpoint; its deliveries can still be read. Raises UnknownEndpoint."""
        endpoint = owner.endpoint(endpoint_id)
        deliveries.cancel_all(tx, endpoint.position)
        accounts.mark_endpoint_deleted(tx, endpoint.position)
        remaining = {**owner.endpoints}
        del remaining[endpoint.position]
        tx.set(owner, "endpoints", remaining)
        tx.after_commit.append(partial(self._dispatcher.forget, endpoint.position))
        tx.after_commit.append(partial(self._change_notifier.changed, (owner,)))

    @writes()
    def ensure(
        self, tx: Transaction, account: Account, url: str, configured: str | None
    ) -> dict[int, RegisteredEndpoint]:
        """Create the endpoint of the settings in both modes of an account, unless it exists.

        Returns the endpoints as a reset creates them, by the number of their owner.
        """
        is_hex = _needs_hex(self._form)
        secret = configured or ids.webhook_secret(account.test.stream, 0, is_hex=is_hex)
        terms = EndpointTerms(secret=configured, form=self._form if configured else None)
        initial: dict[int, RegisteredEndpoint] = {}
        for owner in account.owners:
            present = [endpoint for endpoint in owner.endpoints.values() if endpoint.url == url]
            if not present:
                present = [self._create(tx, owner, url, EndpointTerms(secret=secret))]
            initial[owner.number] = terms.of(present[0].as_new())
        return initial

    def _create(
        self, tx: Transaction, owner: Owner, url: str, terms: EndpointTerms
    ) -> RegisteredEndpoint:
        owner.account.check_open()
        if len(owner.endpoints) >= MAX_ENDPOINTS:
            raise TooManyEndpoints(MAX_ENDPOINTS)
        position = tx.next_position("endpoints", owner.number)
        ordinal = position & LAST_ORDINAL
        form = terms.form or self._form
        endpoint = RegisteredEndpoint(
            position=position,
            id=ids.endpoint_id(owner.stream, ordinal),
            url=url,
            secret=ids.webhook_secret(owner.stream, ordinal, is_hex=_needs_hex(form)),
            form=form,
        )
        endpoint = terms.of(endpoint)
        accounts.insert_endpoint(tx, endpoint)
        tx.set(owner, "endpoints", {**owner.endpoints, endpoint.position: endpoint})
        return endpoint


def _needs_hex(form: WebhookForm) -> bool:
    return form.signature.secret is SecretFormat.HEX


def _checked(endpoint: RegisteredEndpoint) -> RegisteredEndpoint:
    """Raises InvalidField; the message does not repeat a secret, not even an invalid one."""
    if problem := endpoint.form.signature.secret_problem(endpoint.secret):
        raise InvalidField("secret", f'"secret" must be {problem}.')
    return endpoint


def _check_tampers(account: Account, form: WebhookForm) -> None:
    """Raises InvalidField for a form without a place for what a scenario tampers with."""
    for scenario in account.rules.unshipped:
        for tamper in (rule.then.effect.tamper for rule in scenario.webhooks):
            if tamper and (problem := tamper_problem(form, tamper)):
                rule = f"the scenario '{scenario.name}' with 'tamper: {tamper}'"
                message = f'"format" does not fit {rule}: {problem}, or another format.'
                raise InvalidField("format", message)


class Webhooks(StateService):
    """What the other operations need of webhooks; cheap where there is no endpoint."""

    def __init__(self, context: StateContext) -> None:
        super().__init__(context)
        self.holds = Holds(context)
        self.dispatcher = Dispatcher(context, self.holds)
        self.deliveries = Deliveries(context, self.dispatcher)
        self.endpoints = Endpoints(context, self.dispatcher)
        self.outbox = Outbox(self.dispatcher, self._change_notifier)
        # Those that a reset of the first account creates, by the number of the owner.
        self._initial_endpoints: dict[int, RegisteredEndpoint] = {}
        self._dispatching: asyncio.Task[None] | None = None

    async def open(self, opened: Iterable[Account], first: Account) -> None:
        """Create the configured endpoint if it is missing, and send."""
        url, secret = self._settings.webhook_url, self._settings.webhook_secret
        if url is not None:
            self._initial_endpoints = await self.endpoints.ensure(first, url, secret)
        self._dispatching = asyncio.create_task(self.dispatcher.run())
        for account in opened:
            self.wake(account)

    async def close(self) -> None:
        """Stop sending; attempts in progress are repeated when the program starts again."""
        if self._dispatching is not None:
            self._dispatching.cancel()
            await asyncio.gather(self._dispatching, return_exceptions=True)
            await self.dispatcher.close()

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

    def restore_initial(self, tx: Transaction, account: Account) -> None:
        """Create the endpoints that a reset account had at start."""
        for owner in account.owners:
            endpoint = self._initial_endpoints.get(owner.number)
            if endpoint is not None:
                accounts.insert_endpoint(tx, endpoint)
                owner.endpoints = {endpoint.position: endpoint}
