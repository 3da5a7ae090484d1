"""Servers whose pages, cursors or filters are wrong."""

from base64 import b64decode, b64encode
from typing import Any

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
    lists,
    once,
    refusal,
)

Page = dict[str, Any]
EMPTY = Reply.of(200, {"data": [], "has_more": False, "next_cursor": None})


def ignoring(*names: str) -> Any:
    return asking(lambda asked: asked.without(*names) if asked.is_list else asked)


async def with_at_most_50(asked: Asked, serve: Serve) -> Reply:
    is_it = asked.is_list and dict(asked.query) == {"limit": "100"}
    return refusal(400, "invalid_limit", "limit") if is_it else await serve(asked)


async def without_bounds(asked: Asked, serve: Serve) -> Reply:
    for name in ("created_gte", "created_lte"):
        if name in asked.query:
            return refusal(400, f"invalid_{name}", name)
    return await serve(asked)


def with_20_a_page(asked: Asked) -> Asked:
    return asked.asking(limit="20") if asked.is_list and not asked.query else asked


async def whose_first_page_is_partial(asked: Asked, serve: Serve) -> Reply:
    answer = await serve(asked)
    is_it = asked.is_list and not asked.query
    return answer.with_status(206) if is_it else answer


def that_clamps(asked: Asked) -> Asked:
    limit = asked.query.get("limit")
    return asked.asking(limit={"0": "1", "101": "100"}.get(limit, limit)) if limit else asked


def ids_alone(asked: Asked, page: Page) -> Page:
    is_it = asked.query.get("limit") == "2"
    return {**page, "data": [one["id"] for one in page["data"]]} if is_it else page


def never_more(_: Asked, page: Page) -> Page:
    return {**page, "has_more": False}


def always_more(_: Asked, page: Page) -> Page:
    return {**page, "has_more": True}


def no_cursor_at_the_end(_: Asked, page: Page) -> Page:
    if page["next_cursor"] is not None:
        return page
    return {name: value for name, value in page.items() if name != "next_cursor"}


def whose_cursor_is_the_first(_: Asked, page: Page) -> Page:
    is_empty = page["next_cursor"] is None
    return page if is_empty else {**page, "next_cursor": page["data"][0]["id"]}


def with_a_total(_: Asked, page: Page) -> Page:
    return {**page, "total": len(page["data"])}


def without_has_more(_: Asked, page: Page) -> Page:
    return {name: value for name, value in page.items() if name != "has_more"}


async def with_opaque_cursors(asked: Asked, serve: Serve) -> Reply:
    cursor = asked.query.get("after", "")
    if cursor and not cursor.startswith("pay_"):
        asked = asked.asking(after=b64decode(cursor).decode())
    answer = await serve(asked)
    if not asked.is_list or not answer.json.get("next_cursor"):
        return answer
    opaque = b64encode(answer.json["next_cursor"].encode()).decode("ascii")
    return answer.saying({**answer.json, "next_cursor": opaque})


def that_loses_one(asked: Asked, page: Page) -> Page:
    """The first payment after each cursor."""
    is_it = "after" in asked.query and len(page["data"]) > 1
    return {**page, "data": page["data"][1:]} if is_it else page


def that_hides_the_first_payment() -> Change:
    first = ""

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal first
        answer = await serve(asked)
        if answer.status == 201:
            first = first or answer.json["id"]
        if not asked.is_list or answer.status != 200:
            return answer
        shown = [one for one in answer.json["data"] if one["id"] != first]
        return answer.saying({**answer.json, "data": shown})

    return change


async def oldest_first(asked: Asked, serve: Serve) -> Reply:
    """The whole list turned round, and cut anew."""
    answer = await serve(asked)
    if not asked.is_list or answer.status != 200:
        return answer
    whole = await serve(asked.without("after").asking(limit="100"))
    data = whole.json["data"][::-1]
    ids = [one["id"] for one in data]
    after = asked.query.get("after")
    start = ids.index(after) + 1 if after in ids else 0
    end = start + int(asked.query.get("limit", "10"))
    has_more = end < len(data)
    cursor = ids[end - 1] if has_more else None
    return answer.saying({"data": data[start:end], "has_more": has_more, "next_cursor": cursor})


def whose_cursors_are_those_it_gave(status: int) -> MakeChange:
    def make() -> Change:
        given: set[str] = set()

        async def change(asked: Asked, serve: Serve) -> Reply:
            if asked.is_list and asked.query.get("after", "") not in {"", *given}:
                return refusal(status, "invalid_cursor", "after")
            answer = await serve(asked)
            if asked.is_list and answer.status == 200 and answer.json["next_cursor"]:
                given.add(answer.json["next_cursor"])
            return answer

        return change

    return make


def empty_for(*codes: str) -> Any:
    def edit(asked: Asked, reply: Reply) -> Reply:
        return EMPTY if reply.code in codes and asked.path == PAYMENTS else reply

    return answering(edit)


def empty_for_a_cursor_of_others() -> Change:
    created: set[str] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        if answer.status == 201:
            created.add(answer.json["id"])
        is_others = answer.status == 400 and asked.query.get("after") in created
        return EMPTY if is_others else answer

    return change


def by_what_is_offered() -> Change:
    """The filter by method finds what merely offers it."""
    offering: set[str] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        is_it = asked.is_list and asked.query.get("method") == "telebirr"
        answer = await serve(asked.without("method") if is_it else asked)
        if answer.status == 201 and "telebirr" in asked.body.get("methods", ("telebirr",)):
            offering.add(answer.json["id"])
        if not is_it:
            return answer
        found = [one for one in answer.json["data"] if one["id"] in offering]
        return answer.saying({**answer.json, "data": found})

    return change


def exclusive(asked: Asked, page: Page) -> Page:
    bounds = {asked.query.get("created_gte"), asked.query.get("created_lte")}
    return {**page, "data": [one for one in page["data"] if one["created_at"] not in bounds]}


SERVERS = (
    server("has at most 50 a page", once(with_at_most_50), "4.3.2", "8.5"),
    server("has 20 a page", asking(with_20_a_page), "4.3.3", "8.5"),
    server("lists with 206", once(whose_first_page_is_partial), "7.5", assumes=("1.3",)),
    server("ignores limit", ignoring("limit"), "4.0.4", "4.3.2", "8.5"),
    server("clamps limit", asking(that_clamps), assumes=("4.3.2", "8.5")),
    server("lists ids", lists(ids_alone), "2.2.1", assumes=("2.2.3",)),
    server("never has more", lists(never_more), "2.2.2"),
    server("always has more", lists(always_more), "2.2.2"),
    server("leaves out the last cursor", lists(no_cursor_at_the_end), assumes=("2.2.4",)),
    server(
        "names the first as cursor", lists(whose_cursor_is_the_first), "4.3.10", assumes=("2.2.3",)
    ),
    server("has opaque cursors", once(with_opaque_cursors), "2.2.3"),
    server("tells a total", lists(with_a_total), assumes=("4.3.9",)),
    server(
        "does not tell of more",
        lists(without_has_more),
        "2.2.2",
        "4.3.9",
    ),
    server("loses one a page", lists(that_loses_one), "4.3.4", "4.3.10"),
    server(
        "hides a payment",
        that_hides_the_first_payment,
        "4.3.1",
        "4.3.10",
    ),
    server("lists the oldest first", once(oldest_first), assumes=("4.3.11",)),
    server("ignores after", ignoring("after"), "4.3.4", "4.3.10", assumes=("4.3.13", "5.5")),
    server("takes only its own cursors", whose_cursors_are_those_it_gave(400), assumes=("4.3.4",)),
    server(
        "finds only its own cursors",
        whose_cursors_are_those_it_gave(404),
        assumes=("4.3.4", "4.3.13", "5.5"),
    ),
    server("has no wrong cursor", empty_for("invalid_cursor"), assumes=("4.3.13", "5.5")),
    server("takes cursors of others", empty_for_a_cursor_of_others, assumes=("5.5",)),
    server(
        "has no wrong filter",
        empty_for("invalid_status", "invalid_method", "invalid_created_gte", "invalid_created_lte"),
        assumes=("4.3.13",),
    ),
    server("ignores status", ignoring("status"), "4.3.5", assumes=("4.3.13",)),
    server("ignores method", ignoring("method"), "4.3.6", assumes=("4.3.13",)),
    server("filters by what is offered", by_what_is_offered, assumes=("4.3.6",)),
    server("ignores created_gte", ignoring("created_gte"), "4.3.7", assumes=("4.3.13",)),
    server("ignores created_lte", ignoring("created_lte"), "4.3.8", assumes=("4.3.13",)),
    server("knows no bounds", once(without_bounds), "4.3.7", "4.3.8"),
    server("has exclusive bounds", lists(exclusive), assumes=("4.3.12",)),
)
