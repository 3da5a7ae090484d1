"""Servers that return a payment otherwise in one place: when it is created, retrieved or listed."""

from typing import Any

from tests.verify.servers.creating import the_answer_of_a_create_call
from tests.verify.servers.objects import of_a_retrieve
from tests.verify.servers.server import Server, server
from tests.verify.wrong import Asked, Change, MakeChange, Reply, Serve, lists

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

# What is wrong with such a value wherever it is returned.
_NEVER = {"object": ("2.1.2",), "currency": ("2.1.4", "9.2"), "completed_at": ("2.1.14",)}
# What is wrong with it in the response of a create call.
_NOT_AS_REQUESTED = {
    "amount": ("2.1.3",),
    "method": ("2.1.6",),
    "checkout_url": ("1.4",),
    "success_url": ("2.1.9",),
    "cancel_url": ("2.1.10",),
    "metadata": ("2.1.11", "4.1.8", "8.2"),
    "created_at": ("2.1.8", "4.1.11", "4.1.12", "8.3", "8.4"),
    "expires_at": ("2.1.8", "4.1.11", "4.1.12", "8.3", "8.4"),
}
_NOT_AS_ASSUMED = {"status": ("2.1.5",), "created_at": ("4.3.12",)}


def retrieved_with(**members: Any) -> MakeChange:
    """A retrieve with some members changed; one that is `...` is absent."""

    def edited(reply: Reply) -> Reply:
        merged = {**reply.json, **members}
        return reply.saying({name: value for name, value in merged.items() if value is not ...})

    return of_a_retrieve(edited)


def listed_with(**members: Any) -> MakeChange:
    """Every listed payment with some members changed."""
    return lists(lambda _, page: {**page, "data": [{**one, **members} for one in page["data"]]})


def listed_without(name: str) -> MakeChange:
    def edited(_: Asked, page: dict[str, Any]) -> dict[str, Any]:
        data = [{key: one[key] for key in one if key != name} for one in page["data"]]
        return {**page, "data": data}

    return lists(edited)


def on_pages_of(limit: str, edit: Any) -> MakeChange:
    """Only the payments of some lists changed."""

    def edited(asked: Asked, page: dict[str, Any]) -> dict[str, Any]:
        if asked.query.get("limit") != limit:
            return page
        return {**page, "data": [edit(one) for one in page["data"]]}

    return lists(edited)


def with_an_unknown_id(payment: dict[str, Any]) -> dict[str, Any]:
    return {**payment, "id": payment["id"][:-1] + "_"}


def that_completes_payments_on_reading() -> Change:
    """A payment that is retrieved is completed, and is listed as such from then on."""
    retrieved: set[str] = set()

    def completed(payment: dict[str, Any]) -> dict[str, Any]:
        if payment["id"] not in retrieved:
            return payment
        at = payment["created_at"]
        return {**payment, "status": "completed", "method": "telebirr", "completed_at": at}

    async def change(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        if asked.is_retrieve and answer.status == 200:
            retrieved.add(answer.json["id"])
            return answer.saying(completed(answer.json))
        if asked.is_list and answer.status == 200 and "status" not in asked.query:
            data = [completed(one) for one in answer.json["data"]]
            return answer.saying({**answer.json, "data": data})
        return answer

    return change


def _created(name: str) -> Server:
    return server(
        f"creates another {name}",
        the_answer_of_a_create_call(**{name: OTHER[name]}),
        *("4.1.15", *_NEVER.get(name, ()), *_NOT_AS_REQUESTED.get(name, ())),
        assumes=_NOT_AS_ASSUMED.get(name, ()),
    )


def _retrieved(name: str) -> Server:
    make = retrieved_with(**{name: OTHER[name]})
    return server(f"retrieves another {name}", make, "4.2.3", *_NEVER.get(name, ()))


def _listed(name: str) -> Server:
    make = listed_with(**{name: OTHER[name]})
    return server(f"lists another {name}", make, "2.2.1", *_NEVER.get(name, ()))


SERVERS = (
    *(_created(name) for name in OTHER),
    *(_retrieved(name) for name in OTHER),
    *(_listed(name) for name in OTHER),
    server("retrieves no method", retrieved_with(method=...), "2.1.6", "2.1.15", "4.2.3"),
    server("lists no metadata", listed_without("metadata"), "2.1.11", "2.1.15", "2.2.1"),
    server("retrieves another id", retrieved_with(id="pay_AAAAAAAAAAAAAAAAAAAAAAAA"), "4.2.3"),
    server(
        "lists other ids",
        lists(lambda _, page: {**page, "data": [with_an_unknown_id(one) for one in page["data"]]}),
        *("2.2.1", "4.3.1", "4.3.10"),
        assumes=("2.1.1", "2.2.3", "4.3.12"),
    ),
    server(
        "retrieves everything as completed",
        retrieved_with(status="completed", method="mpesa", completed_at=OTHER["completed_at"]),
        "4.2.3",
    ),
    server(
        "lists a payment as another one on pages of one",
        on_pages_of("1", lambda one: {**one, "amount": 999}),
        "2.2.1",
    ),
    server(
        "lists other metadata on pages of five",
        on_pages_of("5", lambda one: {**one, "metadata": {**one["metadata"], "run": "other"}}),
        "2.2.1",
    ),
    server("completes what is read", that_completes_payments_on_reading),
    server(
        "lists offsets",
        lists(
            lambda _, page: {
                **page,
                "data": [
                    {**one, "created_at": one["created_at"].replace("Z", "+00:00")}
                    for one in page["data"]
                ],
            }
        ),
        assumes=("2.1.12",),
    ),
)
