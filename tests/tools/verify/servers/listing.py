"""Servers whose pages, cursors or filters are wrong."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace

from emulator.domain.instants import format_instant, parse_instant
from tests.tools.verify.servers.server import server
from tests.tools.verify.wrong import (
    PAYMENTS,
    Change,
    Object,
    Reply,
    Request,
    Serve,
    answering,
    filtered,
    listed,
    members,
    of_code,
    pages,
    queries,
    refusal,
    replying,
    requests,
    statuses,
)

EMPTY = Reply.of(200, {"data": [], "has_more": False, "next_cursor": None})
BOUNDS = ("created_gte", "created_lte")


def limits(**changes: str) -> Change:
    """Some limits are served as others: `limits(_1="2")`."""
    return requests(
        lambda request: request.with_query(
            limit=changes.get(f"_{request.query['limit']}", request.query["limit"])
        ),
        lambda request: request.is_list and "limit" in request.query,
    )


def ignoring(*names: str, beside: str | None = None) -> Change:
    """Some parameters are ignored, or only beside another parameter."""
    return queries(
        lambda request: beside is None or beside in request.query, **dict.fromkeys(names, ...)
    )


def exclusive(*names: str) -> Change:
    return filtered(
        lambda request, payment: (
            payment["created_at"] not in [request.query.get(name) for name in names]
        )
    )


async def without_bounds(request: Request, serve: Serve) -> Reply:
    name = next((name for name in BOUNDS if name in request.query), None)
    return await serve(request) if name is None else refusal(400, f"invalid_{name}", name)


async def with_opaque_cursors(request: Request, serve: Serve) -> Reply:
    cursor = request.query.get("after", "")
    if cursor and not cursor.startswith("pay_"):
        request = request.with_query(after=b64decode(cursor).decode(errors="replace"))
    reply = await serve(request)
    if not request.is_list or not reply.json.get("next_cursor"):
        return reply
    opaque = b64encode(reply.json["next_cursor"].encode()).decode("ascii")
    return reply.with_json({**reply.json, "next_cursor": opaque})


def page_of(request: Request, data: list[Object], start: int, *, is_last: bool) -> Reply:
    """A page of the payments from a place on."""
    end = start + int(request.query.get("limit", "10"))
    has_more = end < len(data) or not is_last
    cursor = data[start:end][-1]["id"] if has_more else None
    return Reply.of(200, {"data": data[start:end], "has_more": has_more, "next_cursor": cursor})


async def oldest_first(request: Request, serve: Serve) -> Reply:
    """The whole list reversed, and divided into pages again."""
    reply = await serve(request)
    if not listed(request, reply):
        return reply
    whole = await serve(request.with_query(after=..., limit="100"))
    data = whole.json["data"][::-1]
    ids = [payment["id"] for payment in data]
    after = request.query.get("after")
    return page_of(request, data, ids.index(after) + 1 if after in ids else 0, is_last=True)


async def with_cursor_on_its_page(request: Request, serve: Serve) -> Reply:
    """A page begins with the payment after which it should begin."""
    reply = await serve(request)
    if not listed(request, reply) or "after" not in request.query:
        return reply
    path = f"{PAYMENTS}/{request.query['after']}"
    cursor = await serve(replace(request, path=path, query={}))
    data = [cursor.json, *reply.json["data"]]
    return page_of(request, data, 0, is_last=not reply.json["has_more"])


async def by_offsets(request: Request, serve: Serve) -> Reply:
    """A cursor stands for the place that its payment had when the page was returned."""
    cursor = request.query.get("after")
    places = {
        reply.json["next_cursor"]: _start(each) + len(reply.json["data"])
        for each, reply in request.earlier
        if listed(each, reply)
    }
    if not request.is_list or cursor is None or cursor not in places:
        return await serve(request)
    whole = await serve(request.with_query(after=..., limit="100"))
    if not listed(request, whole):
        return whole
    return page_of(request, whole.json["data"], places[cursor], is_last=True)


def _start(request: Request) -> int:
    """The place after the cursor of an earlier request."""
    cursor = request.query.get("after")
    return next(
        (
            _start(each) + len(reply.json["data"])
            for each, reply in reversed(request.earlier)
            if listed(each, reply) and reply.json["next_cursor"] == cursor is not None
        ),
        0,
    )


def with_own_cursors(status: int) -> Change:
    """Only cursors of earlier pages are accepted."""

    def is_unknown(request: Request) -> bool:
        pages = [reply.json for each, reply in request.earlier if listed(each, reply)]
        known = {page["next_cursor"] for page in pages}
        return request.is_list and request.query.get("after") not in {None, "", *known}

    return replying(refusal(status, "invalid_cursor", "after"), is_unknown)


async def by_offered_method(request: Request, serve: Serve) -> Reply:
    """The filter by method finds payments that merely offer the method."""
    if not request.is_list or request.query.get("method") != "telebirr":
        return await serve(request)
    offering = [
        id_
        for id_, body in request.created.items()
        if "telebirr" in body.get("methods", ("telebirr",))
    ]
    only_offering = filtered(lambda _, payment: payment["id"] in offering)
    return await only_offering(request.with_query(method=...), serve)


PAGES = (
    server(
        "has at most 50 a page",
        replying(
            refusal(400, "invalid_limit", "limit"),
            lambda request: request.is_list and dict(request.query) == {"limit": "100"},
        ),
        "4.3.15 8.5",
    ),
    server("has 20 a page", queries(lambda one: not one.query, limit="20"), "4.3.2 4.3.3 8.5"),
    server(
        "lists with 206",
        statuses(206, lambda request, _: request.is_list and not request.query),
        "7.5",
        "1.3",
    ),
    server("lists with 201", statuses(201, listed), "7.5"),
    server("ignores limit", ignoring("limit"), "4.0.4 4.3.2 4.3.15 8.5"),
    server("clamps limit", limits(_0="1", _101="100"), assumes="4.3.15 8.5"),
    server("lists one more", limits(_1="2", _2="3", _5="6"), "4.0.4 4.3.2 4.3.15 8.5"),
    server(
        "lists nine", queries(lambda one: "limit" not in one.query, limit="9"), "4.3.2 4.3.3 8.5"
    ),
    server(
        "lists ids",
        members(
            lambda request, _: request.query.get("limit") == "2",
            data=lambda data: [one["id"] for one in data],
        ),
        "2.2.1",
        "2.2.3",
    ),
    server("never has more", members(has_more=False), "2.2.2"),
    server("always has more", members(has_more=True), "2.2.2 4.3.2"),
    server("has more as text", members(has_more=str), "2.2.2"),
    server("has more as a number", members(has_more=int), "2.2.2"),
    server("has more the other way round", members(has_more=lambda it: not it), "2.2.2 4.3.2"),
    server("does not tell of more", members(has_more=...), "2.2.2 4.3.9"),
    server("leaves out the last cursor", members(next_cursor=lambda it: it or ...), "", "2.2.4"),
    server("has a cursor at the end", members(next_cursor=lambda it: it or ""), "", "2.2.4"),
    server("has no cursor", members(next_cursor=None), "2.2.3 4.3.10"),
    server("numbers its cursors", members(next_cursor=lambda it: it and 7), "2.2.3 4.3.10"),
    server("has null for no payments", members(data=lambda it: it or None), "2.2.1"),
    server("leaves out no payments", members(data=lambda it: it or ...), "2.2.1 4.3.9"),
    server(
        "names the first as cursor",
        pages(
            lambda _, page: {**page, "next_cursor": page["next_cursor"] and page["data"][0]["id"]}
        ),
        "4.3.10",
        "2.2.3",
    ),
    server("has opaque cursors", with_opaque_cursors, "2.2.3"),
    server(
        "tells a total", pages(lambda _, page: {**page, "total": len(page["data"])}), "", "4.3.9"
    ),
    server(
        "has an envelope with an object",
        pages(lambda _, page: {"object": "list", **page}),
        assumes="4.3.9",
    ),
    server(
        "loses one a page",
        members(lambda request, _: "after" in request.query, data=lambda data: data[1:] or data),
        "4.3.2 4.3.4 4.3.10",
    ),
    server(
        "hides a payment",
        filtered(lambda request, payment: payment["id"] not in list(request.created)[:1]),
        "4.3.1 4.3.10",
    ),
    server("counts pages by offsets", by_offsets, assumes="4.3.16"),
    server("lists the oldest first", oldest_first, assumes="4.3.11"),
    server("repeats the cursor", with_cursor_on_its_page, "4.3.4 4.3.10"),
    server("ignores after", ignoring("after"), "4.3.4 4.3.10", "4.3.13 5.5"),
    server("takes only its own cursors", with_own_cursors(400), assumes="4.3.4"),
    server("finds only its own cursors", with_own_cursors(404), assumes="4.3.4 4.3.13 5.5 7.4"),
    server(
        "has no wrong cursor", answering(EMPTY, of_code("invalid_cursor")), assumes="4.3.13 5.5"
    ),
    server(
        "takes cursors of others",
        answering(
            EMPTY,
            lambda request, reply: (
                reply.status == 400 and request.query.get("after") in request.created
            ),
        ),
        assumes="5.5",
    ),
    # It takes 100 payments to notice this.
    server("lists at most 99", limits(_100="99")),
)


def edited(name: str, edit: Callable[[str], str]) -> Change:
    """A parameter of some list calls is served in another form."""
    return requests(
        lambda request: request.with_query(**{name: edit(request.query[name])}),
        lambda request: request.is_list and name in request.query,
    )


def shifted_by(text: str, by_ms: int) -> str:
    try:
        return format_instant(parse_instant(text) + by_ms)
    except ValueError:
        return text


def in_utc(text: str) -> str:
    """A timestamp whose offset is ignored."""
    return re.sub("[+-]..:..$", "Z", text)


def refusing_form(pattern: str) -> Change:
    """Some forms of a bound are refused."""
    return replying(
        refusal(400, "invalid_created_gte", "created_gte"),
        lambda request: re.search(pattern, request.query.get("created_gte", "")) is not None,
    )


FORMS = (
    server("ignores the offset of created_gte", edited("created_gte", in_utc), "4.3.7"),
    server("ignores the offset of created_lte", edited("created_lte", in_utc), "4.3.8"),
    server("takes no offset", refusing_form(r"\+"), assumes="4.3.14"),
    server("takes no whole seconds", refusing_form(r":\d\dZ"), assumes="4.3.14"),
    server(
        "cuts created_gte to seconds",
        edited("created_gte", lambda text: re.sub(r"\.\d+", "", text)),
        assumes="4.3.7",
    ),
    server(
        "lists until the end of the second",
        edited("created_lte", lambda text: re.sub(r"\.\d+", ".999", text)),
        assumes="4.3.8",
    ),
    server(
        "has bounds a millisecond apart",
        edited("created_gte", lambda text: shifted_by(text, -1)),
        assumes="4.3.7",
    ),
    server(
        "lists what matches one filter",
        queries(lambda one: "status" in one.query and "created_gte" in one.query, created_gte=...),
        "",
        "4.3.17",
    ),
    *(
        server(
            f"has no filter {name}={value}",
            replying(
                refusal(400, f"invalid_{name}", name),
                lambda request, name=name, value=value: request.query.get(name) == value,
            ),
            number,
        )
        for name, value, number in (
            ("status", "refunded", "4.3.5"),
            ("status", "processing", "4.3.5"),
            ("method", "bank_transfer", "4.3.6"),
        )
    ),
    server(
        "takes an empty status for none",
        queries(lambda one: one.query.get("status") == "", status=...),
        assumes="4.3.13",
    ),
    server(
        "takes a text for no limit",
        queries(lambda one: one.query.get("limit") == "ten", limit=...),
        assumes="4.3.15 8.5",
    ),
    server(
        "takes a text for no cursor",
        queries(lambda one: not one.query.get("after", "pay_").startswith("pay_"), after=...),
        assumes="4.3.13",
    ),
)

FILTERS = (
    server(
        "has no wrong filter",
        answering(EMPTY, of_code(*(f"invalid_{name}" for name in ("status", "method", *BOUNDS)))),
        assumes="4.3.13",
    ),
    server(
        "takes no unknown query parameter",
        replying(
            refusal(400, "unknown_parameter", "made_by_verify"),
            lambda request: "made_by_verify" in request.query,
        ),
        assumes="4.1.14",
    ),
    server("ignores status", ignoring("status"), "4.3.5", "4.3.13"),
    server("ignores method", ignoring("method"), "4.3.6", "4.3.13"),
    server("filters by what is offered", by_offered_method, assumes="4.3.6"),
    server("ignores created_gte", ignoring("created_gte"), "4.3.7", "4.3.13 4.3.17"),
    server("ignores created_lte", ignoring("created_lte"), "4.3.8", "4.3.13"),
    server("knows no bounds", without_bounds, "4.3.7 4.3.8", "4.3.14 4.3.17"),
    server(
        "exchanges the bounds",
        requests(
            lambda request: request.with_query(
                **{name: request.query.get(other, ...) for name, other in (BOUNDS, BOUNDS[::-1])}
            )
        ),
        "4.3.7 4.3.8 7.7",
        "4.3.17 7.13",
    ),
    server("has exclusive bounds", exclusive(*BOUNDS), assumes="4.3.12"),
    server("has an exclusive created_gte", exclusive("created_gte"), assumes="4.3.12"),
    server("has an exclusive created_lte", exclusive("created_lte"), assumes="4.3.12"),
    server(
        "ignores the first of two bounds", ignoring("created_gte", beside="created_lte"), "4.3.7"
    ),
    server(
        "ignores the last of two bounds", ignoring("created_lte", beside="created_gte"), "4.3.8"
    ),
    server("ignores status on further pages", ignoring("status", beside="after"), "4.3.5"),
    server("ignores bounds on further pages", ignoring(*BOUNDS, beside="after"), "4.3.7 4.3.8"),
    server("ignores status within bounds", ignoring("status", beside="created_gte"), "4.3.5"),
    server(
        "finds nothing pending",
        filtered(lambda request, _: request.query.get("status") != "pending"),
        "4.3.2 4.3.5",
    ),
    # It takes a payment with a method to notice this.
    server(
        "finds nothing by a method",
        filtered(lambda request, _: request.query.get("method") != "telebirr"),
    ),
)

SERVERS = (*PAGES, *FORMS, *FILTERS)
