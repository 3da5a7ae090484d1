"""Servers whose encodings, media types or waits are wrong in one thing."""

import json

from tests.tools.verify.servers.refusals import is_unknown_path
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


ENCODINGS = {
    "answers in text: 1.2": headers(at_unknown_path, content_type="text/plain"),
    "answers everything in text: 1.2": headers(content_type="text/plain"),
    "answers everything in HTML: 1.2": headers(content_type="text/html; charset=utf-8"),
    "has no media types: 1.2": headers(content_type=None),
    "has a charset": headers(content_type="application/json; charset=utf-8"),
    "has problems: (1.2)": headers(content_type="application/problem+json"),
    "has problems in refusals: (1.2)": headers(
        of_status(400, 401, 404, 409), content_type="application/problem+json"
    ),
    "has text as JSON: (1.2)": headers(content_type="application/hal+json"),
    "writes UTF-16: 1.2": contents(
        lambda reply: json.dumps(reply.json, ensure_ascii=False).encode("utf-16")
    ),
    "writes a byte order mark: 1.2": contents(lambda reply: b"\xef\xbb\xbf" + reply.content),
    "indents": contents(lambda reply: json.dumps(reply.json, indent=2).encode("ascii")),
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

TABLES = (ENCODINGS, WAITS)
