"""Fault `latency`: the response is delayed, in real time."""

from emulator.domain.faults import RequestEffect
from emulator.scenarios.entries import Entry
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import NO_TIME, Duration, JsonSchema
from emulator.scenarios.mappings import Key

MAX_LATENCY_MS = 300_000


class Latency(Duration):
    def __init__(self) -> None:
        super().__init__(is_positive=True)

    def read(self, entry: Entry) -> int | None:
        latency_ms = super().read(entry)
        if latency_ms is not None and latency_ms > MAX_LATENCY_MS:
            entry.note("latency must not be longer than 5m, since it is real time")
            return None
        return latency_ms

    def schema(self) -> JsonSchema:
        return {
            "type": "string",
            # As MAX_LATENCY_MS: five minutes.
            "pattern": r"^0{0,9}("
            r"([0-9]{1,5}|[12][0-9]{5}|300000)(\.0{1,15})?ms"
            r"|([0-9]{1,2}|[12][0-9]{2})(\.[0-9]{1,3}0{0,12})?s|300(\.0{1,15})?s"
            r"|[0-4](\.[0-9]{1,15})?m|5(\.0{1,15})?m|0\.0[0-9]{0,14}(h|d)"
            r")$",
            "not": NO_TIME,
            "examples": ["500ms", "30s", "5m"],
        }


LATENCY: FaultType[RequestEffect] = FaultType(
    keys={
        "latency": Key(
            Latency(),
            "The response is delayed by this time, in real time. "
            "Without another key, the normal response follows.",
        )
    },
    effect=lambda settings: {"delay_ms": settings["latency"]},
)
