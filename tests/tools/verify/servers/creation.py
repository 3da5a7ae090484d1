"""Servers with errors in authentication, in creating payments and in idempotency."""

import json
from collections.abc import Callable

from tests.tools.verify.servers.server import server
from tests.tools.verify.wrong import (
    PAYMENTS,
    Change,
    Object,
    Reply,
    Request,
    RequestFilter,
    Serve,
    answering,
    changed,
    created,
    fields,
    headers,
    of_status,
    refusal,
    replies,
    replying,
    requests,
    statuses,
)

NO_KEY = refusal(401, "missing_api_key", www_authenticate="Bearer")
REUSED = refusal(409, "idempotency_key_reused", "idempotency_key")


def creating(is_meant: Callable[[Object], bool]) -> RequestFilter:
    """Matches create calls with some bodies."""
    return lambda request: request.is_create and bool(request.body) and is_meant(request.body)


def refusing(param: str, is_meant: Callable[[Object], bool], code: str = "") -> Change:
    return replying(refusal(400, code or f"invalid_{param}", param), creating(is_meant))


def refusing_method(method: str) -> Change:
    return refusing("methods", lambda body: method in body.get("methods", ()))


def with_default(name: str, value: object) -> Change:
    return requests(
        lambda request: request.with_members(**{name: value}),
        creating(lambda body: name not in body),
    )


def is_unusual(value: object) -> bool:
    """Whether a URL is long, or metadata has a name with a blank."""
    return "Alpha Beta" in value if isinstance(value, dict) else len(str(value)) > 255


REFUSES_UNKNOWN_PARAMETERS = refusing(
    "made_by_verify", lambda body: "made_by_verify" in body, "unknown_parameter"
)


def owner(request: Request) -> str:
    return request.earlier[0][0].key


def is_longer_key(request: Request) -> bool:
    """Whether a request has the owner's key with more letters."""
    return bool(request.earlier) and request.key.startswith(owner(request))


def _lower_key(request: Request) -> str:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return f"{scheme} {key.lower()}"


def comparing(is_compared: Callable[[str], bool]) -> Change:
    """A used key is in conflict only with some of the parameters."""

    def is_same(request: Request, reply: Reply) -> bool:
        used = request.earlier_with_key(201) if reply.status == 409 else []
        return any(
            all(
                request.body.get(name) == each.body.get(name)
                for name in each.body
                if is_compared(name)
            )
            for each, _ in used
        )

    return replies(lambda request, _: request.earlier_with_key(201)[0][1], is_same)


def in_order(body: Object) -> str:
    return json.dumps([body, body.get("metadata")])


def without_key(request: Request) -> Request:
    return request.with_members(idempotency_key=...) if request.idempotency_key else request


def is_concurrent(request: Request) -> bool:
    return "together" in request.idempotency_key


def is_replay(_: Request, reply: Reply) -> bool:
    return "idempotent-replayed" in reply.headers


async def out_of_order(request: Request, serve: Serve) -> Reply:
    """The payment that is created first of two concurrent ones is returned last."""
    if not is_concurrent(request):
        return await serve(without_key(request))
    is_first = not request.events
    is_created, is_returned = request.events["created"], request.events["returned"]
    if is_first:
        reply = await serve(without_key(request))
        is_created.set()
        await is_returned.wait()
        return reply
    await is_created.wait()
    reply = await serve(without_key(request))
    is_returned.set()
    return reply


async def with_second_payment(request: Request, serve: Serve) -> Reply:
    """A retry gets the first reply, and creates a second payment all the same."""
    if request.earlier_with_key(201):
        await serve(without_key(request))
    return await serve(request)


AUTHENTICATION = (
    server(
        "asks for no key",
        requests(Request.by_owner, lambda request: not request.scheme),
        "4.0.5 5.4 7.8",
    ),
    server(
        "takes any key",
        requests(
            Request.by_owner,
            lambda request: request.scheme == "Bearer" and not request.key.startswith("test_run_"),
        ),
        "5.4 7.8",
    ),
    *(
        server(
            f"asks for no key for {what}",
            requests(
                Request.by_owner,
                lambda request, is_meant=is_meant: is_meant(request) and not request.scheme,
            ),
            "4.0.5 5.4 7.8",
        )
        for what, is_meant in (
            ("a list", lambda request: request.is_list),
            ("a payment", lambda request: request.is_retrieve),
            ("a create call", lambda request: request.is_create),
        )
    ),
    server(
        "takes any key for a payment",
        requests(
            Request.by_owner,
            lambda request: request.is_retrieve and not request.key.startswith("test_run_"),
        ),
        "4.0.5 5.4 7.8",
    ),
    server(
        "takes keys in any case",
        requests(lambda request: request.with_headers(authorization=_lower_key(request))),
        "5.4 7.8",
    ),
    server(
        "compares the beginning of keys",
        requests(
            Request.by_owner,
            lambda request: request.scheme == "Bearer" and is_longer_key(request),
        ),
        "5.4 7.8",
    ),
    server(
        "looks for the route before the key",
        replying(
            refusal(404, "route_not_found"),
            lambda request: request.path == "/v1/unknown",
        ),
        assumes="4.0.5",
    ),
    server(
        "takes the scheme Basic",
        requests(Request.by_owner, lambda request: request.scheme == "Basic"),
        assumes="5.1",
    ),
    server(
        "takes a key without a scheme",
        requests(
            Request.by_owner,
            lambda request: bool(request.earlier) and request.scheme == owner(request),
        ),
        assumes="5.1",
    ),
    server(
        "counts the case of Bearer",
        replying(NO_KEY, lambda request: request.scheme == "bearer"),
        assumes="5.1",
    ),
    server(
        "forgets a key that it took",
        replying(NO_KEY, lambda request: request.path == "/v1/no_such_call"),
        "5.1 7.9",
    ),
    server("says nothing of Bearer", headers(www_authenticate=None), assumes="5.4"),
    server("has another scheme", headers(of_status(401), www_authenticate="Basic"), assumes="5.4"),
    server("says 403 of a missing key", statuses(403, of_status(401)), "4.0.5 5.4 7.8", "1.3 5.1"),
    server("says 400 of a missing key", statuses(400, of_status(401)), "4.0.5 5.4 7.8", "5.1"),
)

CREATION = (
    server(
        "creates nothing",
        answering(refusal(400, "not_today"), created),
        "4.1.1",
        "2.1.16 4.1.13 4.1.14",
    ),
    server("creates with 200", statuses(200, created), "4.1.16 7.6"),
    server("creates with 202", statuses(202, created), "4.1.16 7.6", "1.3"),
    server("creates a charge", fields(created, object="charge"), "2.1.2 4.1.15"),
    server("begins in processing", fields(created, status="processing"), "4.1.15", "2.1.5"),
    server("has no Location", headers(location=None), assumes="4.1.16"),
    server("has a path without an id", headers(created, location=PAYMENTS), assumes="4.1.16"),
    server("does not know mpesa", refusing_method("mpesa"), assumes="2.1.16"),
    server("does not know telebirr", refusing_method("telebirr"), assumes="2.1.16"),
    server(
        "has no short expiries",
        refusing("expires_in", lambda body: body.get("expires_in") == 600),
        assumes="8.9",
    ),
    server(
        "ignores expires_in",
        requests(
            lambda request: request.with_members(expires_in=1800),
            creating(lambda body: body.get("expires_in") == 600),
        ),
        "4.1.11",
    ),
    server("expires after an hour", with_default("expires_in", 3600), "2.1.8 4.1.12 8.3 8.4"),
    server(
        "gives an id twice",
        replies(
            lambda request, reply: reply.with_json(
                changed(reply.json, {"id": next(iter(request.created))})
            ),
            lambda request, reply: reply.status == 201 and "metadata" not in request.body,
        ),
        "2.1.1",
    ),
    server(
        "has metadata of its own", with_default("metadata", {"source": "api"}), assumes="2.1.11"
    ),
    server(
        "asks for metadata",
        refusing("metadata", lambda body: "metadata" not in body, "missing_parameter"),
        assumes="4.1.13",
    ),
    *(
        server(
            f"refuses an unusual {param}",
            refusing(param, lambda body, param=param: is_unusual(body.get(param))),
            assumes=number,
        )
        for param, number in (
            ("success_url", "4.1.6"),
            ("cancel_url", "4.1.7"),
            ("metadata", "4.1.8"),
        )
    ),
    server("is strict", REFUSES_UNKNOWN_PARAMETERS, assumes="4.1.14"),
    server(
        "refuses the smallest amount",
        refusing("amount", lambda body: body.get("amount") == 100),
        "4.1.3 8.1",
    ),
    server(
        "refuses 20 pairs",
        refusing("metadata", lambda body: len(body.get("metadata") or ()) == 20),
        "4.1.8 8.2",
    ),
)

IDEMPOTENCY = (
    server("knows no idempotency", requests(without_key), "4.1.10 4.1.19 7.10", "4.1.23"),
    server("ignores keys and responds out of order", out_of_order, "4.1.10 4.1.19 7.10", "4.1.23"),
    server(
        "takes no idempotency key",
        refusing("idempotency_key", lambda body: "idempotency_key" in body),
        "4.1.10",
        "4.1.13",
    ),
    server("has a second payment", with_second_payment, "4.1.10"),
    server("replays with 200", statuses(200, is_replay), assumes="4.1.20"),
    server("replays in new words", fields(is_replay, metadata={}), assumes="4.1.20"),
    server("does not tell a replay", headers(idempotent_replayed=None), assumes="4.1.20"),
    server(
        "tells of a replay always", headers(created, idempotent_replayed="true"), assumes="4.1.20"
    ),
    server(
        "never says 409",
        replies(
            lambda request, _: request.earlier_with_key(201)[-1][1],
            lambda request, reply: reply.status == 409 and bool(request.earlier_with_key(201)),
        ),
        "4.1.19 7.10",
    ),
    server("says 400 of a conflict", statuses(400, of_status(409)), "4.1.19 7.10"),
    server("says 200 of a conflict", statuses(200, of_status(409)), "4.1.19 7.10"),
    server(
        "says 409 of a retry",
        answering(
            REUSED,
            lambda request, reply: (
                reply.status == 201
                and any(each.key == request.key for each, _ in request.earlier_with_key(201))
            ),
        ),
        "4.1.10",
        "4.1.19",
    ),
    server(
        "uses a key up in vain",
        replying(REUSED, lambda request: bool(request.earlier_with_key(400))),
        assumes="4.1.21",
    ),
    server(
        "shares keys",
        replying(
            REUSED,
            lambda request: any(
                each.key != request.key for each, _ in request.earlier_with_key(201)
            ),
        ),
        assumes="4.1.21",
    ),
    *(
        server(
            f"compares no {left_out}",
            comparing(lambda name, left_out=left_out: name != left_out),
            "4.1.19 7.10",
        )
        for left_out in ("amount", "success_url", "cancel_url", "metadata", "expires_in")
    ),
    server("compares only the amount", comparing(lambda name: name == "amount"), "4.1.19 7.10"),
    server(
        "ignores the case of keys",
        requests(
            lambda request: request.with_members(idempotency_key=request.idempotency_key.lower()),
            lambda request: bool(request.idempotency_key),
        ),
        "4.1.10",
    ),
    server(
        "cuts keys",
        requests(
            lambda request: request.with_members(idempotency_key=request.idempotency_key[:64]),
            lambda request: bool(request.idempotency_key),
        ),
        "4.1.10",
    ),
    server(
        "refuses null",
        refusing("idempotency_key", lambda body: body.get("idempotency_key", "") is None),
        assumes="4.1.13",
    ),
    server(
        "compares the order of members",
        answering(
            REUSED,
            lambda request, reply: (
                reply.status == 201
                and any(
                    each.key == request.key and in_order(each.body) != in_order(request.body)
                    for each, _ in request.earlier_with_key(201)
                )
            ),
        ),
        assumes="4.1.19",
    ),
    server("creates two at once", requests(without_key, is_concurrent), assumes="4.1.23"),
)

SERVERS = (*AUTHENTICATION, *CREATION, *IDEMPOTENCY)
