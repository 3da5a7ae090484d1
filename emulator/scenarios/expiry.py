"""Declares the section `expiry`: how long a checkout stays open, in either of two forms."""

from dataclasses import replace

from emulator.scenarios.conditions import WHEN, list_of_rules, rule_keys
from emulator.scenarios.kinds import Duration
from emulator.scenarios.mappings import Key, KeyRule, MappingOf, Members
from emulator.scenarios.values import ExpiryRule

_ADVICE = "a duration such as 5s"
_AFTER = Key(
    Duration(is_positive=True),
    "The time from the creation of the payment to the expiry of its checkout.",
    field="after_ms",
)


def _after_ms(after_ms: int) -> int:
    return after_ms


def _check_forms(members: Members) -> None:
    known = members.known
    if not known.keys() & {"after", "then"}:
        members.entry.note(f"{members.entry.label} must have 'after': {_ADVICE}")
    if known.keys() >= {"after", "then"}:
        known["then"].note("'after' must be given once: beside 'when', or inside 'then'")
        del known["after"]


def _use_form(members: Members) -> None:
    if "then" in members.known:
        members.values["after"] = members.values["then"]


EXPIRY_RULE = MappingOf(
    ExpiryRule,
    rule_keys(
        WHEN,
        after=_AFTER,
        then=Key(
            MappingOf(_after_ms, {"after": replace(_AFTER, required=_ADVICE)}),
            "The same as `after`, in another form: `then: {after: 5s}`.",
            field=None,
        ),
    ),
    KeyRule(
        check_keys=_check_forms,
        check=_use_form,
        schema={"oneOf": [{"required": ["after"]}, {"required": ["then"]}]},
    ),
)
EXPIRY = list_of_rules(EXPIRY_RULE, "an expiry rule")
