"""Webhook fault `delay`: the first attempt is made later, by the account's clock."""

from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Duration
from emulator.scenarios.mappings import Key

DELAY: FaultType[DeliveryEffect] = FaultType(
    keys={
        "delay": Key(
            Duration(at_least=1),
            "The first attempt is delayed by this time, on the account's clock.",
        )
    },
    effect=lambda settings: {"delay_ms": settings["delay"]},
)
