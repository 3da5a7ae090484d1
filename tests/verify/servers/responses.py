"""Servers whose statuses, headers, encodings or lists are wrong in one thing."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.verify.servers.listing import Page
from tests.verify.servers.server import server
from tests.verify.wrong import (
    PAYMENTS,
    Asked,
    Change,
    MakeChange,
    Reply,
    Serve,
    answering,
    asking,
    errors,
    lists,
    once,
    payments,
    refusal,
    replying,
)


def each_page(edit: Callable[[Page], Page]) -> MakeChange:
    return lists(lambda _, page: edit(page))


def each_query(edit: Callable[[Asked], Asked]) -> MakeChange:
    """Every list call edited."""
    return asking(lambda asked: edit(asked) if asked.is_list else asked)


def with_status(status: int, of: Callable[[Asked, Reply], bool]) -> MakeChange:
    return answering(lambda asked, reply: reply.with_status(status) if of(asked, reply) else reply)


def every(status: int) -> Callable[[Asked, Reply], bool]:
    return lambda _, reply: reply.status == status


def a_list(asked: Asked, reply: Reply) -> bool:
    return asked.is_list and reply.status == 200


def created_with(**headers: str | None) -> MakeChange:
    """Every payment created with other headers."""
    return answering(
        lambda _, reply: reply.with_headers(**headers) if reply.status == 201 else reply
    )


def encoded(encode: Callable[[Reply], bytes]) -> MakeChange:
    return answering(lambda _, reply: replace(reply, content=encode(reply)))


def as_utf_16(reply: Reply) -> bytes:
    return json.dumps(reply.json, ensure_ascii=False).encode("utf-16")


def indented_in_ascii(reply: Reply) -> bytes:
    return json.dumps(reply.json, indent=2).encode("ascii")


def without(name: str) -> Callable[[Page], Page]:
    return lambda page: {key: value for key, value in page.items() if key != name}


def of_one_more(asked: Asked) -> Asked:
    limit = asked.query.get("limit", "")
    return asked.asking(limit=str(int(limit) + 1)) if limit in ("1", "2", "5") else asked


def of_99(asked: Asked) -> Asked:
    return asked.asking(limit="99") if asked.query.get("limit") == "100" else asked


def of_nine(asked: Asked) -> Asked:
    return asked if "limit" in asked.query else asked.asking(limit="9")


def with_bounds_exchanged(asked: Asked) -> Asked:
    other = {"created_gte": "created_lte", "created_lte": "created_gte"}
    query = {other.get(name, name): value for name, value in asked.query.items()}
    return replace(asked, query=query)


def without_after(*names: str) -> Callable[[Asked], Asked]:
    """Some filters are ignored on further pages."""
    return lambda asked: asked.without(*names) if "after" in asked.query else asked


def without_where(name: str, other: str) -> Callable[[Asked], Asked]:
    """A parameter is ignored beside another one."""
    return lambda asked: asked.without(name) if other in asked.query else asked


def exclusive(name: str) -> MakeChange:
    def edited(asked: Asked, page: Page) -> Page:
        at = asked.query.get(name)
        return {**page, "data": [one for one in page["data"] if one["created_at"] != at]}

    return lists(edited)


def empty_where(name: str, value: str) -> MakeChange:
    def edited(asked: Asked, page: Page) -> Page:
        return {**page, "data": []} if asked.query.get(name) == value else page

    return lists(edited)


async def with_the_cursor_on_its_page(asked: Asked, serve: Serve) -> Reply:
    """A page begins with the payment after which it should begin."""
    answer = await serve(asked)
    if not asked.is_list or answer.status != 200 or "after" not in asked.query:
        return answer
    path = f"{PAYMENTS}/{asked.query['after']}"
    cursor = await serve(replace(asked, path=path, query={}))
    size = int(asked.query.get("limit", "10"))
    data = [cursor.json, *answer.json["data"]]
    has_more = answer.json["has_more"] or len(data) > size
    last = data[:size][-1]["id"] if has_more else None
    return answer.saying({"data": data[:size], "has_more": has_more, "next_cursor": last})


REDIRECT = Reply(status=307, content=b"", headers={"location": "/elsewhere"})


def that_refuses(param: str, is_wrong: Callable[[dict[str, Any]], bool]) -> MakeChange:
    """A value that the contract allows is refused."""
    return replying(
        lambda asked: asked.is_create and bool(asked.body) and is_wrong(asked.body),
        refusal(400, f"invalid_{param}", param),
    )


def that_says_409_of_a_retry() -> Change:
    used: set[tuple[str, str]] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        key = (asked.key, str(asked.body.get("idempotency_key")))
        answer = await serve(asked)
        if answer.status != 201 or "idempotency_key" not in asked.body:
            return answer
        if key in used:
            return refusal(409, "idempotency_key_reused", "idempotency_key")
        used.add(key)
        return answer

    return change


def to_others(status: int) -> MakeChange:
    """The status of a payment of another account."""

    def make() -> Change:
        owner = ""

        async def change(asked: Asked, serve: Serve) -> Reply:
            nonlocal owner
            owner = owner or asked.key
            answer = await serve(asked)
            is_it = asked.is_retrieve and answer.status == 404 and asked.key != owner
            return answer.with_status(status) if is_it else answer

        return change

    return make


_NOBODY = ("4.0.5", "5.4", "7.8")
_NOT_FOUND = ("4.2.6", "4.2.7", "5.5", "7.9")

SERVERS = (
    server("lists with 201", with_status(201, a_list), "7.5"),
    server(
        "says 403 of a missing key", with_status(403, every(401)), *_NOBODY, assumes=("1.3", "5.1")
    ),
    server("says 400 of a missing key", with_status(400, every(401)), *_NOBODY, assumes=("5.1",)),
    server("says 410 of all", with_status(410, every(404)), *_NOT_FOUND, assumes=("1.3", "4.0.3")),
    server("says 400 of a conflict", with_status(400, every(409)), "4.1.19", "7.10"),
    server("says 200 of a conflict", with_status(200, every(409)), "4.1.19", "7.10"),
    server("says 403 to others", to_others(403), "4.2.7", "5.5", "7.9", assumes=("1.3",)),
    server("says 401 to others", to_others(401), "4.2.7", "5.5", "7.9"),
    server("says 409 of a retry", that_says_409_of_a_retry, "4.1.10"),
    server(
        "redirects a retrieve",
        replying(lambda asked: asked.is_retrieve, REDIRECT),
        *("1.2", "4.2.1", "4.2.2", "7.5", *_NOT_FOUND),
        assumes=("1.3",),
    ),
    server(
        "redirects an unknown path",
        replying(lambda asked: asked.path == "/v1/no_such_call", REDIRECT),
        *("1.2", "7.9"),
        assumes=("1.3",),
    ),
    server("has a path without an id", created_with(location=PAYMENTS), assumes=("4.1.16",)),
    server(
        "tells of a replay always", created_with(idempotent_replayed="true"), assumes=("4.1.20",)
    ),
    server(
        "has another scheme",
        answering(
            lambda _, reply: (
                reply.with_headers(www_authenticate="Basic") if reply.status == 401 else reply
            )
        ),
        assumes=("5.4",),
    ),
    server(
        "has a charset",
        answering(
            lambda _, reply: reply.with_headers(content_type="application/json; charset=utf-8")
        ),
    ),
    server(
        "has problems",
        answering(lambda _, reply: reply.with_headers(content_type="application/problem+json")),
    ),
    server("writes UTF-16", encoded(as_utf_16), "1.2"),
    server(
        "writes a byte order mark", encoded(lambda reply: b"\xef\xbb\xbf" + reply.content), "1.2"
    ),
    server("indents", encoded(indented_in_ascii), assumes=()),
    server(
        "writes NaN",
        encoded(lambda reply: reply.content.replace(b'"completed_at":null', b'"completed_at":NaN')),
        *("1.2", "2.1.14"),
    ),
    server(
        "has no body for a 401",
        encoded(lambda reply: b"" if reply.status == 401 else reply.content),
        "1.2",
        "2.3.1",
        "7.1",
        assumes=("7.13",),
    ),
    server(
        "has amounts with a point",
        payments(lambda one: {**one, "amount": float(one["amount"])}),
        "2.1.3",
    ),
    server(
        "names a wrong field", errors(lambda one: {**one, "param": "body"}, 400), "4.1.17", "7.7"
    ),
    server(
        "has no code of a conflict",
        errors(lambda one: {"message": one["message"], "param": one["param"]}, 409),
        "7.2",
        assumes=("7.13",),
    ),
    server("has an empty error", errors(lambda _: {}, 404), "7.2", "7.3", assumes=("7.13",)),
    server(
        "has more as text",
        each_page(lambda page: {**page, "has_more": str(page["has_more"])}),
        "2.2.2",
    ),
    server(
        "has more as a number",
        each_page(lambda page: {**page, "has_more": int(page["has_more"])}),
        "2.2.2",
    ),
    server(
        "has more the other way round",
        each_page(lambda page: {**page, "has_more": not page["has_more"]}),
        "2.2.2",
    ),
    server(
        "has no cursor", each_page(lambda page: {**page, "next_cursor": None}), "2.2.3", "4.3.10"
    ),
    server(
        "numbers its cursors",
        each_page(lambda page: {**page, "next_cursor": page["next_cursor"] and 7}),
        "2.2.3",
        "4.3.10",
    ),
    server(
        "has a cursor at the end",
        each_page(lambda page: {**page, "next_cursor": page["next_cursor"] or ""}),
        assumes=("2.2.4",),
    ),
    server(
        "has null for no payments",
        each_page(lambda page: {**page, "data": page["data"] or None}),
        "2.2.1",
    ),
    server(
        "leaves out no payments",
        each_page(lambda page: page if page["data"] else without("data")(page)),
        "2.2.1",
        "4.3.9",
    ),
    server(
        "has an envelope with an object",
        each_page(lambda page: {"object": "list", **page}),
        assumes=("4.3.9",),
    ),
    server("lists one more", each_query(of_one_more), "4.0.4", "4.3.2", "8.5"),
    server("lists nine", each_query(of_nine), "4.3.3", "8.5"),
    server(
        "exchanges the bounds",
        each_query(with_bounds_exchanged),
        "4.3.7",
        "4.3.8",
        "7.7",
        assumes=("7.13",),
    ),
    server("has an exclusive created_gte", exclusive("created_gte"), assumes=("4.3.12",)),
    server("has an exclusive created_lte", exclusive("created_lte"), assumes=("4.3.12",)),
    server(
        "ignores the first of two bounds",
        each_query(without_where("created_gte", "created_lte")),
        "4.3.7",
    ),
    server(
        "ignores the last of two bounds",
        each_query(without_where("created_lte", "created_gte")),
        "4.3.8",
    ),
    server("ignores status on further pages", each_query(without_after("status")), "4.3.5"),
    server(
        "ignores bounds on further pages",
        each_query(without_after("created_gte", "created_lte")),
        "4.3.7",
        "4.3.8",
    ),
    server(
        "ignores status within bounds", each_query(without_where("status", "created_gte")), "4.3.5"
    ),
    server("finds nothing pending", empty_where("status", "pending"), "4.3.5"),
    # What cannot be seen: it takes 100 payments, a payment with a method, or a reader of the text.
    server("lists at most 99", each_query(of_99)),
    server("finds nothing by a method", empty_where("method", "telebirr")),
    server("names the field of a 404", errors(lambda one: {**one, "param": "id"}, 404)),
    server("has errors with a type", errors(lambda one: {**one, "type": "error"})),
    server("repeats the cursor", once(with_the_cursor_on_its_page), "4.3.4", "4.3.10"),
    server(
        "refuses the smallest amount",
        that_refuses("amount", lambda body: body.get("amount") == 100),
        "4.1.3",
        "8.1",
    ),
    server(
        "refuses 20 pairs",
        that_refuses("metadata", lambda body: len(body.get("metadata") or ()) == 20),
        "4.1.8",
        "8.2",
    ),
)
