"""Hooks of Schemathesis: requests to the control API name existing resources and are short.

Schemathesis loads this module as its hooks (`SCHEMATHESIS_HOOKS`). They change valid values only:
a random identifier is replaced by an existing one. Refusals that no schema can express are waived,
one code of one call at a time.
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

from tests.server.openapi.control_targets import Targets, targets_of

Body = dict[str, Any]

# Refusals of values that are valid according to the schema.
REFUSED_VALID_VALUES = {
    ("create_account", "invalid_seed"): "to JSON Schema 1.0 is an integer",
    ("create_account", "invalid_vary"): "a text of digits that is no integer of 64 bits",
    ("create_account", "invalid_clock"): "a day that the month has not",
    ("advance_clock", "invalid_clock"): "the clock cannot go back, nor pass the calendar",
    ("set_clock", "invalid_clock"): "the clock cannot go back, nor pass the calendar",
    ("transition_payment", "invalid_method"): "the payment has another method already",
    ("create_webhook_endpoint", "invalid_secret"): "the secret does not fit the format",
    ("update_webhook_endpoint", "invalid_secret"): "the secret does not fit the format",
    ("rotate_webhook_secret", "invalid_secret"): "the secret does not fit the format",
    ("create_webhook_endpoint", "invalid_format"): "placeholders that have no value there",
    ("list_requests", "invalid_before"): "the journal has no such request",
    ("list_events", "invalid_before"): "there is no such event",
    ("list_deliveries", "invalid_before"): "there is no such delivery",
    ("list_payments", "invalid_cursor"): "there is no such payment",
}
# Problems of a scenario or a fault rule that no schema can express, by their messages.
REFUSED_RULES = {
    r"a scenario must be a mapping, not ['\"]": "the schema of YAML is that of any text",
    r"gte must not be above lte": "an empty range of amounts",
    r"until must be later than from": "an empty span of time",
    r" must have one duration for each of the [0-9]+ copies ": "the length of a list",
    r" cannot follow | is unusual, so it needs ": "a status that does not follow the one before",
    r"^.*after counts from the submit, so ": "a step before the one above it",
    r"no payment is called '": "a script names a payment that it has not created",
    r", not [0-9]+\.0$": "to JSON Schema 1.0 is an integer",
    r"^and [0-9]+ more$": "the first ten problems are enough to judge by",
}
PROBLEMS = {
    ("put_scenario", "invalid_scenario"): re.compile("; (?=line |and )"),
    ("add_fault", "invalid_fault"): re.compile("; "),
}
# The replacements of valid waits: at most about a millisecond, in every form of a number.
SHORT_WAITS = (0, 0.0, 1e-05, "-0", "1e-3", "1.0E-3", "0.001", "0e0")
# Calls that remove or replace resources.
REMOVES = {
    *("reset", "delete_account", "delete_webhook_endpoint", "delete_fault", "clear_faults"),
    "clear_unauthorized",
    *("delete_scenario", "delete_snapshot", "restore_snapshot"),
}
# The changes of a new payment before these calls, each of which succeeds only once.
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
    _use_existing(case, targets)
    if isinstance(case.body, dict) and not _is_negative(case, ParameterLocation.BODY):
        case.body = BODIES.get(_call(case), lambda body, *_: body)(case.body, case, targets)


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
    """Whether a failure is reported."""
    code = _code(response)
    if isinstance(failure, UnsupportedMethodResponse):
        # The contract's statuses are a closed set without 405, and here they are the same.
        return code != "route_not_found"
    if isinstance(failure, RejectedPositiveData):
        refused = (_call(case), code)
        if refused in PROBLEMS:
            problems = PROBLEMS[refused].split(response.json()["error"]["message"])
            return not all(map(_is_beyond_a_schema, problems))
        return refused not in REFUSED_VALID_VALUES
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
    if _call(case).startswith("wait_for_") and isinstance(case.query, dict):
        try:
            is_long = 0 <= float(case.query.get("timeout", 0)) <= 300
        except (TypeError, ValueError):
            is_long = False
        if is_long:
            case.query["timeout"] = _chosen(case.query.get("timeout"), SHORT_WAITS)


def _use_existing(case: Case, targets: Targets) -> None:
    """Replaces random identifiers by those of existing resources.

    Identifiers from links remain, because they can belong to another account.
    """
    is_replaced = False
    for location, values in (
        (ParameterLocation.PATH, case.path_parameters),
        (ParameterLocation.QUERY, case.query),
    ):
        if _is_negative(case, location) or not isinstance(values, dict):
            continue
        for name, value in values.items():
            known = targets.known.get(_kind(case, name), [])
            if known and not _is_from_link(case, value, known[0]):
                made = [targets.payment(*LIFE_BEFORE[_call(case)])] if _uses_up(case, name) else []
                values[name] = _chosen(value, [*known, *made * len(known)])
                is_replaced |= name not in ("account", "account_id")
    if is_replaced and not _is_negative(case, ParameterLocation.QUERY):
        case.query = {
            name: value for name, value in case.query.items() if name not in ("account", "mode")
        }


def _uses_up(case: Case, name: str) -> bool:
    return name == "payment_id" and _call(case) in LIFE_BEFORE


def _kind(case: Case, name: str) -> str:
    """The kind of resource that a parameter identifies."""
    if name == "before":
        return f"{name} {case.operation.path}"
    creates_it = case.method == "PUT" and not case.operation.path.endswith("/enabled")
    if name != "name" or creates_it:
        return name
    return case.operation.path.split("/")[2]


def _is_from_link(case: Case, value: Any, known: str) -> bool:
    if case.meta is None or case.meta.phase.name is not TestPhase.STATEFUL:
        return False
    prefix, has_prefix, _ = known.partition("_")
    return not has_prefix or str(value).startswith(f"{prefix}_")


def _chosen(value: object, known: Sequence[Any]) -> Any:
    """One of them, always the same for a value, so that failures are reproducible."""
    return known[crc32(repr(value).encode()) % len(known)]


def _create_account(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """Gives each account its own keys, and none that of the first account."""
    body = {name: value for name, value in body.items() if name != "takes_over"}
    for name, prefix in (("test_key", "test"), ("live_key", "live")):
        if body.get(name):
            body = {**body, name: f"{prefix}_{next(_numbers):08}"}
    if str(body.get("clock")).startswith("frozen@"):
        body = {**body, "clock": "frozen@2026-02-28T12:00:00+03:00"}
    if str(body.get("clock")).startswith("x"):
        body = {**body, "clock": "x0.5"}
    return body


def _set_clock(body: Body, case: Case, targets: Targets) -> Body:
    """Replaces rates, so that most scheduled changes remain pending."""
    if body.get("rate"):
        body = {**body, "rate": 0.5, "frozen": False}
    return {**body, "now": targets.soon(case)} if body.get("now") else body


def _advance_clock(body: Body, case: Case, targets: Targets) -> Body:
    """Advances by some milliseconds, so that most scheduled changes remain pending."""
    if body.get("until"):
        return {**body, "until": targets.soon(case)}
    if body.get("seconds"):
        return {**body, "seconds": round(body["seconds"] % 0.01, 3)}
    return body


def _pay_payment(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """Chooses a method with a matching phone or bank."""
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


def _replace_url(body: Body, case: Case, targets: Targets) -> Body:  # noqa: ARG001
    """Replaces URLs, so that nothing is sent to foreign addresses."""
    if not body.get("url"):
        return body
    return {**body, "url": _chosen(body["url"], ("http://127.0.0.1:1/hook", targets.own_url))}


BODIES: Mapping[str, Callable[[Body, Case, Targets], Body]] = {
    "create_account": _create_account,
    "set_clock": _set_clock,
    "advance_clock": _advance_clock,
    "pay_payment": _pay_payment,
    "transition_payment": lambda body, *_: (
        body | ({"method": "mpesa"} if body.get("method") else {})
    ),
    "place_scenario": lambda body, *_: {
        "name": _chosen(body["name"], (body["name"], "banks", "late-success"))
    },
    "put_scenario": lambda body, case, _: (
        {**body, "name": case.path_parameters["name"]} if "name" in body else body
    ),
    "create_webhook_endpoint": _replace_url,
    "update_webhook_endpoint": _replace_url,
    "set_checkout_url": _replace_url,
    "resend_failing_deliveries": lambda body, _, targets: (
        {**body, "endpoint": _chosen(body.get("endpoint"), targets.known["endpoint"])}
    ),
}
