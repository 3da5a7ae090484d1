"""Declares the section `webhooks`: which deliveries go wrong, and how.

A webhook fault type is a FaultType here and an entry in TYPES.
"""

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import (
    EVENT_TYPES_IN_ORDER,
    MAX_HEAD_START_MS,
    MAX_POSTPONED_MS,
    MAX_TIMEOUT_MS,
    DeliveryEffect,
    Tamper,
    tamper_problem,
)
from emulator.scenarios.conditions import list_of_rules, mode_key, rule_of
from emulator.scenarios.entries import Entry, listed
from emulator.scenarios.fault_types import FaultMapping, FaultType
from emulator.scenarios.kinds import Boolean, Duration, ListOf, WholeNumber, Word
from emulator.scenarios.mappings import DeclaredRule, Key, MappingOf, Members, implies, is_given
from emulator.scenarios.values import WebhookRule, WebhookWhen

MAX_COPIES = 100
MIN_CONCURRENT_COPIES = 2
MIN_TIMEOUT_MS = 50
# The only event that a response can wait for: the event of the create call.
AWAITED_EVENT = EVENT_TYPES[Status.PENDING]

COPIES = FaultType(
    "copies",
    WholeNumber(at_most=MAX_COPIES),
    "The total number of deliveries to each endpoint, all of the same event.",
    default_text="1",
)


def _need_copies(members: Members) -> None:
    is_wrong = "copies" in members.known and members.values["copies"] is None
    if "concurrent" not in members.given or is_wrong:
        return
    if (members.values["copies"] or 1) < MIN_CONCURRENT_COPIES:
        members.known["concurrent"].note(
            f"'concurrent: true' needs 'copies' of {MIN_CONCURRENT_COPIES} or more, "
            "because one delivery has nothing to be concurrent with"
        )


CONCURRENT = FaultType(
    "concurrent",
    Boolean(),
    "The first attempts of all copies begin at the same moment, each on its own connection;"
    f" otherwise one after the other. Needs `copies` of {MIN_CONCURRENT_COPIES} or more.",
    rules=[
        DeclaredRule(
            _need_copies,
            implies(
                is_given("concurrent"),
                {
                    "properties": {"copies": {"minimum": MIN_CONCURRENT_COPIES}},
                    "required": ["copies"],
                },
            ),
        )
    ],
)
TIMEOUT = FaultType(
    "timeout",
    Duration(at_least=MIN_TIMEOUT_MS, at_most=MAX_TIMEOUT_MS),
    "Each attempt ends after this real time without a response, so that a slow handler is "
    "retried while it still works.",
    default_text=f"`{MAX_TIMEOUT_MS // 1_000}s`",
)
DELAY = FaultType(
    "delay",
    Duration(at_least=1),
    "The first attempt is delayed by this time, on the account's clock.",
)


def _check_delays(members: Members) -> None:
    delays, copies = members.values["delays"], members.values["copies"]
    if delays is not None and copies is not None and len(delays) != copies:
        members.known["delays"].note(
            f"delays must have one duration for each of the {copies} copies (got {len(delays)})"
        )


_WITHOUT_DELAYS = ("delay", "concurrent", "hold", "before_response")
DELAYS = FaultType(
    "delays",
    ListOf(
        Duration(),
        "a list of durations, one for each copy",
        "a delay",
        at_least=1,
        at_most=MAX_COPIES,
    ),
    "The delay of each copy, as `[0s, 3h]`; instead of `copies`, or with as many. Not with "
    f"{listed([f'`{key}`' for key in _WITHOUT_DELAYS], 'or')}.",
    effect=lambda settings: {
        "delays_ms": settings["delays"],
        "copies": len(settings["delays"]),
    },
    excludes=dict.fromkeys(_WITHOUT_DELAYS, "each copy has a delay of its own"),
    rules=[_check_delays],
)
DROP = FaultType(
    "drop",
    Boolean(),
    "No attempt is made, and the delivery is listed as dropped. Not with any other key.",
    excludes_all="what is dropped is never sent",
)
HOLD = FaultType(
    "hold",
    Boolean(),
    "Delivered after the payment's next event, "
    f"or after {MAX_POSTPONED_MS // 1_000} s. Not with `delay`.",
    field="until_next_event",
    excludes={"delay": "a held event is delivered after the payment's next event"},
)


def _check_event(members: Members) -> None:
    when, then = members.values["when"], members.values["then"]
    if when is None or then is None or not then.effect.before_response:
        return
    if when.event not in (None, AWAITED_EVENT):
        members.known["then"].child("before_response").note(
            f"only {AWAITED_EVENT} can come before a response (to the create call), "
            f"and this rule is for {when.event}"
        )


BEFORE_RESPONSE = FaultType(
    "before_response",
    Boolean(),
    "Delivered before the create call returns, "
    f"which waits up to {MAX_HEAD_START_MS // 1_000} s of real time. "
    f"Only for `{AWAITED_EVENT}`; not with `delay` or `hold`.",
    excludes={
        "delay": "an event before the response is sent immediately",
        "hold": "an event before the response cannot wait for the next event",
    },
    rule_rules=[
        DeclaredRule(
            _check_event,
            implies(
                {"properties": {"then": is_given("before_response")}, "required": ["then"]},
                {"properties": {"when": {"properties": {"event": {"const": AWAITED_EVENT}}}}},
            ),
        )
    ],
)


class _Tamper(Word[Tamper]):
    """A way of tampering that each form of the file's webhooks has a place for."""

    def read(self, entry: Entry) -> Tamper | None:
        tamper = super().read(entry)
        problems = (tamper and tamper_problem(form, tamper) for form in entry.context.forms)
        if problem := next(filter(None, problems), None):
            entry.note(f"tamper must not be {tamper}: {problem}")
        return tamper


TAMPER = FaultType(
    "tamper",
    _Tamper(Tamper),
    "`body`, `signature` or `timestamp` is changed after signing; `stale` is well signed, "
    "but an hour old; `unsigned` has no signature. In every scheduled attempt.",
)
TYPES = (COPIES, CONCURRENT, TIMEOUT, DELAY, DELAYS, DROP, HOLD, BEFORE_RESPONSE, TAMPER)

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
WEBHOOK_RULE = rule_of(
    WebhookRule,
    WEBHOOK_WHEN,
    Key(
        WEBHOOK_THEN,
        "The effect on the deliveries of the event.",
        required="what goes wrong, such as {copies: 2}",
    ),
    *(rule for type_ in TYPES for rule in type_.rule_rules),
)
WEBHOOKS = list_of_rules(WEBHOOK_RULE, "a webhook rule")
