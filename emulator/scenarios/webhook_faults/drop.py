"""Webhook fault `drop`: no attempt is made."""

from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Boolean
from emulator.scenarios.mappings import Key

DROP: FaultType[DeliveryEffect] = FaultType(
    keys={
        "drop": Key(
            Boolean(),
            "No attempt is made, and the delivery is listed as dropped. Not with any other key.",
            default=False,
        )
    },
    effect=lambda _: {"drop": True},
    excludes_all="what is dropped is never sent",
)
