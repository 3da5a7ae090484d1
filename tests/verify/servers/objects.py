"""Servers whose payments look otherwise, and servers that show them to the wrong people."""

from dataclasses import replace
from typing import Any

from tests.verify.servers.server import server
from tests.verify.wrong import (
    Asked,
    Change,
    Reply,
    Serve,
    answering,
    once,
    payments,
    refusal,
    setting,
)

Payment = dict[str, Any]


def whose_ids_begin_with(prefix: str) -> Any:
    """Every id, wherever it stands; and the other way round when it comes back."""

    def renamed(value: Any, since: str, to: str) -> Any:
        if isinstance(value, dict):
            return {name: renamed(one, since, to) for name, one in value.items()}
        if isinstance(value, list):
            return [renamed(one, since, to) for one in value]
        is_id = isinstance(value, str) and value.startswith(since)
        return f"{to}{value.removeprefix(since)}" if is_id else value

    async def change(asked: Asked, serve: Serve) -> Reply:
        known = replace(
            asked,
            path=asked.path.replace(f"/{prefix}", "/pay_"),
            query=renamed(asked.query, prefix, "pay_"),
        )
        answer = await serve(known)
        location = answer.headers.get("location", "").replace("/pay_", f"/{prefix}")
        named = answer.saying(renamed(answer.json, "pay_", prefix))
        return named.with_headers(location=location) if location else named

    return once(change)


def with_an_offset(payment: Payment) -> Payment:
    return {
        **payment,
        "created_at": payment["created_at"].replace("Z", "+00:00"),
        "expires_at": payment["expires_at"].replace("Z", "+00:00"),
    }


def turned_round(payment: Payment) -> Payment:
    return dict(reversed(payment.items()))


def with_half_its_metadata(payment: Payment) -> Payment:
    pairs = list(payment["metadata"].items())
    return {**payment, "metadata": dict(pairs[:10])}


def with_an_addition(payment: Payment) -> Payment:
    return {**payment, "success_url": f"{payment['success_url']}&payment=1"}


def of_a_retrieve(edit: Any) -> Any:
    def edited(asked: Asked, reply: Reply) -> Reply:
        return edit(reply) if asked.is_retrieve and reply.status == 200 else reply

    return answering(edited)


def with_202(reply: Reply) -> Reply:
    return reply.with_status(202)


def with_404(_: Reply) -> Reply:
    return refusal(404, "payment_not_found")


def for_another_order(reply: Reply) -> Reply:
    return reply.saying({**reply.json, "amount": 999})


def that_retrieves_only_the_first_payment() -> Change:
    first = ""

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal first
        answer = await serve(asked)
        if answer.status == 201:
            first = first or answer.json["id"]
        if asked.is_retrieve and answer.status == 200 and answer.json["id"] != first:
            return refusal(404, "payment_not_found")
        return answer

    return change


def whose_unknown_ids_are_bad() -> Change:
    """To the owner of the first key, that is."""
    owner = ""

    async def change(asked: Asked, serve: Serve) -> Reply:
        nonlocal owner
        owner = owner or asked.key
        answer = await serve(asked)
        is_it = asked.is_retrieve and answer.status == 404 and asked.key == owner
        return refusal(400, "payment_not_found", "id") if is_it else answer

    return change


def that_shows(*, lists: bool) -> Any:
    """Everything to everybody: what is asked for is asked for as its owner."""

    def make() -> Change:
        owner = ""

        async def change(asked: Asked, serve: Serve) -> Reply:
            nonlocal owner
            owner = owner or asked.key
            is_shown = (
                (asked.is_list and "after" not in asked.query) if lists else asked.is_retrieve
            )
            is_known = asked.key.startswith("test_run_")
            if is_shown and is_known:
                return await serve(asked.with_headers(authorization=f"Bearer {owner}"))
            return await serve(asked)

        return change

    return make


def that_tells_of_others() -> Change:
    """A payment of another account is a 404 with a code of its own."""
    known: set[str] = set()

    async def change(asked: Asked, serve: Serve) -> Reply:
        answer = await serve(asked)
        if answer.status == 201:
            known.add(answer.json["id"])
        is_known = asked.path.rpartition("/")[2] in known
        return refusal(404, "not_yours") if answer.status == 404 and is_known else answer

    return change


SERVERS = (
    server("has other ids", whose_ids_begin_with("tx_"), "2.1.1", "2.2.3"),
    server("has longer ids", whose_ids_begin_with("pay_test_"), assumes=("2.1.1",)),
    server("has charges", setting(object="charge"), "2.1.2", "4.1.15"),
    server(
        "has amounts as text", payments(lambda one: {**one, "amount": str(one["amount"])}), "2.1.3"
    ),
    server(
        "has amounts in birr",
        payments(lambda one: {**one, "amount": one["amount"] // 100}),
        "2.1.3",
    ),
    server("has dollars", setting(currency="USD"), "2.1.4", "9.2"),
    server("has a status of its own", setting(status="open"), "2.1.5", "3.1", "4.3.5"),
    server("chooses the method itself", setting(method="telebirr"), "2.1.6"),
    server("has a list of methods", setting(method=["telebirr"]), "2.1.6"),
    server("has half a checkout URL", setting(checkout_url="/c/1"), "1.4", "2.1.7"),
    server("has half an address", setting(checkout_url="https://["), "1.4", "2.1.7"),
    server("has one checkout for all", setting(checkout_url="https://pay.example/"), "1.4"),
    server(
        "has its pages at the API",
        payments(lambda one: {**one, "checkout_url": f"http://127.0.0.1:8080/{one['id']}"}),
        "1.10",
    ),
    server("has no success URL", setting(success_url=None), "2.1.9"),
    server("appends to the success URL", payments(with_an_addition), "2.1.9"),
    server("has no cancel URL", setting(cancel_url=...), "2.1.10", "2.1.15"),
    server("has metadata as a list", setting(metadata=[]), "2.1.11", "4.1.8", "8.2"),
    server("keeps half of metadata", payments(with_half_its_metadata), "2.1.11", "4.1.8", "8.2"),
    server("has seconds for creation", setting(created_at=1_767_225_600), "2.1.12"),
    server("has a thirteenth month", setting(created_at="2026-13-01T00:00:00Z"), "2.1.12"),
    server("has seconds for expiry", setting(expires_at=1_767_225_600), "2.1.13"),
    server("writes offsets", payments(with_an_offset), assumes=("2.1.12", "2.1.13")),
    server("completes at once", setting(completed_at="2026-01-01T00:00:00.000Z"), "2.1.14"),
    server("has another completion", setting(completed_at=""), "2.1.14"),
    server("has a fourteenth field", setting(description=""), assumes=("2.1.15",)),
    server("has another order of fields", payments(turned_round), assumes=("2.1.15",)),
    server("retrieves with 202", of_a_retrieve(with_202), "7.5", assumes=("1.3",)),
    server("retrieves nothing", of_a_retrieve(with_404), "4.2.1", "4.2.2", "7.5"),
    server("retrieves something else", of_a_retrieve(for_another_order), "4.2.3"),
    server("retrieves only one payment", that_retrieves_only_the_first_payment, "4.2.1"),
    server(
        "says 400 of an unknown id",
        whose_unknown_ids_are_bad,
        "4.2.6",
        "7.9",
    ),
    server("shows payments to others", that_shows(lists=False), "4.2.7", "5.5", "7.9"),
    server("lists payments to others", that_shows(lists=True), "5.5"),
    server("tells of others", that_tells_of_others, assumes=("4.2.7",)),
)
