"""Webhook fault `tamper`: the message is forged, an hour old, or unsigned."""

from emulator.domain.webhooks import DeliveryEffect, Tamper
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Word
from emulator.scenarios.mappings import Key

TAMPER: FaultType[DeliveryEffect] = FaultType(
    keys={
        "tamper": Key(
            Word(Tamper),
            "`body`, `signature` or `timestamp` is changed after signing; `stale` is well signed, "
            "but an hour old; `unsigned` has no signature. In every attempt; a resend is genuine.",
        )
    },
    effect=lambda settings: {"tamper": settings["tamper"]},
)
