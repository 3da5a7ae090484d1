"""The JSON Schema of a duration permits each duration that is accepted, and names its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from emulator.domain.durations import MAX_DURATION_MS, duration_text, parse_duration_ms
from emulator.scenarios.faults import RetryAfter
from emulator.scenarios.kinds import Duration


@pytest.mark.parametrize(
    ("low_ms", "high_ms", "title"),
    [
        (0, MAX_DURATION_MS, None),
        (1, MAX_DURATION_MS, "duration above 0"),
        (50, 15_000, "duration from 50ms to 15s"),
        (60_000, 90_061, "duration from 1m to 90.061s"),
    ],
)
def test_the_schema_has_the_limits_of_the_reader(
    low_ms: int, high_ms: int, title: str | None
) -> None:
    schema = Duration(at_least=low_ms, at_most=high_ms).schema()
    assert schema.get("title") == title
    assert all(low_ms <= parse_duration_ms(text) <= high_ms for text in schema["examples"])


@given(st.integers(0, MAX_DURATION_MS).map(duration_text) | st.from_regex(r"[0-9.]{1,6}[smhd]"))
def test_each_duration_that_is_accepted_satisfies_the_schema(text: str) -> None:
    try:
        parse_duration_ms(text)
    except ValueError:
        return
    Draft202012Validator(Duration().schema()).validate(text)


def test_seconds_to_wait_are_a_number_or_a_duration() -> None:
    validator = Draft202012Validator(RetryAfter().schema())
    assert all(map(validator.is_valid, (1, 86_400, "30s", "1.5m", "1000ms")))
    assert not any(map(validator.is_valid, (0, 86_401, "30", "s")))
