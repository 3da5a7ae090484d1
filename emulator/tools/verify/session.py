"""A run against one service: its keys, its requests, the payments that it created, their lists.

Others may use the account at the same time, so that a list has payments of others as well.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from emulator import ids
from emulator.domain.accounts import mask_key
from emulator.domain.instants import Instant, format_instant
from emulator.tools.verify.client import (
    JSON,
    CheckStopped,
    RateLimited,
    ServiceClient,
    ServiceRequest,
    ServiceResponse,
)
from emulator.tools.verify.contract import (
    EXPIRES_IN_S,
    MADE_BY,
    MAX_LIMIT,
    METHODS,
    MIN_AMOUNT,
    TEXTS,
    Payment,
    parse_instant,
)

PAYMENTS = "/v1/payments"
_ROOT = "/v1/"
# The margin around the payments of this run: the rounding of bounds does not matter.
MARGIN_MS = 2_000
# A repeated beginning of a key is masked if it has at least this length.
MIN_MASKED_CHARACTERS = 10


def between(since: Instant, until: Instant) -> dict[str, str]:
    """A query for the payments that were created in a range."""
    return {"created_gte": format_instant(since), "created_lte": format_instant(until)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPayment:
    """A payment with the request that created it.

    `earlier_count` is how many payments had been created before the request was sent.
    """

    body: Mapping[str, Any]
    response: ServiceResponse
    earlier_count: int

    @property
    def payment(self) -> Payment:
        return self.response.members

    @property
    def id(self) -> str:
        return str(self.payment["id"])


def basic_credentials(key: str) -> str:
    """A key as the credentials of the scheme Basic."""
    return b64encode(f"{key}:".encode()).decode("ascii")


class Session:
    """Sends requests with a key, and optionally with the key of another account.

    `created` are the payments that this run created, the oldest first. They have the smallest
    amount and stay pending. `method`, `expires_in_s` and `amount` are
    values that the service accepts; the first payment determines them. `has_bounds` is whether a
    list between two instants is complete; None before that is known.
    """

    def __init__(
        self, client: ServiceClient, *, key: str, other_key: str | None, stream: bytes | None = None
    ) -> None:
        self.client = client
        self.key = key
        self.other_key = other_key
        self.method = METHODS[0]
        self.expires_in_s = EXPIRES_IN_S
        self.amount = MIN_AMOUNT
        self.has_bounds: bool | None = None
        self.created: list[OwnPayment] = []
        self.created_by_other: list[OwnPayment] = []
        self._stream = stream or ids.stream_key(None)
        self._run_id = ids.checkout_token(self._stream, 0)

    @property
    def responses(self) -> list[ServiceResponse]:
        """All responses below `/v1/`, the root that the contract describes."""
        return [each for each in self.client.responses if each.request.path.startswith(_ROOT)]

    @property
    def lists(self) -> list[ServiceResponse]:
        """All lists that the service returned to the key of the session."""
        return [
            response
            for response in self.responses
            if response.is_success
            and not response.has_error
            and (response.request.method, response.request.path) == ("GET", PAYMENTS)
            and response.request.key == self.key
        ]

    @property
    def may_have_created_more(self) -> bool:
        """Whether a request without a response, or with a 5xx, may have created a payment."""
        return self.client.lost_count > 0 or any(
            response.status >= 500 for response in self.client.responses
        )

    @property
    def created_ids(self) -> set[str]:
        return {payment.id for payment in self.created}

    @property
    def all_created(self) -> list[OwnPayment]:
        """The created payments, at least one. Raises CheckStopped."""
        if not self.created:
            raise self.without_payments("no payment could be created")
        return self.created

    def without_payments(self, reason: str) -> CheckStopped:
        """The error for too few payments: the reason, or the 429 that caused it."""
        refusal = self.client.refusal
        return CheckStopped(reason) if refusal is None else RateLimited(refusal)

    @property
    def first(self) -> OwnPayment:
        """The payment that was created with all parameters. Raises CheckStopped."""
        return self.all_created[0]

    @property
    def other_accounts_key(self) -> str:
        """Raises CheckStopped."""
        if self.other_key is None:
            raise CheckStopped("the check needs the key of another account, --other-key")
        return self.other_key

    @property
    def unknown_key(self) -> str:
        """A well-formed key that belongs to no account."""
        return ids.api_key(self._stream, "test", 1)

    @property
    def unknown_id(self) -> str:
        """A well-formed id of no payment."""
        return ids.payment_id(ids.checkout_token(self._stream, 1))

    def idempotency_key(self, purpose: str) -> str:
        """A key that is unique to this run."""
        return f"payments-emulator-verify-{purpose}-{self._run_id}"

    def order(self, **changes: Any) -> dict[str, Any]:
        """The body of a create call with some members changed; `...` removes a member."""
        body = {
            "amount": self.amount,
            "currency": "ETB",
            "methods": [self.method],
            **TEXTS,
            "metadata": self.metadata(2),
            "expires_in": self.expires_in_s,
            **changes,
        }
        return {name: value for name, value in body.items() if value is not ...}

    def metadata(self, pairs: int) -> dict[str, str]:
        origin = {"made_by": MADE_BY, "run": self._run_id}
        return origin | {f"pair_{number}": "ብር" for number in range(3, pairs + 1)}

    def masked(self, text: str) -> str:
        """Text from a service, with each key, and each long enough beginning of one, masked."""
        keys = sorted(filter(None, (self.key, self.other_key)), key=len, reverse=True)
        for key in keys:
            for secret in (key, key.swapcase(), basic_credentials(key)):
                for length in range(len(secret), MIN_MASKED_CHARACTERS - 1, -1):
                    text = text.replace(secret[:length], mask_key(key))
        return text

    def is_of_this_run(self, payment: Payment) -> bool:
        metadata = payment.get("metadata")
        return isinstance(metadata, dict) and metadata.get("run") == self._run_id

    async def create(
        self,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        content: bytes | None = None,
        media_type: str = JSON,
    ) -> ServiceResponse:
        """Send a create call and record the payment if a new one is returned.

        `content` is sent instead of the body if it is given.
        """
        created = self.created if key is None else self.created_by_other
        earlier_count = len(created)
        response = await self.client.send(
            ServiceRequest(
                method="POST",
                path=PAYMENTS,
                body=json.dumps(body).encode() if content is None else content,
                media_type=media_type,
                key=key or self.key,
            )
        )
        payment_id = response.members.get("id")
        known_ids = {payment.id for payment in created}
        if response.is_success and isinstance(payment_id, str) and payment_id not in known_ids:
            created.append(OwnPayment(body=body, response=response, earlier_count=earlier_count))
        return response

    async def retrieve(self, payment_id: str, *, key: str | None = None) -> ServiceResponse:
        path = f"{PAYMENTS}/{quote(payment_id, safe='')}"
        return await self.client.send(ServiceRequest(path=path, key=key or self.key))

    async def page(self, *, of_key: str | None = None, **query: str | int) -> ServiceResponse:
        """Send a list call."""
        texts = {name: str(value) for name, value in query.items()}
        return await self.client.send(
            ServiceRequest(path=PAYMENTS, query=texts, key=of_key or self.key)
        )

    async def long_page(self, **query: str) -> ServiceResponse:
        """Send a list call with the largest `limit` of the contract."""
        return await self.page(**query, limit=MAX_LIMIT)

    def missing(self, page: ServiceResponse) -> set[str]:
        """The payments of this run that a complete page lacks; none of one with a next page."""
        return set() if page.ids and page.has_next_page else self.created_ids - set(page.ids)

    def missing_by_filter(self, page: ServiceResponse) -> set[str]:
        """The missing payments that another list contains, so that the filter is the cause."""
        return self.missing(page) & {id_ for response in self.lists for id_ in response.ids}

    def bounds(self) -> tuple[Instant, Instant]:
        """Instants before and after the payments of this run. Raises CheckStopped."""
        created = [payment.payment for payment in self.all_created]
        own = self.created_ids
        # Lists too: the response to a create call may contain a wrong instant.
        listed = [each for page in self.lists for each in page.payments if each.get("id") in own]
        texts = {str(payment.get("created_at")) for payment in (*listed, *created)}
        instants = [at for at in map(parse_instant, texts) if at is not None]
        if not instants:
            raise CheckStopped("no payment has a `created_at` that can be read")
        return min(instants) - MARGIN_MS, max(instants) + MARGIN_MS

    def within_bounds(self) -> dict[str, str]:
        """A query for the payments of this run, and few others. Raises CheckStopped."""
        return between(*self.bounds())

    async def window(self) -> dict[str, str]:
        """The same query, or an empty one if the bounds do not work. Raises CheckStopped."""
        query = self.within_bounds()
        if self.has_bounds is None:
            page = await self.long_page(**query)
            self.has_bounds = page.is_success and not self.missing(page)
        return query if self.has_bounds else {}
