"""Servers whose payments are wrong, in all places or in one, or visible to other accounts."""

from dataclasses import replace
from typing import Any

from tests.tools.verify.servers.server import Server, server
from tests.tools.verify.wrong import (
    Change,
    Object,
    Reply,
    ReplyFilter,
    Request,
    Serve,
    answering,
    created,
    fields,
    listed,
    of_status,
    payments,
    refusal,
    replies,
    replying,
    requests,
    retrieved,
    statuses,
    succeeded,
)

OTHER = {
    "object": "charge",
    "amount": 101,
    "currency": "USD",
    "status": "processing",
    "method": "mpesa",
    "checkout_url": "https://pay.example/c/other",
    "success_url": "https://example.com/other",
    "cancel_url": "https://example.com/other",
    "metadata": {"other": "yes"},
    "created_at": "2026-06-01T00:00:00.000Z",
    "expires_at": "2026-06-01T00:00:00.000Z",
    "completed_at": "2026-06-01T00:00:00.000Z",
}
"""For each field but the id a value that a payment of the run does not have."""

# The clauses that such a value breaks wherever it is returned.
_NEVER = {"object": "2.1.2", "currency": "2.1.4 9.2", "completed_at": "2.1.14"}
# The clauses that such a value breaks in the response of a create call.
_NOT_AS_REQUESTED = {
    "amount": "2.1.3",
    "method": "2.1.6",
    "checkout_url": "1.4",
    "success_url": "2.1.9",
    "cancel_url": "2.1.10",
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


def with_limit(limit: str) -> ReplyFilter:
    return lambda request, reply: listed(request, reply) and request.query.get("limit") == limit


def is_unknown(request: Request, reply: Reply) -> bool:
    return request.is_retrieve and reply.status == 404


def is_known_key(request: Request) -> bool:
    """Whether it is a key of one of the two accounts, with no letter after it."""
    is_bearer = request.scheme == "Bearer"
    return is_bearer and request.key.startswith("test_run_") and not request.key.endswith("x")


def is_foreign(request: Request, reply: Reply) -> bool:
    return is_unknown(request, reply) and not request.is_of_owner


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


def _with_other(name: str) -> tuple[Server, ...]:
    """Servers that return another value of a field when they create, retrieve or list it."""
    other, never = {name: OTHER[name]}, _NEVER.get(name, "")
    when_created = f"4.1.15 {never} {_NOT_AS_REQUESTED.get(name, '')}"
    return (
        server(
            f"creates another {name}",
            fields(created, **other),
            when_created,
            _NOT_AS_ASSUMED.get(name, ""),
        ),
        server(f"retrieves another {name}", fields(retrieved, **other), f"4.2.3 {never}"),
        server(
            f"lists another {name}",
            fields(listed, **other),
            f"2.2.1 {never} {_NOT_AS_FILTERED.get(name, '')}",
        ),
    )


FIELDS = (
    server("has other ids", with_prefix("tx_"), "2.1.1 2.2.3"),
    server("has longer ids", with_prefix("pay_test_"), assumes="2.1.1"),
    server("has charges", fields(object="charge"), "2.1.2 4.1.15"),
    server("has amounts as text", fields(amount=str), "2.1.3"),
    server("has amounts in birr", fields(amount=lambda amount: amount // 100), "2.1.3"),
    server("has amounts with a point", fields(amount=float), "2.1.3"),
    server("has dollars", fields(currency="USD"), "2.1.4 9.2"),
    server("has a status of its own", fields(status="open"), "2.1.5 3.1 4.3.5"),
    server("chooses the method itself", fields(method="telebirr"), "2.1.6"),
    server("has a list of methods", fields(method=["telebirr"]), "2.1.6"),
    server("has half a checkout URL", fields(checkout_url="/c/1"), "1.4 2.1.7"),
    server("has half an address", fields(checkout_url="https://["), "1.4 2.1.7"),
    server("has one checkout for all", fields(checkout_url="https://pay.example/"), "1.4"),
    server(
        "has its pages at the API",
        payments(lambda one: {**one, "checkout_url": f"http://127.0.0.1:8080/{one['id']}"}),
        "1.10",
    ),
    server("has no success URL", fields(success_url=None), "2.1.9"),
    server("appends to the success URL", fields(success_url="{}&payment=1".format), "2.1.9"),
    server("has no cancel URL", fields(cancel_url=...), "2.1.10 2.1.15"),
    server("has metadata as a list", fields(metadata=[]), "2.1.11 4.1.8 8.2"),
    server(
        "keeps half of metadata",
        fields(metadata=lambda metadata: dict(list(metadata.items())[:10])),
        "2.1.11 4.1.8 8.2",
    ),
    server("has seconds for creation", fields(created_at=1_767_225_600), "2.1.12"),
    server("has a thirteenth month", fields(created_at="2026-13-01T00:00:00Z"), "2.1.12"),
    server("has seconds for expiry", fields(expires_at=1_767_225_600), "2.1.13"),
    server("completes at once", fields(completed_at="2026-01-01T00:00:00.000Z"), "2.1.14"),
    server("has another completion", fields(completed_at=""), "2.1.14"),
    server("has a fourteenth field", fields(description=""), assumes="2.1.15"),
    server(
        "has another order of fields",
        payments(lambda one: dict(reversed(one.items()))),
        assumes="2.1.15",
    ),
    server(
        "writes offsets",
        with_offsets("created_at", "expires_at", when=succeeded),
        assumes="2.1.12 2.1.13",
    ),
    server("lists offsets", with_offsets("created_at", when=listed), assumes="2.1.12"),
)

PLACES = (
    *(each for name in OTHER for each in _with_other(name)),
    server("retrieves with 202", statuses(202, retrieved), "7.5", "1.3"),
    server("retrieves nothing", answering(NOT_FOUND, retrieved), "4.2.1 4.2.2 7.5"),
    server("retrieves something else", fields(retrieved, amount=999), "4.2.3"),
    server("retrieves no method", fields(retrieved, method=...), "2.1.6 2.1.15 4.2.3"),
    server("retrieves another id", fields(retrieved, id=f"pay_{'A' * 24}"), "4.2.3"),
    server(
        "retrieves everything as completed",
        fields(retrieved, status="completed", method="mpesa", completed_at=OTHER["completed_at"]),
        "4.2.3",
    ),
    server(
        "retrieves only one payment",
        answering(
            NOT_FOUND,
            lambda request, reply: (
                retrieved(request, reply) and reply.json["id"] != next(iter(request.created))
            ),
        ),
        "4.2.1",
    ),
    server(
        "redirects a retrieve",
        replying(
            Reply(status=307, content=b"", headers={"location": "/elsewhere"}),
            lambda request: request.is_retrieve,
        ),
        "1.2 4.0.5 4.2.1 4.2.2 4.2.6 4.2.7 5.4 5.5 7.5 7.8 7.9",
        "1.3",
    ),
    server("lists no metadata", fields(listed, metadata=...), "2.1.11 2.1.15 2.2.1"),
    server(
        "lists other ids",
        fields(listed, id=lambda id_: f"{id_[:-1]}_"),
        "2.2.1 4.3.1 4.3.10",
        "2.1.1 2.2.3 4.3.12",
    ),
    server(
        "lists a payment as another one on pages of one",
        fields(with_limit("1"), amount=999),
        "2.2.1",
    ),
    server(
        "lists other metadata on pages of five",
        fields(with_limit("5"), metadata=lambda metadata: {**metadata, "run": "other"}),
        "2.2.1",
    ),
    server("completes what is read", completing),
)

OWNERS = (
    server(
        "says 400 of an unknown id",
        answering(
            refusal(400, "payment_not_found", "id"),
            lambda request, reply: is_unknown(request, reply) and request.is_of_owner,
        ),
        "4.2.6 7.9",
        "4.2.1",
    ),
    server(
        "says 410 of all", statuses(410, of_status(404)), "4.2.6 4.2.7 5.5 7.9", "1.3 4.0.3 4.2.1"
    ),
    server("says 403 to others", statuses(403, is_foreign), "4.2.7 5.5 7.9", "1.3"),
    server("says 401 to others", statuses(401, is_foreign), "4.2.7 5.5 7.9", "5.4"),
    server(
        "shows payments to others",
        requests(
            Request.by_owner,
            lambda request: request.is_retrieve and is_known_key(request),
        ),
        "4.2.7 5.5 7.9",
    ),
    server(
        "lists payments to others",
        requests(
            Request.by_owner,
            lambda request: (
                bool(request.earlier)
                and request.is_list
                and "after" not in request.query
                and is_known_key(request)
            ),
        ),
        "5.5",
    ),
    server(
        "writes another text about others",
        replies(
            lambda _, reply: refusal(404, reply.code, message="It belongs to another account."),
            lambda request, reply: (
                is_unknown(request, reply) and request.path.rpartition("/")[2] in request.created
            ),
        ),
        assumes="4.2.7",
    ),
    server(
        "tells of others",
        answering(
            refusal(404, "not_yours"),
            lambda request, reply: (
                is_unknown(request, reply) and request.path.rpartition("/")[2] in request.created
            ),
        ),
        assumes="4.2.7",
    ),
)

SERVERS = (*FIELDS, *PLACES, *OWNERS)
