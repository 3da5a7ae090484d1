"""The members of a payment that steps send and compare."""

from typing import Any

from emulator.domain.payment import Status
from emulator.scenarios.kinds import JsonValue, Kind, OrNull, Text, Word
from emulator.scenarios.mappings import Key

TEXT_OR_NULL = OrNull(Text())
_JSON = JsonValue()


def _field(description: str, kind: Kind[Any] | None = None) -> Key:
    """A field of a payment. With `payment` a key has one meaning, without it the second one."""
    return of_both(description, "This member of the last response.", kind or _JSON)


def of_both(description: str, otherwise: str, kind: Kind[Any]) -> Key:
    return Key(kind, f"{description} Without `payment`: {otherwise}")


PAYMENT_FIELDS = {
    "id": _field("The id."),
    "object": _field("Always `payment`."),
    "amount": _field("The amount in ETB cents."),
    "currency": _field("The currency."),
    "status": _field("The status.", Word([status.value for status in Status])),
    "method": _field("The payment method.", TEXT_OR_NULL),
    "checkout_url": _field("The address of the checkout page."),
    "success_url": _field("The redirect URL after success."),
    "cancel_url": _field("The redirect URL after a cancellation."),
    "metadata": _field("The complete metadata of the payment."),
    "created_at": _field("The time of creation."),
    "expires_at": _field("The time at which the checkout expires."),
    "completed_at": _field("The time of completion, or `null`."),
}


def as_given(description: str, kind: Kind[Any] = _JSON, *, default_text: str = "") -> Key:
    return Key(kind, f"{description} The value is sent without a check.", default_text=default_text)


# Of the parameters that the API requires.
_FILLED_IN = "filled in"
CREATE_MEMBERS = {
    "amount": as_given("The amount in ETB cents.", default_text=_FILLED_IN),
    "currency": as_given("The currency: ETB.", default_text=_FILLED_IN),
    "methods": as_given("The payment methods to offer.", default_text=_FILLED_IN),
    "success_url": as_given("The redirect URL after success.", default_text=_FILLED_IN),
    "cancel_url": as_given("The redirect URL after a cancellation.", default_text=_FILLED_IN),
    "metadata": as_given("Up to 20 pairs of texts."),
    "idempotency_key": as_given("The key that makes a retry of the request safe."),
    "expires_in": as_given("The seconds until the checkout expires."),
}
