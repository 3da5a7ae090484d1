"""The webhooks section: what goes wrong with deliveries, and what cannot go wrong together."""

from functools import partial

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryFault, Tamper
from emulator.scenarios.conditions import (
    WHEN_ADVICE,
    note_exclusions,
    read_mode,
    read_rules,
    read_times,
)
from emulator.scenarios.entries import (
    Entry,
    listed,
    read_boolean,
    read_listed,
    read_members,
    read_positive_duration_ms,
    read_whole_number,
    read_word,
)
from emulator.scenarios.values import WebhookRule, WebhookWhen
from emulator.scenarios.vocabulary import (
    AWAITED_EVENT,
    MAX_COPIES,
    WEBHOOK_EXCLUSIONS,
    WEBHOOK_RULE_KEYS,
    WEBHOOK_THEN_KEYS,
    WEBHOOK_WHEN_KEYS,
)

_read_event = partial(read_listed, words=EVENT_TYPES_IN_ORDER)
_read_copies = partial(read_whole_number, at_most=MAX_COPIES)
_read_tamper = partial(read_word, words=Tamper)


def read_webhook_rules(section: Entry) -> tuple[WebhookRule, ...]:
    return read_rules(section, "a webhook rule", _read_webhook_rule)


def _read_webhook_rule(entry: Entry) -> WebhookRule | None:
    rule = read_members(entry, WEBHOOK_RULE_KEYS)
    if rule is None:
        return None
    when = rule.need("when", _read_when, WHEN_ADVICE)
    event = None if when is None else when.event
    then = rule.need(
        "then", partial(_read_then, event=event), "what goes wrong, such as {copies: 2}"
    )
    times = rule.get("times", read_times)
    if when is None or then is None:
        return None
    return WebhookRule(when=when, then=then, times=times)


def _read_when(entry: Entry) -> WebhookWhen | None:
    members = read_members(entry, WEBHOOK_WHEN_KEYS)
    if members is None:
        return None
    return WebhookWhen(mode=members.get("mode", read_mode), event=members.get("event", _read_event))


def _read_then(entry: Entry, *, event: str | None) -> DeliveryFault | None:
    then = read_members(entry, WEBHOOK_THEN_KEYS)
    if then is None:
        return None
    copies = then.get("copies", _read_copies)
    delay_ms = then.get("delay", read_positive_duration_ms)
    switches = {key: then.get(key, read_boolean) for key in ("drop", "hold", "before_response")}
    # `drop: false` is as good as no `drop`.
    said = {key: member for key, member in then.known.items() if switches.get(key) is not False}
    if not said and not then.has_stray_keys:
        entry.note(f"then must say what goes wrong: {listed(WEBHOOK_THEN_KEYS, 'or')}")
    on = {key for key, is_on in switches.items() if is_on}
    note_exclusions(said, on, WEBHOOK_EXCLUSIONS)
    if "before_response" in on and event not in (None, AWAITED_EVENT):
        said["before_response"].note(
            f"only {AWAITED_EVENT} can come before a response, that of the create call, "
            f"and this rule is for {event}"
        )
    return DeliveryFault(
        copies=copies or 1,
        delay_ms=delay_ms or 0,
        drop=switches["drop"] is True,
        hold=switches["hold"] is True,
        before_response=switches["before_response"] is True,
        tamper=then.get("tamper", _read_tamper),
    )
