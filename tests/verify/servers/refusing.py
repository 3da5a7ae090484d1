"""Servers that accept wrong requests, or refuse them in another way."""

import json
from dataclasses import replace
from typing import Any

from emulator.verify.checks.refusals import WRONG_PARAMETERS
from tests.verify.servers.server import Server, server
from tests.verify.wrong import (
    PAYMENTS,
    Asked,
    Change,
    Reply,
    Serve,
    answering,
    asking,
    errors,
    refusal,
    replying,
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
ONCE_MORE = refusal(429, "rate_limit_exceeded")
WEBSITE = Reply(status=302, content=b"<html>", headers={"content-type": "text/html"})


def is_unknown_path(asked: Asked) -> bool:
    return asked.path == "/v1/no_such_call"


def taking(param: str) -> Server:
    """A server that accepts every wrong value of a parameter, by replacing it."""
    wrongs = [wrong for wrong in WRONG_PARAMETERS if wrong.param == param]
    # As text, because 100.0 equals 100.
    bad = {repr(wrong.value) for wrong in wrongs}

    def repaired(asked: Asked) -> Asked:
        if not asked.is_create or not asked.body:
            return asked
        is_it = repr(asked.body.get(param, ...)) in bad
        return asked.with_body({**asked.body, param: RIGHT[param]}) if is_it else asked

    stated = {number for wrong in wrongs for number in wrong.states}
    assumed = {number for wrong in wrongs for number in wrong.assumes} - stated
    return server(f"takes any {param}", asking(repaired), *stated, assumes=tuple(assumed))


def whatever_the_type(asked: Asked) -> Asked:
    if asked.headers.get("content-type") != "text/plain":
        return asked
    return asked.with_headers(content_type="application/json")


def whatever_the_end(asked: Asked) -> Asked:
    try:
        json.loads(asked.content or b"{}")
    except ValueError:
        return asked.with_body(json.loads(asked.content + b"}"))
    return asked


def the_only_entry(asked: Asked) -> Asked:
    if asked.content.startswith(b"["):
        return asked.with_body(json.loads(asked.content)[0])
    return asked


def answering_with(status: int, *codes: str) -> Any:
    """Some refusals with another status."""

    def edit(_: Asked, reply: Reply) -> Reply:
        return reply.with_status(status) if reply.code in codes else reply

    return answering(edit)


def no_400(status: int) -> Any:
    """Every bad request with another status."""

    def edit(_: Asked, reply: Reply) -> Reply:
        return reply.with_status(status) if reply.status == 400 else reply

    return answering(edit)


def another_code(error: dict[str, Any]) -> dict[str, Any]:
    return {**error, "code": f"err_{error['code']}"}


def another_code_of_amounts(error: dict[str, Any]) -> dict[str, Any]:
    code = "bad_amount" if error["code"] == "invalid_amount" else error["code"]
    return {**error, "code": code}


def without_param(error: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if name != "param"}


def too_often(**headers: str) -> Any:
    """One request is refused, and served when it comes again."""

    def make() -> Change:
        has_refused = False

        async def change(asked: Asked, serve: Serve) -> Reply:
            nonlocal has_refused
            if is_unknown_path(asked) and not has_refused:
                has_refused = True
                return ONCE_MORE.with_headers(**headers)
            return await serve(asked)

        return change

    return make


def with_media_type(media_type: str | None) -> Any:
    """Every response with another media type, or without one."""
    return answering(lambda _, reply: reply.with_headers(content_type=media_type))


def that_is_cut(asked: Asked, reply: Reply) -> Reply:
    return replace(reply, content=reply.content[:-1]) if is_unknown_path(asked) else reply


def as_text(asked: Asked, reply: Reply) -> Reply:
    return reply.with_headers(content_type="text/plain") if is_unknown_path(asked) else reply


_EVERY_400 = ("4.1.17", "7.7")
# What the contract says of a field, and what we have assumed of it.
_EVERY_FIELD = {number for wrong in WRONG_PARAMETERS for number in wrong.states}
_EVERY_GUESS = {number for wrong in WRONG_PARAMETERS for number in wrong.assumes} - _EVERY_FIELD
_NO_400 = (*_EVERY_FIELD, *_EVERY_400)
_BODIES = ("4.0.1", "4.0.2")
_NO_400_HERE = (*_EVERY_GUESS, "4.3.13", "4.3.2", "5.5", "8.5")

SERVERS = (
    *(taking(param) for param in RIGHT),
    server("takes any media type", asking(whatever_the_type), "4.0.1"),
    server("says 422 of all", no_400(422), *_NO_400, assumes=("1.3", *_BODIES, *_NO_400_HERE)),
    server("says 404 of all", no_400(404), *_NO_400, assumes=(*_BODIES, *_NO_400_HERE)),
    server("fails at it", no_400(500), *_NO_400, *_BODIES, "1.1", "7.12", assumes=_NO_400_HERE),
    server("says 415", answering_with(415, "unsupported_content_type"), assumes=("1.3", "4.0.1")),
    server("takes half a body", asking(whatever_the_end), "1.1", "4.0.2"),
    server("says 422 of no JSON", answering_with(422, "invalid_json"), assumes=("1.3", "4.0.2")),
    server("takes an array", asking(the_only_entry), assumes=("4.0.2",)),
    server("says 405", answering_with(405, "route_not_found"), "7.9", assumes=("1.3", "4.0.3")),
    server("knows every path", replying(is_unknown_path, Reply.of(200, {"status": "ok"})), "7.9"),
    server("has a website", replying(lambda asked: not asked.path.startswith("/v1/"), WEBSITE)),
    server(
        "takes a PATCH",
        replying(lambda asked: asked.method == "PATCH", Reply.of(200, {"changed": 0})),
        assumes=("4.0.3",),
    ),
    server(
        "needs no version",
        asking(
            lambda asked: replace(asked, path={"/payments": PAYMENTS}.get(asked.path, asked.path))
        ),
        assumes=("9.1",),
    ),
    server("has codes of its own", errors(another_code), "4.1.18", assumes=("7.13",)),
    server("has a code of its own for amounts", errors(another_code_of_amounts, 400), "4.1.18"),
    server("names no field", errors(without_param, 400), *_EVERY_400),
    server("names no field of a conflict", errors(without_param, 409), assumes=("7.10",)),
    server(
        "names a field by number", errors(lambda one: {**one, "param": 1}, 400), *_EVERY_400, "7.4"
    ),
    server("names null", errors(lambda one: {**one, "param": None}, 404), assumes=("7.4",)),
    server(
        "has errors without an object",
        errors(lambda one: one["message"], 401),
        "2.3.1",
        "7.1",
        assumes=("7.13",),
    ),
    server(
        "has errors of text",
        errors(lambda one: one["message"]),
        *("2.3.1", "7.1", "4.1.18", *_EVERY_400),
        assumes=("7.10", "7.13"),
    ),
    server(
        "has faults, not errors",
        errors(lambda one: one, 404, of="fault"),
        "2.3.1",
        "7.1",
        assumes=("7.13",),
    ),
    server(
        "numbers its codes", errors(lambda one: {**one, "code": 17}, 404), "7.2", assumes=("7.13",)
    ),
    server(
        "writes codes in capitals",
        errors(lambda one: {**one, "code": one["code"].upper()}, 404),
        assumes=("7.2", "7.13"),
    ),
    server("says nothing", errors(lambda one: {**one, "message": " "}, 404), "7.3"),
    server("answers in text", answering(as_text), "1.2"),
    server("answers everything in text", with_media_type("text/plain"), "1.2"),
    server("answers everything in HTML", with_media_type("text/html; charset=utf-8"), "1.2"),
    server("has no media types", with_media_type(None), "1.2"),
    server("cuts an error", answering(that_is_cut), "1.2", "2.3.1", "7.1", assumes=("7.13",)),
    server(
        "has a status of nobody",
        answering_with(444, "route_not_found"),
        "1.3",
        "7.9",
        assumes=("4.0.3",),
    ),
    server("does not say how long to wait", too_often(), "7.11", "8.7"),
    server(
        "has a date to wait for", too_often(retry_after="Thu, 01 Jan 2026 00:00:00 GMT"), "7.11"
    ),
    server("has an empty wait", too_often(retry_after=" "), "7.11"),
    server("has a wait of 0 seconds", too_often(retry_after="0"), assumes=("7.11",)),
    server("has a wait of half a second", too_often(retry_after="0.5"), assumes=("7.11",)),
    server("breaks down", replying(is_unknown_path, refusal(500, "internal_error")), "7.9", "7.12"),
)
