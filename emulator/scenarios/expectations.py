"""Declares the step `expect`: what can be checked, of a payment or of the last response."""

from typing import Any

from emulator.domain.payment import Reason
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER
from emulator.scenarios.conditions import PAYMENT_NAME
from emulator.scenarios.entries import Entry, note_unknown_key
from emulator.scenarios.faults import MAX_RETRY_AFTER_S
from emulator.scenarios.kinds import (
    Boolean,
    ListOf,
    OrNull,
    WholeNumber,
    Word,
)
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.payment_members import PAYMENT_FIELDS, TEXT_OR_NULL, of_both
from emulator.scenarios.values import FieldCheck, Json, Place

MIN_HTTP_STATUS = 100
MAX_HTTP_STATUS = 599
SAME_AS = "same_as"


_EVENTS = ListOf(Word(EVENT_TYPES_IN_ORDER), "a list of event types", "an entry of {}")
_PAYMENTS = ListOf(PAYMENT_NAME, "a list of payments, by their names", "a payment")


# Checks of the last response, so not permitted with `payment`.
RESPONSE_CHECKS = {
    "http_status": Key(
        WholeNumber(at_least=MIN_HTTP_STATUS, at_most=MAX_HTTP_STATUS),
        "The HTTP status of the last response.",
    ),
    "code": Key(TEXT_OR_NULL, "The code of the error in the last response."),
    "param": Key(TEXT_OR_NULL, "The field that the error in the last response names."),
    "retry_after": Key(
        OrNull(WholeNumber(at_least=0, at_most=MAX_RETRY_AFTER_S)),
        "The seconds of the header `Retry-After` of the last response.",
    ),
    "replayed": Key(
        Boolean(), "Whether the last response is an idempotent replay of an earlier one."
    ),
    "lost": Key(Boolean(), "Whether no complete response arrived."),
    "payments": Key(_PAYMENTS, "The payments of the last list, by name, in order."),
    "has_more": Key(Boolean(), "Whether the last list has a further page."),
}
_FOR_ALL = "The same, for all payments."
_ORDERED = "in the order of arrival."


def _check_together(members: Members) -> None:
    is_of_payment = "payment" in members.known
    for key, key_entry in members.keys.items():
        if is_of_payment and key in RESPONSE_CHECKS:
            key_entry.note(
                f"'{key}' checks the last response, so it is not allowed beside 'payment'"
            )
        if not is_of_payment and key == SAME_AS:
            key_entry.note(f"'{key}' compares with a payment, so it needs 'payment'")
    if not members.known.keys() - {"payment"} and not members.has_stray_keys:
        members.entry.note("expect must have something to check, such as 'status'")


class _Expect(MappingOf[dict[str, Any]]):
    """The keys in the order of the file, each with its place."""

    def note_unknown(self, members: Members, key_entry: Entry, name: str) -> None:
        is_of_payment = members.entry.child("payment") is not members.entry
        senseless = RESPONSE_CHECKS if is_of_payment else {SAME_AS}
        offered = [known for known in self.keys if known not in senseless]
        note_unknown_key(members.entry, key_entry, name, self.keys, offered=offered)

    def build(self, members: Members) -> dict[str, Any]:
        checks = tuple(
            FieldCheck(
                place=Place(line=key_entry.node.line, column=key_entry.node.column),
                key=key,
                expected=_as_json(members.values[key]),
            )
            for key, key_entry in members.keys.items()
            if key != "payment"
        )
        return {"payment": members.values["payment"], "checks": checks}

    def write(self, value: Any) -> Json:
        checks = {check.key: check.expected for check in value.checks}
        return checks if value.payment is None else {"payment": value.payment, **checks}


def _as_json(value: Any) -> Json:
    return list(value) if isinstance(value, tuple) else value


EXPECT = _Expect(
    dict,
    {
        "payment": of_both(
            "The name that `create` gave the payment with `as`.",
            "The last response and the account are checked.",
            PAYMENT_NAME,
        ),
        **PAYMENT_FIELDS,
        "reason": of_both(
            "Why the payment failed.",
            "The same, for the payment in the last response.",
            OrNull(Word([reason.value for reason in Reason])),
        ),
        "events": of_both(
            "The types of the payment's events, oldest first.",
            "The types of the newest 1,000 events of the account and mode, oldest first.",
            _EVENTS,
        ),
        "webhooks": of_both(
            f"The types of the webhooks that arrived with a valid signature, {_ORDERED}",
            _FOR_ALL,
            _EVENTS,
        ),
        "forged": of_both(
            f"The types of the webhooks that arrived with an invalid signature, {_ORDERED}",
            _FOR_ALL,
            _EVENTS,
        ),
        **RESPONSE_CHECKS,
        SAME_AS: Key(PAYMENT_NAME, "The name of another payment that must have the same id."),
    },
    KeyRule(
        check=_check_together,
        schema={
            "minProperties": 1,
            "if": {"required": ["payment"]},
            "then": {"minProperties": 2, "properties": dict.fromkeys(RESPONSE_CHECKS, False)},
            "else": {"properties": {SAME_AS: False}},
        },
    ),
)
