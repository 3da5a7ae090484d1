"""Creates, changes and deletes the webhook endpoints of an account and mode."""

from collections.abc import Callable
from functools import partial

from msgspec import Struct, field
from msgspec.structs import asdict

from emulator import ids
from emulator.domain.errors import InvalidField, TooManyEndpoints, UnknownEndpoint
from emulator.domain.webhook_forms import STANDARD, SecretFormat, WebhookForm
from emulator.domain.webhooks import (
    MAX_ENDPOINTS,
    ROTATION_OVERLAP_MS,
    Profile,
    RegisteredEndpoint,
    tamper_problem,
)
from emulator.server.engine.state.account import Account, ConfiguredEndpoint, Owner
from emulator.server.engine.state.context import StateContext, StateService
from emulator.server.storage import deliveries, endpoints
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
    """Creates, changes and deletes endpoints, in one transaction each.

    `after_delete` gets the position of an endpoint that was deleted.
    """

    def __init__(self, context: StateContext, *, after_delete: Callable[[int], None]) -> None:
        super().__init__(context)
        self._after_delete = after_delete

    @property
    def _form(self) -> WebhookForm:
        """The form of endpoints that have no form of their own."""
        return self._config.webhook_form or STANDARD

    def all(self, owner: Owner) -> list[RegisteredEndpoint]:
        """Newest first."""
        return list(owner.endpoints.values())[::-1]

    def get(self, owner: Owner, endpoint_id: str) -> RegisteredEndpoint:
        """Raises UnknownEndpoint."""
        return find_endpoint(owner, endpoint_id)

    async def create(self, owner: Owner, url: str, terms: EndpointTerms) -> RegisteredEndpoint:
        """A new endpoint, which receives later events.

        Raises TooManyEndpoints, and InvalidField for a secret that does not fit the form, or a form
        that does not fit a scenario.
        """
        _check_tampers(owner.account, terms.form or self._form)
        return await self._database.write(partial(self._create, owner=owner, url=url, terms=terms))

    @writes()
    def change(
        self, tx: Transaction, owner: Owner, endpoint_id: str, terms: EndpointTerms
    ) -> RegisteredEndpoint:
        """Change an endpoint; disabling it cancels its pending deliveries.

        Raises UnknownEndpoint, and InvalidField for a secret that does not fit the form.
        """
        endpoint = terms.of(find_endpoint(owner, endpoint_id))
        put_endpoint(tx, owner, endpoint)
        tx.after_commit.append(partial(self._change_notifier.changed, (owner,)))
        return endpoint

    @writes()
    def rotate(
        self, tx: Transaction, owner: Owner, endpoint_id: str, secret: str | None
    ) -> RegisteredEndpoint:
        """Replace an endpoint's secret; the old one also signs for 24 hours of the account's clock.

        Raises UnknownEndpoint, and InvalidField for a secret that does not fit the form.
        """
        before = find_endpoint(owner, endpoint_id)
        endpoint = before._replace(
            secret=secret
            or ids.webhook_secret_after(
                owner.stream, before.secret, is_hex=_needs_hex(before.form)
            ),
            old_secret=before.secret,
            old_secret_until=owner.account.clock.now() + ROTATION_OVERLAP_MS,
        )
        _checked(endpoint)
        put_endpoint(tx, owner, endpoint)
        return endpoint

    @writes()
    def delete(self, tx: Transaction, owner: Owner, endpoint_id: str) -> None:
        """Delete an endpoint; its deliveries can still be read. Raises UnknownEndpoint."""
        endpoint = find_endpoint(owner, endpoint_id)
        deliveries.cancel_all(tx, endpoint.position)
        endpoints.mark_deleted(tx, endpoint.position)
        remaining = {**owner.endpoints}
        del remaining[endpoint.position]
        tx.set(owner, "endpoints", remaining)
        tx.after_commit.append(partial(self._after_delete, endpoint.position))
        tx.after_commit.append(partial(self._change_notifier.changed, (owner,)))

    async def ensure(
        self, account: Account, configured: ConfiguredEndpoint
    ) -> dict[int, RegisteredEndpoint]:
        """Create the configured endpoint in both modes of an account, unless it exists.

        Returns the endpoints as a reset creates them, by the number of their owner.
        """
        is_hex = _needs_hex(self._form)
        secret = configured.secret or ids.webhook_secret(account.test.stream, 0, is_hex=is_hex)
        present = await self._ensure(account, configured.url, EndpointTerms(secret=secret))
        form = self._form if configured.secret else None
        terms = EndpointTerms(secret=configured.secret, form=form)
        return {number: terms.of(endpoint.as_new()) for number, endpoint in present.items()}

    def _create(
        self, tx: Transaction, *, owner: Owner, url: str, terms: EndpointTerms
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
        endpoints.insert(tx, endpoint)
        tx.set(owner, "endpoints", {**owner.endpoints, endpoint.position: endpoint})
        return endpoint

    @writes()
    def _ensure(
        self, tx: Transaction, account: Account, url: str, terms: EndpointTerms
    ) -> dict[int, RegisteredEndpoint]:
        return {
            owner.number: next(
                (endpoint for endpoint in owner.endpoints.values() if endpoint.url == url), None
            )
            or self._create(tx, owner=owner, url=url, terms=terms)
            for owner in account.owners
        }


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


def find_endpoint(owner: Owner, endpoint_id: str) -> RegisteredEndpoint:
    """Raises UnknownEndpoint, also when the account has just been deleted."""
    for endpoint in owner.endpoints.values():
        if endpoint.id == endpoint_id:
            return endpoint
    raise UnknownEndpoint(endpoint_id)


def put_endpoint(tx: Transaction, owner: Owner, endpoint: RegisteredEndpoint) -> None:
    """Write a changed endpoint; the pending deliveries of a disabled one are cancelled."""
    if not endpoint.is_enabled:
        deliveries.cancel_all(tx, endpoint.position)
    endpoints.update(tx, endpoint)
    tx.set(owner, "endpoints", {**owner.endpoints, endpoint.position: endpoint})
