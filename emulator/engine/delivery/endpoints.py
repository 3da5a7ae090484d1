"""Who is told of events: the endpoints of an account and mode, and how they come and go."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from emulator import ids
from emulator.domain.errors import TooManyEndpoints, UnknownEndpoint
from emulator.domain.webhooks import (
    MAX_ENDPOINTS,
    ROTATION_OVERLAP_MS,
    Endpoint,
    Profile,
)
from emulator.engine.state.account import Account, Owner
from emulator.storage import deliveries, endpoints
from emulator.storage.batch import LAST_ORDINAL, Transaction
from emulator.storage.database import Database

if TYPE_CHECKING:
    from emulator.engine.delivery.webhooks import GivenEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTerms:
    """What a caller wants an endpoint to be; None leaves it to us, or as it is."""

    url: str | None = None
    events: tuple[str, ...] | None = None
    secret: str | None = None
    profile: Profile | None = None
    is_enabled: bool | None = None

    def of(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with these terms; a secret that is replaced so signs no more."""
        return replace(
            endpoint,
            url=endpoint.url if self.url is None else self.url,
            events=endpoint.events if self.events is None else self.events,
            profile=endpoint.profile if self.profile is None else self.profile,
            is_enabled=endpoint.is_enabled if self.is_enabled is None else self.is_enabled,
            secret=endpoint.secret if self.secret is None else self.secret,
            old_secret=endpoint.old_secret if self.secret is None else None,
        )


class Endpoints:
    """Creates, changes and removes endpoints, a transaction each.

    `before_first` makes ready what sends; it is called before any endpoint is there.
    """

    def __init__(self, *, database: Database, before_first: Callable[[], None]) -> None:
        self._database = database
        self._before_first = before_first

    def all(self, owner: Owner) -> list[Endpoint]:
        """Newest first."""
        return list(owner.endpoints.values())[::-1]

    def get(self, owner: Owner, endpoint_id: str) -> Endpoint:
        """Raises UnknownEndpoint."""
        return find(owner, endpoint_id)

    async def create(self, owner: Owner, url: str, terms: EndpointTerms) -> Endpoint:
        """A new endpoint; it is told of what happens from now on. Raises TooManyEndpoints."""
        self._before_first()
        work = partial(self._create, owner=owner, url=url, terms=terms)
        return await self._database.write(work)

    async def change(self, owner: Owner, endpoint_id: str, terms: EndpointTerms) -> Endpoint:
        """Change an endpoint; disabled, it gives up what is still due to it.

        Raises UnknownEndpoint.
        """
        work = partial(self._change, owner=owner, endpoint_id=endpoint_id, terms=terms)
        return await self._database.write(work)

    async def rotate(self, owner: Owner, endpoint_id: str, secret: str | None) -> Endpoint:
        """Give an endpoint a new secret; the one before signs, too, for 24 hours of its clock.

        Raises UnknownEndpoint.
        """
        work = partial(self._rotate, owner=owner, endpoint_id=endpoint_id, secret=secret)
        return await self._database.write(work)

    async def delete(self, owner: Owner, endpoint_id: str) -> None:
        """Remove an endpoint; its deliveries stay to be looked at. Raises UnknownEndpoint."""
        await self._database.write(partial(self._delete, owner=owner, endpoint_id=endpoint_id))

    async def give(self, account: Account, given: "GivenEndpoint") -> dict[int, Endpoint]:
        """See to it that both modes of an account have the given endpoint.

        One that is there already is kept as it is. Returns them by the number of their owner, as
        they are given: that is how they begin anew.
        """
        self._before_first()
        there = await self._database.write(partial(self._give, account=account, given=given))
        terms = EndpointTerms(secret=given.secret)
        return {number: terms.of(endpoint.as_new()) for number, endpoint in there.items()}

    def _create(self, tx: Transaction, *, owner: Owner, url: str, terms: EndpointTerms) -> Endpoint:
        owner.account.check_open()
        if len(owner.endpoints) >= MAX_ENDPOINTS:
            raise TooManyEndpoints(MAX_ENDPOINTS)
        position = tx.next_position("endpoints", owner.number)
        ordinal = position & LAST_ORDINAL
        endpoint = Endpoint(
            position=position,
            id=ids.endpoint_id(owner.stream, ordinal),
            url=url,
            secret=ids.webhook_secret(owner.stream, ordinal),
        )
        endpoint = terms.of(endpoint)
        endpoints.insert(tx, endpoint)
        _remember(tx, owner, endpoint)
        return endpoint

    def _change(
        self, tx: Transaction, *, owner: Owner, endpoint_id: str, terms: EndpointTerms
    ) -> Endpoint:
        endpoint = terms.of(find(owner, endpoint_id))
        put_endpoint(tx, owner, endpoint)
        return endpoint

    def _rotate(
        self, tx: Transaction, *, owner: Owner, endpoint_id: str, secret: str | None
    ) -> Endpoint:
        before = find(owner, endpoint_id)
        endpoint = replace(
            before,
            secret=secret or ids.webhook_secret_after(owner.stream, before.secret),
            old_secret=before.secret,
            old_secret_until=owner.account.clock.now() + ROTATION_OVERLAP_MS,
        )
        put_endpoint(tx, owner, endpoint)
        return endpoint

    def _delete(self, tx: Transaction, *, owner: Owner, endpoint_id: str) -> None:
        endpoint = find(owner, endpoint_id)
        deliveries.cancel_all(tx, endpoint.position)
        endpoints.mark_deleted(tx, endpoint.position)
        _remember(tx, owner, endpoint, is_deleted=True)

    def _give(
        self, tx: Transaction, *, account: Account, given: "GivenEndpoint"
    ) -> dict[int, Endpoint]:
        secret = given.secret or ids.webhook_secret(account.test.stream, 0)
        terms = EndpointTerms(secret=secret)
        return {
            owner.number: _with_url(owner, given.url)
            or self._create(tx, owner=owner, url=given.url, terms=terms)
            for owner in account.owners
        }


def find(owner: Owner, endpoint_id: str) -> Endpoint:
    """Raises UnknownEndpoint, also when the account has just been deleted."""
    for endpoint in owner.endpoints.values():
        if endpoint.id == endpoint_id:
            return endpoint
    raise UnknownEndpoint(endpoint_id)


def put_endpoint(tx: Transaction, owner: Owner, endpoint: Endpoint) -> None:
    """Write a changed endpoint; what is still due to a disabled one is given up."""
    if not endpoint.is_enabled:
        deliveries.cancel_all(tx, endpoint.position)
    endpoints.update(tx, endpoint)
    _remember(tx, owner, endpoint)


def _remember(
    tx: Transaction, owner: Owner, endpoint: Endpoint, *, is_deleted: bool = False
) -> None:
    """Change what the next event finds, in memory; undone should the transaction fail."""
    before = owner.endpoints
    after = {**before, endpoint.position: endpoint}
    if is_deleted:
        del after[endpoint.position]
    tx.undo.append(partial(setattr, owner, "endpoints", before))
    owner.endpoints = after


def _with_url(owner: Owner, url: str) -> Endpoint | None:
    same = (endpoint for endpoint in owner.endpoints.values() if endpoint.url == url)
    return next(same, None)
