"""Declares the condition of a rule about payments, and the keys that all rules have."""

from typing import Any, TypeVar

from emulator.scenarios.entries import Entry, whole_number
from emulator.scenarios.kinds import JsonSchema, Kind, ListOf, TextPairs, WholeNumber
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.payment_kinds import AMOUNT_MINOR, BANK, METHOD, MODE, PHONE, payer_rule
from emulator.scenarios.steps import Json
from emulator.scenarios.values import AmountRange, When

MAX_TIMES = 1_000_000

R = TypeVar("R")


def _check_range(members: Members) -> None:
    if not members.known:
        members.entry.note("amount must have 'gte' or 'lte' or both")
    gte, lte = members.values["gte"], members.values["lte"]
    if gte is not None and lte is not None and gte > lte:
        members.entry.note(f"gte must not be above lte: no amount is from {gte} to {lte}")


AMOUNT_RANGE = MappingOf(
    AmountRange,
    {
        "gte": Key(AMOUNT_MINOR, "The smallest amount that matches."),
        "lte": Key(AMOUNT_MINOR, "The largest amount that matches."),
    },
    KeyRule(check=_check_range, schema={"minProperties": 1}),
)


class _Amount(Kind[AmountRange]):
    """An amount, or a range of amounts."""

    def read(self, entry: Entry) -> AmountRange | None:
        if isinstance(entry.node, MapNode):
            return AMOUNT_RANGE.read(entry)
        # The message for a list or a text has both forms; that for a number has the limits.
        if whole_number(entry.node) is None:
            entry.refuse("an amount in ETB cents, or {gte: …, lte: …}")
            return None
        amount_minor = AMOUNT_MINOR.read(entry)
        return None if amount_minor is None else AmountRange(gte=amount_minor, lte=amount_minor)

    def schema(self) -> JsonSchema:
        return {"anyOf": [AMOUNT_MINOR.schema(), AMOUNT_RANGE.schema()]}

    def write(self, value: AmountRange) -> Json:
        return value.gte if value.gte == value.lte else AMOUNT_RANGE.write(value)


def mode_key(description: str) -> Key:
    return Key(MODE, description, default_text="both modes")


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
            _Amount(), "The amount, or a range of amounts. A range has `gte`, `lte` or both."
        ),
        "metadata": Key(
            TextPairs(),
            "Metadata with these values. Other keys of the metadata are ignored.",
            default=(),
        ),
    },
    # A rule that can never match is a mistake that has no other sign.
    payer_rule(", so this never matches"),
)


def rule_keys(when: Kind[Any], **effect: Key) -> dict[str, Key]:
    """The keys of a rule: its condition, its effect, and how often it applies."""
    return {
        "when": Key(
            when,
            "The condition. All keys must match; `{}` matches everything.",
            required="what must match; {} matches everything",
        ),
        **effect,
        "times": Key(
            WholeNumber(at_most=MAX_TIMES),
            "After this number of uses, the rule is inactive and the next matching rule applies.",
            default_text="unlimited",
        ),
    }


def list_of_rules(rule: Kind[R], label: str) -> ListOf[R]:
    """A section; `label` is what messages call one of its rules."""
    return ListOf(rule, "a list of rules", label)
