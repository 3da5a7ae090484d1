"""Servers that accept wrong requests, or refuse them in another way."""

import json
from dataclasses import replace
from typing import Any

from emulator.tools.verify.checks.refusals import WRONG_PARAMETERS
from tests.tools.verify.servers.server import Server, server
from tests.tools.verify.wrong import (
    PAYMENTS,
    Change,
    Reply,
    Request,
    answering,
    changed,
    errors,
    of_code,
    of_status,
    refusal,
    replies,
    replying,
    requests,
    statuses,
)

RIGHT: dict[str, Any] = {
    "amount": 100,
    "currency": "ETB",
    "methods": ["telebirr"],
    "success_url": "https://example.com/ok",
    "cancel_url": "https://example.com/no",
    "metadata": {},
    "expires_in": 600,
    "idempotency_key": None,
}
MARK = b"\xef\xbb\xbf"
WEBSITE = Reply(status=302, content=b"<html>", headers={"content-type": "text/html"})


def is_unknown_path(request: Request) -> bool:
    return request.path == "/v1/no_such_call"


def taking(param: str) -> Server:
    """A server that accepts every wrong value of a parameter, by replacing it."""
    wrongs = [wrong for wrong in WRONG_PARAMETERS if wrong.param == param]
    # As text, because 100.0 equals 100.
    bad = {repr(wrong.value) for wrong in wrongs}
    change = requests(
        lambda request: request.with_members(**{param: RIGHT[param]}),
        lambda request: (
            request.is_create and bool(request.body) and repr(request.body.get(param, ...)) in bad
        ),
    )
    stated = {number for wrong in wrongs for number in wrong.states}
    assumed = {number for wrong in wrongs for number in wrong.assumes} - stated
    # Of two wrong fields, the next one is named.
    assumed |= {"4.1.17"} if param == "amount" else set()
    return server(f"takes any {param}", change, " ".join(stated), " ".join(assumed))


def _found_id(request: Request) -> str:
    """The id of a created payment that differs only in its case."""
    id_ = request.path.rpartition("/")[2].lower()
    return next((each for each in request.created if each.lower() == id_), "")


def is_cut(request: Request) -> bool:
    try:
        json.loads(request.content or b"{}")
    except ValueError:
        return True
    return False


def members(*statuses: int, **members: Any) -> Change:
    """Some errors have other members; `...` removes a member."""
    return errors(lambda error: changed(error, members), *statuses)


_EVERY_400 = "4.1.17 7.7"
# What the contract says of a field, and what we have assumed of it.
_EVERY_FIELD = {number for wrong in WRONG_PARAMETERS for number in wrong.states}
_EVERY_GUESS = {number for wrong in WRONG_PARAMETERS for number in wrong.assumes} - _EVERY_FIELD
_NO_400 = f"{' '.join(_EVERY_FIELD)} {_EVERY_400}"
_BODIES = "4.0.1 4.0.2"
_NO_400_HERE = f"{' '.join(_EVERY_GUESS)} 4.3.13 4.3.15 5.5 7.4 8.5"

REQUESTS = (
    *(taking(param) for param in RIGHT),
    server(
        "takes any media type",
        requests(
            lambda request: request.with_headers(content_type="application/json"),
            lambda request: request.headers.get("content-type") == "text/plain",
        ),
        "4.0.1",
    ),
    server(
        "takes half a body",
        requests(lambda request: request.with_body(json.loads(request.content + b"}")), is_cut),
        "1.1 4.0.2",
    ),
    server(
        "takes an array",
        requests(
            lambda request: request.with_body(json.loads(request.content)[0]),
            lambda request: request.content.startswith(b"["),
        ),
        assumes="4.0.2",
    ),
    server(
        "takes a body without a media type",
        requests(
            lambda request: request.with_headers(content_type="application/json"),
            lambda request: "content-type" not in request.headers,
        ),
        "4.0.1",
    ),
    server(
        "takes a byte order mark",
        requests(lambda request: replace(request, content=request.content.removeprefix(MARK))),
        assumes="1.1",
    ),
    server(
        "takes no body for an empty one",
        requests(
            lambda request: request.with_body({**RIGHT, "expires_in": 600}),
            lambda request: request.is_create and not request.content,
        ),
        "4.0.2",
    ),
    server(
        "refuses a body of a GET",
        replying(
            refusal(400, "invalid_request_body"),
            lambda request: request.method == "GET" and bool(request.content),
        ),
        assumes="4.2.2",
    ),
    server(
        "finds ids in any case",
        requests(
            lambda request: replace(request, path=f"{PAYMENTS}/{_found_id(request)}"),
            lambda request: request.is_retrieve and bool(_found_id(request)),
        ),
        assumes="4.2.1",
    ),
    server(
        "names the last wrong field",
        answering(
            refusal(400, "invalid_currency", "currency"),
            lambda request, reply: reply.status == 400 and request.body.get("currency") == "USD",
        ),
        assumes="4.1.17",
    ),
    server(
        "takes a slash after the path",
        requests(
            lambda request: replace(request, path=PAYMENTS),
            lambda request: request.path == f"{PAYMENTS}/",
        ),
        assumes="7.9",
    ),
    server(
        "redirects a slash after the path",
        replying(
            Reply(status=307, content=b"", headers={"location": PAYMENTS}),
            lambda request: request.path == f"{PAYMENTS}/",
        ),
        "1.2",
        "1.3 7.9",
    ),
    server(
        "looks for the payment to delete",
        replying(refusal(404, "payment_not_found"), lambda request: request.method == "DELETE"),
        assumes="7.13",
    ),
    server(
        "has a second version",
        requests(
            lambda request: replace(request, path=PAYMENTS),
            lambda request: request.path == "/v2/payments",
        ),
        assumes="9.1",
    ),
    server(
        "knows every path",
        replying(Reply.of(200, {"status": "ok"}), is_unknown_path),
        "7.9",
    ),
    server(
        "redirects an unknown path",
        replying(
            Reply(status=307, content=b"", headers={"location": "/elsewhere"}), is_unknown_path
        ),
        "1.2 7.9",
        "1.3",
    ),
    server("has a website", replying(WEBSITE, lambda request: not request.path.startswith("/v1/"))),
    server(
        "takes a PATCH",
        replying(Reply.of(200, {"changed": 0}), lambda request: request.method == "PATCH"),
        assumes="4.0.3",
    ),
    server(
        "needs no version",
        requests(
            lambda request: replace(request, path=PAYMENTS),
            lambda request: request.path == "/payments",
        ),
        assumes="9.1",
    ),
)

STATUSES = (
    server(
        "says 422 of all",
        statuses(422, of_status(400)),
        _NO_400,
        f"1.1 1.3 {_BODIES} {_NO_400_HERE}",
    ),
    server(
        "says 404 of all", statuses(404, of_status(400)), _NO_400, f"1.1 {_BODIES} {_NO_400_HERE}"
    ),
    server(
        "fails at it", statuses(500, of_status(400)), f"{_NO_400} {_BODIES} 1.1 7.12", _NO_400_HERE
    ),
    server("says 415", statuses(415, of_code("unsupported_content_type")), "", "1.3 4.0.1"),
    server("says 422 of no JSON", statuses(422, of_code("invalid_json")), "", "1.1 1.3 4.0.2"),
    server("says 405", statuses(405, of_code("route_not_found")), "7.9", "1.3 4.0.3"),
    server("has a status of nobody", statuses(444, of_code("route_not_found")), "1.3 7.9", "4.0.3"),
    server("breaks down", replying(refusal(500, "internal_error"), is_unknown_path), "7.9 7.12"),
)

ERRORS = (
    server("has codes of its own", members(code="err_{}".format), "4.1.18", "7.13"),
    server(
        "has a code of its own for amounts",
        members(400, code=lambda code: code.replace("invalid_amount", "bad_amount")),
        "4.1.18",
    ),
    server("has no code of a conflict", members(409, code=...), "7.2", "7.13"),
    server("numbers its codes", members(404, code=17), "7.2", "7.13"),
    server("writes codes in capitals", members(404, code=str.upper), assumes="7.2 7.13"),
    server("says nothing", members(404, message=" "), "7.3"),
    server("names no field", members(400, param=...), _EVERY_400),
    server("names no field of a conflict", members(409, param=...), assumes="7.10"),
    server("names a field by number", members(400, param=1), f"{_EVERY_400} 7.4"),
    server("names a wrong field", members(400, param="body"), _EVERY_400),
    server("names null", members(404, param=None), assumes="7.4"),
    server("names the field of a 404", members(404, param="id"), assumes="7.4"),
    server("has an empty error", errors(lambda _: {}, 404), "7.2 7.3", "7.13"),
    server("has errors with a link", members(doc_url="https://example.com"), assumes="7.1"),
    server("has a link in a 401", members(401, doc_url="https://example.com"), assumes="7.1"),
    server(
        "numbers errors",
        replies(
            lambda _, reply: reply.with_json({**reply.json, "request_id": "req_1"}),
            lambda _, reply: reply.status >= 400,
        ),
        assumes="7.1",
    ),
    server("names the field of a 401", members(401, param="authorization"), assumes="7.4"),
    server("has errors with a type", members(type="error"), assumes="7.1"),
    server(
        "has errors without an object",
        errors(lambda error: error["message"], 401),
        "2.3.1 7.1",
        "7.13",
    ),
    server(
        "has errors of text",
        errors(lambda error: error["message"]),
        f"2.3.1 7.1 4.1.18 {_EVERY_400}",
        "7.10 7.13",
    ),
    server(
        "has faults, not errors", errors(lambda error: error, 404, of="fault"), "2.3.1 7.1", "7.13"
    ),
)

SERVERS = (*REQUESTS, *STATUSES, *ERRORS)
