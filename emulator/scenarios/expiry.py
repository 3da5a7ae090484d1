"""The expiry section: how long a checkout stays open, written in either of two ways."""

from emulator.scenarios.conditions import WHEN_ADVICE, read_rules, read_times, read_when
from emulator.scenarios.entries import Entry, read_members, read_positive_duration_ms
from emulator.scenarios.values import ExpiryRule
from emulator.scenarios.vocabulary import EXPIRY_RULE_KEYS, EXPIRY_THEN_KEYS


def read_expiry_rules(section: Entry) -> tuple[ExpiryRule, ...]:
    return read_rules(section, "an expiry rule", _read_expiry_rule)


def _read_expiry_rule(entry: Entry) -> ExpiryRule | None:
    rule = read_members(entry, EXPIRY_RULE_KEYS)
    if rule is None:
        return None
    when = rule.need("when", read_when, WHEN_ADVICE)
    if "then" in rule.known and "after" in rule.known:
        rule.known["then"].note("'after' must be given once: beside 'when', or inside 'then'")
    if "then" in rule.known:
        after_ms = rule.get("then", _read_expiry_then)
    else:
        after_ms = rule.need("after", read_positive_duration_ms, "a duration such as 5s")
    times = rule.get("times", read_times)
    if when is None or after_ms is None:
        return None
    return ExpiryRule(when=when, after_ms=after_ms, times=times)


def _read_expiry_then(entry: Entry) -> int | None:
    then = read_members(entry, EXPIRY_THEN_KEYS)
    if then is None:
        return None
    return then.need("after", read_positive_duration_ms, "a duration such as 5s")
