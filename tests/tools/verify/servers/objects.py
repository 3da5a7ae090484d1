"""Servers whose payments are wrong, in all places or in one, or visible to other accounts."""

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from emulator.domain.instants import format_instant, parse_instant
from emulator.tools.verify import contract
from tests.tools.verify.wrong import (
    Change,
    Object,
    Reply,
    ReplyFilter,
    Request,
    Serve,
    answering,
    as_owner,
    created,
    fields,
    listed,
    of_status,
    payments,
    refusal,
    replies,
    replying,
    retrieved,
    statuses,
    succeeded,
)

OTHER = dict.fromkeys(contract.FIELDS, "https://example.com/other") | {
    "object": "charge",
    "amount": 101,
    "currency": "USD",
    "status": "processing",
    "method": "mpesa",
    "checkout_url": "https://pay.example/c/other",
    "metadata": {"other": "yes"},
    "created_at": "2026-06-01T00:00:00.000Z",
    "expires_at": "2026-06-01T00:00:00.000Z",
    "completed_at": "2026-06-01T00:00:00.000Z",
}
"""For each field but the id a value that a payment of the run does not have."""

# The clauses that such a value breaks wherever it is returned.
_NEVER = {"object": "2.1.2", "currency": "2.1.4 9.2", "completed_at": "2.1.14"}
# The clauses that such a value breaks in the response of a create call.
_NOT_AS_REQUESTED = contract.RETURNED_FIELDS | {
    "amount": "2.1.3",
    "method": "2.1.6",
    "checkout_url": "1.4",
    "metadata": "2.1.11 4.1.8 8.2",
    "created_at": "2.1.8 4.1.11 4.1.12 8.3 8.4",
    "expires_at": "2.1.8 4.1.11 4.1.12 8.3 8.4",
}
# The clauses that such a value breaks in a list.
_NOT_AS_FILTERED = {"status": "4.3.5"}
_NOT_AS_ASSUMED = {"status": "2.1.5", "created_at": "4.3.12"}
NOT_FOUND = refusal(404, "payment_not_found")


def with_prefix(prefix: str) -> Change:
    """Every id begins with another prefix, in requests and in replies."""

    def renamed(value: Any, old: str, new: str) -> Any:
        if isinstance(value, dict):
            return {name: renamed(item, old, new) for name, item in value.items()}
        if isinstance(value, list):
            return [renamed(item, old, new) for item in value]
        is_id = isinstance(value, str) and value.startswith(old)
        return f"{new}{value.removeprefix(old)}" if is_id else value

    async def change(request: Request, serve: Serve) -> Reply:
        path = request.path.replace(f"/{prefix}", "/pay_")
        query = renamed(request.query, prefix, "pay_")
        reply = await serve(replace(request, path=path, query=query))
        location = reply.headers.get("location", "").replace("/pay_", f"/{prefix}")
        return reply.with_json(renamed(reply.json, "pay_", prefix)).with_headers(location=location)

    return change


def with_offsets(*names: str, when: ReplyFilter) -> Change:
    """Some timestamps have the form `+00:00`."""
    return fields(when, **dict.fromkeys(names, lambda text: f"{text[:-1]}+00:00"))


def is_unknown(request: Request, reply: Reply) -> bool:
    return request.is_retrieve and reply.status == 404


def is_known_key(request: Request) -> bool:
    """Whether it is a key of one of the two accounts, with no letter after it."""
    is_bearer = request.scheme == "Bearer"
    return is_bearer and request.key.startswith("test_run_") and not request.key.endswith("x")


def is_foreign(request: Request, reply: Reply) -> bool:
    return is_unknown(request, reply) and not request.is_of_owner


def is_created_by_owner(request: Request, reply: Reply) -> bool:
    return is_unknown(request, reply) and request.path.rpartition("/")[2] in request.created


def is_next(request: Request, reply: Reply) -> bool:
    """Whether a payment is retrieved by the request after the one that created it."""
    return retrieved(request, reply) and created(*request.earlier[-1])


async def completing(request: Request, serve: Serve) -> Reply:
    """A payment that is retrieved is completed, and is listed as such from then on."""
    retrieved_ids = {
        request.path.rpartition("/")[2],
        *(each.path.rpartition("/")[2] for each, _ in request.earlier if each.is_retrieve),
    }

    def completed(payment: Object) -> Object:
        paid = {"status": "completed", "method": "telebirr", "completed_at": payment["created_at"]}
        return {**payment, **paid} if payment["id"] in retrieved_ids else payment

    return await payments(
        completed,
        lambda request, reply: (
            retrieved(request, reply) or (listed(request, reply) and "status" not in request.query)
        ),
    )(request, serve)


def _with_other(name: str) -> dict[str, Change]:
    """Servers that return another value of a field when they create, retrieve or list it."""
    other, never = {name: OTHER[name]}, _NEVER.get(name, "")
    when_created = (
        f"4.1.15 {never} {_NOT_AS_REQUESTED.get(name, '')} ({_NOT_AS_ASSUMED.get(name, '')})"
    )
    when_filtered = _NOT_AS_FILTERED.get(name, "")
    return {
        f"creates another {name}: {when_created}": fields(created, **other),
        f"retrieves another {name}: 4.2.3 {never}": fields(retrieved, **other),
        f"lists another {name}: 2.2.1 {never} {when_filtered}": fields(listed, **other),
    }


FIELDS = {
    "has other ids: 2.1.1 2.2.3": with_prefix("tx_"),
    "has longer ids: (2.1.1)": with_prefix("pay_test_"),
    "has amounts as text: 2.1.3": fields(amount=str),
    "has amounts with a point: 2.1.3": fields(amount=float),
    "has dollars: 2.1.4 9.2": fields(currency="USD"),
    "has a status of its own: 2.1.5 3.1 4.3.5": fields(status="open"),
    "chooses the method itself: 2.1.6": fields(method="telebirr"),
    "has a method that no payment offers: 2.1.6 (2.1.17)": fields(method="cash"),
    "has half a checkout URL: 1.4 2.1.7": fields(checkout_url="/c/1"),
    "has half an address: 1.4 2.1.7": fields(checkout_url="https://["),
    "has one checkout for all: 1.4": fields(checkout_url="https://pay.example/"),
    "has its pages at the API: 1.10": payments(
        lambda one: {**one, "checkout_url": f"http://127.0.0.1:8080/{one['id']}"}
    ),
    **{
        f"has a number as {name}: {number}": fields(**{name: 5})
        for name, number in contract.RETURNED_FIELDS.items()
        if name != "metadata"
    },
    "appends to the success URL: 2.1.9": fields(success_url="{}&payment=1".format),
    "has no cancel URL: 2.1.10 2.1.15": fields(cancel_url=...),
    "has metadata as a list: 2.1.11 4.1.8 8.2": fields(metadata=[]),
    "keeps half of metadata: 2.1.11 4.1.8 8.2": fields(
        metadata=lambda metadata: dict(list(metadata.items())[:10])
    ),
    "has seconds for creation: 2.1.12": fields(created_at=1_767_225_600),
    "has a thirteenth month: 2.1.12": fields(created_at="2026-13-01T00:00:00Z"),
    "has seconds for expiry: 2.1.13": fields(expires_at=1_767_225_600),
    "completes at once: 2.1.14": fields(completed_at="2026-01-01T00:00:00.000Z"),
    "has a fourteenth field: (2.1.15)": fields(description=""),
    "has another order of fields: (2.1.15)": payments(lambda one: dict(reversed(one.items()))),
    "writes offsets: (2.1.12 2.1.13)": with_offsets("created_at", "expires_at", when=succeeded),
    "lists offsets: (2.1.12)": with_offsets("created_at", when=listed),
}

PLACES = {
    **{name: edit for field in contract.FIELDS[1:] for name, edit in _with_other(field).items()},
    "retrieves with 202: 7.5 (1.3)": statuses(202, retrieved),
    "retrieves nothing: 4.2.1 4.2.2 7.5": answering(NOT_FOUND, retrieved),
    "retrieves nothing at once after a create call: 4.2.1": answering(NOT_FOUND, is_next),
    "retrieves no method: 2.1.6 2.1.15 4.2.3": fields(retrieved, method=...),
    "retrieves another id: 4.2.3": fields(retrieved, id=f"pay_{'A' * 24}"),
    "redirects a retrieve: 1.2 4.0.5 4.2.1 4.2.2 4.2.6 4.2.7 5.4 5.5 7.5 7.8 7.9 (1.3)": replying(
        Reply(status=307, content=b"", headers={"location": "/elsewhere"}),
        lambda request: request.is_retrieve,
    ),
    "lists no metadata: 2.1.11 2.1.15 2.2.1": fields(listed, metadata=...),
    "lists other ids: 2.2.1 4.3.1 4.3.10 (2.1.1 2.2.3 4.3.12)": fields(
        listed, id=lambda id_: f"{id_[:-1]}_"
    ),
    "completes what is read": completing,
}

OWNERS = {
    "says 400 of an unknown id: 4.2.6 7.9 (4.2.1)": answering(
        refusal(400, "payment_not_found", "id"),
        lambda request, reply: is_unknown(request, reply) and request.is_of_owner,
    ),
    "says 410 of all: 4.2.6 4.2.7 5.5 7.9 (1.3 4.0.3 4.2.1)": statuses(410, of_status(404)),
    "says 403 to others: 4.2.7 5.5 7.9 (1.3)": statuses(403, is_foreign),
    "says 401 to others: 4.2.7 5.5 7.9 (5.4)": statuses(401, is_foreign),
    "shows payments to others: 4.2.7 5.5 7.9": as_owner(
        lambda request: request.is_retrieve and is_known_key(request)
    ),
    "lists payments to others: 5.5": as_owner(
        lambda request: (
            bool(request.earlier)
            and request.is_list
            and "after" not in request.query
            and is_known_key(request)
        ),
    ),
    "writes another text about others: (4.2.7)": replies(
        lambda _, reply: refusal(404, reply.code, message="It belongs to another account."),
        is_created_by_owner,
    ),
    "tells of others: (4.2.7)": answering(
        refusal(404, "not_yours"),
        is_created_by_owner,
    ),
}


def _with_query(url: str, edit: Callable[[list[tuple[str, str]]], list[tuple[str, str]]]) -> str:
    parts = urlsplit(url)
    query = urlencode(edit(parse_qsl(parts.query, keep_blank_values=True)))
    return parts._replace(query=query).geturl()


URLS: dict[str, Callable[[str], str]] = {
    "lower-cases": str.lower,
    "decodes": unquote,
    "encodes": lambda url: quote(url, safe=":/?&=#"),
    "cuts at 64 characters": lambda url: url[:64],
    "cuts at 255 characters": lambda url: url[:255],
    "cuts at 512 characters": lambda url: url[:512],
    "drops the query of": lambda url: urlsplit(url)._replace(query="").geturl(),
    "drops the fragment of": lambda url: url.partition("#")[0],
    "drops the slash before the query of": lambda url: url.replace("/?", "?"),
    "sorts the query of": lambda url: _with_query(url, sorted),
    "drops empty parameters of": lambda url: url.replace("&empty=", ""),
    "drops repeated parameters of": lambda url: _with_query(
        url, lambda pairs: [*dict(pairs).items()]
    ),
    "writes plus as a blank in": lambda url: url.replace("+", "%20"),
    "writes escapes in upper case in": lambda url: re.sub(
        "%..", lambda escape: escape[0].upper(), url
    ),
    "escapes as HTML": html.escape,
}


def values(edit: Callable[[str], object]) -> Change:
    """Every value in metadata is changed."""
    return fields(metadata=lambda pairs: {name: edit(value) for name, value in pairs.items()})


def names(edit: Callable[[str], str]) -> Change:
    return fields(metadata=lambda pairs: {edit(name): value for name, value in pairs.items()})


def _number(value: str) -> object:
    try:
        return int(value)
    except ValueError:
        return value


def _like_json(value: str) -> object:
    return {"true": True, "null": None}.get(value, value)


VALUES: dict[str, Callable[[str], object]] = {
    "lower-cases": str.lower,
    "trims": str.strip,
    "joins blanks in": lambda value: re.sub(" +", " ", value),
    "makes numbers of": _number,
    "writes numbers without zeros in": lambda value: str(_number(value)),
    "writes decimals shorter in": lambda value: value.replace("1.50", "1.5"),
    "makes JSON of": _like_json,
    "composes letters in": lambda value: unicodedata.normalize("NFC", value),
    "writes only ASCII in": lambda value: value.encode("ascii", "replace").decode("ascii"),
    "writes no emoji in": lambda value: "".join(one for one in value if ord(one) < 0x10000),
    "escapes as HTML": html.escape,
    "removes markup from": lambda value: re.sub("<[^>]*>", "", value),
    "doubles the backslash in": lambda value: value.replace("\\", "\\\\"),
    "puts in one line": lambda value: " ".join(value.splitlines()),
    "cuts at 255 characters": lambda value: value[:255],
    "cuts at 100 characters": lambda value: value[:100],
    "writes null for empty": lambda value: value or None,
}


def _clauses(edit: Callable[[str], object]) -> str:
    """The first payment has plain metadata, which only some of these servers change."""
    return "2.1.11" if edit("Run ብር") == "Run ብር" else "2.1.11 4.1.8 8.2"


def in_order(key: Callable[[str], object]) -> Callable[[Object], Object]:
    return lambda pairs: {name: pairs[name] for name in sorted(pairs, key=key)}  # type: ignore[arg-type,return-value]


def moved(name: str, by_ms: int) -> Change:
    return fields(**{name: lambda text: format_instant(parse_instant(text) + by_ms)})


METADATA = {
    **{f"{what} values: {_clauses(edit)}": values(edit) for what, edit in VALUES.items()},
    "lower-cases names: 2.1.11": names(str.lower),
    "writes names with hyphens: 2.1.11 4.1.8 8.2": names(lambda name: name.replace("_", "-")),
    "cuts names at dots: 2.1.11": names(lambda name: name.partition(".")[0]),
    "drops empty values: 2.1.11": fields(
        metadata=lambda pairs: {name: text for name, text in pairs.items() if text}
    ),
    "drops long values: 2.1.11": fields(
        metadata=lambda pairs: {n: v for n, v in pairs.items() if len(v) < 256}
    ),
    "sorts metadata: (2.1.11)": fields(metadata=in_order(str)),
    "lists metadata in order: (2.1.11)": fields(listed, metadata=in_order(str)),
    "retrieves metadata in order: (2.1.11)": fields(retrieved, metadata=in_order(str)),
    "reverses metadata: (2.1.11)": fields(metadata=lambda pairs: dict(reversed([*pairs.items()]))),
}
EXPIRES = {
    "expires a second late: 2.1.8 4.1.11 4.1.12 8.3 8.4": moved("expires_at", 1_000),
    "expires a millisecond late: (4.1.11 8.4)": moved("expires_at", 1),
    "expires half a second late: (4.1.11 8.4)": moved("expires_at", 500),
}


def _of_url(name: str, number: str) -> dict[str, Change]:
    return {f"{what} {name}: {number}": fields(**{name: edit}) for what, edit in URLS.items()}


URL_FIELDS = {
    **_of_url("success_url", "2.1.9"),
    **_of_url("cancel_url", "2.1.10"),
    "exchanges the URLs: 2.1.9 2.1.10": payments(
        lambda one: {**one, "success_url": one["cancel_url"], "cancel_url": one["success_url"]}
    ),
    "creates a URL with a slash: 2.1.9 4.1.15": fields(created, success_url="{}/".format),
}

TABLES = (FIELDS, PLACES, OWNERS, URL_FIELDS, METADATA, EXPIRES)
