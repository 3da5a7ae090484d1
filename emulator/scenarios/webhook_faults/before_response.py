"""Webhook fault `before_response`: the event is delivered before the create call returns."""

from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import MAX_HEAD_START_MS, DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key, KeyRule, Members, is_on

# The only event that a response can wait for: that of the create call.
AWAITED_EVENT = EVENT_TYPES[Status.PENDING]


def _check_event(members: Members) -> None:
    when, then = members.values["when"], members.values["then"]
    if when is None or then is None or not then.effect.before_response:
        return
    if when.event not in (None, AWAITED_EVENT):
        members.known["then"].child("before_response").note(
            f"only {AWAITED_EVENT} can come before a response, that of the create call, "
            f"and this rule is for {when.event}"
        )


BEFORE_RESPONSE: FaultType[DeliveryEffect] = FaultType(
    keys={
        "before_response": Key(
            Boolean(),
            "Delivered before the create call returns, "
            f"which waits up to {MAX_HEAD_START_MS // 1_000} s of real time. "
            f"Only for `{AWAITED_EVENT}`; not with `delay` or `hold`.",
            default=False,
        )
    },
    effect=lambda _: {"before_response": True},
    excludes={
        "delay": "an event before the response is sent immediately",
        "hold": "an event before the response cannot wait for the next event",
    },
    rule_rules=[
        KeyRule(
            check=_check_event,
            schema={
                "if": {"properties": {"then": is_on("before_response")}, "required": ["then"]},
                "then": {
                    "properties": {"when": {"properties": {"event": {"const": AWAITED_EVENT}}}}
                },
            },
        )
    ],
)
