"""Fault `latency`: the response is delayed, in real time."""

from emulator.domain.faults import RequestEffect
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Duration
from emulator.scenarios.mappings import Key

MAX_LATENCY_MS = 300_000

LATENCY: FaultType[RequestEffect] = FaultType(
    keys={
        "latency": Key(
            Duration(at_least=1, at_most=MAX_LATENCY_MS),
            "The response is delayed by this time, in real time. "
            "Without another key, the normal response follows.",
        )
    },
    effect=lambda settings: {"delay_ms": settings["latency"]},
)
