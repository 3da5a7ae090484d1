"""Hooks of Schemathesis: requests to the control API name existing resources and are short.

It loads this module as its hooks (`SCHEMATHESIS_HOOKS`). Only what is valid is ever changed: a
value that no schema can tell from a right one is put in place of a random one, which would be
refused, or not found, every time. What is left of that is waived, one code of one call at a time.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any
from zlib import crc32

import schemathesis
from schemathesis import Case, HookContext, Response
from schemathesis.core.failures import Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

from tests.openapi.control_targets import Targets, targets_of

Body = dict[str, Any]

# Valid by the schema, and refused all the same: what it cannot say.
REFUSED_ALL_THE_SAME = {
    ("create_account", "invalid_seed"): "to JSON Schema 1.0 is an integer",
    ("create_account", "invalid_clock"): "a day that the month has not",
    ("advance_clock", "invalid_clock"): "the clock cannot go back, nor pass the calendar",
    ("set_clock", "invalid_clock"): "the clock cannot go back, nor pass the calendar",
    ("transition_payment", "invalid_method"): "the payment has another method already",
    ("list_requests", "invalid_before"): "the journal has no such request",
}
# What no schema can say of a scenario or a fault rule, by the words of each problem.
REFUSED_RULES = {
    r"a scenario must be a mapping, not ['\"]": "the schema of YAML is that of any text",
    r", so this never matches$": "a bank beside a method that takes a phone, or the other way",
    r", so it never pays by ": "a phone of the other operator",
    r"gte must not be above lte": "an empty range of amounts",
    r" cannot follow | is unusual, so it needs ": "a status that does not follow the one before",
    r"^.*after counts from the submit, so ": "a step before the one above it",
    r" is longer than ten years$": "the bound of a duration in any unit",
    r" is finer than a millisecond$": "a part of a minute, an hour or a day",
    r"no payment is called '": "a script names a payment that it has not created",
    r", not [0-9]+\.0$": "to JSON Schema 1.0 is an integer",
    r"^and [0-9]+ more$": "the first ten problems are enough to judge by",
}
PROBLEMS = {
    ("put_scenario", "invalid_scenario"): re.compile("; (?=line |and )"),
    ("add_fault", "invalid_fault"): re.compile("; "),
}
# What a valid wait becomes: nothing, or about a millisecond, in every form of a number.
SHORT_WAITS = (0, 0.0, 1e-05, "-0", "1e-3", "1.0E-3", "0.001", "0e0")
# After these there is less than there was, or something else.
REMOVES = {
    "reset",
    "delete_account",
    "delete_webhook_endpoint",
    "delete_fault",
    "clear_faults",
    "delete_scenario",
    "delete_snapshot",
    "restore_snapshot",
}
# What a payment has to have gone through for these to be possible, and only once.
LIFE_BEFORE: Mapping[str, tuple[Body, ...]] = {
    "pay_payment": (),
    "cancel_payment": (),
    "answer_payment": ({"method": "bank_transfer", "bank": "walia_test"},),
    "transition_payment": ({"status": "processing", "method": "mpesa"},),
}
_numbers = count()


@schemathesis.hook
def before_call(context: HookContext, case: Case, **_: Any) -> None:  # noqa: ARG001
    targets = targets_of(case.operation.base_url)
    _make_short(case)
    _name_what_there_is(case, targets)
    if isinstance(case.body, dict) and not _is_negative(case, ParameterLocation.BODY):
        case.body = BODIES.get(_call(case), _as_it_is)(case.body, case, targets)


@schemathesis.hook
def after_call(context: HookContext, case: Case, response: Response) -> None:  # noqa: ARG001
    if _call(case) in REMOVES and response.status_code < 300:
        targets_of(case.operation.base_url).refresh()


@schemathesis.hook
def filter_failure(
    context: HookContext,  # noqa: ARG001 - hooks are known by their names and parameters
    failure: Failure,
    case: Case,
    response: Response,
) -> bool:
    """Whether a failure is one."""
    code = _code(response)
    if isinstance(failure, UnsupportedMethodResponse):
        # The contract's statuses are a closed set without 405, and here they are the same.
        return code != "route_not_found"
    if isinstance(failure, RejectedPositiveData):
        refused = (_call(case), code)
        if refused in PROBLEMS:
            problems = PROBLEMS[refused].split(response.json()["error"]["message"])
            return not all(map(_is_beyond_a_schema, problems))
        return refused not in REFUSED_ALL_THE_SAME
    return True


def _is_beyond_a_schema(problem: str) -> bool:
    return any(re.search(words, problem) for words in REFUSED_RULES)


def _code(response: Response) -> str | None:
    return response.json()["error"]["code"] if response.status_code >= 400 else None


def _is_negative(case: Case, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


def _call(case: Case) -> str:
    return str(case.operation.definition.raw["operationId"])


def _make_short(case: Case) -> None:
    """Shortens valid waits, which take up to five minutes of real time."""
    if _call(case) == "wait_for_payment" and isinstance(case.query, dict):
        try:
            is_long = 0 <= float(case.query.get("timeout", 0)) <= 300
        except (TypeError, ValueError):
            is_long = False
        if is_long:
            case.query["timeout"] = _chosen(case.query.get("timeout"), SHORT_WAITS)


def _name_what_there_is(case: Case, targets: Targets) -> None:
    """Put what exists in place of what does not, on the account that it is of.

    What a link has found is of another account, it may be, and stays.
    """
    is_found_here = False
    for location, values in (
        (ParameterLocation.PATH, case.path_parameters),
        (ParameterLocation.QUERY, case.query),
    ):
        if _is_negative(case, location) or not isinstance(values, dict):
            continue
        for name, value in values.items():
            known = targets.known.get(_kind(case, name), [])
            if known and not _is_of_a_link(case, value, known[0]):
                made = [targets.payment(*LIFE_BEFORE[_call(case)])] if _uses_up(case, name) else []
                values[name] = _chosen(value, [*known, *made * len(known)])
                is_found_here |= name not in ("account", "account_id")
    if is_found_here and not _is_negative(case, ParameterLocation.QUERY):
        case.query = {
            name: value for name, value in case.query.items() if name not in ("account", "mode")
        }


def _uses_up(case: Case, name: str) -> bool:
    return name == "payment_id" and _call(case) in LIFE_BEFORE


def _kind(case: Case, name: str) -> str:
    """What a parameter names, where it is to be found."""
    is_made_by_it = case.method == "PUT" and not case.operation.path.endswith("/enabled")
    if name != "name" or is_made_by_it:
        return name
    return case.operation.path.split("/")[2]


def _is_of_a_link(case: Case, value: Any, known: str) -> bool:
    if case.meta is None or case.meta.phase.name is not TestPhase.STATEFUL:
        return False
    prefix, has_prefix, _ = known.partition("_")
    return not has_prefix or str(value).startswith(f"{prefix}_")


def _chosen(value: object, known: Sequence[Any]) -> Any:
    """One of them, always the same for a value, so that a failure can be had again."""
    return known[crc32(repr(value).encode()) % len(known)]


def _as_it_is(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    return body


def _create_account(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """No two accounts have one key."""
    for name, prefix in (("test_key", "test"), ("live_key", "live")):
        if body.get(name):
            body = {**body, name: f"{prefix}_{next(_numbers):08}"}
    if str(body.get("clock")).startswith("frozen@"):
        body = {**body, "clock": "frozen@2026-02-28T12:00:00+03:00"}
    return body


def _set_clock(body: Body, case: Case, targets: Targets) -> Body:
    return {**body, "now": targets.soon(case)} if body.get("now") else body


def _advance_clock(body: Body, case: Case, targets: Targets) -> Body:
    """Some milliseconds, or what is scheduled in the calendar would all be past at once."""
    if body.get("until"):
        return {**body, "until": targets.soon(case)}
    if body.get("seconds"):
        return {**body, "seconds": round(body["seconds"] % 0.01, 3)}
    return body


def _pay_payment(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """A phone is of one operator, and of a payment's methods there are three."""
    digits = f"{crc32(repr(body).encode()):010}"[-8:]
    return _chosen(
        body,
        (
            {"method": "telebirr", "phone": f"09{digits}"},
            {"method": "mpesa", "phone": f"+2517{digits}", "bank": None},
            {"method": "bank_transfer", "bank": "walia_test"},
            {"method": "telebirr", "phone": "0900000001"},
        ),
    )


def _transition_payment(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    return {**body, "method": "mpesa"} if body.get("method") else body


def _place_scenario(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    return {"name": _chosen(body["name"], (body["name"], "banks", "late-success"))}


def _put_scenario(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """It must have the name of its address."""
    return {**body, "name": case.path_parameters["name"]} if "name" in body else body


def _to_nobody(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """Replaces URLs, so that nothing is sent to foreign addresses."""
    if not body.get("url"):
        return body
    return {**body, "url": _chosen(body["url"], ("http://127.0.0.1:1/hook", targets.own_url))}


BODIES: Mapping[str, Callable[[Body, Case, Targets], Body]] = {
    "create_account": _create_account,
    "set_clock": _set_clock,
    "advance_clock": _advance_clock,
    "pay_payment": _pay_payment,
    "transition_payment": _transition_payment,
    "place_scenario": _place_scenario,
    "put_scenario": _put_scenario,
    "create_webhook_endpoint": _to_nobody,
    "update_webhook_endpoint": _to_nobody,
    "set_checkout_url": _to_nobody,
}
