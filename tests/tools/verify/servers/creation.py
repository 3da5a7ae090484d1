"""Servers with errors in authentication, in creating payments and in idempotency."""

from collections.abc import Callable

from emulator.tools.verify.contract import OTHER_VALUES
from tests.tools.verify.wrong import (
    AT_UNKNOWN_PATH,
    NO_ROUTE,
    PAYMENTS,
    Change,
    Object,
    Reply,
    Request,
    RequestFilter,
    Serve,
    answering,
    as_owner,
    at,
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


def refusing_unusual(param: str) -> Change:
    """Refuses a long URL, or metadata that has a name with a blank."""

    def is_unusual(body: Object) -> bool:
        value = body.get(param)
        return "Alpha Beta" in value if isinstance(value, dict) else len(str(value)) > 255

    return refusing(param, is_unusual)


def owner(request: Request) -> str:
    return request.earlier[0][0].key


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


def with_edited_key(edit: Callable[[str], str]) -> Change:
    return requests(
        lambda request: request.with_members(idempotency_key=edit(request.idempotency_key)),
        lambda request: bool(request.idempotency_key),
    )


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


AUTHENTICATION: dict[str, Change] = {
    "asks for no key: 4.0.5 5.4 7.8": as_owner(lambda request: not request.scheme),
    "takes any key: 5.4 7.8": as_owner(
        lambda request: request.scheme == "Bearer" and not request.key.startswith("test_run_"),
    ),
    "asks for no key for a list: 4.0.5 5.4 7.8": as_owner(
        lambda request: request.is_list and not request.scheme
    ),
    "asks for no key for a payment: 4.0.5 5.4 7.8": as_owner(
        lambda request: request.is_retrieve and not request.scheme
    ),
    "asks for no key for a create call: 4.0.5 5.4 7.8": as_owner(
        lambda request: request.is_create and not request.scheme
    ),
    "takes any key for a payment: 4.0.5 5.4 7.8": as_owner(
        lambda request: request.is_retrieve and not request.key.startswith("test_run_"),
    ),
    "looks for the route before the key: (4.0.5)": replying(NO_ROUTE, at("/v1/unknown")),
    "takes the scheme Basic: (5.1)": as_owner(lambda request: request.scheme == "Basic"),
    "takes a key without a scheme: (5.1)": as_owner(
        lambda request: bool(request.earlier) and request.scheme == owner(request)
    ),
    "counts the case of Bearer: (5.1)": replying(
        NO_KEY, lambda request: request.scheme == "bearer"
    ),
    "forgets a key that it took: 5.1 7.9": replying(NO_KEY, AT_UNKNOWN_PATH),
    "says nothing of Bearer: (5.4)": headers(www_authenticate=None),
    "has another scheme: (5.4)": headers(of_status(401), www_authenticate="Basic"),
    "says 403 of a missing key: 4.0.5 5.4 7.8 (1.3 5.1)": statuses(403, of_status(401)),
    "says 400 of a missing key: 4.0.5 5.4 7.8 (5.1)": statuses(400, of_status(401)),
}

CREATION = {
    "creates nothing: 4.1.1 (2.1.16 4.1.13 4.1.14)": answering(refusal(400, "not_today"), created),
    "creates with 202: 4.1.16 7.6 (1.3)": statuses(202, created),
    "has no Location: (4.1.16)": headers(location=None),
    "has a path without an id: (4.1.16)": headers(created, location=PAYMENTS),
    "does not know mpesa: (2.1.16)": refusing_method("mpesa"),
    "does not know telebirr: (2.1.16)": refusing_method("telebirr"),
    "has no short expiries: (8.9)": refusing(
        "expires_in", lambda body: body.get("expires_in") == 600
    ),
    "ignores expires_in: 4.1.11": requests(
        lambda request: request.with_members(expires_in=1800),
        creating(lambda body: body.get("expires_in") == 600),
    ),
    "expires after an hour: 2.1.8 4.1.12 8.3 8.4": with_default("expires_in", 3600),
    "gives an id twice: 2.1.1 (4.1.16)": replies(
        lambda request, reply: reply.with_json(
            changed(reply.json, {"id": next(iter(request.created))})
        ),
        lambda request, reply: reply.status == 201 and "metadata" not in request.body,
    ),
    "has metadata of its own: (2.1.11)": with_default("metadata", {"source": "api"}),
    "asks for metadata: (4.1.13)": refusing(
        "metadata", lambda body: "metadata" not in body, "missing_parameter"
    ),
    "refuses an unusual success_url: (4.1.6)": refusing_unusual("success_url"),
    "refuses an unusual cancel_url: (4.1.7)": refusing_unusual("cancel_url"),
    "refuses an unusual metadata: (4.1.8)": refusing_unusual("metadata"),
    "is strict: (4.1.14)": refusing(
        "made_by_verify", lambda body: "made_by_verify" in body, "unknown_parameter"
    ),
    "refuses the smallest amount: 4.1.3 8.1": refusing(
        "amount", lambda body: body.get("amount") == 100
    ),
    "refuses 20 pairs: 4.1.8 8.2": refusing(
        "metadata", lambda body: len(body.get("metadata") or ()) == 20
    ),
}

IDEMPOTENCY = {
    "knows no idempotency: 4.1.10 4.1.19 7.10 (4.1.23)": requests(without_key),
    "ignores keys and responds out of order: 4.1.10 4.1.19 7.10 (4.1.23)": out_of_order,
    "takes no idempotency key: 4.1.10 (4.1.13)": refusing(
        "idempotency_key", lambda body: "idempotency_key" in body
    ),
    "has a second payment: 4.1.10": with_second_payment,
    "replays with 200: (4.1.20)": statuses(200, is_replay),
    "replays in new words: (4.1.20)": fields(is_replay, metadata={}),
    "does not tell a replay: (4.1.20)": headers(idempotent_replayed=None),
    "tells of a replay always: (4.1.20)": headers(created, idempotent_replayed="true"),
    "never says 409: 4.1.19 7.10": replies(
        lambda request, _: request.earlier_with_key(201)[-1][1],
        lambda request, reply: reply.status == 409 and bool(request.earlier_with_key(201)),
    ),
    "says 400 of a conflict: 4.1.19 7.10": statuses(400, of_status(409)),
    "uses a key up in vain: (4.1.21)": replying(
        REUSED, lambda request: bool(request.earlier_with_key(400))
    ),
    "shares keys: (4.1.21)": replying(
        REUSED,
        lambda request: any(each.key != request.key for each, _ in request.earlier_with_key(201)),
    ),
    **{f"compares no {name}: 4.1.19 7.10": comparing(name.__ne__) for name in OTHER_VALUES},
    "compares only the amount: 4.1.19 7.10": comparing("amount".__eq__),
    "cuts keys: 4.1.10": with_edited_key(lambda key: key[:64]),
    "refuses null: (4.1.13)": refusing(
        "idempotency_key", lambda body: body.get("idempotency_key", "") is None
    ),
    "creates two at once: (4.1.23)": requests(without_key, is_concurrent),
}

TABLES = (AUTHENTICATION, CREATION, IDEMPOTENCY)
