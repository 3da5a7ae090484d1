"""The JSON Schemas of what the contract's calls take and answer."""

from typing import Any

from emulator.api import parameters
from emulator.api.bodies import MAX_BODY_BYTES, MAX_NESTING
from emulator.domain.payment import (
    CURRENCY,
    DEFAULT_EXPIRES_IN_S,
    MAX_AMOUNT_MINOR,
    MAX_EXPIRES_IN_S,
    MAX_METADATA_PAIRS,
    MIN_AMOUNT_MINOR,
    Status,
)
from emulator.engine.payments.payments import KEY_RETENTION_MS

Json = dict[str, Any]

# Longer ones are no less identifiers: the contract names the prefix alone.
PAYMENT_ID: Json = {"type": "string", "pattern": "^pay_[A-Za-z0-9]+$"}

_HOUR_MS = 3_600_000
_TEXT: Json = {"type": "string"}
_TIMESTAMP: Json = {"type": "string", "format": "date-time"}
_STATUS: Json = {
    "type": "string",
    "description": "How it stands with the payment.",
    "enum": [status.value for status in Status],
}
_CURRENCY: Json = {"type": "string", "description": "Always `ETB`.", "enum": [CURRENCY]}
_METADATA: Json = {
    "type": "object",
    "description": "The merchant's own pairs, kept in order.",
    "additionalProperties": {"type": "string"},
    "maxProperties": MAX_METADATA_PAIRS,
}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def components(methods: tuple[str, ...]) -> Json:
    """The schemas by name: what generated clients call their classes."""
    payment, error = payment_schema(methods), error_schema()
    payment["properties"] |= {
        "currency": ref("Currency"),
        "status": ref("PaymentStatus"),
        "metadata": ref("Metadata"),
    }
    detail, error["properties"]["error"] = error["properties"]["error"], ref("ErrorDetail")
    return {
        "CreatePayment": _create_payment(),
        "Payment": payment,
        "PaymentList": _payment_list(),
        "PaymentMethod": {
            "type": "string",
            "description": "A payment method that can be offered.",
            "enum": [*methods],
        },
        "PaymentStatus": _STATUS,
        "Currency": _CURRENCY,
        "Metadata": _METADATA,
        "Error": error,
        "ErrorDetail": detail,
    }


def payment_schema(methods: tuple[str, ...]) -> Json:
    """The payment object (contract, section 2.1), whole in itself."""
    properties = {
        "id": {**PAYMENT_ID, "description": "Identifies the payment."},
        "object": {"type": "string", "description": "Always `payment`.", "enum": ["payment"]},
        "amount": {
            "type": "integer",
            "format": "int64",
            "description": "The amount in ETB cents: 100 are 1 ETB.",
            "minimum": MIN_AMOUNT_MINOR,
            "maximum": MAX_AMOUNT_MINOR,
        },
        "currency": dict(_CURRENCY),
        "status": dict(_STATUS),
        "method": {
            "type": ["string", "null"],
            "description": (
                "The payment method used; null until the customer selects one. Here it is one of"
                f" {_listed(methods)}; the contract does not show the complete list."
            ),
            "examples": [*methods],
        },
        "checkout_url": {**_TEXT, "description": "Where the customer is redirected to pay."},
        "success_url": {**_TEXT, "description": "Where the customer goes after success."},
        "cancel_url": {**_TEXT, "description": "Where the customer goes on cancellation."},
        "metadata": dict(_METADATA),
        "created_at": {**_TIMESTAMP, "description": "When the payment was created."},
        "expires_at": {**_TIMESTAMP, "description": "When its checkout expires."},
        "completed_at": {
            "type": ["string", "null"],
            "format": "date-time",
            "description": "When the payment was confirmed; null until then.",
        },
    }
    return {
        "type": "object",
        "description": "A single customer checkout.",
        "properties": properties,
        "required": list(properties),
    }


def error_schema() -> Json:
    """The error envelope (contract, section 7), whole in itself."""
    detail = {
        "type": "object",
        "description": "What is wrong.",
        "properties": {
            "code": {
                "type": "string",
                "description": (
                    "The machine-readable code. Each response lists those that it has here; the"
                    " contract does not show the complete list."
                ),
                "pattern": "^[a-z]+(_[a-z]+)*$",
                "examples": ["invalid_amount"],
            },
            "message": {"type": "string", "description": "The explanation, for people."},
            "param": {
                "type": "string",
                "description": "The field at fault; absent where no single one is.",
            },
        },
        "required": ["code", "message"],
    }
    return {
        "type": "object",
        "description": "The body of every answer that is not a success.",
        "properties": {"error": detail},
        "required": ["error"],
    }


def _payment_list() -> Json:
    properties = {
        "data": {
            "type": "array",
            "description": "The payments of this page, newest first.",
            "items": ref("Payment"),
        },
        "has_more": {"type": "boolean", "description": "Whether a further page exists."},
        "next_cursor": {
            "type": ["string", "null"],
            "description": "What to pass as `after` for the next page; null on the last one.",
        },
    }
    return {
        "type": "object",
        "description": "One page of payments.",
        "properties": properties,
        "required": list(properties),
    }


def _create_payment() -> Json:
    required = {
        "amount": {
            "type": "integer",
            "format": "int64",
            "description": (
                "The amount in ETB cents, written as an integer: `100.0` and `1e3` are refused."
            ),
            "minimum": MIN_AMOUNT_MINOR,
            "maximum": MAX_AMOUNT_MINOR,
        },
        "currency": ref("Currency"),
        "methods": {
            "type": "array",
            "description": "The payment methods to offer, in order; one given twice counts once.",
            "items": ref("PaymentMethod"),
            "minItems": 1,
        },
        "success_url": _redirect_url("after success"),
        "cancel_url": _redirect_url("on cancellation"),
    }
    described = {**required, **_optional_parameters()}
    return {
        "type": "object",
        "description": (
            "What to create. Unknown members are tolerated, with a warning. The body may have"
            f" {MAX_BODY_BYTES // 1024} KiB and {MAX_NESTING} levels of nesting."
        ),
        "properties": {name: described[name] for name in parameters.KNOWN},
        "required": list(required),
    }


def _optional_parameters() -> Json:
    """Those of which null counts as absent."""
    usual = parameters.USUAL_EXPIRES_IN_S
    return {
        "metadata": {
            # Not `type: [object, null]`: generated clients would have a class apart for it.
            "oneOf": [ref("Metadata"), {"type": "null"}],
            "description": (
                f"Keys over {parameters.USUAL_METADATA_KEY_LENGTH} and values over"
                f" {parameters.USUAL_METADATA_VALUE_LENGTH} characters are tolerated, with a"
                " warning."
            ),
        },
        "idempotency_key": {
            "type": ["string", "null"],
            "description": (
                "Lets a failed request be retried safely: the same key with the same parameters"
                " creates one payment, with others it is 409. It is remembered for"
                f" {KEY_RETENTION_MS // _HOUR_MS} hours on the account's clock."
            ),
            "minLength": 1,
        },
        "expires_in": {
            "type": ["integer", "null"],
            "format": "int64",
            "description": (
                f"Seconds until the checkout expires, {DEFAULT_EXPIRES_IN_S} unless given. Written"
                f" as an integer; what is not {usual.start:,} to {usual.stop - 1:,} is tolerated,"
                " with a warning."
            ),
            # No `default`: types generated for TypeScript would make it a required member.
            "minimum": 1,
            "maximum": MAX_EXPIRES_IN_S,
        },
    }


def _redirect_url(when: str) -> Json:
    return {
        "type": "string",
        "description": (
            f"An absolute HTTPS URL to which the customer is redirected {when}, exactly as it is"
            " given. The control characters U+0080 to U+009F are refused as well, and brackets"
            " without an IPv6 address in them. A URL with user information, a backslash, more than"
            f" {parameters.USUAL_URL_LENGTH} characters, or a host or port that no browser opens is"
            " served with a warning. With `--allow-http-localhost` the emulator also accepts"
            " `http://` where a browser opens a local name."
        ),
        "pattern": f"^{parameters.HTTPS_URL}$",
    }


def _listed(methods: tuple[str, ...]) -> str:
    return ", ".join(f"`{method}`" for method in methods)
