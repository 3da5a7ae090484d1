"""Declares the section `faults`: which requests go wrong, and how.

A fault type is a FaultType here and an entry in TYPES.
"""

import re
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

from emulator.domain.durations import parse_duration_ms
from emulator.domain.effects import (
    MAX_FAULT_STATUS,
    MAX_RESPONSE_HOLD_MS,
    MIN_FAULT_STATUS,
    ApiRequest,
    Cut,
    GatewayBody,
    Point,
    RequestEffect,
)
from emulator.files import ScalarNode
from emulator.scenarios.conditions import TIMES, check_times, list_of_rules, mode_key, rule_of
from emulator.scenarios.entries import Entry, decimal_number, listed, whole_number
from emulator.scenarios.fault_types import FaultMapping, FaultType, Settings
from emulator.scenarios.kinds import Boolean, Duration, Scalar, Text, WholeNumber, Word
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    MappingOf,
    Members,
    implies,
    is_given,
    is_one_of,
    needs,
)
from emulator.scenarios.values import FaultRule, FaultWhen

MAX_RETRY_AFTER_S = 86_400
# The contract's 429 always has the header (section 7).
RATE_LIMITED = 429
RETRY_AFTER_S = 1
MAX_LATENCY_MS = 300_000
MAX_REQUESTS = 1_000_000
MAX_BODY_CHARACTERS = 10_000
ANY_REQUEST = "any"

_AFTER_COMMIT = {"properties": {"point": {"const": Point.AFTER_COMMIT.value}}}


def _retry_after_s(node: ScalarNode) -> int | None:
    """Seconds, as a number or as a duration."""
    seconds, rest_ms = whole_number(node), 0
    if seconds is None:
        with suppress(ValueError):
            seconds, rest_ms = divmod(parse_duration_ms(node.text), 1_000)
    return seconds if seconds in range(1, MAX_RETRY_AFTER_S + 1) and rest_ms == 0 else None


# The usual texts of whole seconds up to the limit.
_SECONDS = "^([1-9][0-9]{0,3}s|[1-9][0-9]{0,2}m|([1-9]|1[0-9]|2[0-4])h|1d)$"
RETRY_AFTER = Scalar(
    _retry_after_s,
    f"whole seconds from 1 to {MAX_RETRY_AFTER_S:,}, such as 30 or 30s",
    {
        "anyOf": [
            WholeNumber(at_most=MAX_RETRY_AFTER_S).schema(),
            {"title": "duration from 1s to 1d", "type": "string", "pattern": _SECONDS}
            | {"examples": ["2s", "30s", "5m", "3h"]},
        ]
    },
)


def _error_response(settings: Settings) -> dict[str, object]:
    usual_s = RETRY_AFTER_S if settings["status"] == RATE_LIMITED else None
    retry_after_s = settings.get("retry_after", usual_s)
    return {"status": settings["status"], "retry_after_s": retry_after_s}


STATUS = FaultType(
    "status",
    WholeNumber(at_least=MIN_FAULT_STATUS, at_most=MAX_FAULT_STATUS),
    "The response has this status, and the contract's error object for it.",
    more={
        "retry_after": Key(
            RETRY_AFTER,
            "The seconds of the header `Retry-After`; needs `status`.",
            default_text=f"{RETRY_AFTER_S} for {RATE_LIMITED}, else none",
        )
    },
    effect=_error_response,
    rules=[needs("retry_after", "status")],
)
BODY = FaultType(
    "body",
    Text(
        re.compile(rf"[\s\S]{{1,{MAX_BODY_CHARACTERS}}}"),
        expected=f"html, empty, or a text of 1 to {MAX_BODY_CHARACTERS:,} characters",
        examples=[*map(str, GatewayBody), "upstream unavailable"],
        accepts=bool,
    ),
    "The error comes from a gateway in front of the service, and does not have the "
    f"contract's error object: `{GatewayBody.HTML}` (a page), `{GatewayBody.EMPTY}`, or a "
    "text. Needs `status`, usually 502, 503 or 504.",
    rules=[needs("body", "status")],
)
LATENCY = FaultType(
    "latency",
    Duration(at_least=1, at_most=MAX_LATENCY_MS),
    "The response is delayed by this time, in real time. "
    "Without another key, the normal response follows.",
    field="delay_ms",
)
DROP = FaultType(
    "drop",
    Boolean(),
    "The connection is closed without a response. "
    "Not with `status`, `retry_after`, `body` or `truncate`.",
    effect=lambda _: {"cut": Cut.BEFORE_RESPONSE},
    excludes=dict.fromkeys(
        ("status", "retry_after", "body", "truncate"), "a closed connection has no response"
    ),
)


def _check_truncation(members: Members) -> None:
    if "truncate" not in members.given or "status" in members.known:
        return
    if members.values["point"] is Point.BEFORE_COMMIT:
        members.known["point"].note(
            f"'truncate' without 'status' needs 'point: {Point.AFTER_COMMIT}', "
            "because only then is there a normal response to truncate"
        )


def _truncation(settings: Settings) -> dict[str, object]:
    # Half of a normal response needs the response.
    point = Point.BEFORE_COMMIT if "status" in settings else Point.AFTER_COMMIT
    return {"cut": Cut.IN_BODY, "point": point}


TRUNCATE = FaultType(
    "truncate",
    Boolean(),
    "The connection is closed in the middle of the body.",
    effect=_truncation,
    rules=[
        DeclaredRule(
            _check_truncation,
            implies({**is_given("truncate"), "not": {"required": ["status"]}}, _AFTER_COMMIT),
        )
    ],
)

_HELD_REQUESTS = [ApiRequest.RETRIEVE_PAYMENT, ApiRequest.LIST_PAYMENTS]


def _check_hold(members: Members) -> None:
    if members.values["hold"] is not None and members.values["point"] is Point.BEFORE_COMMIT:
        members.known["point"].note(
            f"'hold' needs 'point: {Point.AFTER_COMMIT}', "
            "because the response is computed before it is held"
        )


def _check_held_request(members: Members) -> None:
    when, then = members.values["when"], members.values["then"]
    if when is None or then is None or not then.effect.until_delivery:
        return
    if when.request not in _HELD_REQUESTS:
        requests = listed([f"'request: {request}'" for request in _HELD_REQUESTS], "or")
        members.known["then"].child("hold").note(f"'hold' needs {requests} in 'when'")


HOLD = FaultType(
    "hold",
    Word(["delivery"]),
    "The response is computed when the request arrives. It is sent when an endpoint has "
    "since answered a delivery of the payment (for a list: of any payment), after "
    f"{MAX_RESPONSE_HOLD_MS // 1_000} s of real time, or with the next `advance`. "
    f"Only for {' and '.join(f'`{request}`' for request in _HELD_REQUESTS)}.",
    effect=lambda _: {"until_delivery": True, "point": Point.AFTER_COMMIT},
    rules=[DeclaredRule(_check_hold, implies({"required": ["hold"]}, _AFTER_COMMIT))],
    rule_rules=[
        DeclaredRule(
            _check_held_request,
            implies(
                {"properties": {"then": {"required": ["hold"]}}, "required": ["then"]},
                {
                    "properties": {
                        "when": {"type": "object", **is_one_of("request", *_HELD_REQUESTS)}
                    },
                    "required": ["when"],
                },
            ),
        )
    ],
)
TYPES = (STATUS, BODY, LATENCY, DROP, TRUNCATE, HOLD)


class _Request(Word[str]):
    """A request of the contract; None is any."""

    def read(self, entry: Entry) -> str | None:
        word = super().read(entry)
        return None if word == ANY_REQUEST else word


def _chance(node: ScalarNode) -> float | None:
    whole = whole_number(node)
    chance = decimal_number(node) if whole is None else float(whole)
    return chance if chance is not None and 0 < chance <= 1 else None


def _check_counts(members: Members) -> None:
    first, *others = [key for key in members.known if key in ("nth", "every", "chance")] or [""]
    for key in others:
        members.known[key].note(
            f"'{key}' is not allowed beside '{first}': "
            "each of them selects the requests to which the rule applies"
        )


_COUNT = WholeNumber(at_most=MAX_REQUESTS)
_CHANCE = Scalar(
    _chance,
    "a number above 0 and at most 1, such as 0.3",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
)
FAULT_WHEN = MappingOf(
    FaultWhen,
    {
        "mode": mode_key("Requests with a key of this mode."),
        "request": Key(
            _Request((*ApiRequest, ANY_REQUEST)),
            f"This API request; `{ANY_REQUEST}` matches all of them.",
            default_text=f"`{ANY_REQUEST}`",
        ),
        "nth": Key(_COUNT, "Only the nth request, counted from 1."),
        "every": Key(
            _COUNT, "Every nth request: `every: 3` matches the third request, the sixth and so on."
        ),
        "chance": Key(_CHANCE, "Each request with this probability."),
        **TIMES,
    },
    check_times,
    DeclaredRule(
        _check_counts,
        *({"not": {"required": [*pair]}} for pair in combinations(("nth", "every", "chance"), 2)),
    ),
)
FAULT_THEN = FaultMapping(
    TYPES,
    RequestEffect,
    {
        "point": Key(
            Word(Point),
            "Before anything is done, or after everything is done.",
            default_text="`before_commit`; `after_commit` for `hold`, and for `truncate` without "
            "`status`",
        )
    },
)
_RULES = [rule for type_ in TYPES for rule in type_.rule_rules]
FAULT_RULE = rule_of(
    FaultRule,
    FAULT_WHEN,
    Key(
        FAULT_THEN, "The effect on the request.", required="what goes wrong, such as {status: 500}"
    ),
    *_RULES,
)
# Where it stands alone, it applies to every request by default.
_ANY_WHEN = replace(FAULT_RULE.keys["when"], required=None)
LONE_FAULT_RULE = MappingOf(FaultRule, {**FAULT_RULE.keys, "when": _ANY_WHEN}, *_RULES)
FAULTS = list_of_rules(FAULT_RULE, "a fault rule")
