"""How a clock is asked for: `real`, `frozen` or `frozen@2026-01-01T00:00:00Z`."""

from dataclasses import dataclass
from enum import StrEnum

from emulator.domain.instants import Instant, format_instant, parse_instant
from emulator.domain.received import received


class ClockKind(StrEnum):
    REAL = "real"
    FROZEN = "frozen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSpec:
    """A clock as asked for; frozen without an instant, it stands at the moment of starting."""

    kind: ClockKind = ClockKind.REAL
    instant: Instant | None = None


def parse_clock(text: str) -> ClockSpec:
    """Read a clock. Raises ValueError when it is not so written, or outside 1970 to 9988."""
    word, at, timestamp = text.partition("@")
    if at and word == ClockKind.FROZEN:
        return ClockSpec(kind=ClockKind.FROZEN, instant=parse_instant(timestamp))
    if at or word not in {kind.value for kind in ClockKind}:
        raise ValueError(
            f"{received(text)} is not real, frozen, or frozen@ and a timestamp:"
            " frozen@2026-01-01T00:00:00Z"
        )
    return ClockSpec(kind=ClockKind(word))


def format_clock(spec: ClockSpec) -> str:
    """Write a clock so that `parse_clock` reads it back; whole seconds without `.000`."""
    if spec.instant is None:
        return spec.kind.value
    return f"{spec.kind.value}@{format_instant(spec.instant).replace('.000Z', 'Z')}"
