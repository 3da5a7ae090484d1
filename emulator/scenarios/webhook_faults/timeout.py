"""Webhook fault `timeout`: each attempt has a shorter time-out, in real time."""

from emulator.domain.webhooks import MAX_TIMEOUT_MS, DeliveryEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Duration
from emulator.scenarios.mappings import Key

MIN_TIMEOUT_MS = 50

TIMEOUT: FaultType[DeliveryEffect] = FaultType(
    keys={
        "timeout": Key(
            Duration(at_least=MIN_TIMEOUT_MS, at_most=MAX_TIMEOUT_MS),
            "Each attempt ends after this real time without a response, instead of after "
            f"{MAX_TIMEOUT_MS // 1_000} s, so that a slow handler is retried while it still works.",
            default_text=f"`{MAX_TIMEOUT_MS // 1_000}s`",
        )
    },
    effect=lambda settings: {"timeout_ms": settings["timeout"]},
)
