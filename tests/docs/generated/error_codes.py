"""The tables of docs/reference/error-codes.md."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from emulator.domain import errors
from emulator.domain.errors import InvalidField, Refusal
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import MAX_ENDPOINTS
from emulator.server.api.bodies import MAX_BODY_BYTES
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY, INTERNAL_ERROR_CAUSE, code_of
from emulator.server.api.parameter_types import ParameterRules
from emulator.server.api.parameters import CREATE, LIST, check_order, page_query
from emulator.server.control.app import documents
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from tests.docs.markdown import table
from tests.tables import rows
from tests.world import headers, order, world

_LIMITS: dict[type[Refusal], str] = {
    errors.RequestTooLarge: f"{MAX_BODY_BYTES // 1024} KiB",
    errors.TooManyEndpoints: str(MAX_ENDPOINTS),
    errors.TooManyScenarios: str(MAX_SCENARIOS),
    errors.TooManyFaults: str(MAX_FAULTS),
    errors.TooManySnapshots: str(MAX_SNAPSHOTS),
}
# The message about a blank in a URL states the most; `[]` is invalid for every other member.
_INVALID_MEMBERS = dict.fromkeys(("success_url", "cancel_url"), "https://shop.example/a b")
_MAX_LISTED = 10
_ACCEPTED = re.compile(r'"(\w+)" must be (.+?)(?: \(got .*|\. .*)')


# Wrong values of the fields of the control API: the call, the path and the body.
_REFUSED = rows(__file__, "refused values")


def v1_codes_table() -> str:
    """Every code of `/v1`."""
    causes = {**_field_causes(), **_class_causes()}
    return _codes((status, code, causes[code]) for status, code in _v1_codes())


def control_codes_table() -> str:
    """Every code that the control API has and `/v1` does not have."""
    causes, operations = _class_causes(), _operations_by_code("control")
    own = sorted(sorted(operations.keys() - set(_v1_codes())), key=_order)
    accepted = asyncio.run(_accepted_values())
    return _codes(
        (status, code, causes.get(code) or _in_words(accepted[code], operations[status, code]))
        for status, code in own
    )


def _v1_codes() -> list[tuple[int, str]]:
    return sorted(_operations_by_code("v1"), key=_order)


def _order(entry: tuple[int, str]) -> tuple[int, int]:
    # The codes of fields come last.
    codes = [answer.code for answer in ANSWERS.values()]
    return entry[0], codes.index(entry[1]) if entry[1] in codes else len(codes)


def _class_causes() -> dict[str, str]:
    causes = {json.loads(INTERNAL_ERROR_BODY)["error"]["code"]: INTERNAL_ERROR_CAUSE}
    for kind, answer in ANSWERS.items():
        if answer.code is not None:
            before = f"{causes[answer.code]} Or: " if answer.code in causes else ""
            causes[answer.code] = before + _cause(kind)
    return causes


def _cause(kind: type[Refusal]) -> str:
    """The first paragraph of the docstring, and the limit that applies."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    has_limit = kind in _LIMITS or issubclass(kind, errors.LimitReached)
    return f"{text} Limit: {_LIMITS[kind]}." if has_limit else text


def _field_causes() -> dict[str, str]:
    """By code, what the validation accepts according to its own messages."""
    rules = ParameterRules(methods=DEFAULT_METHODS, allow_http_localhost=False)
    bodies = [order(**{name: _INVALID_MEMBERS.get(name, [])}) for name in CREATE.names]
    texts = [{name: ""} for name in LIST.names if name != "after"]
    checks: list[Callable[[], object]] = [
        *(partial(check_order, body, rules, []) for body in bodies),
        *(partial(page_query, text, rules, []) for text in texts),
    ]
    # The engine validates the cursor.
    cursor = asyncio.run(_refused_cursor())
    messages = {cursor["code"]: cursor["message"]}
    for check in checks:
        with pytest.raises(InvalidField) as refused:
            check()
        messages[code_of(refused.value)] = refused.value.message
    return {code: _ACCEPTED.sub(r"`\1` must be \2.", text) for code, text in messages.items()}


async def _refused_cursor() -> dict[str, str]:
    async with world() as emulator:
        response = await emulator.api.get("/v1/payments?after=pay_unknown", headers=headers())
    error: dict[str, str] = response.json()["error"]
    return error


async def _accepted_values() -> dict[str, dict[str, list[str]]]:
    """By code and by what is accepted, according to the messages, the operations."""
    paths = documents(DEFAULT_METHODS)["control"]("")["paths"]
    methods = {
        operation["operationId"]: method
        for path in paths.values()
        for method, operation in path.items()
        if "operationId" in operation
    }
    found: dict[str, dict[str, list[str]]] = {}
    async with world() as emulator:
        payment = await emulator.create()
        endpoint = await emulator.done(
            "POST", "/webhook_endpoints", {"url": "http://127.0.0.1:3000/hook"}
        )
        places = {
            "payment": f"/payments/{payment['id']}",
            "endpoint": f"/webhook_endpoints/{endpoint['id']}",
        }
        for operation, path, body in _REFUSED:
            method = methods[operation].upper()
            response = await emulator.control(method, path.format(**places), body)
            error = response.json()["error"]
            text = re.sub(r" \(got .*", ".", error["message"])
            text = re.sub(r'"(\w+)"', r"`\1`", text, count=1)
            found.setdefault(error["code"], {}).setdefault(text, []).append(operation)
    return found


def _in_words(accepted: dict[str, list[str]], operations: list[str]) -> str:
    tried = [operation for each in accepted.values() for operation in each]
    if len(operations) > _MAX_LISTED:
        [text] = accepted
        return text
    assert {*tried} == {*operations}, f"_REFUSED needs a wrong value for {operations}"
    if len(accepted) == 1:
        [text] = accepted
        return text
    return " ".join(
        f"{', '.join(f'`{each}`' for each in dict.fromkeys(calls))}: {text}"
        for text, calls in accepted.items()
    )


def _operations_by_code(name: str) -> dict[tuple[int, str], list[str]]:
    """The operations of a document by status and code."""
    document = documents(DEFAULT_METHODS)[name]("")
    found: dict[tuple[int, str], list[str]] = {}
    for operation in (each for path in document["paths"].values() for each in path.values()):
        for status, response in operation["responses"].items():
            shared = response.get("$ref", "").rpartition("/")[2]
            described = (
                document["components"].get("responses", {}).get(shared, response)["description"]
            )
            for code in re.findall("`([a-z_]+)`", described.partition("Codes: ")[2]):
                found.setdefault((int(status), code), []).append(operation["operationId"])
    return found


def _codes(rows: Iterable[tuple[int, str, str]]) -> str:
    cells = [(str(status), f"`{code}`", cause) for status, code, cause in rows]
    return table(("status", "code", "cause"), cells)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/error-codes.md", "v1 codes"): v1_codes_table,
    ("docs/reference/error-codes.md", "control codes"): control_codes_table,
}
