"""The JSON Schema of a duration permits the accepted durations in their usual form."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from emulator.domain.durations import MAX_DURATION_MS, UNIT_MS, parse_duration_ms
from emulator.scenarios.faults import RETRY_AFTER
from emulator.scenarios.kinds import Duration

LIMITS = [
    *((0, MAX_DURATION_MS), (1, MAX_DURATION_MS), (50, 15_000), (0, 15_000), (1, 300_000)),
    *((1_000, 86_400_000), (7, 7), (60_000, 90_061), (0, 0)),
]
# As many decimal places as the schema knows.
PLACES = {"ms": 0, "s": 3, "m": 4, "h": 5, "d": 5}


def texts(low_ms: int, high_ms: int) -> list[str]:
    """Durations around the limits, in every unit and form."""
    found = []
    for unit, unit_ms in UNIT_MS.items():
        for limit_ms in (low_ms, high_ms, 0, 1_000, 59_999):
            scale = 10 ** PLACES[unit]
            for number in range(limit_ms * scale // unit_ms - 12, limit_ms * scale // unit_ms + 13):
                if number >= 0:
                    whole, fraction = divmod(number, scale)
                    places = f"{fraction:0{PLACES[unit]}}" if PLACES[unit] else ""
                    found += [f"{whole}{unit}", f"0{whole}.{places}0{unit}", f"{whole}.{unit}"]
                    found.append(f"{whole}.{places.rstrip('0') or '0'}{unit}")
    return [*found, "", "5", "s", "1.5.1s", "1 s", "-1s", "1S", "1e3s", "99999999d"]


def is_accepted(text: str, low_ms: int, high_ms: int) -> bool:
    try:
        return low_ms <= parse_duration_ms(text) <= high_ms
    except ValueError:
        return False


@pytest.mark.parametrize(("low_ms", "high_ms"), LIMITS)
def test_the_schema_has_the_limits_of_the_reader(low_ms: int, high_ms: int) -> None:
    schema = Duration(at_least=low_ms, at_most=high_ms).schema()
    validator = Draft202012Validator(schema)
    for text in texts(low_ms, high_ms):
        is_plain = re.search(r"^0[0-9]|\.[0-9]+ms$", text) is None
        expected = is_plain and is_accepted(text, low_ms, high_ms)
        assert validator.is_valid(text) is expected, text
    assert all(is_accepted(text, low_ms, high_ms) for text in schema["examples"])


def test_a_schema_of_whole_seconds_permits_only_these() -> None:
    schema: dict[str, Any] = RETRY_AFTER.schema()["anyOf"][1]
    validator = Draft202012Validator(schema)
    for text in [*texts(1_000, 86_400_000), "1000ms", "1500ms", "1.5h", "25h", "1440m"]:
        if validator.is_valid(text):
            assert is_accepted(text, 1_000, 86_400_000), text
            assert parse_duration_ms(text) % 1_000 == 0, text
    for text in ("1s", "30s", "5m", "24h", "1d", *schema["examples"]):
        assert validator.is_valid(text), text


@given(st.data(), st.sampled_from(LIMITS))
def test_each_text_of_the_pattern_is_accepted(data: st.DataObject, limits: tuple[int, int]) -> None:
    schema = Duration(at_least=limits[0], at_most=limits[1]).schema()
    text = data.draw(st.from_regex(re.compile(schema["pattern"], re.ASCII), fullmatch=True))
    is_below = "not" in schema and re.search(schema["not"]["pattern"], text) is not None
    assert is_accepted(text, *limits) is not is_below
