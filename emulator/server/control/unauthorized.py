"""The call on the requests without a valid key."""

from typing import Annotated

from msgspec import Struct

from emulator.domain.instants import format_instant
from emulator.server.control.calls import Call, operation
from emulator.server.control.types import Count
from emulator.server.engine.state.journal import MAX_UNAUTHORIZED
from emulator.server.openapi.declarations import doc


class UnauthorizedJson(Struct, frozen=True):
    """A request that was answered with status 401."""

    at: Annotated[
        str, doc("When it was answered, by the system clock.", "2026-01-01T00:00:00.000Z")
    ]
    method: Annotated[str, doc("Its method.", "GET")]
    path: Annotated[str, doc("Its path, with masked keys.", "/v1/payments")]
    code: Annotated[str, doc("The error code.", "invalid_api_key")]
    key: Annotated[str | None, doc("Its key, masked; null without a Bearer key.", "test_my…key")]


class UnauthorizedList(Struct, frozen=True):
    """The requests without a valid key."""

    data: Annotated[
        list[UnauthorizedJson], doc(f"The requests, newest first, at most {MAX_UNAUTHORIZED}.")
    ]
    count: Annotated[Count, doc("The number of all since the start or the last reset of all.")]


@operation("GET /unauthorized", "The requests.")
async def list_unauthorized(call: Call) -> UnauthorizedList:
    """List requests without a valid key.

    Lists the newest requests that got status 401 because they have no valid key. They belong to no
    account, so the list is the same for all.
    """
    unauthorized = call.engine.accounts.unauthorized
    return UnauthorizedList(
        [
            UnauthorizedJson(format_instant(each.at), *each[1:])
            for each in reversed(unauthorized.newest)
        ],
        unauthorized.count,
    )
