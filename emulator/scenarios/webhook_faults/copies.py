"""Webhook fault `copies`: each endpoint receives the event several times."""

from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import WholeNumber
from emulator.scenarios.mappings import Key

MAX_COPIES = 100


COPIES: FaultType[DeliveryEffect] = FaultType(
    keys={
        "copies": Key(
            WholeNumber(at_most=MAX_COPIES),
            "The total number of deliveries to each endpoint, all with the same `webhook-id`.",
            default_text="1",
        )
    },
    effect=lambda settings: {"copies": settings["copies"]},
)
