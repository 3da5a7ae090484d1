"""Fault `status`: the response is an error of the contract."""

from emulator.domain.durations import parse_duration_ms
from emulator.domain.faults import MAX_FAULT_STATUS, MIN_FAULT_STATUS, RequestEffect
from emulator.scenarios.entries import Entry, whole_number
from emulator.scenarios.fault_types import FaultType, Settings
from emulator.scenarios.kinds import Duration, JsonSchema, Kind, WholeNumber
from emulator.scenarios.mappings import Key, KeyRule, Members
from emulator.yaml_text import ScalarNode

MAX_RETRY_AFTER_S = 86_400
# The contract's 429 always has the header (section 7).
RATE_LIMITED = 429
RETRY_AFTER_S = 1


class RetryAfter(Kind[int]):
    """Seconds, as a number or as a duration."""

    def read(self, entry: Entry) -> int | None:
        seconds = whole_number(entry.node)
        if seconds is None and isinstance(entry.node, ScalarNode):
            seconds = _whole_seconds(entry.node.text)
        if seconds is not None and 1 <= seconds <= MAX_RETRY_AFTER_S:
            return seconds
        entry.refuse(f"whole seconds from 1 to {MAX_RETRY_AFTER_S:,}, such as 30 or 30s")
        return None

    def schema(self) -> JsonSchema:
        duration = Duration(at_least=1_000, at_most=MAX_RETRY_AFTER_S * 1_000)
        return {"anyOf": [WholeNumber(at_most=MAX_RETRY_AFTER_S).schema(), duration.schema()]}


def _whole_seconds(text: str) -> int | None:
    try:
        seconds, rest_ms = divmod(parse_duration_ms(text), 1_000)
    except ValueError:
        return None
    return seconds if rest_ms == 0 else None


def _need_status(members: Members) -> None:
    given = members.given
    if "retry_after" in given and "status" not in given and not members.is_on("drop"):
        given["retry_after"].note("'retry_after' is a header of the response, so it needs 'status'")


def _effect(settings: Settings) -> dict[str, object]:
    usual_s = RETRY_AFTER_S if settings["status"] == RATE_LIMITED else None
    retry_after_s = settings.get("retry_after", usual_s)
    return {"status": settings["status"], "retry_after_s": retry_after_s}


STATUS: FaultType[RequestEffect] = FaultType(
    keys={
        "status": Key(
            WholeNumber(at_least=MIN_FAULT_STATUS, at_most=MAX_FAULT_STATUS),
            "The response has this status, and the contract's error object for it.",
        ),
        "retry_after": Key(
            RetryAfter(),
            "The seconds of the header `Retry-After`; needs `status`.",
            default_text=f"{RETRY_AFTER_S} for {RATE_LIMITED}, else none",
        ),
    },
    effect=_effect,
    rules=[KeyRule(check=_need_status, schema={"dependentRequired": {"retry_after": ["status"]}})],
)
