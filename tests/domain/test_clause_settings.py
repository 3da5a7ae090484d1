"""Each setting of the fidelity table changes the behaviour of its clause."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from emulator.domain.accounts import RateLimit
from emulator.domain.clauses import CLAUSES
from emulator.domain.instants import parse_clock
from tests.cli.processes import free_port, serving
from tests.server.webhooks.receiver import Receiver, Reply, receiving, replies
from tests.world import TEST_KEY, World, headers, order, world

Json = dict[str, Any]
PHONES = [f"090000000{number}" for number in range(1, 5)]
ANY_PHONE = "0911111111"
FORM = {
    "version": 1,
    "name": "mine",
    "events": {"payment.created": None, "payment.processing": "paying"},
    "body": {"reference": "{payment.id}", "kind": "{event.type}"},
    "signature": {"algorithm": "none"},
}


class Place(NamedTuple):
    """A program, an endpoint that it may send webhooks to, and whether the setting is on."""

    emulator: World
    receiver: Receiver
    is_on: bool


Probe = Callable[[Place], Awaitable[Any]]


@dataclass(frozen=True)
class Row:
    """A setting of clauses: options, a scenario, or something that the probe does itself.

    `always` are options, and `without` is a scenario, that it is compared with.
    """

    numbers: str
    setting: str
    probe: Probe
    options: Json = field(default_factory=dict)
    rules: Json = field(default_factory=dict)
    without: Json = field(default_factory=dict)
    always: Json = field(default_factory=dict)


def seen(response: httpx.Response) -> tuple[Any, ...]:
    error = response.json().get("error", {})
    return response.status_code, error.get("code"), response.headers.get("emulator-warning")


def posts(**changes: Any) -> Probe:
    async def probe(place: Place) -> Any:
        body = order(**changes)
        response = await place.emulator.api.post("/v1/payments", json=body, headers=headers())
        return seen(response)

    return probe


async def posts_a_member_twice(place: Place) -> Any:
    text = json.dumps(order())[:-1] + ', "amount": 20000}'
    sent = {**headers(), "content-type": "application/json"}
    return seen(await place.emulator.api.post("/v1/payments", content=text, headers=sent))


def lists(query: str = "", key: str = TEST_KEY) -> Probe:
    async def probe(place: Place) -> Any:
        path = f"/v1/payments{query}"
        response = await place.emulator.api.get(path, headers=headers(key))
        kind = response.headers["content-type"]
        is_json = kind == "application/json"
        return kind, response.headers.get("retry-after"), seen(response) if is_json else None

    return probe


def creates(*members: str, expires_in: int | None = None) -> Probe:
    """Members of a new payment; `expires_in` is sent where the setting is on."""

    async def probe(place: Place) -> Any:
        given = {} if expires_in is None or not place.is_on else {"expires_in": expires_in}
        payment = await place.emulator.create(**given)
        return [payment[name].rpartition("/c/")[0] or payment[name] for name in members]

    return probe


def pays(*spans_s: float, **payer: str) -> Probe:
    """What becomes of a payment at the submit and after each span."""

    async def probe(place: Place) -> Any:
        payment = await place.emulator.create()
        path = f"/payments/{payment['id']}"
        await place.emulator.done("POST", f"{path}/pay", payer)
        found = []
        for span_s in (0, *spans_s):
            await place.emulator.advance(span_s)
            detail = await place.emulator.shown(path)
            found.append((detail["payment"]["status"], detail["payment"]["method"]))
            found.append(detail["reason"])
        return found

    return probe


def acts(action: str, body: Json, *, pays_first: bool = False) -> Probe:
    """The status of a payment after a call of the control API, where the setting is on."""

    async def probe(place: Place) -> Any:
        payment = await place.emulator.create()
        path = f"/payments/{payment['id']}"
        if pays_first:
            await place.emulator.pay(payment, ANY_PHONE)
        if place.is_on:
            await place.emulator.done("POST", f"{path}/{action}", body)
        return (await place.emulator.retrieve(payment["id"]))["status"]

    return probe


async def cancels(place: Place) -> Any:
    payment = await place.emulator.create()
    await place.emulator.done("POST", f"/payments/{payment['id']}/cancel")
    return (await place.emulator.retrieve(payment["id"]))["status"]


def opens(leaf: str, text: str, phone: str) -> Probe:
    """Whether a page of the checkout has a text after the submit."""

    async def probe(place: Place) -> Any:
        payment = await place.emulator.create()
        await place.emulator.pay(payment, phone)
        path = payment["checkout_url"].partition("8081")[2]
        return text in (await place.emulator.pages.get(f"{path}{leaf}")).text

    return probe


async def replays_a_day_later(place: Place) -> Any:
    first = await place.emulator.create(idempotency_key="k")
    if place.is_on:
        await place.emulator.advance(24 * 3600)
    return (await place.emulator.create(idempotency_key="k"))["id"] == first["id"]


async def times_out_sooner(place: Place) -> Any:
    payment = await place.emulator.create()
    await place.emulator.pay(payment, PHONES[2])
    if place.is_on:
        await place.emulator.advance(30)
    return (await place.emulator.retrieve(payment["id"]))["status"]


async def requests_too_often(place: Place) -> Any:
    found = [await lists()(place) for _ in range(3)]
    await place.emulator.advance(1)
    return [*found, await lists()(place)]


async def requests_after_the_wait(place: Place) -> Any:
    for _ in range(3):
        await lists()(place)
    if place.is_on:
        await place.emulator.advance(2)
    return await lists()(place)


def reads_during_a_change(request: str, path: str) -> Probe:
    """Whether a read that began before a completion ends before it, and its status."""

    async def probe(place: Place) -> Any:
        emulator = place.emulator
        await emulator.done("POST", "/webhook_endpoints", {"url": place.receiver.url})
        payment = await emulator.create()
        await emulator.pay(payment, ANY_PHONE)
        await emulator.advance(0)
        if place.is_on:
            rule = {"when": {"request": request}, "then": {"hold": "delivery"}, "times": 1}
            await emulator.done("POST", "/faults", rule)
        read = asyncio.create_task(emulator.api.get(path.format(**payment), headers=headers()))
        if place.is_on:
            while not (await emulator.shown("/faults"))["data"][0]["used"]:
                pass
        else:
            await read
        is_done = read.done()
        await emulator.done("POST", f"/payments/{payment['id']}/answer", {"answer": "approve"})
        shown = (await read).json()
        return is_done, shown.get("data", [shown])[0]["status"]

    return probe


async def receives(place: Place) -> Any:
    """What an endpoint receives of a payment, which is added where the setting is on."""
    if place.is_on and not await endpoints(place.emulator):
        await place.emulator.done("POST", "/webhook_endpoints", {"url": place.receiver.url})
    return await receives_without_a_call(place)


async def receives_without_a_call(place: Place) -> Any:
    await place.emulator.pay(await place.emulator.create(), PHONES[0])
    await place.emulator.advance(0)
    return [
        (
            sorted(received.json),
            received.json.get("type"),
            received.headers.get("webhook-signature"),
        )
        for received in place.receiver.received
    ]


async def endpoints(emulator: World) -> list[Json]:
    return list((await emulator.shown("/webhook_endpoints"))["data"])


async def shows_the_secret(place: Place) -> Any:
    return [each["secret"] for each in await endpoints(place.emulator)]


async def retries(place: Place) -> Any:
    """When a webhook that failed is sent again."""
    place.receiver.answer = replies(Reply(status=500))
    terms = {"url": place.receiver.url, "profile": "standard" if place.is_on else "default"}
    await place.emulator.done("POST", "/webhook_endpoints", terms)
    await place.emulator.create()
    await place.emulator.advance(0)
    return (await place.emulator.shown("/clock"))["next"]["at"]


def faulty(**then: Any) -> Json:
    return {"faults": [{"when": {}, "then": then}]}


def outcome(*steps: Json, **when: str) -> Json:
    return {"outcomes": [{"when": when, "then": list(steps)}]}


def checkout(**then: Any) -> Json:
    return {"checkout": [{"when": {}, "then": then}]}


STRICT = {"strict": True}
METHODS = {"methods": ("telebirr", "cbebirr")}
HTTP = {"allow_http_localhost": True}
LIMIT = {"rate_limit": RateLimit(requests=2, period_ms=1_000)}
EXPIRY = {"expiry": [{"when": {}, "after": "5m"}]}
EXPIRED = {"status": "expired", "unusual": True}
COMPLETED = {"status": "completed"}
TIMES_OUT_AS_EXPIRED = outcome({**EXPIRED, "after": "30s"}, phone=PHONES[2])
FORMATTED = {"webhook_format": "mine.yaml"}
HOOKED = {"webhook_url": "{url}"}
CALL = "POST /_emulator/"
ENDPOINT = f"{CALL}webhook_endpoints"
LOOSE = [f"?created_{side}=2026-01-01T00:00:00" for side in ("gte", "lte")]

ROWS = [
    Row("1.1", "--strict", posts_a_member_twice, STRICT),
    Row(
        "1.2 2.3.1 7.1",
        "faults: body",
        lists(),
        {},
        faulty(status=502, body="html"),
        faulty(status=502),
    ),
    Row("1.3 7.12", "faults", lists(), {}, faulty(status=500)),
    Row("7.11 8.7", "faults", lists(), {}, faulty(status=429, retry_after=7)),
    Row("1.6", "outcomes", pays(bank="walia_test"), {}, outcome(COMPLETED, bank="walia_test")),
    Row("1.6", "--no-handset", opens("/wait", "handset", ANY_PHONE), {"no_handset": True}),
    Row(
        "1.7",
        "checkout: redirect",
        opens("/wait", "0;url=", PHONES[0]),
        {},
        checkout(redirect="never"),
    ),
    Row(
        "1.10 2.1.7",
        "--checkout-url",
        creates("checkout_url"),
        {"checkout_url": "https://pay.example"},
    ),
    Row("2.1.6 3.2 3.4", "checkout: attempts", pays(phone=PHONES[1]), {}, checkout(attempts=2)),
    Row("3.2 3.3", "checkout: cancel", cancels, {}, checkout(cancel="fails")),
    Row("2.1.8 2.1.13 8.4", "expires_in", creates("expires_at", expires_in=300)),
    Row("2.1.8 2.1.13 8.4", "expiry", creates("expires_at"), {}, EXPIRY),
    Row(
        "2.1.8",
        "outcomes: unusual",
        pays(1800, phone=ANY_PHONE),
        {},
        outcome({**EXPIRED, "after": "30m"}, phone=ANY_PHONE),
        outcome(phone=ANY_PHONE),
    ),
    Row("3.2 4.4.4", "outcomes: unusual", pays(29, 1, phone=PHONES[2]), {}, TIMES_OUT_AS_EXPIRED),
    Row("4.4.5", "outcomes: unusual", pays(phone=PHONES[3]), {}, outcome(EXPIRED, phone=PHONES[3])),
    Row(
        "2.1.12",
        "--clock",
        creates("created_at"),
        {"clock": parse_clock("frozen@2031-01-01T00:00:00Z")},
    ),
    Row("2.1.16 2.1.17 4.1.5", "--methods", posts(methods=["cbebirr"]), METHODS),
    Row("4.3.13", "--methods", lists("?method=cbebirr"), METHODS),
    Row("3.2", f"{CALL}payments/{{payment_id}}/transition", acts("transition", EXPIRED)),
    Row("4.1.1 6.2 6.3 6.5", "--webhook-format", receives, FORMATTED, always=HOOKED),
    Row("4.1.5", "--strict", posts(methods=["telebirr", "telebirr"]), STRICT),
    Row("4.1.6", "--allow-http-localhost", posts(success_url="http://localhost/ok"), HTTP),
    Row("4.1.7", "--allow-http-localhost", posts(cancel_url="http://localhost/no"), HTTP),
    Row("4.1.6", "--strict", posts(success_url="https://a@shop.example/"), STRICT),
    Row("4.1.7", "--strict", posts(cancel_url="https://a@shop.example/"), STRICT),
    Row("4.1.8", "--strict", posts(metadata={"k" * 41: ""}), STRICT),
    Row("4.1.10", "--strict", posts(idempotency_key="k" * 256), STRICT),
    Row("4.1.14", "--strict", posts(colour="red"), STRICT),
    Row("8.9", "--strict", posts(expires_in=30), STRICT),
    Row("4.3.7", "--strict", lists(LOOSE[0]), STRICT),
    Row("4.3.8", "--strict", lists(LOOSE[1]), STRICT),
    Row("4.3.14", "--strict", lists("?created_gte=2026-01-01"), STRICT),
    Row("4.3.18", "--strict", lists("?limit=1&limit=2"), STRICT),
    Row("4.1.22", f"{CALL}clock/advance", replays_a_day_later),
    Row("8.6", f"{CALL}clock/advance", times_out_sooner),
    Row("4.2.3", "faults: hold", reads_during_a_change("retrieve_payment", "/v1/payments/{id}")),
    Row("4.3.5", "faults: hold", reads_during_a_change("list_payments", "/v1/payments")),
    Row("4.2.5 6.1", "--webhook-url", receives_without_a_call, HOOKED),
    Row("4.2.5 6.1", ENDPOINT, receives),
    Row("6.4", ENDPOINT, retries),
    Row(
        "6.4",
        "webhooks",
        receives,
        {},
        {"webhooks": [{"when": {}, "then": {"drop": True}}]},
        always=HOOKED,
    ),
    Row(
        "6.5",
        "webhooks: tamper",
        receives,
        {},
        {"webhooks": [{"when": {}, "then": {"tamper": "unsigned"}}]},
        always=HOOKED,
    ),
    Row(
        "6.5",
        "--webhook-secret",
        shows_the_secret,
        {"webhook_secret": "whsec_" + "A" * 32},
        always=HOOKED,
    ),
    Row("4.4.1", "outcomes", pays(phone="0700000001"), {}, outcome(phone="0700000001")),
    Row("4.4.2 4.4.6", "outcomes", pays(phone=PHONES[0]), {}, outcome(phone=PHONES[0])),
    Row(
        "4.4.3",
        "outcomes",
        pays(5, phone=PHONES[1]),
        {},
        outcome({"after": "5s", "status": "failed"}, phone=PHONES[1]),
    ),
    Row(
        "8.6",
        "outcomes",
        pays(5, 25, phone=PHONES[2]),
        {},
        outcome({"after": "5s", "status": "failed"}, phone=PHONES[2]),
    ),
    Row("4.4.7", "outcomes", pays(phone=ANY_PHONE), {}, outcome(COMPLETED, phone=ANY_PHONE)),
    Row(
        "4.4.7",
        f"{CALL}payments/{{payment_id}}/answer",
        acts("answer", {"answer": "approve"}, pays_first=True),
    ),
    Row("5.2 5.6", "--test-key", lists("", "test_~$%"), {"test_key": "test_~$%"}),
    Row("5.6", "--live-key", lists("", "live_~$%"), {"live_key": "live_~$%"}),
    Row("5.2 5.4", "--auto-provision", lists("", "test_new_key"), {"auto_provision": True}),
    Row("7.11 8.7 8.8 7.14", "--rate-limit", requests_too_often, LIMIT),
    Row("7.14", f"{CALL}clock/advance", requests_after_the_wait, always=LIMIT),
]
# Those that a test with a process shows.
OF_SOCKETS = {("1.9", "--host"), ("1.9", "--port"), ("1.10", "--checkout-port")}


def test_each_setting_of_a_clause_is_executed() -> None:
    executed = {(number, row.setting) for row in ROWS for number in row.numbers.split()}
    named = {(clause.number, each) for clause in CLAUSES for each in clause.configured_by}
    assert executed | OF_SOCKETS == named


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.numbers} {row.setting}")
async def test_a_setting_changes_the_behaviour_of_its_clauses(row: Row, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(FORM), encoding="utf-8")
    observed = []
    for is_on in (False, True):
        async with receiving() as receiver:
            options = {**row.always, **(row.options if is_on else {})}
            places = {"mine.yaml": str(tmp_path / "mine.yaml"), "{url}": receiver.url}
            options = {name: places.get(str(value), value) for name, value in options.items()}
            async with world(**options) as emulator:
                if rules := row.rules if is_on else row.without:
                    await emulator.done("PUT", "/scenarios/mine", rules)
                observed.append(await row.probe(Place(emulator, receiver, is_on)))
    without, with_setting = observed
    assert without != with_setting


def test_the_addresses_are_those_of_the_options(tmp_path: Path) -> None:
    port, checkout_port = free_port(), free_port()
    options = ("--host", "127.0.0.2", "--port", str(port), "--checkout-port", str(checkout_port))
    with serving(*options, logs=tmp_path):
        api = httpx.get(f"http://127.0.0.2:{port}/v1/payments", headers=headers())
        assert api.status_code == 200
        page = httpx.get(f"http://127.0.0.2:{checkout_port}/c/unknown")
        assert page.status_code == 404
