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
from emulator.domain.faults import MAX_FAULT_STATUS
from emulator.engine.state.journal import MAX_ENTRIES, MAX_JOURNAL_BYTES, MAX_STORED_BODY_BYTES

_KEPT = f"up to {MAX_STORED_BODY_BYTES // 1024} KiB of it"
_FILTERS = ("RequestMethod", "RequestPath", "RequestStatus")
_STRUCK = answer_of(
    "The fault rule that was applied to a request.",
    {
        "source": said(TEXT, "The name of the scenario, or the identifier of the posted fault."),
        "rule": said(COUNT, "The index of the rule in its source, from 0."),
        "when": ref("FaultWhen"),
        "then": ref("FaultThen"),
        "times": said({"type": "integer", "minimum": 1}, "The maximum number of uses."),
        "instead_of": said(
            nullable({"type": "integer"}), "The status of the response that the fault replaced."
        ),
    },
    optional=["times"],
)

_SCHEMAS = {
    "LoggedRequest": answer_of(
        "A request of the merchant and its response.",
        {
            "id": said(TEXT, "Its identifier: the header `Request-Id` of the response."),
            "at": said(INSTANT, "The instant, on the account's clock."),
            "method": said(TEXT, "Its method."),
            "path": said(TEXT, "Its path, as received."),
            "query": said(TEXT, "Its query, as received, without the question mark."),
            "status": said(
                nullable({"type": "integer", "minimum": 100, "maximum": MAX_FAULT_STATUS}),
                "The status of the response; null without a response.",
            ),
            "key": said(TEXT, "Its key, masked."),
            "request_body": said(TEXT, f"Its body; {_KEPT}."),
            "response_body": said(TEXT, f"The body of the response; {_KEPT}."),
            "cut": said(BOOLEAN, "Whether one of the bodies was truncated."),
            "warnings": {
                "type": "array",
                "items": TEXT,
                "description": "The warnings, as in the header `Emulator-Warning`.",
            },
            "error": nullable(ref("LoggedError")),
            "replayed": said(BOOLEAN, "Whether the response was replayed for an idempotency key."),
            "fault": nullable(ref("StruckFault")),
            "duration_ms": {
                "type": "number",
                "minimum": 0,
                "description": "The duration, in real time.",
            },
        },
    ),
    "LoggedError": answer_of(
        "The error that was returned, or would have been returned.",
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
            "overflowed": said(BOOLEAN, "Whether older requests were removed."),
        },
    ),
    "RequestCount": answer_of(
        "The number of requests.",
        {"count": said(COUNT, "The number of matching requests in the journal.")},
    ),
}

_PARAMETERS = {
    "RequestMethod": query_parameter(
        "method", "Only requests with this method.", {"type": "string"}
    ),
    "RequestPath": query_parameter(
        "path",
        "Only requests with this path; a path that ends with a star is a prefix.",
        {"type": "string"},
    ),
    "RequestStatus": query_parameter(
        "status",
        f"Only requests with this status: a status (`201`), a class (`4xx`), or `{NOTHING}`"
        " for requests without a response.",
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
        description="Lists the journal of requests to `/v1`, newest first, with masked keys."
        f" The journal contains at most {MAX_ENTRIES:,} requests and"
        f" {MAX_JOURNAL_BYTES // 1024**2} MiB.",
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
        description="Returns the number of requests in the journal that match the filters.",
        parameters=_FILTERS,
        answers={200: Answer(description="The number of requests.", schema="RequestCount")},
        codes={400: ("invalid_status",)},
    ),
)

SUBJECT = Subject(
    tag="Requests",
    description="The journal: the requests of the merchant with their responses, errors,"
    " warnings and applied faults.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
