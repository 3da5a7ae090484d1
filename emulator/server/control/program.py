"""The calls on the program: its health, the base of `checkout_url` and the OpenAPI documents.

The health and the documents have routes of their own: they act on no account and need no key.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from emulator import __version__
from emulator.domain.errors import ForbiddenOrigin, InvalidRequestBody, UnknownRoute
from emulator.server.control.calls import Call
from emulator.server.control.resources import operation
from emulator.server.control.types import EXAMPLE_BASE_URL, BaseUrl, Body
from emulator.server.openapi.declarations import (
    JsonObject,
    Operation,
    Resource,
    SuccessResponse,
    doc,
)


class HealthJson(Struct, frozen=True):
    """The health of the emulator."""

    status: Annotated[Literal["ok", "unavailable"], doc("`unavailable` where the status is 503.")]
    version: Annotated[str, doc("The version of the program.", __version__)]


class DocumentPath(Struct, frozen=True):
    name: Annotated[
        str,
        Meta(
            pattern=r"^(v1|control)(\.json)?$",
            description="The name of a document.",
            examples=["control.json"],
        ),
    ]


class CheckoutUrl(Struct, frozen=True):
    """The base of `checkout_url`."""

    url: Annotated[str, doc("The base, without a slash at its end.", EXAMPLE_BASE_URL)]


class SetCheckoutUrl(Body, frozen=True):
    """The base of `checkout_url`."""

    url: Annotated[BaseUrl, doc("The base of `checkout_url`, without a query or fragment.")]


@operation("GET /checkout_url", "The address.")
async def get_checkout_url(call: Call) -> CheckoutUrl:
    """Retrieve the base of `checkout_url`.

    Returns the base of `checkout_url`, which is the same for all accounts.
    """
    return CheckoutUrl(call.engine.payments.checkout_base)


@operation("PUT /checkout_url", "The address.")
async def set_checkout_url(call: Call, body: SetCheckoutUrl) -> CheckoutUrl:
    """Set the base of `checkout_url`.

    Sets the base of `checkout_url` for payments of all accounts that are created after this
    call.
    """
    call.engine.payments.checkout_base = body.url
    return CheckoutUrl(body.url)


def _schemas() -> dict[str, JsonObject]:
    return {
        "Document": {
            "type": "object",
            "description": "An OpenAPI 3.1 document.",
            "properties": {"openapi": {"type": "string", "pattern": r"^3\.1\."}},
            "required": ["openapi"],
            "additionalProperties": True,
            "examples": [{"openapi": "3.1.0"}],
        }
    }


get_health = Operation(
    method="GET",
    path="/_emulator/health",
    id="get_health",
    summary="Check the health",
    description="Returns 200 if the emulator is ready, and 503 while it starts or stops, or after"
    " its database file was deleted or replaced. This call needs no key; it is for health checks.",
    responses={
        200: SuccessResponse("Ready.", HealthJson),
        503: SuccessResponse("Starting, stopping, or without its database.", HealthJson),
    },
    refusals=(InvalidRequestBody,),
    accepts_key=False,
)
get_document = Operation(
    method="GET",
    path="/_emulator/openapi/{name}",
    id="get_document",
    summary="Retrieve an OpenAPI document",
    description="Returns an OpenAPI document: `v1` (the payments API) or `control` (this API), also"
    " with `.json`.",
    responses={200: SuccessResponse("The document.", "Document")},
    path_type=DocumentPath,
    refusals=(UnknownRoute, ForbiddenOrigin, InvalidRequestBody),
    accepts_key=False,
)
PROGRAM = Resource(
    tag="Program",
    description="The whole emulator: its health, the base of `checkout_url` and the OpenAPI"
    " documents.",
    operations=(get_health, get_document, get_checkout_url, set_checkout_url),
    schemas=_schemas,
)
