"""Parses durations.

It imports no other module of this package, because the pytest plugin loads it in another one.
"""

import re
from decimal import Decimal

UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
MAX_DURATION_MS = 3_650 * UNIT_MS["d"]

# Of mistakes, so that they are compiled when they are needed. A number alone means seconds.
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_PART = rf"(?ai)({_NUMBER})\s?(ms|milli|[smhd]|$)"
_PREFIX = r"(?ai)\s*(?:PT|P(?=[0-9.]{1,19}D))?"
_PARTS = rf"{_PREFIX}(?:{_NUMBER}\s?(?:(?:ms|milli|[smhd])[a-z]*+\s?|$))+"
_DIGITAL = r"(?a)(?:([0-9]{1,4}):)?([0-9]{1,4}):([0-9]{1,2}(?:\.[0-9]{1,3})?)"
DURATION = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(ms|s|m|h|d)"


def parse_duration_ms(text: str) -> int:
    """Read `30s` or `1.5h` as milliseconds.

    Raises ValueError for another format, fractions of a millisecond, and over ten years.
    """
    match = re.fullmatch(DURATION, text)
    if match is None:
        message = "is not a number and one of ms, s, m, h, d, such as 30s"
        raise ValueError(f"{text!r} {message}{_conversion(text)}")
    exact_ms = Decimal(match[1]) * UNIT_MS[match[2]]
    if exact_ms != exact_ms.to_integral_value():
        raise ValueError(f"{text!r} is finer than a millisecond")
    if exact_ms > MAX_DURATION_MS:
        raise ValueError(f"{text!r} is longer than ten years")
    return int(exact_ms)


def _conversion(text: str) -> str:
    """The end of a message about `30 sec`, `1m30s`, `PT30S`, `0:30` or `30`, or nothing."""
    digital = re.fullmatch(_DIGITAL, text)
    if digital is not None:
        parts = [(count or "0", unit) for count, unit in zip(digital.groups(), "hms", strict=True)]
    else:
        parts = re.findall(_PART, text) if re.fullmatch(_PARTS, text) else []
    span_ms = sum(Decimal(count) * UNIT_MS[_unit(unit)] for count, unit in parts)
    is_possible = span_ms == int(span_ms) and 0 < span_ms <= MAX_DURATION_MS
    return f"; write {duration_text(int(span_ms))}" if is_possible else ""


def _unit(word: str) -> str:
    return {"milli": "ms", "": "s"}.get(word.lower(), word.lower())


def duration_text(span_ms: int) -> str:
    """A span of time in the largest unit that leaves no fraction, `30s`, or else in seconds."""
    seconds, rest_ms = divmod(span_ms, UNIT_MS["s"])
    if seconds and rest_ms:
        return f"{seconds}.{rest_ms:03}".rstrip("0") + "s"
    units = [unit for unit, unit_ms in UNIT_MS.items() if span_ms % unit_ms == 0]
    unit = units[-1] if span_ms else "s"
    return f"{span_ms // UNIT_MS[unit]}{unit}"


def span_text(span_ms: float) -> str:
    """A span of time for reading: `5 ms`, `1.5 s`, `30 min`, `1 h 5 min`."""
    if span_ms < UNIT_MS["m"]:
        is_short = 0 < span_ms < UNIT_MS["s"]
        return f"{span_ms:.0f} ms" if is_short else f"{round(span_ms / 1_000, 1):g} s"
    names = {"d": "d", "h": "h", "m": "min", "s": "s"}
    parts, rest_ms = [], int(span_ms)
    for unit, name in names.items():
        count, rest_ms = divmod(rest_ms, UNIT_MS[unit])
        parts.append(f"{count} {name}" if count else "")
    first = next(index for index, part in enumerate(parts) if part)
    return " ".join(filter(None, parts[first : first + 2]))
