"""Servers whose pages, cursors or filters are wrong."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace

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


PAGES = {
    "has at most 50 a page: 4.3.15 8.5": replying(
        refusal(400, "invalid_limit", "limit"),
        lambda request: request.is_list and dict(request.query) == {"limit": "100"},
    ),
    "lists with 206: 7.5 (1.3)": statuses(
        206, lambda request, _: request.is_list and not request.query
    ),
    "ignores limit: 4.0.4 4.3.2 4.3.15 8.5": ignoring("limit"),
    "clamps limit: (4.3.15 8.5)": limits(_0="1", _101="100"),
    "lists one more: 4.0.4 4.3.2 4.3.15 8.5": limits(_1="2", _2="3", _5="6"),
    "lists nine: 4.3.2 4.3.3 8.5": queries(lambda one: "limit" not in one.query, limit="9"),
    "lists ids: 2.2.1 (2.2.3)": members(
        lambda request, _: request.query.get("limit") == "2",
        data=lambda data: [one["id"] for one in data],
    ),
    "never has more: 2.2.2": members(has_more=False),
    "always has more: 2.2.2 4.3.2": members(has_more=True),
    "has more as text: 2.2.2": members(has_more=str),
    "has more the other way round: 2.2.2 4.3.2": members(has_more=lambda it: not it),
    "does not tell of more: 2.2.2 4.3.9": members(has_more=...),
    "leaves out the last cursor: (2.2.4)": members(next_cursor=lambda it: it or ...),
    "has a cursor at the end: (2.2.4)": members(next_cursor=lambda it: it or ""),
    "has no cursor: 2.2.3 4.3.10": members(next_cursor=None),
    "numbers its cursors: 2.2.3 4.3.10": members(next_cursor=lambda it: it and 7),
    "has null for no payments: 2.2.1": members(data=lambda it: it or None),
    "leaves out no payments: 2.2.1 4.3.9": members(data=lambda it: it or ...),
    "names the first as cursor: 4.3.10 (2.2.3)": pages(
        lambda _, page: {**page, "next_cursor": page["next_cursor"] and page["data"][0]["id"]}
    ),
    "has opaque cursors: 2.2.3": with_opaque_cursors,
    "tells a total: (4.3.9)": pages(lambda _, page: {**page, "total": len(page["data"])}),
    "has an envelope with an object: (4.3.9)": pages(lambda _, page: {"object": "list", **page}),
    "loses one a page: 4.3.2 4.3.4 4.3.10": members(
        lambda request, _: "after" in request.query, data=lambda data: data[1:] or data
    ),
    "hides a payment: 4.3.1 4.3.10": filtered(
        lambda request, payment: payment["id"] not in list(request.created)[:1]
    ),
    "counts pages by offsets: (4.3.16)": by_offsets,
    "lists the oldest first: (4.3.11)": oldest_first,
    "repeats the cursor: 4.3.4 4.3.10": with_cursor_on_its_page,
    "ignores after: 4.3.4 4.3.10 (4.3.13 5.5)": ignoring("after"),
    "takes only its own cursors: (4.3.4)": with_own_cursors(400),
    "finds only its own cursors: (4.3.4 4.3.13 5.5 7.4)": with_own_cursors(404),
    "has no wrong cursor: (4.3.13 5.5)": answering(EMPTY, of_code("invalid_cursor")),
    "takes cursors of others: (5.5)": answering(
        EMPTY,
        lambda request, reply: (
            reply.status == 400 and request.query.get("after") in request.created
        ),
    ),
    # It takes 100 payments to notice this.
    "lists at most 99": limits(_100="99"),
}


def edited(name: str, edit: Callable[[str], str]) -> Change:
    """A parameter of some list calls is served in another form."""
    return requests(
        lambda request: request.with_query(**{name: edit(request.query[name])}),
        lambda request: request.is_list and name in request.query,
    )


def in_utc(text: str) -> str:
    """A timestamp whose offset is ignored."""
    return re.sub("[+-]..:..$", "Z", text)


def refusing_form(pattern: str) -> Change:
    """Some forms of a bound are refused."""
    return replying(
        refusal(400, "invalid_created_gte", "created_gte"),
        lambda request: re.search(pattern, request.query.get("created_gte", "")) is not None,
    )


FORMS = {
    "ignores the offset of created_gte: 4.3.7": edited("created_gte", in_utc),
    "ignores the offset of created_lte: 4.3.8": edited("created_lte", in_utc),
    "takes no offset: (4.3.14)": refusing_form(r"\+"),
    "takes no whole seconds: (4.3.14)": refusing_form(r":\d\dZ"),
    "cuts created_gte to seconds: (4.3.7)": edited(
        "created_gte", lambda text: re.sub(r"\.\d+", "", text)
    ),
    "lists until the end of the second: (4.3.8)": edited(
        "created_lte", lambda text: re.sub(r"\.\d+", ".999", text)
    ),
    "lists what matches one filter: (4.3.17)": queries(
        lambda one: "status" in one.query and "created_gte" in one.query, created_gte=...
    ),
    **{
        f"has no filter {name}={value}: {number}": replying(
            refusal(400, f"invalid_{name}", name),
            lambda request, name=name, value=value: request.query.get(name) == value,
        )
        for name, value, number in (
            ("status", "refunded", "4.3.5"),
            ("status", "processing", "4.3.5"),
            ("method", "bank_transfer", "4.3.6"),
        )
    },
    "takes an empty status for none: (4.3.13)": queries(
        lambda one: one.query.get("status") == "", status=...
    ),
    "takes a text for no limit: (4.3.15 8.5)": queries(
        lambda one: one.query.get("limit") == "ten", limit=...
    ),
    "takes a text for no cursor: (4.3.13)": queries(
        lambda one: not one.query.get("after", "pay_").startswith("pay_"), after=...
    ),
}

FILTERS = {
    "has no wrong filter: (4.3.13)": answering(
        EMPTY, of_code(*(f"invalid_{name}" for name in ("status", "method", *BOUNDS)))
    ),
    "takes no unknown query parameter: (4.1.14)": replying(
        refusal(400, "unknown_parameter", "made_by_verify"),
        lambda request: "made_by_verify" in request.query,
    ),
    "ignores status: 4.3.5 (4.3.13)": ignoring("status"),
    "ignores method: 4.3.6 (4.3.13)": ignoring("method"),
    "filters by what is offered: (4.3.6)": by_offered_method,
    "ignores created_gte: 4.3.7 (4.3.13 4.3.17)": ignoring("created_gte"),
    "ignores created_lte: 4.3.8 (4.3.13)": ignoring("created_lte"),
    "knows no bounds: 4.3.7 4.3.8 (4.3.14 4.3.17)": without_bounds,
    "has exclusive bounds: (4.3.12)": exclusive(*BOUNDS),
    "ignores the first of two bounds: 4.3.7": ignoring("created_gte", beside="created_lte"),
    "ignores status on further pages: 4.3.5": ignoring("status", beside="after"),
    "ignores bounds on further pages: 4.3.7 4.3.8": ignoring(*BOUNDS, beside="after"),
    "ignores status within bounds: 4.3.5": ignoring("status", beside="created_gte"),
    "finds nothing pending: 4.3.2 4.3.5": filtered(
        lambda request, _: request.query.get("status") != "pending"
    ),
    # It takes a payment with a method to notice this.
    "finds nothing by a method": filtered(
        lambda request, _: request.query.get("method") != "telebirr"
    ),
}

TABLES = (PAGES, FORMS, FILTERS)
