"""Servers with errors in authentication, in creating payments and in idempotency."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.verify.servers.server import server
from tests.verify.wrong import (
    Asked,
    Change,
    Reply,
    Serve,
    answering,
    asking,
    once,
    refusal,
    replying,
)

NO_KEY = refusal(401, "missing_api_key", www_authenticate="Bearer")
REUSED = refusal(409, "idempotency_key_reused", "idempotency_key")


def served_with_any_key(*, only_if_missing: bool) -> Any:
    """The owner is the account of the first request."""

    def make() -> Change:
        owner = ""

        async def change(asked: Asked, serve: Serve) -> Reply:
            nonlocal owner
            owner = owner or asked.key
            answer = await serve(asked)
            is_missing = "authorization" not in asked.headers
            is_basic = asked.headers.get("authorization", "").startswith("Basic ")
            if answer.status != 401 or is_basic or is_missing is not only_if_missing:
                return answer
            return await serve(asked.with_headers(authorization=f"Bearer {owner}"))

        return change

    return make


def served_by_basic() -> Change:
    owner = ""

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal owner
        owner = owner or asked.key
        if asked.headers.get("authorization", "").startswith("Basic "):
            return await serve(asked.with_headers(authorization=f"Bearer {owner}"))
        return await serve(asked)

    return change


def without_a_challenge(_: Asked, reply: Reply) -> Reply:
    return reply.with_headers(www_authenticate=None)


async def that_creates_nothing(asked: Asked, serve: Serve) -> Reply:
    answer = await serve(asked)
    return refusal(400, "not_today") if answer.status == 201 else answer


def refusing_method(method: str) -> Any:
    return replying(
        lambda asked: asked.is_create and method in asked.body.get("methods", ()),
        refusal(400, "invalid_methods", "methods"),
    )


def refusing_created(is_wrong: Callable[[dict[str, Any]], bool], code: str, param: str) -> Any:
    """Some create calls with a body are refused."""
    return replying(
        lambda asked: asked.is_create and bool(asked.body) and is_wrong(asked.body),
        refusal(400, code, param),
    )


REFUSES_UNKNOWN_PARAMETERS = refusing_created(
    lambda body: "made_by_verify" in body, "unknown_parameter", "made_by_verify"
)


def created_with(status: int) -> Any:
    def edit(_: Asked, reply: Reply) -> Reply:
        return reply.with_status(status) if reply.status == 201 else reply

    return answering(edit)


def the_answer_of_a_create_call(**members: Any) -> Any:
    def edit(_: Asked, reply: Reply) -> Reply:
        return reply.saying({**reply.json, **members}) if reply.status == 201 else reply

    return answering(edit)


def without_a_location(_: Asked, reply: Reply) -> Reply:
    return reply.with_headers(location=None)


def that_always_takes_half_an_hour(asked: Asked) -> Asked:
    if asked.is_create and asked.body.get("expires_in") == 600:
        return asked.with_body({**asked.body, "expires_in": 1800})
    return asked


def whose_default_is_an_hour(asked: Asked) -> Asked:
    if asked.is_create and asked.body and "expires_in" not in asked.body:
        return asked.with_body({**asked.body, "expires_in": 3600})
    return asked


def that_gives_an_id_twice() -> Change:
    first = ""

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal first
        answer = await serve(asked)
        if answer.status != 201:
            return answer
        first = first or answer.json["id"]
        return answer if "metadata" in asked.body else answer.saying({**answer.json, "id": first})

    return change


def with_metadata_of_its_own(asked: Asked) -> Asked:
    if asked.is_create and asked.body and "metadata" not in asked.body:
        return asked.with_body({**asked.body, "metadata": {"source": "api"}})
    return asked


def without_a_key(asked: Asked) -> Asked:
    body = {name: value for name, value in asked.body.items() if name != "idempotency_key"}
    return asked.with_body(body) if isinstance(asked.body.get("idempotency_key"), str) else asked


def that_ignores_keys_and_responds_out_of_order() -> Change:
    """The payment that is created first of two concurrent ones is returned last."""
    is_created, is_returned = asyncio.Event(), asyncio.Event()
    count = 0

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal count
        if "together" not in str(asked.body.get("idempotency_key")):
            return await serve(without_a_key(asked))
        count += 1
        if count == 1:
            answer = await serve(without_a_key(asked))
            is_created.set()
            await is_returned.wait()
            return answer
        await is_created.wait()
        answer = await serve(without_a_key(asked))
        is_returned.set()
        return answer

    return change


def that_forgets_concurrent_keys(asked: Asked) -> Asked:
    return without_a_key(asked) if "together" in str(asked.body.get("idempotency_key")) else asked


def that_pays_twice() -> Change:
    """A retry gets the first answer, and there is a second payment all the same."""
    known: set[object] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        key = asked.body.get("idempotency_key")
        if answer.status == 201 and isinstance(key, str) and asked.is_create:
            if key in known:
                await serve(without_a_key(asked))
            known.add(key)
        return answer

    return change


def a_retry_with_200(_: Asked, reply: Reply) -> Reply:
    return reply.with_status(200) if "idempotent-replayed" in reply.headers else reply


def a_retry_like_any_other(_: Asked, reply: Reply) -> Reply:
    return reply.with_headers(idempotent_replayed=None)


def a_retry_in_new_words(_: Asked, reply: Reply) -> Reply:
    if "idempotent-replayed" not in reply.headers:
        return reply
    return reply.saying({**reply.json, "metadata": {}})


def that_replays_whatever_is_asked() -> Change:
    answers: dict[object, Reply] = {}

    async def change(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        key = str(asked.body.get("idempotency_key"))
        if answer.status == 201:
            answers[key] = answer
        return answers[key] if answer.status == 409 and key in answers else answer

    return change


def whose_refusals_use_a_key_up() -> Change:
    used: set[str] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        key = asked.body.get("idempotency_key")
        if isinstance(key, str) and key in used:
            return REUSED
        answer = await serve(asked)
        if answer.status == 400 and isinstance(key, str):
            used.add(key)
        return answer

    return change


def whose_keys_are_everybodys() -> Change:
    owners: dict[str, str] = {}

    async def change(asked: Asked, serve: Serve) -> Reply:
        key = asked.body.get("idempotency_key")
        if isinstance(key, str) and owners.setdefault(key, asked.key) != asked.key:
            return REUSED
        return await serve(asked)

    return change


_OF_REFUSALS = ("4.1.13", "4.1.14")

SERVERS = (
    server("asks for no key", served_with_any_key(only_if_missing=True), "4.0.5", "5.4", "7.8"),
    server("takes any key", served_with_any_key(only_if_missing=False), "5.4", "7.8"),
    server("takes the scheme Basic", served_by_basic, assumes=("5.1",)),
    server(
        "counts the case of Bearer",
        replying(
            lambda asked: asked.headers.get("authorization", "").startswith("bearer "), NO_KEY
        ),
        assumes=("5.1",),
    ),
    server(
        "forgets a key that it took",
        replying(lambda asked: asked.path == "/v1/no_such_call", NO_KEY),
        "5.1",
        "7.9",
    ),
    server("says nothing of Bearer", answering(without_a_challenge), assumes=("5.4",)),
    server(
        "creates nothing", once(that_creates_nothing), "4.1.1", assumes=("2.1.16", *_OF_REFUSALS)
    ),
    server("creates with 200", created_with(200), "4.1.16", "7.6"),
    server("creates with 202", created_with(202), "4.1.16", "7.6", assumes=("1.3",)),
    server("creates a charge", the_answer_of_a_create_call(object="charge"), "2.1.2", "4.1.15"),
    server(
        "begins in processing",
        the_answer_of_a_create_call(status="processing"),
        "4.1.15",
        assumes=("2.1.5",),
    ),
    server("has no Location", answering(without_a_location), assumes=("4.1.16",)),
    server("does not know mpesa", refusing_method("mpesa"), assumes=("2.1.16",)),
    server("does not know telebirr", refusing_method("telebirr"), assumes=("2.1.16",)),
    server(
        "has no short expiries",
        refusing_created(
            lambda body: body.get("expires_in") == 600, "invalid_expires_in", "expires_in"
        ),
        assumes=("8.9",),
    ),
    server("ignores expires_in", asking(that_always_takes_half_an_hour), "4.1.11"),
    server(
        "expires after an hour", asking(whose_default_is_an_hour), "2.1.8", "4.1.12", "8.3", "8.4"
    ),
    server("gives an id twice", that_gives_an_id_twice, "2.1.1"),
    server("has metadata of its own", asking(with_metadata_of_its_own), assumes=("2.1.11",)),
    server(
        "asks for metadata",
        refusing_created(lambda body: "metadata" not in body, "missing_parameter", "metadata"),
        assumes=("4.1.13",),
    ),
    server("is strict", REFUSES_UNKNOWN_PARAMETERS, assumes=("4.1.14",)),
    server(
        "knows no idempotency",
        asking(without_a_key),
        "4.1.10",
        "4.1.19",
        "7.10",
        assumes=("4.1.23",),
    ),
    server(
        "ignores keys and responds out of order",
        that_ignores_keys_and_responds_out_of_order,
        "4.1.10",
        "4.1.19",
        "7.10",
        assumes=("4.1.23",),
    ),
    server(
        "takes no idempotency key",
        refusing_created(
            lambda body: "idempotency_key" in body, "invalid_idempotency_key", "idempotency_key"
        ),
        "4.1.10",
    ),
    server("has a second payment", that_pays_twice, "4.1.10"),
    server("replays with 200", answering(a_retry_with_200), assumes=("4.1.20",)),
    server("replays in new words", answering(a_retry_in_new_words), assumes=("4.1.20",)),
    server("does not tell a replay", answering(a_retry_like_any_other), assumes=("4.1.20",)),
    server("never says 409", that_replays_whatever_is_asked, "4.1.19", "7.10"),
    server("uses a key up in vain", whose_refusals_use_a_key_up, assumes=("4.1.21",)),
    server("shares keys", whose_keys_are_everybodys, assumes=("4.1.21",)),
    server("creates two at once", asking(that_forgets_concurrent_keys), assumes=("4.1.23",)),
)
