"""Servers whose encodings, media types or waits are wrong in one thing."""

import json

from tests.tools.verify.servers.refusals import is_unknown_path
from tests.tools.verify.servers.server import server
from tests.tools.verify.wrong import (
    Change,
    Reply,
    Request,
    Serve,
    contents,
    headers,
    of_status,
    refusal,
)


def at_unknown_path(request: Request, _: Reply) -> bool:
    return is_unknown_path(request)


def too_often(times: int = 1, **headers: str) -> Change:
    """One request is refused, and served when it is repeated often enough."""

    async def change(request: Request, serve: Serve) -> Reply:
        earlier_count = sum(is_unknown_path(each) for each, _ in request.earlier)
        if earlier_count >= times or not is_unknown_path(request):
            return await serve(request)
        return refusal(429, "rate_limit_exceeded", **headers)

    return change


ENCODINGS = (
    server("answers in text", headers(at_unknown_path, content_type="text/plain"), "1.2"),
    server("answers everything in text", headers(content_type="text/plain"), "1.2"),
    server("answers everything in HTML", headers(content_type="text/html; charset=utf-8"), "1.2"),
    server("has no media types", headers(content_type=None), "1.2"),
    server("has a charset", headers(content_type="application/json; charset=utf-8")),
    server("has problems", headers(content_type="application/problem+json"), assumes="1.2"),
    server(
        "has problems in refusals",
        headers(of_status(400, 401, 404, 409), content_type="application/problem+json"),
        assumes="1.2",
    ),
    server("has text as JSON", headers(content_type="application/hal+json"), assumes="1.2"),
    server(
        "writes UTF-16",
        contents(lambda reply: json.dumps(reply.json, ensure_ascii=False).encode("utf-16")),
        "1.2",
    ),
    server(
        "writes a byte order mark", contents(lambda reply: b"\xef\xbb\xbf" + reply.content), "1.2"
    ),
    server("indents", contents(lambda reply: json.dumps(reply.json, indent=2).encode("ascii"))),
    server(
        "writes NaN",
        contents(
            lambda reply: reply.content.replace(b'"completed_at":null', b'"completed_at":NaN')
        ),
        "1.2 2.1.14",
    ),
    server(
        "has no body for a 401", contents(lambda _: b"", of_status(401)), "1.2 2.3.1 7.1", "7.13"
    ),
    server(
        "cuts an error",
        contents(lambda reply: reply.content[:-1], at_unknown_path),
        "1.2 2.3.1 7.1",
        "7.13",
    ),
)

WAITS = (
    server("does not say how long to wait", too_often(), "7.11 8.7"),
    server(
        "has a date to wait for", too_often(retry_after="Thu, 01 Jan 2026 00:00:00 GMT"), "7.11"
    ),
    server("refuses after the wait", too_often(2, retry_after="3"), assumes="7.14"),
    server("has an empty wait", too_often(retry_after=" "), "7.11"),
    server("has a wait of 0 seconds", too_often(retry_after="0"), assumes="7.11"),
    server("has a wait of half a second", too_often(retry_after="0.5"), assumes="7.11"),
)

SERVERS = (*ENCODINGS, *WAITS)
