"""Declares the steps of a script that act for the customer, change a status or move the clock."""

from collections.abc import Iterable
from typing import Any

from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS, method_of_phone
from emulator.scenarios.entries import Entry, listed, text_of
from emulator.scenarios.faults import FAULT_RULE, LONE_FAULT_RULE
from emulator.scenarios.kinds import Boolean, Duration, JsonSchema, Kind, Word
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.outcomes import REASON_KEY
from emulator.scenarios.payment_kinds import (
    BANK,
    METHOD,
    PHONE,
    REASON_RULE,
    payer_rule,
)
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.step_types import PAYMENT, Fields, NameOrMapping, StepType
from emulator.scenarios.steps import (
    AddFault,
    Advance,
    Cancel,
    CustomerAnswer,
    Json,
    Pay,
    Transition,
)

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


def _pays_by(methods: Iterable[str]) -> JsonSchema:
    return {"properties": {"method": {"enum": sorted(methods)}}, "required": ["method"]}


def _pay(**fields: Any) -> Fields | None:
    """The fields of the step, with the method that the phone or the bank belongs to."""
    if fields["method"] is None and fields["phone"] is not None:
        fields["method"] = method_of_phone(fields["phone"])
    elif fields["method"] is None and fields["bank"] is not None:
        fields["method"] = BANK_TRANSFER
    return None if fields["method"] is None else fields


PAY = MappingOf(
    _pay,
    {
        "payment": PAYMENT,
        "method": Key(
            METHOD,
            "The submitted method.",
            default_text="the method of the phone; `bank_transfer` with a bank",
        ),
        "phone": Key(
            PHONE, "The customer's number, in any form. Required by `telebirr` and `mpesa`."
        ),
        "bank": Key(BANK, "The customer's bank, instead of `phone`. Required by `bank_transfer`."),
    },
    payer_rule(),
    KeyRule(
        check=_check_payer,
        schema={
            "anyOf": [{"required": [key]} for key in ("method", "phone", "bank")],
            "allOf": [
                {"not": {"required": ["phone", "bank"]}},
                {"if": _pays_by(PHONE_METHODS), "then": {"required": ["phone"]}},
                {"if": _pays_by([BANK_TRANSFER]), "then": {"required": ["bank"]}},
            ],
        },
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
        "status": Key(
            # A payment that is pending has just been created; no transition leads there.
            Word([status for status in Status if status is not Status.PENDING]),
            "The new status.",
            required="what the payment becomes",
        ),
        "method": Key(
            METHOD,
            "The method, if the payment has none yet.",
            default_text="the first method that the payment offers",
        ),
        "reason": REASON_KEY,
        "unusual": Key(
            Boolean(), "Required for `completed` after `failed` or `expired`.", default=False
        ),
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
        Pay,
        PAY,
        "Submits a method, as the customer does on the page.",
        {"payment": "order", "phone": "0711223344"},
    ),
    "answer": StepType(
        CustomerAnswer,
        ANSWER,
        "Answers on the handset or on the bank's page: "
        f"{', '.join(f'`{answer}`' for answer in ANSWERS)}.",
        {"payment": "order", "answer": "approve"},
    ),
    "cancel": StepType(
        Cancel,
        NameOrMapping(MappingOf(dict, {"payment": PAYMENT}), "the name of a payment"),
        "Presses the cancel button of the page. A name alone is the short form of `payment`.",
        "order",
    ),
    "transition": StepType(
        Transition,
        TRANSITION,
        "Changes the status directly.",
        {"payment": "order", "status": "refunded"},
    ),
    "advance": StepType(
        Advance,
        _Advance(),
        "Moves the clock by a duration and runs everything that becomes due; "
        f"`{NEXT}` moves the clock to the next due item.",
        "30s",
    ),
    "fault": StepType(
        AddFault,
        _AddFault(),
        "Adds a rule as in `faults`, from this step on.",
        {"then": {"status": 500}, "times": 1},
    ),
}
