"""Encodes payments, events and the effects of an advance as JSON (contract, section 2.1).

`PaymentJson` is also the schema of the payment in the OpenAPI document.
"""

from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain.accounts import Mode
from emulator.domain.instants import Instant, format_instant
from emulator.domain.payment import (
    CURRENCY,
    MAX_AMOUNT_MINOR,
    MIN_AMOUNT_MINOR,
    ORDER_TERMS,
    PAYMENT_MEMBERS,
    RETURN,
    Event,
    OrderTerms,
    Payment,
    Reason,
    Status,
)
from emulator.domain.transitions import Timer, TimerKind
from emulator.server.openapi.declarations import doc, int64, refers_to

SUCCESS_URL = "https://shop.example/orders/1042"
CANCEL_URL = "https://shop.example/cart"
_EXAMPLES = {"success_url": SUCCESS_URL, "cancel_url": CANCEL_URL}
_CHECKOUT_URL = "http://127.0.0.1:8081/c/000001FXnjOasxbc3T6lG61rwPZf0Pqm"

# Of any length: the contract names the prefix only.
PaymentId = Annotated[
    str, Meta(pattern="^pay_[A-Za-z0-9]+$", examples=["pay_000001Dz8o8aapLUyz3InHE9"])
]
AmountMinor = Annotated[int, int64(MIN_AMOUNT_MINOR, MAX_AMOUNT_MINOR, 15_000)]
InstantText = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class _Checkout(Struct, frozen=True):
    id: Annotated[PaymentId, doc(PAYMENT_MEMBERS["id"])]
    object: Annotated[str, doc(PAYMENT_MEMBERS["object"], enum=["payment"])]
    amount: Annotated[AmountMinor, doc(PAYMENT_MEMBERS["amount"])]
    currency: Annotated[Any, refers_to("Currency")]
    status: Status
    method: str | None
    checkout_url: Annotated[str, doc(PAYMENT_MEMBERS["checkout_url"], _CHECKOUT_URL)]


def _term(name: str, kind: Any) -> tuple[str, Any]:
    """The field of a member that a create call sets."""
    if name == "metadata":
        return name, Annotated[Any, refers_to("Metadata")]
    return name, Annotated[kind, doc(PAYMENT_MEMBERS[name], _EXAMPLES.get(name))]


_WithTerms: Any = msgspec.defstruct(
    "_WithTerms",
    [_term(*each) for each in get_type_hints(OrderTerms).items()],
    bases=(_Checkout,),
)


# The members follow the order of the contract.
class PaymentJson(_WithTerms):  # type: ignore[misc]
    """A single customer checkout."""

    created_at: Annotated[InstantText, doc(PAYMENT_MEMBERS["created_at"])]
    expires_at: Annotated[
        InstantText, doc(PAYMENT_MEMBERS["expires_at"], "2026-01-01T00:30:00.000Z")
    ]
    completed_at: Annotated[InstantText | None, doc(PAYMENT_MEMBERS["completed_at"])]


class _Event(Struct, frozen=True, kw_only=True):
    id: str
    object: str = "event"
    type: str
    timestamp: str
    mode: Mode
    data: PaymentJson | dict[str, str]


class _Effect(Struct, frozen=True, kw_only=True):
    at: str
    type: str | None
    payment: str
    kind: TimerKind
    status: Status
    reason: Reason | UnsetType


def payment_json(payment: Payment) -> bytes:
    """The payment object."""
    return msgspec.json.encode(_payment(payment))


def event_json(event: Event, payment: Payment, *, event_id: str, mode: Mode) -> bytes:
    """The body of an event; `payment` is the payment at the time of the event."""
    return msgspec.json.encode(
        _Event(
            id=event_id,
            type=event.type,
            timestamp=format_instant(event.at),
            mode=mode,
            data=_payment(payment),
        )
    )


def ping_json(
    *, event_id: str, at: Instant, mode: Mode, event_type: str, payment_id: str | None
) -> bytes:
    """The body of a ping, or of an event that has only the id of a payment."""
    return msgspec.json.encode(
        _Event(
            id=event_id,
            type=event_type,
            timestamp=format_instant(at),
            mode=mode,
            data={} if payment_id is None else {"id": payment_id},
        )
    )


def effect_json(timer: Timer, payment_id: str) -> bytes:
    """An entry in the list of effects of an advance."""
    change = timer.change
    return msgspec.json.encode(
        _Effect(
            at=format_instant(timer.due_at),
            type=None if change.event_type == RETURN else change.event_type,
            payment=payment_id,
            kind=timer.kind,
            status=change.to,
            reason=UNSET if change.reason is None else change.reason,
        )
    )


def _payment(payment: Payment) -> PaymentJson:
    terms, completed_at = payment.terms, payment.completed_at
    return PaymentJson(
        id=payment.id,
        object="payment",
        currency=CURRENCY,
        amount=payment.amount_minor,
        status=payment.status,
        method=payment.method,
        checkout_url=terms.checkout_url,
        **{name: getattr(terms, name) for name in ORDER_TERMS},
        created_at=format_instant(payment.created_at),
        expires_at=format_instant(payment.expires_at),
        completed_at=None if completed_at is None else format_instant(completed_at),
    )
