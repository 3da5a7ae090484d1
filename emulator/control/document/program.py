"""What the document says of the program itself: its health, addresses and documents."""

from emulator.control.document.operations import Answer, Body, Operation, Subject
from emulator.control.document.shapes import (
    TEXT,
    URL,
    answer_of,
    body_of,
    collection_of,
    path_parameter,
    said,
    words,
)

_SCHEMAS = {
    "Health": answer_of(
        "The health of the emulator.",
        {
            "status": said(
                words(["ok", "unavailable"]), "`unavailable` while starting or stopping."
            ),
            "version": said(TEXT, "The version of the program."),
        },
    ),
    "DocumentEntry": answer_of(
        "An OpenAPI document.",
        {
            "name": said(TEXT, "Its name."),
            "title": said(TEXT, "Its title."),
            "url": said(TEXT, "Its URL."),
        },
    ),
    "DocumentList": collection_of("DocumentEntry", "The documents."),
    "Document": {
        **answer_of(
            "An OpenAPI 3.1 document.",
            {
                "openapi": {"type": "string", "pattern": r"^3\.1\."},
                **{key: {"type": "object"} for key in ("info", "paths", "components")},
            },
        ),
        "additionalProperties": True,
    },
    "CheckoutUrl": answer_of(
        "The base of `checkout_url`.",
        {"url": said(TEXT, "The base of `checkout_url`, without a slash at its end.")},
    ),
    "SetCheckoutUrl": body_of(
        "The base of `checkout_url`.",
        {
            "url": {
                **URL,
                "pattern": r"^https?://[^\s/?#][^\s?#]*$",
                "description": "The base of `checkout_url`, without a query or fragment.",
            }
        },
        required=["url"],
    ),
}

_PARAMETERS = {
    "DocumentName": {
        **path_parameter(
            "name",
            "The name of a document.",
            {"type": "string", "pattern": r"^(v1|control)(\.json)?$"},
        ),
        "example": "control.json",
    }
}

_OPERATIONS = (
    Operation(
        method="get",
        path="/_emulator/health",
        id="get_health",
        summary="Check the health",
        description="Returns 200 if the emulator is ready and 503 while it starts or stops."
        " This call needs no key; container health checks use it.",
        answers={
            200: Answer(description="Ready.", schema="Health"),
            503: Answer(description="Starting or stopping.", schema="Health"),
        },
        has_subject=False,
        is_guarded=False,
    ),
    Operation(
        method="get",
        path="/_emulator/openapi",
        id="list_documents",
        summary="List the OpenAPI documents",
        description="Lists the OpenAPI documents with their addresses. The path with a slash at"
        " its end returns the same.",
        answers={200: Answer(description="The documents.", schema="DocumentList")},
        has_subject=False,
    ),
    Operation(
        method="get",
        path="/_emulator/openapi/{name}",
        id="get_document",
        summary="Retrieve an OpenAPI document",
        description="Returns an OpenAPI document: `v1` (the payments API) or `control` (this"
        " API), also with `.json`.",
        parameters=("DocumentName",),
        answers={200: Answer(description="The document.", schema="Document")},
        codes={404: ("route_not_found",)},
        has_subject=False,
    ),
    Operation(
        method="get",
        path="/_emulator/checkout_url",
        id="get_checkout_url",
        summary="Retrieve the base of `checkout_url`",
        description="Returns the base of `checkout_url`, which is the same for all accounts.",
        answers={200: Answer(description="The address.", schema="CheckoutUrl")},
    ),
    Operation(
        method="put",
        path="/_emulator/checkout_url",
        id="set_checkout_url",
        summary="Set the base of `checkout_url`",
        description="Sets the base of `checkout_url` for payments of all accounts that are"
        " created after this call, for example when a mapped port is known late.",
        body=Body(description="The address.", schema="SetCheckoutUrl"),
        answers={200: Answer(description="The address.", schema="CheckoutUrl")},
        codes={400: ("missing_parameter", "invalid_url")},
    ),
)

SUBJECT = Subject(
    tag="Program",
    description="The whole emulator: its health, the base of `checkout_url` and the OpenAPI"
    " documents.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
