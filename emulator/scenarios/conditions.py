"""Declares payment data, conditions on it, and the keys that all rules have."""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.payment import (
    MAX_AMOUNT_MINOR,
    OPTIONAL_TERMS,
    ORDER_TERMS,
    PAYMENT_MEMBERS,
    Reason,
    Status,
)
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    BANKS,
    DEFAULT_METHODS,
    PHONE_DIGITS,
    PHONE_METHODS,
    PHONE_SEPARATOR,
    methods_of_phone,
    normalise_phone,
)
from emulator.scenarios.entries import Entry, hint_nearest, listed, read_text, text_of
from emulator.scenarios.kinds import (
    Duration,
    JsonSchema,
    JsonValue,
    Kind,
    ListOf,
    OrNull,
    PairsOf,
    Text,
    WholeNumber,
    Word,
)
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    KeyRule,
    MappingOf,
    Members,
    OrMapping,
    implies,
    is_given,
    is_one_of,
    needs_one,
)
from emulator.scenarios.values import AmountRange, When

# Any identifier: which methods exist is configuration, so an unknown one is no mistake here.
METHOD_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
PAYMENT_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
MAX_TIMES = 1_000_000
# Each comparison takes as long as a thousand look-ups.
_MAX_COMPARED_NAMES = 50

R = TypeVar("R")

MODE = Word(Mode)
METHOD = Text(
    METHOD_PATTERN,
    expected=f"a word such as {listed(DEFAULT_METHODS, 'or')}",
    examples=DEFAULT_METHODS,
)
BANK = Word(BANKS)
REASON = Word(Reason)
AMOUNT_MINOR = WholeNumber(at_most=MAX_AMOUNT_MINOR)


class Phone(Kind[str]):
    """A phone number in any form; the value is normalised."""

    def read(self, entry: Entry) -> str | None:
        text = read_text(entry)
        if text is None:
            return None
        try:
            return normalise_phone(text)
        except ValueError as error:
            entry.note(str(error))
            return None

    def schema(self) -> JsonSchema:
        # As `normalise_phone`: separators may stand anywhere.
        rest = f"{PHONE_SEPARATOR}*"
        return {
            "type": "string",
            "pattern": rf"^(({rest}\+|{rest}0{rest}0)?{rest}2{rest}5{rest}1|{rest}0)?"
            f"{rest}[{PHONE_DIGITS}]({rest}[0-9]){{8}}{rest}$",
            "examples": ["+251900000001", "0700000001"],
        }


PHONE = Phone()


class PaymentName(Text):
    """The name of a payment that a step before has created."""

    def read(self, entry: Entry) -> str | None:
        name, context = read_text(entry, self.expected), entry.context
        if name is None or name in context.names:
            return name
        hint = "" if context.names else "; 'create: {as: …}' gives a name"
        if not context.are_many:
            hint = hint or hint_nearest(name, sorted(context.names)[:_MAX_COMPARED_NAMES])
        entry.note(f"no payment is called {name!r} before this step{hint}")
        return None


class NewPaymentName(Text):
    """The name that later steps use for a payment."""

    def read(self, entry: Entry) -> str | None:
        # A malformed name too, so that the steps that use it are not noted as well.
        entry.context.names.update(filter(None, [text_of(entry)]))
        return super().read(entry)


_NAME_FORM = "1 to 64 lower-case letters, digits, - and _, a letter first"
NEW_PAYMENT_NAME = NewPaymentName(PAYMENT_NAME_PATTERN, expected=_NAME_FORM)
PAYMENT_NAME = PaymentName(PAYMENT_NAME_PATTERN, expected="the name of a payment")

TEXT_OR_NULL = OrNull(Text())
_JSON = JsonValue()


def of_both(description: str, otherwise: str, kind: Kind[Any]) -> Key:
    return Key(kind, f"{description} Without `payment`: {otherwise}")


_FIELD_KINDS: dict[str, Kind[Any]] = {
    "status": Word([status.value for status in Status]),
    "method": TEXT_OR_NULL,
}
# With `payment` a key has one meaning, without it the second one.
PAYMENT_FIELDS = {
    name: of_both(text, "This member of the last response.", _FIELD_KINDS.get(name, _JSON))
    for name, text in PAYMENT_MEMBERS.items()
}


def as_given(description: str, kind: Kind[Any] = _JSON, *, default_text: str = "") -> Key:
    return Key(kind, f"{description} The value is sent without a check.", default_text=default_text)


# Of the parameters that the API requires.
_FILLED_IN = "filled in"
CREATE_MEMBERS = {
    "amount": as_given(PAYMENT_MEMBERS["amount"], default_text=_FILLED_IN),
    "currency": as_given("The currency: ETB.", default_text=_FILLED_IN),
    "methods": as_given("The payment methods to offer.", default_text=_FILLED_IN),
    **{
        name: as_given(
            PAYMENT_MEMBERS[name], default_text="" if name in OPTIONAL_TERMS else _FILLED_IN
        )
        for name in ORDER_TERMS
    },
    "idempotency_key": as_given("The key that makes a retry of the request safe."),
    "expires_in": as_given("The seconds until the checkout expires."),
}


def _payer_conditions() -> Iterator[JsonSchema]:
    """What a method permits; null is as good as absent."""
    absent = {"type": "null"}
    for name, method in PHONE_METHODS.items():
        # The form of the number is that of Phone.
        phone = {"pattern": f"[{method.phone_digits}]([^0-9]*[0-9]){{8}}[^0-9]*$"}
        yield implies(is_one_of("method", name), {"properties": {"phone": phone, "bank": absent}})
    yield implies(is_one_of("method", BANK_TRANSFER), {"properties": {"phone": absent}})
    yield implies(is_given("phone"), {"properties": {"bank": absent}})


def payer_rule(consequence: str = "") -> DeclaredRule:
    """Method, phone and bank must be able to belong to one payment."""

    def check(members: Members) -> None:
        method, phone, bank = (members.values[key] for key in ("method", "phone", "bank"))
        if phone is not None:
            owners = methods_of_phone(phone)
            if method in PHONE_METHODS.keys() - {*owners}:
                members.known["phone"].note(
                    f"{phone} is a number of {listed(owners, 'and')}, so it never pays by {method}"
                )
            elif method == BANK_TRANSFER:
                members.known["phone"].note(
                    f"a {BANK_TRANSFER} has a bank and no phone{consequence}"
                )
        if bank is not None:
            if method in PHONE_METHODS:
                members.known["bank"].note(f"{method} has a phone and no bank{consequence}")
            elif phone is not None:
                members.known["bank"].note(f"no payment has both a phone and a bank{consequence}")

    return DeclaredRule(check, *_payer_conditions())


def _check_reason(members: Members) -> None:
    if members.values["status"] not in (None, Status.FAILED) and "reason" in members.known:
        members.known["reason"].note(f"reason belongs to 'status: {Status.FAILED}' alone")


REASON_RULE = DeclaredRule(
    _check_reason,
    implies(is_given("reason"), is_one_of("status", Status.FAILED.value)),
)


def _check_range(members: Members) -> None:
    gte, lte = members.values["gte"], members.values["lte"]
    if gte is not None and lte is not None and gte > lte:
        members.entry.note(f"gte must not be above lte: no amount is from {gte} to {lte}")


AMOUNT_RANGE = MappingOf(
    AmountRange,
    {
        "gte": Key(AMOUNT_MINOR, "The smallest amount that matches."),
        "lte": Key(AMOUNT_MINOR, "The largest amount that matches."),
    },
    needs_one("gte", "lte"),
    _check_range,
)

_AMOUNT = OrMapping(
    AMOUNT_RANGE,
    WholeNumber(at_most=MAX_AMOUNT_MINOR, or_else=" in ETB cents, or {gte: …, lte: …}"),
    lambda amount_minor: AmountRange(gte=amount_minor, lte=amount_minor),
    lambda amounts: amounts.gte if amounts.gte == amounts.lte else None,
)


def mode_key(description: str) -> Key:
    return Key(MODE, description, default_text="both modes")


def check_times(members: Members) -> None:
    begin, end = members.values["from"], members.values["until"]
    if begin is not None and end is not None and begin >= end:
        members.known["until"].note("until must be later than from")


TIMES = {
    "from": Key(
        Duration(),
        "Only from this time on, counted by the account's clock from when the scenario was "
        "enabled; of a fault without a file, from when the fault was added.",
    ),
    "until": Key(Duration(at_least=1), "Only before this time, counted as `from`."),
}
WHEN = MappingOf(
    When,
    {
        "mode": mode_key("The mode of the payment."),
        "method": Key(
            METHOD, "The submitted method; in `expiry`, one of the methods that the payment offers."
        ),
        "phone": Key(PHONE, "The submitted phone number, in any form; never matches in `expiry`."),
        "bank": Key(BANK, "The chosen bank; never matches in `expiry`."),
        "amount": Key(
            _AMOUNT, "The amount, or a range of amounts. A range has `gte`, `lte` or both."
        ),
        "metadata": Key(
            PairsOf(Text()),
            "Metadata with these values. Other keys of the metadata are ignored.",
        ),
    },
    # A rule that can never match is a mistake that has no other sign.
    payer_rule(", so this never matches"),
)
OUTCOME_WHEN = MappingOf(
    When, {**WHEN.keys, **TIMES}, payer_rule(", so this never matches"), check_times
)


def rule_of(
    make: Callable[..., R], when: Kind[Any], then: Key, *rules: KeyRule, **more: Key
) -> MappingOf[R]:
    """A rule: its condition, its effect, and how often it applies."""
    keys = {
        "when": Key(
            when,
            "The condition. All keys must match; `{}` matches everything.",
            required="what must match; {} matches everything",
        ),
        **more,
        "then": then,
        "times": Key(
            WholeNumber(at_most=MAX_TIMES),
            "After this number of uses, the rule is inactive and the next matching rule applies.",
            default_text="unlimited",
        ),
    }
    return MappingOf(make, keys, *rules)


def list_of_rules(rule: Kind[R], label: str) -> ListOf[R]:
    """A section; `label` is what messages call one of its rules."""
    return ListOf(rule, "a list of rules", label)
