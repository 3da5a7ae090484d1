"""Declares the section `webhooks`: which deliveries go wrong, and how.

A webhook fault type is a file here and an entry in TYPES.
"""

from collections.abc import Iterator, Mapping

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryEffect
from emulator.scenarios.conditions import list_of_rules, mode_key, rule_keys
from emulator.scenarios.fault_types import FaultMapping
from emulator.scenarios.kinds import Word
from emulator.scenarios.mappings import Key, MappingOf
from emulator.scenarios.values import Json, WebhookRule, WebhookWhen
from emulator.scenarios.webhook_faults.before_response import BEFORE_RESPONSE
from emulator.scenarios.webhook_faults.concurrent import CONCURRENT
from emulator.scenarios.webhook_faults.copies import COPIES
from emulator.scenarios.webhook_faults.delay import DELAY
from emulator.scenarios.webhook_faults.drop import DROP
from emulator.scenarios.webhook_faults.hold import HOLD
from emulator.scenarios.webhook_faults.tamper import TAMPER
from emulator.scenarios.webhook_faults.timeout import TIMEOUT

TYPES = (COPIES, CONCURRENT, TIMEOUT, DELAY, DROP, HOLD, BEFORE_RESPONSE, TAMPER)

WEBHOOK_WHEN = MappingOf(
    WebhookWhen,
    {
        "mode": mode_key("The mode of the payment."),
        "event": Key(
            Word(EVENT_TYPES_IN_ORDER), "The type of the event.", default_text="all types"
        ),
    },
)
WEBHOOK_THEN = FaultMapping(TYPES, DeliveryEffect)
WEBHOOK_RULE = MappingOf(
    WebhookRule,
    rule_keys(
        WEBHOOK_WHEN,
        then=Key(
            WEBHOOK_THEN,
            "The effect on the deliveries of the event.",
            required="what goes wrong, such as {copies: 2}",
        ),
    ),
    *(rule for type_ in TYPES for rule in type_.rule_rules),
)
WEBHOOKS = list_of_rules(WEBHOOK_RULE, "a webhook rule")

COVERAGE_NAMES = tuple(name for type_ in TYPES for name in type_.coverage_names)


def coverage_names_of(then: Mapping[str, Json]) -> Iterator[str]:
    """What a fault that is written as JSON exercises."""
    for type_, setting in WEBHOOK_THEN.exercised(then):
        yield type_.coverage_name(setting)
