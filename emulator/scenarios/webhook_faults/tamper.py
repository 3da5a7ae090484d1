"""Webhook fault `tamper`: a part of the message is changed after it is signed."""

from emulator.domain.webhooks import DeliveryEffect, Tamper
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Word
from emulator.scenarios.mappings import Key

TAMPER: FaultType[DeliveryEffect] = FaultType(
    keys={
        "tamper": Key(
            Word(Tamper),
            "This part is changed after signing, in every attempt. A resend is genuine.",
        )
    },
    effect=lambda settings: {"tamper": settings["tamper"]},
)
