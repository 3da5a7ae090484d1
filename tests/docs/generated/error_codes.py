"""The tables of docs/reference/error-codes.md."""

import inspect
import json
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus

from emulator.domain import errors
from emulator.domain.clauses import clauses_of_code
from emulator.domain.errors import Refusal
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import MAX_ENDPOINTS
from emulator.server.api.errors import ANSWERS, INTERNAL_ERROR_BODY
from emulator.server.control.app import documents
from emulator.server.engine.accounts.scenarios import MAX_FAULTS, MAX_SCENARIOS
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS
from tests.docs.generated.program import has_assumption
from tests.docs.markdown import table

_LIMITS: dict[type[Refusal], str] = {
    errors.TooManyEndpoints: str(MAX_ENDPOINTS),
    errors.TooManyScenarios: str(MAX_SCENARIOS),
    errors.TooManyFaults: str(MAX_FAULTS),
    errors.TooManySnapshots: str(MAX_SNAPSHOTS),
}
# The clause whose text names a code as an example.
_LIST_OF_CODES = "7.13"
_OF_FIELDS = (
    "The query parameter or the member NAME is not accepted; `message` states the accepted values."
    " NAME is `clock` for each member of a call that changes the clock."
)


def v1_codes_table() -> str:
    """Every code of `/v1`, with the clauses that describe it."""
    causes = _class_causes()
    rows = [
        (*entry, _clauses_or(entry[1], causes.get(entry[1], "")))
        for entry in sorted(codes_of("v1"), key=_order)
    ]
    return _codes(rows, "clause, or cause")


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
    unexpected = (
        "A fault rule caused the error, or the emulator has a defect; the log has the details."
    )
    causes = {json.loads(INTERNAL_ERROR_BODY)["error"]["code"]: unexpected}
    for kind, answer in ANSWERS.items():
        if answer.code is not None:
            causes[answer.code] = _cause(kind)
    return causes


def _cause(kind: type[Refusal]) -> str:
    """The first paragraph of the docstring, and the limit that applies."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return f"{text} Limit: {_LIMITS[kind]}." if issubclass(kind, errors.LimitReached) else text


def _clauses_or(code: str, cause: str) -> str:
    """The clauses of Fidelity that describe a code, otherwise its cause."""
    numbers = [
        each.number
        for each in clauses_of_code(code)
        if has_assumption(each) and each.number != _LIST_OF_CODES
    ]
    return ", ".join(numbers) or cause


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


def _codes(rows: Iterable[tuple[int, str, str]], last: str = "cause") -> str:
    cells = [(str(int(status)), f"`{code}`", cause) for status, code, cause in rows]
    return table(("status", "code", last), cells)


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("docs/reference/error-codes.md", "v1 codes"): v1_codes_table,
    ("docs/reference/error-codes.md", "control codes"): control_codes_table,
}
