"""Declares the steps that act: requests, the customer's actions, and changes from outside."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS, methods_of_phone
from emulator.files import ScalarKind
from emulator.scenarios import values
from emulator.scenarios.conditions import (
    BANK,
    CREATE_MEMBERS,
    METHOD,
    NEW_PAYMENT_NAME,
    PAYMENT_NAME,
    PAYMENT_NAME_PATTERN,
    PHONE,
    REASON_RULE,
    PaymentName,
    as_given,
    payer_rule,
)
from emulator.scenarios.entries import Entry, hint_nearest, listed, read_pairs, text_of
from emulator.scenarios.faults import FAULT_RULE, LONE_FAULT_RULE
from emulator.scenarios.kinds import (
    Boolean,
    Duration,
    JsonSchema,
    JsonValue,
    Kind,
    Scalar,
    Text,
    Word,
)
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    MappingOf,
    Members,
    OrMapping,
    excludes,
    implies,
    is_one_of,
    needs_one,
)
from emulator.scenarios.payment_rules import REASON_KEY, UNUSUAL
from emulator.scenarios.values import Json, Step

Fields = dict[str, Any]
"""The fields of a step, without its place."""


@dataclass(frozen=True, slots=True)
class StepType:
    """A step of a script. Its kind reads the fields of the step's class, and writes the step.

    The examples of all steps, in their order, are a valid script.
    """

    make: Callable[..., Step]
    kind: Kind[Any]
    description: str
    example: Json

    def schema(self) -> JsonSchema:
        return {"description": self.description, **self.kind.schema(), "examples": [self.example]}


def name_or(mapping: MappingOf[Fields], or_else: str = "") -> Kind[Fields]:
    """The name of a payment alone is the short form of a mapping with the key `payment`."""
    kind = PaymentName(PAYMENT_NAME_PATTERN, expected=f"{PAYMENT_NAME.expected}{or_else}")
    return OrMapping(mapping, kind, lambda name: {"payment": name}, attrgetter("payment"))


NAMED = "The name that `create` gave the payment with `as`."
PAYMENT = Key(PAYMENT_NAME, NAMED, required="the name that 'create' gave it")

_JSON = JsonValue()


class _UnknownMembers(Kind[list[tuple[str, Json]]]):
    """Members of a request that the API does not know."""

    def read(self, entry: Entry) -> list[tuple[str, Json]]:
        members = []
        for name, (key_entry, value) in (read_pairs(entry) or {}).items():
            if name in CREATE_MEMBERS:
                key_entry.note(f"{name!r} is known to the API, so it belongs beside 'unknown'")
            members.append((name, _JSON.read(value)))
        return members

    def schema(self) -> JsonSchema:
        return {"type": "object", "propertyNames": {"not": {"enum": list(CREATE_MEMBERS)}}}


class _Create(MappingOf[Fields]):
    def build(self, members: Members) -> Fields:
        values = members.values
        known = [(key, values[key]) for key in members.known if key in CREATE_MEMBERS]
        return {"name": values["as"], "members": (*known, *(values["unknown"] or ()))}

    def write(self, value: Any) -> Json:
        known = {key: member for key, member in value.members if key in CREATE_MEMBERS}
        unknown = {key: member for key, member in value.members if key not in CREATE_MEMBERS}
        name = {} if value.name is None else {"as": value.name}
        return {**name, **known, **({"unknown": unknown} if unknown else {})}


CREATE = _Create(
    dict,
    {
        "as": Key(
            NEW_PAYMENT_NAME,
            "The name of the payment in later steps. A later `create` can use the name again.",
        ),
        **CREATE_MEMBERS,
        "unknown": Key(_UnknownMembers(), "Members that the API does not know."),
    },
    is_optional=True,
)

RETRIEVE = MappingOf[Fields](
    dict,
    {
        "payment": Key(PAYMENT_NAME, NAMED),
        "id": as_given(
            "An id, instead of `payment`.",
            Text(re.compile(r"[\s\S]+"), expected="an id", examples=["pay_unknown"]),
        ),
    },
    needs_one("payment", "id"),
    excludes("payment", "id", reason="each of them identifies the payment"),
)


# As they are written, since a script must be able to send wrong ones.
_QUERY_VALUE = Scalar[str](
    lambda node: None if node.kind is ScalarKind.NULL else node.text,
    'text or a number; an empty text is written ""',
    {"type": ["string", "number", "boolean"]},
)


def _query(description: str) -> Key:
    return as_given(description, _QUERY_VALUE)


class _List(MappingOf[Fields]):
    def build(self, members: Members) -> Fields:
        values = ((key, members.values[key]) for key in members.known if key != "after")
        query = tuple((key, text) for key, text in values if text is not None)
        return {"query": query, "after": members.values["after"]}

    def write(self, value: Any) -> Json:
        return {**dict(value.query), **({} if value.after is None else {"after": value.after})}


LIST = _List(
    dict,
    {
        "limit": _query("The number of payments on the page."),
        "after": Key(PAYMENT_NAME, "The page begins after this payment, given by its name."),
        "status": _query("Only payments with this status."),
        "method": _query("Only payments with this method."),
        "created_gte": _query("Only payments created at this time or later."),
        "created_lte": _query("Only payments created at this time or earlier."),
    },
    is_optional=True,
)

REQUEST_STEPS = {
    "create": StepType(
        values.Create, CREATE, "Creates a payment.", {"as": "order", "amount": 15000}
    ),
    "retrieve": StepType(
        values.Retrieve,
        name_or(RETRIEVE, ", or {id: …}"),
        "Retrieves a payment. A name alone is the short form of `payment`.",
        "order",
    ),
    "list": StepType(
        values.List,
        LIST,
        "Lists payments. `list:` alone lists the newest ten.",
        {"status": "pending", "limit": 2},
    ),
}

NEXT = "next"
ANSWERS = ("approve", "wrong_pin", "insufficient_balance", "cancel", "decline")


def _check_payer(members: Members) -> None:
    """Note what the method needs; what a configured method needs is unknown here."""
    if members.known.keys() & {"phone", "bank"} or members.has_stray_keys:
        return
    method = members.values["method"]
    if method in PHONE_METHODS:
        members.entry.note(f"pay must have 'phone': the number that pays by {method}")
    elif method == BANK_TRANSFER:
        members.entry.note(f"pay must have 'bank': {listed(BANKS, 'or')}")
    elif "method" not in members.known:
        members.entry.note("pay must have 'phone' or 'bank': whose account is to pay")


def _pay(**fields: Any) -> Fields:
    """The fields of the step, with the method if the phone or the bank belongs to one alone."""
    if fields["method"] is None and fields["phone"] is not None:
        first, *others = methods_of_phone(fields["phone"])
        fields["method"] = None if others else first
    elif fields["method"] is None and fields["bank"] is not None:
        fields["method"] = BANK_TRANSFER
    return fields


PAY = MappingOf(
    _pay,
    {
        "payment": PAYMENT,
        "method": Key(
            METHOD,
            "The submitted method.",
            default_text="the first offered that accepts the phone; `bank_transfer` with a bank",
        ),
        "phone": Key(
            PHONE,
            "The customer's number, in any form. Required by "
            f"{' and '.join(f'`{name}`' for name in PHONE_METHODS)}.",
        ),
        "bank": Key(BANK, "The customer's bank, instead of `phone`. Required by `bank_transfer`."),
    },
    payer_rule(),
    DeclaredRule(
        _check_payer,
        {"anyOf": [{"required": [key]} for key in ("method", "phone", "bank")]},
        implies(is_one_of("method", *PHONE_METHODS), {"required": ["phone"]}),
        implies(is_one_of("method", BANK_TRANSFER), {"required": ["bank"]}),
    ),
)
ANSWER = MappingOf[Fields](
    dict,
    {
        "payment": PAYMENT,
        "answer": Key(
            Word(ANSWERS),
            "The answer. `wrong_pin` is only for phones, `decline` only for banks.",
            required=listed(ANSWERS, "or"),
        ),
    },
)
TRANSITION = MappingOf[Fields](
    dict,
    {
        "payment": PAYMENT,
        "status": Key(Word(Status), "The new status.", required="what the payment becomes"),
        "method": Key(
            METHOD,
            "The method, if the payment has none yet.",
            default_text="the first method that the payment offers",
        ),
        "reason": REASON_KEY,
        "unusual": Key(Boolean(), UNUSUAL, default=False),
    },
    REASON_RULE,
)


class _Advance(Kind[Fields]):
    def read(self, entry: Entry) -> Fields | None:
        word = text_of(entry) or ""
        if word == NEXT:
            return {"by_ms": None}
        if not word or word.isalpha():
            entry.refuse(f"a duration such as 30s, or {NEXT}", hint_nearest(word, [NEXT]))
            return None
        by_ms = Duration().read(entry)
        return None if by_ms is None else {"by_ms": by_ms}

    def schema(self) -> JsonSchema:
        return {"anyOf": [Duration().schema(), {"const": NEXT}]}

    def write(self, value: Any) -> Json:
        return NEXT if value.by_ms is None else Duration().write(value.by_ms)


class _AddFault(Kind[Fields]):
    def read(self, entry: Entry) -> Fields | None:
        rule = LONE_FAULT_RULE.read(entry)
        return None if rule is None else {"rule": rule}

    def schema(self) -> JsonSchema:
        return LONE_FAULT_RULE.schema()

    def write(self, value: Any) -> Json:
        return FAULT_RULE.write(value.rule)


ACTION_STEPS = {
    "pay": StepType(
        values.Pay,
        PAY,
        "Submits a method, as the customer does on the page.",
        {"payment": "order", "phone": "0711223344"},
    ),
    "answer": StepType(
        values.CustomerAnswer,
        ANSWER,
        "Answers on the handset or on the bank's page.",
        {"payment": "order", "answer": "approve"},
    ),
    "cancel": StepType(
        values.Cancel,
        name_or(MappingOf(dict, {"payment": PAYMENT})),
        "Presses the cancel button of the page. A name alone is the short form of `payment`.",
        "order",
    ),
    "transition": StepType(
        values.Transition,
        TRANSITION,
        "Changes the status directly.",
        {"payment": "order", "status": "refunded"},
    ),
    "advance": StepType(
        values.AdvanceStep,
        _Advance(),
        "Moves the clock by a duration and runs everything that becomes due; "
        f"`{NEXT}` moves the clock to the next due item.",
        "30s",
    ),
    "fault": StepType(
        values.AddFault,
        _AddFault(),
        "Adds a rule as in `faults`, from this step on.",
        {"then": {"status": 500}, "times": 1},
    ),
}
