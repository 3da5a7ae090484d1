"""Declares the section `expiry`: how long a checkout stays open, in either of two forms."""

from dataclasses import replace

from emulator.scenarios.conditions import WHEN, list_of_rules, rule_keys
from emulator.scenarios.kinds import Duration
from emulator.scenarios.mappings import Key, MappingOf, Members, Rule
from emulator.scenarios.values import ExpiryRule

_ADVICE = "a duration such as 5s"
_AFTER = Key(
    Duration(is_positive=True),
    "The time from the creation of the payment to the expiry of its checkout.",
    field="after_ms",
)


def _after_ms(after_ms: int) -> int:
    return after_ms


class _ExpiryRuleMapping(MappingOf[ExpiryRule]):
    """A rule whose duration stands beside `when` or inside `then`."""

    def read_key(self, members: Members, name: str, key: Key) -> object:
        known = members.known
        if name == "after" and "then" in known:
            return None
        if name == "after" and name not in known:
            members.entry.note(f"{members.entry.label} must have 'after': {_ADVICE}")
        if name == "then" and "after" in known and name in known:
            known[name].note("'after' must be given once: beside 'when', or inside 'then'")
        return super().read_key(members, name, key)

    def build(self, members: Members) -> ExpiryRule | None:
        if "then" in members.known:
            members.values["after"] = members.values["then"]
        return super().build(members)


EXPIRY_RULE = _ExpiryRuleMapping(
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
    Rule(schema={"oneOf": [{"required": ["after"]}, {"required": ["then"]}]}),
)
EXPIRY = list_of_rules(EXPIRY_RULE, "an expiry rule")
