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
        "Whether the program can be asked.",
        {
            "status": said(words(["ok", "unavailable"]), "Unavailable while starting or stopping."),
            "version": said(TEXT, "The version of the program."),
        },
    ),
    "DocumentEntry": answer_of(
        "An OpenAPI document.",
        {
            "name": said(TEXT, "What it is called."),
            "title": said(TEXT, "What it describes."),
            "url": said(TEXT, "Where it is found."),
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
        "Where customers find the checkout pages.",
        {"url": said(TEXT, "What `checkout_url` begins with, without a slash at its end.")},
    ),
    "SetCheckoutUrl": body_of(
        "Where customers find the checkout pages.",
        {
            "url": {
                **URL,
                "pattern": r"^https?://[^\s/?#][^\s?#]*$",
                "description": "What `checkout_url` is to begin with: without a query or fragment.",
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
        summary="Ask whether the program is ready",
        description="For the health check of a container; it needs no key.",
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
        description="Both documents, with the addresses that they are found at here.",
        answers={200: Answer(description="The documents.", schema="DocumentList")},
        has_subject=False,
    ),
    Operation(
        method="get",
        path="/_emulator/openapi/{name}",
        id="get_document",
        summary="Read an OpenAPI document",
        description="This document, `control.json`, or that of the contract, `v1.json`.",
        parameters=("DocumentName",),
        answers={200: Answer(description="The document.", schema="Document")},
        codes={404: ("route_not_found",)},
        has_subject=False,
    ),
    Operation(
        method="get",
        path="/_emulator/checkout_url",
        id="get_checkout_url",
        summary="Read the public address of the checkout pages",
        description="What the `checkout_url` of payments begins with, in all accounts.",
        answers={200: Answer(description="The address.", schema="CheckoutUrl")},
    ),
    Operation(
        method="put",
        path="/_emulator/checkout_url",
        id="set_checkout_url",
        summary="Set the public address of the checkout pages",
        description="For payments created from now on, in all accounts: mapped ports are known"
        " late. A reset leaves it.",
        body=Body(description="The address.", schema="SetCheckoutUrl"),
        answers={200: Answer(description="The address.", schema="CheckoutUrl")},
        codes={400: ("missing_parameter", "invalid_url")},
    ),
)

SUBJECT = Subject(
    tag="Program",
    description="The program as a whole: whether it is ready, where its pages are found, and"
    " what documents describe it.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
