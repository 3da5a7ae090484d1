"""Webhook fault `timeout`: each attempt has a shorter time-out, in real time."""

from emulator.domain.webhooks import MAX_TIMEOUT_MS, DeliveryEffect
from emulator.scenarios.entries import Entry
from emulator.scenarios.fault_types import FaultType
from emulator.scenarios.kinds import Duration, JsonSchema
from emulator.scenarios.mappings import Key

MIN_TIMEOUT_MS = 50


class Timeout(Duration):
    def read(self, entry: Entry) -> int | None:
        timeout_ms = super().read(entry)
        if timeout_ms is None or MIN_TIMEOUT_MS <= timeout_ms <= MAX_TIMEOUT_MS:
            return timeout_ms
        limits = f"{self.write(MIN_TIMEOUT_MS)} to {self.write(MAX_TIMEOUT_MS)}"
        entry.note(f"timeout must be from {limits} (got {self.write(timeout_ms)})")
        return None

    def schema(self) -> JsonSchema:
        return {
            "type": "string",
            # As MIN_TIMEOUT_MS and MAX_TIMEOUT_MS: 50 ms to 15 s.
            "pattern": r"^0{0,9}("
            r"([5-9][0-9]|[1-9][0-9]{2,3}|1[0-4][0-9]{3}|15000)(\.0{1,15})?ms"
            r"|(0\.(0[5-9][0-9]?|[1-9][0-9]{0,2})0{0,12}"
            r"|([1-9]|1[0-4])(\.[0-9]{1,3}0{0,12})?|15(\.0{1,15})?)s"
            r"|0\.[0-9]{1,15}(m|h|d)"
            r")$",
            "examples": ["500ms", "2s"],
        }


TIMEOUT: FaultType[DeliveryEffect] = FaultType(
    keys={
        "timeout": Key(
            Timeout(),
            "Each attempt ends after this real time without a response, instead of after "
            f"{MAX_TIMEOUT_MS // 1_000} s, so that a slow handler is retried while it still works.",
            default_text=f"`{MAX_TIMEOUT_MS // 1_000}s`",
        )
    },
    effect=lambda settings: {"timeout_ms": settings["timeout"]},
)
