"""One run against a service: who asks, what it has made there, and what it was answered."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from emulator import ids
from emulator.domain.accounts import mask_key
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.verify.answers import JSON, Answer, Request
from emulator.verify.client import CannotSee, Client, RateLimited

PAYMENTS = "/v1/payments"
_ROOT = "/v1/"
MIN_AMOUNT = 100
# For a service that refuses the smallest amount that the contract has.
LARGER_AMOUNT = 1_000
EXPIRES_IN_S = 600
# For a service that takes no such short one; not the default, to be told from it.
LONGER_EXPIRES_IN_S = 2_700
METHODS = DEFAULT_METHODS
MADE_BY = "payments-emulator verify"
MAX_PAIRS = 20
# What a service repeats of a key is masked from so many characters on.
SHORTEST_MASKED = 10

# Addresses that nobody owns, and that say what has made the payment.
_SUCCESS_URL = "https://example.com/made-by-payments-emulator-verify?order=1&paid=yes"
_CANCEL_URL = "https://example.com/made-by-payments-emulator-verify?order=1&paid=no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A payment as its create call was asked for and answered.

    `earlier_count` is how many payments had been created before the request was sent.
    """

    body: Mapping[str, Any]
    answer: Answer
    earlier_count: int

    @property
    def payment(self) -> Mapping[str, Any]:
        return self.answer.members

    @property
    def id(self) -> str:
        return str(self.payment["id"])


def as_basic(key: str) -> str:
    """A key as the scheme Basic writes it."""
    return b64encode(f"{key}:".encode()).decode("ascii")


class Visit:
    """Asks as the owner of a key, and of another account's where there is one.

    `created` are the payments that were made, the oldest first. All of them are of the smallest
    amount and stay pending: nothing here pays. `method`, `expires_in_s` and `amount` are what the
    service takes, which is found out with the first payment. `has_bounds` is whether a list
    between two instants has what it should; None before that is known.
    """

    def __init__(
        self, client: Client, *, key: str, other_key: str | None, stream: bytes | None = None
    ) -> None:
        self.client = client
        self.key = key
        self.other_key = other_key
        self.method = METHODS[0]
        self.expires_in_s = EXPIRES_IN_S
        self.amount = MIN_AMOUNT
        self.has_bounds: bool | None = None
        self.created: list[Created] = []
        self.others: list[Created] = []
        self._stream = stream or ids.stream_key(None)
        self._mark = ids.checkout_token(self._stream, 0)

    @property
    def answers(self) -> list[Answer]:
        """All that came from the contract's root: outside of it the contract says nothing."""
        return [one for one in self.client.answers if one.request.path.startswith(_ROOT)]

    @property
    def may_have_created_more(self) -> bool:
        """Whether a call got no answer, or 5xx: it may have created a payment all the same."""
        return self.client.lost_count > 0 or any(one.status >= 500 for one in self.client.answers)

    @property
    def all_created(self) -> list[Created]:
        """What was created, if anything was. Raises CannotSee."""
        if not self.created:
            raise self.without_payments("no payment could be created")
        return self.created

    def without_payments(self, reason: str) -> CannotSee:
        """Why there are too few payments to look at: the reason, or a 429 that is behind it."""
        refusal = self.client.refusal
        return CannotSee(reason) if refusal is None else RateLimited(refusal)

    @property
    def first(self) -> Created:
        """The payment that everything was asked for, if it could be. Raises CannotSee."""
        return self.all_created[0]

    @property
    def other_accounts_key(self) -> str:
        """Raises CannotSee."""
        if self.other_key is None:
            raise CannotSee("it takes the key of another account, --other-key")
        return self.other_key

    @property
    def unknown_key(self) -> str:
        """A well-formed key that nobody has."""
        return ids.api_key(self._stream, "test", 1)

    @property
    def unknown_id(self) -> str:
        """A well-formed id of no payment."""
        return ids.payment_id(ids.checkout_token(self._stream, 1))

    def idempotency_key(self, purpose: str) -> str:
        """One that no other run uses."""
        return f"payments-emulator-verify-{purpose}-{self._mark}"

    def order(self, **changes: Any) -> dict[str, Any]:
        """The body of a create call, with some members changed; one that is `...` is left out."""
        body = {
            "amount": self.amount,
            "currency": "ETB",
            "methods": [self.method],
            "success_url": _SUCCESS_URL,
            "cancel_url": _CANCEL_URL,
            "metadata": self.metadata(2),
            "expires_in": self.expires_in_s,
            **changes,
        }
        return {name: value for name, value in body.items() if value is not ...}

    def metadata(self, pairs: int) -> dict[str, str]:
        marks = {"made_by": MADE_BY, "run": self._mark}
        return marks | {f"pair_{number}": "ብር" for number in range(3, pairs + 1)}

    def masked(self, text: str) -> str:
        """What a service has said, without the keys if it has repeated them, or begun to."""
        keys = sorted(filter(None, (self.key, self.other_key)), key=len, reverse=True)
        for key in keys:
            for secret in (key, as_basic(key)):
                for length in range(len(secret), SHORTEST_MASKED - 1, -1):
                    text = text.replace(secret[:length], mask_key(key))
        return text

    def is_of_this_run(self, payment: Mapping[str, Any]) -> bool:
        metadata = payment.get("metadata")
        return isinstance(metadata, dict) and metadata.get("run") == self._mark

    async def create(
        self,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        content: bytes | None = None,
        media_type: str = JSON,
    ) -> Answer:
        """A create call, whatever is in it; a payment that comes of it is remembered.

        With a `content` that is sent, in the place of the body.
        """
        written = json.dumps(body).encode() if content is None else content
        made = self.created if key is None else self.others
        earlier_count = len(made)
        answer = await self.client.ask(
            Request(
                method="POST",
                path=PAYMENTS,
                body=written,
                media_type=media_type,
                key=key or self.key,
            )
        )
        payment_id = answer.members.get("id")
        is_new = isinstance(payment_id, str) and payment_id not in {one.id for one in made}
        if answer.is_success and is_new:
            made.append(Created(body=body, answer=answer, earlier_count=earlier_count))
        return answer

    async def retrieve(self, payment_id: str, *, key: str | None = None) -> Answer:
        path = f"{PAYMENTS}/{quote(payment_id, safe='')}"
        return await self.client.ask(Request(path=path, key=key or self.key))

    async def page(self, *, of_key: str | None = None, **query: str | int) -> Answer:
        """A list call."""
        asked = {name: str(value) for name, value in query.items()}
        return await self.client.ask(Request(path=PAYMENTS, query=asked, key=of_key or self.key))
