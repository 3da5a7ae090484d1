"""Webhook fault `hold`: the event is delivered after the payment's next event."""

from emulator.domain.webhooks import MAX_HOLD_MS, DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key

HOLD: FaultType[DeliveryEffect] = FaultType(
    keys={
        "hold": Key(
            Boolean(),
            "Delivered after the payment's next event, "
            f"or after {MAX_HOLD_MS // 1_000} s. Not with `delay`.",
            default=False,
        )
    },
    effect=lambda _: {"hold": True},
    excludes={"delay": "a held event is delivered after the payment's next event"},
)
