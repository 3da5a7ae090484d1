"""Servers that accept wrong requests, refuse them in another way, or encode responses wrongly."""

import json
from dataclasses import replace
from typing import Any

from emulator.tools.verify.checks.refusals import WRONG_PARAMETERS
from emulator.tools.verify.contract import TEXTS, WRONG_VALUES
from tests.tools.verify.wrong import (
    AT_UNKNOWN_PATH,
    PAYMENTS,
    Change,
    Reply,
    Request,
    Serve,
    answering,
    at,
    changed,
    contents,
    errors,
    headers,
    of_code,
    of_method,
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
    **TEXTS,
    "metadata": {},
    "expires_in": 600,
    "idempotency_key": None,
}
MARK = b"\xef\xbb\xbf"
WEBSITE = Reply(status=302, content=b"<html>", headers={"content-type": "text/html"})


def taking(param: str) -> tuple[str, Change]:
    """A server that accepts every wrong value of a parameter, by replacing it."""
    wrongs = [wrong for wrong in WRONG_PARAMETERS if wrong.param == param]
    # As text, because 100.0 equals 100.
    bad = {repr(value) for name, value, *_ in WRONG_VALUES if name == param}
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
    return f"takes any {param}: {' '.join(stated)} ({' '.join(assumed)})", change


def as_payments(path: str) -> Change:
    """Serves another path as the path of create and list calls."""
    return requests(lambda request: replace(request, path=PAYMENTS), at(path))


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

REQUESTS = {
    **dict(taking(param) for param in RIGHT),
    "takes any media type: 4.0.1": requests(
        lambda request: request.with_headers(content_type="application/json"),
        lambda request: request.headers.get("content-type") == "text/plain",
    ),
    "takes half a body: 1.1 4.0.2": requests(
        lambda request: request.with_body(json.loads(request.content + b"}")), is_cut
    ),
    "takes an array: (4.0.2)": requests(
        lambda request: request.with_body(json.loads(request.content)[0]),
        lambda request: request.content.startswith(b"["),
    ),
    "takes a body without a media type: 4.0.1": requests(
        lambda request: request.with_headers(content_type="application/json"),
        lambda request: "content-type" not in request.headers,
    ),
    "takes a byte order mark: (1.1)": requests(
        lambda request: replace(request, content=request.content.removeprefix(MARK))
    ),
    "takes no body for an empty one: 4.0.2": requests(
        lambda request: request.with_body({**RIGHT, "expires_in": 600}),
        lambda request: request.is_create and not request.content,
    ),
    "refuses a body of a GET: (4.2.2)": replying(
        refusal(400, "invalid_request_body"),
        lambda request: request.method == "GET" and bool(request.content),
    ),
    "finds ids in any case: (4.2.1)": requests(
        lambda request: replace(request, path=f"{PAYMENTS}/{_found_id(request)}"),
        lambda request: request.is_retrieve and bool(_found_id(request)),
    ),
    "names the last wrong field: (4.1.17)": answering(
        refusal(400, "invalid_currency", "currency"),
        lambda request, reply: reply.status == 400 and request.body.get("currency") == "USD",
    ),
    "takes a slash after the path: (7.9)": as_payments(f"{PAYMENTS}/"),
    "looks for the payment to delete: (7.13)": replying(
        refusal(404, "payment_not_found"), of_method("DELETE")
    ),
    "has a second version: (9.1)": as_payments("/v2/payments"),
    "knows every path: 7.9": replying(Reply.of(200, {"status": "ok"}), AT_UNKNOWN_PATH),
    "has a website": replying(WEBSITE, lambda request: not request.path.startswith("/v1/")),
    "takes a PATCH: (4.0.3)": replying(Reply.of(200, {"changed": 0}), of_method("PATCH")),
    "needs no version: (9.1)": as_payments("/payments"),
}

STATUSES = {
    f"says 422 of all: {_NO_400} (1.1 1.3 {_BODIES} {_NO_400_HERE})": statuses(422, of_status(400)),
    f"says 404 of all: {_NO_400} (1.1 {_BODIES} {_NO_400_HERE})": statuses(404, of_status(400)),
    f"fails at it: {_NO_400} {_BODIES} 1.1 7.12 ({_NO_400_HERE})": statuses(500, of_status(400)),
    "says 415: (1.3 4.0.1)": statuses(415, of_code("unsupported_content_type")),
    "says 422 of no JSON: (1.1 1.3 4.0.2)": statuses(422, of_code("invalid_json")),
    "says 405: 7.9 (1.3 4.0.3)": statuses(405, of_code("route_not_found")),
    "has a status of nobody: 1.3 7.9 (4.0.3)": statuses(444, of_code("route_not_found")),
    "breaks down: 7.9 7.12": replying(refusal(500, "internal_error"), AT_UNKNOWN_PATH),
}

ERRORS = {
    "has codes of its own: 4.1.18 (7.13)": members(code="err_{}".format),
    "has a code of its own for amounts: 4.1.18": members(
        400, code=lambda code: code.replace("invalid_amount", "bad_amount")
    ),
    "has no code of a conflict: 7.2 (7.13)": members(409, code=...),
    "numbers its codes: 7.2 (7.13)": members(404, code=17),
    "writes codes in capitals: (7.2 7.13)": members(404, code=str.upper),
    "says nothing: 7.3": members(404, message=" "),
    f"names no field: {_EVERY_400}": members(400, param=...),
    "names no field of a conflict: (7.10)": members(409, param=...),
    f"names a field by number: {_EVERY_400} 7.4": members(400, param=1),
    f"names a wrong field: {_EVERY_400}": members(400, param="body"),
    "names null: (7.4)": members(404, param=None),
    "names the field of a 404: (7.4)": members(404, param="id"),
    "has an empty error: 7.2 7.3 (7.13)": errors(lambda _: {}, 404),
    "has errors with a link: (7.1)": members(doc_url="https://example.com"),
    "numbers errors: (7.1)": replies(
        lambda _, reply: reply.with_json({**reply.json, "request_id": "req_1"}),
        lambda _, reply: reply.status >= 400,
    ),
    "has errors without an object: 2.3.1 7.1 (7.13)": errors(lambda error: error["message"], 401),
    f"has errors of text: 2.3.1 7.1 4.1.18 {_EVERY_400} (7.10 7.13)": errors(
        lambda error: error["message"]
    ),
    "has faults, not errors: 2.3.1 7.1 (7.13)": errors(lambda error: error, 404, of="fault"),
}


def at_unknown_path(request: Request, _: Reply) -> bool:
    return AT_UNKNOWN_PATH(request)


def too_often(times: int = 1, **headers: str) -> Change:
    """One request is refused, and served when it is repeated often enough."""

    async def change(request: Request, serve: Serve) -> Reply:
        earlier_count = sum(AT_UNKNOWN_PATH(each) for each, _ in request.earlier)
        if earlier_count >= times or not AT_UNKNOWN_PATH(request):
            return await serve(request)
        return refusal(429, "rate_limit_exceeded", **headers)

    return change


ENCODINGS = {
    "answers everything in text: 1.2": headers(content_type="text/plain"),
    "has no media types: 1.2": headers(content_type=None),
    "has a charset: (1.2)": headers(content_type="application/json; charset=utf-8"),
    "has problems: (1.2)": headers(content_type="application/problem+json"),
    "has text as JSON: (1.2)": headers(content_type="application/hal+json"),
    "writes UTF-16: 1.2": contents(
        lambda reply: json.dumps(reply.json, ensure_ascii=False).encode("utf-16")
    ),
    "writes a byte order mark: 1.2": contents(lambda reply: b"\xef\xbb\xbf" + reply.content),
    "indents: (1.2)": contents(lambda reply: json.dumps(reply.json, indent=2).encode("ascii")),
    "writes NaN: 1.2 2.1.14": contents(
        lambda reply: reply.content.replace(b'"completed_at":null', b'"completed_at":NaN')
    ),
    "has no body for a 401: 1.2 2.3.1 7.1 (7.13)": contents(lambda _: b"", of_status(401)),
    "cuts an error: 1.2 2.3.1 7.1 (7.13)": contents(
        lambda reply: reply.content[:-1], at_unknown_path
    ),
}

WAITS = {
    "does not say how long to wait: 7.11 8.7": too_often(),
    "has a date to wait for: 7.11": too_often(retry_after="Thu, 01 Jan 2026 00:00:00 GMT"),
    "refuses after the wait: (7.14)": too_often(2, retry_after="3"),
    "has an empty wait: 7.11": too_often(retry_after=" "),
    "has a wait of 0 seconds: (7.11)": too_often(retry_after="0"),
    "has a wait of half a second: (7.11)": too_often(retry_after="0.5"),
}

TABLES = (REQUESTS, STATUSES, ERRORS, ENCODINGS, WAITS)
