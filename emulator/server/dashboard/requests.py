"""The pages about requests: the journal by kind, and one request with the causes of its result."""

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.domain.clauses import clauses_of_code, tolerance_of
from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest, curl

FILTERS = ("method", "path", "status", "code", "warning")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


async def request_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest requests that match the filters in the address, and the kinds of all."""
    listed = await page.get("/requests", **{**page.query, "limit": ROWS_PER_PAGE})
    rows = listed["data"]
    return {
        "requests": rows,
        "next_cursor": rows[-1]["id"] if listed["has_more"] else None,
        "curl": page.curl("/requests", **page.query),
        "overflowed": listed["overflowed"],
        "unauthorized": await page.get("/unauthorized"),
        "shown_unauthorized": int(ROWS_PER_PAGE),
        "kinds": await page.get("/requests/kinds"),
        "filters": {name: page.query.get(name, "") for name in FILTERS},
        "http_methods": METHODS,
    }


async def request_details(page: ViewRequest) -> Mapping[str, Any]:
    """A request, its response, and the clauses about its error and its warnings."""
    request = await page.get(f"/requests/{page.item}")
    path, query = request["path"], request["query"]
    # A client without a response has not seen the error that a fault rule replaced.
    error = request["error"] if request["status"] else None
    key = "LIVE_KEY" if page.subject.get("mode") == "live" else "TEST_KEY"
    return {
        "request": request,
        "error": error,
        "clauses": clauses_of_code(error["code"]) if error else (),
        "warnings": [(slug, tolerance_of(slug)) for slug in request["warnings"]],
        "bodies": {
            "Request": (request["request_body"], _formatted(request["request_body"])),
            "Response": (request["response_body"], _formatted(request["response_body"])),
        },
        "payment": _payment_id(request),
        "curl": curl(
            f"{page.base_url}{path}?{query}" if query else f"{page.base_url}{path}",
            method=request["method"],
            body=request["request_body"],
            content_type=request["headers"].get("content-type", ""),
            authorization=f"Authorization: Bearer ${key}",
        ),
    }


def _formatted(body: str) -> str:
    """JSON with a line for each member, in its order and with the repeated ones."""
    try:
        return msgspec.json.format(body, indent=2)
    except msgspec.DecodeError:
        return body


def _payment_id(request: Mapping[str, Any]) -> str | None:
    """The payment that the response shows."""
    try:
        shown = msgspec.json.decode(request["response_body"])
    except msgspec.DecodeError:
        return None
    is_payment = isinstance(shown, dict) and shown.get("object") == "payment"
    return shown["id"] if is_payment else None
