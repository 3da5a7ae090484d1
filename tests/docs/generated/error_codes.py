"""The tables of docs/reference/error-codes.md."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import pytest

from emulator.domain import errors
from emulator.domain.errors import InvalidField, Refusal
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import MAX_ENDPOINTS
from emulator.server.api.bodies import MAX_BODY_BYTES
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY, INTERNAL_ERROR_CAUSE
from emulator.server.api.parameter_types import Parameter, ParameterRules
from emulator.server.api.parameters import CREATE, LIST
from emulator.server.control.app import documents
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from tests.docs.markdown import table
from tests.world import headers, world

_LIMITS: dict[type[Refusal], str] = {
    errors.RequestTooLarge: f"{MAX_BODY_BYTES // 1024} KiB",
    errors.TooManyEndpoints: str(MAX_ENDPOINTS),
    errors.TooManyScenarios: str(MAX_SCENARIOS),
    errors.TooManyFaults: str(MAX_FAULTS),
    errors.TooManySnapshots: str(MAX_SNAPSHOTS),
}
# The message about a blank in a URL states the most; `[]` is invalid for every other member.
_INVALID_MEMBERS = dict.fromkeys(("success_url", "cancel_url"), "https://shop.example/a b")
_ACCEPTED = re.compile(r'"(\w+)" must be (.+?)(?: \(got .*|\. .*)')
_OF_FIELDS = (
    "The query parameter or the member NAME is not accepted; `message` states the accepted values."
    " NAME is `clock` for each member of a call that changes the clock."
)


def v1_codes_table() -> str:
    """Every code of `/v1`."""
    causes = {**_field_causes(), **_class_causes()}
    return _codes((*entry, causes[entry[1]]) for entry in sorted(codes_of("v1"), key=_order))


def control_codes_table() -> str:
    """Every code that the control API has and `/v1` does not have; those of fields are one row."""
    causes, own = _class_causes(), codes_of("control").keys() - codes_of("v1")
    of_fields = {(status, code) for status, code in own if code not in causes}
    assert all(
        status == HTTPStatus.BAD_REQUEST and code.startswith("invalid_")
        for status, code in of_fields
    )
    named = sorted(own - of_fields, key=lambda entry: (_order(entry), entry[1]))
    return _codes(
        [
            (HTTPStatus.BAD_REQUEST, "invalid_NAME", _OF_FIELDS),
            *((*entry, causes[entry[1]]) for entry in named),
        ]
    )


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
    wrong: list[tuple[Parameter, Any]]
    wrong = [(row, _INVALID_MEMBERS.get(row.name, [])) for row in CREATE.rows]
    wrong += [(row, "") for row in LIST.rows if row.name != "after"]
    # The engine validates the cursor.
    cursor = asyncio.run(_refused_cursor())
    messages = {cursor["code"]: cursor["message"]}
    for row, value in wrong:
        with pytest.raises(InvalidField) as refused:
            row.type.check(row.name, value, rules, [])
        messages[f"invalid_{row.kind}"] = refused.value.message
    return {code: _ACCEPTED.sub(r"`\1` must be \2.", text) for code, text in messages.items()}


async def _refused_cursor() -> dict[str, str]:
    async with world() as emulator:
        response = await emulator.api.get("/v1/payments?after=pay_unknown", headers=headers())
    error: dict[str, str] = response.json()["error"]
    return error


def codes_of(name: str) -> dict[tuple[int, str], None]:
    """The statuses and codes of the operations of a document, in its order."""
    document = documents(DEFAULT_METHODS)[name]("")
    found: dict[tuple[int, str], None] = {}
    for operation in (each for path in document["paths"].values() for each in path.values()):
        for status, response in operation["responses"].items():
            shared = response.get("$ref", "").rpartition("/")[2]
            described = (
                document["components"].get("responses", {}).get(shared, response)["description"]
            )
            codes = re.findall("`([a-z_]+)`", described.partition("Codes: ")[2])
            found |= dict.fromkeys((int(status), code) for code in codes)
    return found


def _codes(rows: Iterable[tuple[int, str, str]]) -> str:
    cells = [(str(int(status)), f"`{code}`", cause) for status, code, cause in rows]
    return table(("status", "code", "cause"), cells)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/error-codes.md", "v1 codes"): v1_codes_table,
    ("docs/reference/error-codes.md", "control codes"): control_codes_table,
}
