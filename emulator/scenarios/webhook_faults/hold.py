"""Webhook fault `hold`: the event is delivered after the payment's next event."""

from emulator.domain.webhooks import MAX_POSTPONED_MS, DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key

HOLD: FaultType[DeliveryEffect] = FaultType(
    keys={
        "hold": Key(
            Boolean(),
            "Delivered after the payment's next event, "
            f"or after {MAX_POSTPONED_MS // 1_000} s. Not with `delay`.",
            default=False,
        )
    },
    effect=lambda _: {"until_next_event": True},
    excludes={"delay": "a held event is delivered after the payment's next event"},
)
