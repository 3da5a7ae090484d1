"""What the document says of the journal."""

from emulator.control.document.operations import Answer, Link, Operation, Subject
from emulator.control.document.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    TEXT,
    answer_of,
    nullable,
    query_parameter,
    ref,
    said,
)
from emulator.control.requests import NOTHING, STATUS_PATTERN
from emulator.domain.faults import LARGEST_FAULT_STATUS
from emulator.engine.journal import LARGEST_JOURNAL_BYTES, LARGEST_KEPT_BYTES, MOST_ENTRIES

_KEPT = f"up to {LARGEST_KEPT_BYTES // 1024} KiB of it"
_FILTERS = ("RequestMethod", "RequestPath", "RequestStatus")
_STRUCK = answer_of(
    "The rule that struck a request.",
    {
        "source": said(TEXT, "The name of the scenario, or the identifier of the posted fault."),
        "rule": said(COUNT, "Which of the faults of its source it is, from 0 on."),
        "when": ref("FaultWhen"),
        "then": ref("FaultThen"),
        "times": said({"type": "integer", "minimum": 1}, "After so many uses it retires."),
        "instead_of": said(
            nullable({"type": "integer"}), "The status of the answer that it spoiled."
        ),
    },
    optional=["times"],
)

_SCHEMAS = {
    "LoggedRequest": answer_of(
        "A request that the merchant made, and what became of it.",
        {
            "id": said(TEXT, "Its identifier: the header `Request-Id` of the answer."),
            "at": said(INSTANT, "When, on the account's clock."),
            "method": said(TEXT, "Its method."),
            "path": said(TEXT, "Its path, as it came."),
            "query": said(TEXT, "Its query, as it came, without the question mark."),
            "status": said(
                nullable({"type": "integer", "minimum": 100, "maximum": LARGEST_FAULT_STATUS}),
                "The status that it was answered with; null where nothing was answered.",
            ),
            "key": said(TEXT, "The key that it came with, masked."),
            "request_body": said(TEXT, f"Its body; {_KEPT}."),
            "response_body": said(TEXT, f"The body of the answer; {_KEPT}."),
            "cut": said(BOOLEAN, "Whether one of the bodies was longer."),
            "warnings": {
                "type": "array",
                "items": TEXT,
                "description": "What was tolerated, as in the header `Emulator-Warning`.",
            },
            "error": nullable(ref("LoggedError")),
            "replayed": said(BOOLEAN, "Whether it was the replay of an idempotency key."),
            "fault": nullable(ref("StruckFault")),
            "duration_ms": {
                "type": "number",
                "minimum": 0,
                "description": "How long it took, in real time.",
            },
        },
    ),
    "LoggedError": answer_of(
        "Why a request was refused, or would have been.",
        {
            "code": said(TEXT, "Machine-readable."),
            "message": said(TEXT, "Human-readable."),
            "param": said(TEXT, "The field at fault."),
        },
        optional=["param"],
    ),
    "StruckFault": _STRUCK,
    "LoggedRequestList": answer_of(
        "A part of the journal.",
        {
            "data": {
                "type": "array",
                "items": ref("LoggedRequest"),
                "description": "The requests, newest first.",
            },
            "overflowed": said(BOOLEAN, "Whether older requests had to make room."),
        },
    ),
    "RequestCount": answer_of(
        "How many requests there were.", {"count": said(COUNT, "As many as the journal holds.")}
    ),
}

_PARAMETERS = {
    "RequestMethod": query_parameter("method", "Only requests of this method.", {"type": "string"}),
    "RequestPath": query_parameter(
        "path",
        "Only requests of this path; one that ends with a star is what paths begin with.",
        {"type": "string"},
    ),
    "RequestStatus": query_parameter(
        "status",
        f"Only requests that were answered so: a status (`201`), a class (`4xx`), or `{NOTHING}`"
        " where nothing was answered.",
        {"type": "string", "pattern": f"^({STATUS_PATTERN.pattern}|{NOTHING})$"},
    ),
    "RequestBefore": query_parameter(
        "before",
        "Only requests older than this one: the identifier of an entry.",
        {"type": "string"},
    ),
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/requests",
        id="list_requests",
        summary="List requests",
        description="The journal of the requests to `/v1`, newest first: at most"
        f" {MOST_ENTRIES:,} of them, and {LARGEST_JOURNAL_BYTES // 1024**2} MiB. Keys are masked.",
        parameters=(*_FILTERS, "RequestBefore", "Limit"),
        answers={
            200: Answer(
                description="The requests.",
                schema="LoggedRequestList",
                links=(
                    Link(
                        to="list_requests",
                        parameters={"query.before": "$response.body#/data/0/id"},
                    ),
                ),
            )
        },
        codes={400: ("invalid_status", "invalid_before", "invalid_limit")},
    ),
    Operation(
        method="get",
        path="/_emulator/requests/count",
        id="count_requests",
        summary="Count requests",
        description="How many requests of the journal there are of a kind.",
        parameters=_FILTERS,
        answers={200: Answer(description="How many.", schema="RequestCount")},
        codes={400: ("invalid_status",)},
    ),
)

SUBJECT = Subject(
    tag="Requests",
    description="The journal: which requests the merchant made, what they were answered with, and"
    " why they were refused, warned about or struck by a fault.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
