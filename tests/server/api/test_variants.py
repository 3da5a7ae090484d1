"""Variants of responses and webhooks: what each changes, and what no variant changes."""

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from emulator.domain.clauses import CLAUSES
from emulator.domain.payment import EVENT_TYPES
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.user_error import UserError
from emulator.domain.variants import NAMES, VARIANTS, vary_setting
from emulator.http.received_webhooks import ReceivedRequest
from emulator.scenarios.webhook_form_file import SHIPPED_FORMS
from emulator.settings import resolve
from emulator.tools.verify.contract import FIELDS
from tests.depth import usually
from tests.server.api.calls import PAYMENTS
from tests.server.api.variants_shop import KEY, Answer, Shop, shop
from tests.world import LIVE_KEY, TEST_KEY, headers, order

EVENT = ("id", "object", "type", "timestamp", "mode", "data")
MILLISECONDS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\D*"

Request = Callable[[Shop], Awaitable[Answer]]
Assumption = Callable[[Answer], Any]


def created_at(answer: Answer) -> str:
    return str(answer.json["created_at"])


# Of each variant: a request, and what a client assumes of its response or of a webhook.
ASSUMPTIONS: dict[str, tuple[Request, Assumption]] = {
    "member-order": (Shop.create, lambda answer: tuple(answer.json) == FIELDS),
    "member-in-payment": (Shop.create, lambda answer: set(answer.json) == {*FIELDS}),
    "member-in-list": (
        Shop.page,
        lambda answer: set(answer.json) == {"data", "has_more", "next_cursor"},
    ),
    "member-in-error": (Shop.unknown, lambda answer: len(answer.json["error"]) == 2),
    "member-in-event": (Shop.webhook, lambda answer: set(answer.json) == {*EVENT}),
    "pretty-json": (Shop.create, lambda answer: b'"status":"pending"' in answer.body),
    "escaped-json": (Shop.create, lambda answer: b'"https://' in answer.body),
    "charset": (Shop.create, lambda answer: answer.headers["content-type"] == "application/json"),
    "tie-order": (
        Shop.page,
        lambda answer: answer.json["data"][0]["id"] > answer.json["data"][1]["id"],
    ),
    "timestamps-seconds": (
        Shop.create,
        lambda answer: datetime.strptime(created_at(answer), "%Y-%m-%dT%H:%M:%S.%f%z"),
    ),
    "timestamps-microseconds": (
        Shop.create,
        lambda answer: re.fullmatch(MILLISECONDS, created_at(answer)),
    ),
    "timestamps-offset": (Shop.create, lambda answer: created_at(answer).endswith("Z")),
    "next-cursor-omitted": (Shop.page, lambda answer: answer.json["next_cursor"] is None),
    "event-nulls-omitted": (
        Shop.webhook,
        lambda answer: answer.json["data"]["completed_at"] is None,
    ),
    "param-null": (Shop.unknown, lambda answer: "param" not in answer.json["error"]),
    "param-omitted": (Shop.conflict, lambda answer: answer.json["error"]["param"]),
    "message-text": (
        Shop.unknown,
        lambda answer: "no payment" in answer.json["error"]["message"],
    ),
    "unknown-error-code": (
        Shop.unknown,
        lambda answer: answer.json["error"]["code"] == "payment_not_found",
    ),
    "replay-200": (Shop.replay, lambda answer: answer.status == 201),
    "retry-after-date": (Shop.busy, lambda answer: int(answer.headers["retry-after"])),
    "connection-close": (Shop.create, lambda answer: "connection" not in answer.headers),
    "long-ids": (Shop.create, lambda answer: len(answer.json["id"]) == 28),
    "unknown-method": (
        Shop.page,
        lambda answer: (
            {payment["method"] for payment in answer.json["data"]} <= {None, *DEFAULT_METHODS}
        ),
    ),
    "unknown-event": (Shop.webhook, lambda answer: answer.json["type"] in EVENT_TYPES.values()),
}


def is_met(assumption: Assumption, answer: Answer) -> bool:
    try:
        return bool(assumption(answer))
    except (KeyError, ValueError):
        return False


def test_each_variant_has_a_client_that_rests_on_an_assumption() -> None:
    assert tuple(ASSUMPTIONS) == NAMES


@pytest.mark.parametrize("name", NAMES)
async def test_a_client_that_rests_on_an_assumption_fails_and_the_variant_is_named(
    name: str,
) -> None:
    request, assumption = ASSUMPTIONS[name]
    async with shop() as usual:
        answer = await request(usual)
        assert is_met(assumption, answer), answer
        assert answer.variants == []
    async with shop(name) as varied:
        answer = await request(varied)
        assert not is_met(assumption, answer), answer
        assert answer.variants == [name]
        if answer.status_line:
            entry = await varied.control("GET", "/requests/latest")
            assert entry["variants"] == [name]
        else:
            delivery = (await varied.control("GET", "/deliveries"))["data"][-1]
            assert delivery["attempts"][0]["request"]["headers"]["emulator-variant"] == name


def test_each_variant_names_clauses_an_effect_and_what_a_client_does() -> None:
    numbers = {clause.number for clause in CLAUSES}
    for variant in VARIANTS:
        assert {*variant.clauses} <= numbers
        assert variant.clauses
        assert variant.effect.endswith(".")
        assert variant.advice.endswith(".")


async def history(vary: str | int | None, of_program: str = "off") -> list[Answer]:
    """Every kind of response, and all webhooks."""
    async with shop(vary, of_program=of_program) as client:
        requests = (Shop.create, Shop.replay, Shop.conflict, Shop.page, Shop.unknown, Shop.busy)
        answers = [await request(client) for request in requests for _ in range(3)]
        return answers + await client.webhooks()


def comparable(answer: Answer) -> tuple[Any, ...]:
    changing = {"webhook-timestamp", "webhook-signature", "host", "date"}
    return answer.body, {**answer.headers, **dict.fromkeys(changing)}, answer.status_line


async def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    first, again, other = [[*map(comparable, await history(seed))] for seed in (17, 17, 18)]
    assert first == again
    assert first != other


@pytest.mark.deep
async def test_a_seed_chooses_each_variant_sometimes() -> None:
    answers = [answer for seed in range(12) for answer in await history(seed)]
    assert {name for answer in answers for name in answer.variants} == {*NAMES}
    assert any(answer.variants == [] for answer in answers)


async def test_an_account_without_variants_has_no_trace_of_them() -> None:
    usual, off = await history(None), await history("off", "member-order")
    assert [*map(comparable, usual)] == [*map(comparable, off)]
    assert all("emulator-variant" not in answer.headers for answer in usual)


@pytest.mark.sampled
@pytest.mark.parametrize("vary", [",".join(NAMES), *range(usually(2, deep=20))])
async def test_a_replay_has_the_bytes_of_the_first_response(vary: str | int) -> None:
    async with shop(vary) as client:
        for number in range(5):
            first, *replays = [
                await client.create(idempotency_key=f"order-{number}") for _ in range(4)
            ]
            assert {replay.body for replay in replays} == {first.body}
            assert {replay.status for replay in replays} <= {200, 201}
            assert first.status == 201


@pytest.mark.sampled
@pytest.mark.parametrize("vary", [",".join(NAMES), *range(usually(2, deep=20))])
async def test_the_pages_are_the_whole_list_and_no_page_shifts(vary: str | int) -> None:
    async with shop(vary) as client:
        created = {(await client.create()).json["id"] for _ in range(7)}
        listed: list[str] = []
        cursor = ""
        while cursor is not None:
            page = (await client.send(f"{PAYMENTS}?limit=2{cursor and f'&after={cursor}'}")).json
            listed += [payment["id"] for payment in page["data"]]
            await client.create()  # It is newer than the first page.
            cursor = page.get("next_cursor")
            assert page["has_more"] is (cursor is not None)
        assert created <= {*listed}
        assert len(listed) == len({*listed}) <= 8


async def test_a_long_id_is_the_same_everywhere() -> None:
    async with shop("long-ids") as client:
        payment = (await client.create()).json
        retrieved = await client.send(f"{PAYMENTS}/{payment['id']}")
        assert retrieved.json == payment
        assert (await client.control("GET", f"/payments/{payment['id']}"))["payment"] == payment
        await client.create()
        page = (await client.send(f"{PAYMENTS}?limit=1")).json
        after = await client.send(f"{PAYMENTS}?after={page['next_cursor']}")
        assert [each["id"] for each in after.json["data"]] == [payment["id"]]
        events = (await client.control("GET", "/events"))["data"]
        assert events[-1]["data"]["id"] == payment["id"]
        opened = await client.emulator.pages.get(payment["checkout_url"])
        assert opened.status_code == 200


async def test_an_error_of_a_bad_amount_keeps_its_code_and_its_param() -> None:
    async with shop(",".join(NAMES)) as client:
        refused = await client.create(amount=1)
        assert refused.json["error"]["code"] == "invalid_amount"
        assert (refused.status, refused.json["error"]["param"]) == (400, "amount")
        assert (await client.control("GET", "/requests/latest"))["error"]["param"] == "amount"


async def test_a_limit_is_in_seconds_with_every_variant() -> None:
    async with shop(",".join(NAMES)) as client:
        fault = {"when": {}, "then": {"status": 429, "retry_after": 7}}
        await client.control("POST", "/faults", fault)
        assert (await client.create()).headers["retry-after"] == "7"


async def test_the_payment_of_another_client_is_the_first_of_each_mode() -> None:
    async with shop("unknown-method") as client:
        mine = [(await client.create()).json["id"] for _ in range(2)]
        other = (await client.send(PAYMENTS)).json["data"][-1]
        assert (other["status"], other["method"]) == ("completed", "mobile_wallet")
        assert (await client.send(f"{PAYMENTS}/{other['id']}")).json == other
        timeline = (await client.control("GET", f"/payments/{other['id']}"))["timeline"]
        assert [each["cause"]["by"] for each in timeline] == ["request", "customer", "customer"]
        await client.send(PAYMENTS, order(), key="live_shop")
        live = (await client.send(PAYMENTS, key="live_shop")).json["data"]
        assert [payment["method"] for payment in live] == [None, "mobile_wallet"]
        assert other["id"] not in mine


async def test_a_request_without_a_key_has_the_variants_of_the_program() -> None:
    async with shop(vary="member-in-error") as client:
        assert (await client.send(PAYMENTS, key="test_unknown")).variants == []
    async with shop(of_program="message-text") as client:
        refused = await client.send(PAYMENTS, key="test_unknown")
        assert (refused.status, refused.variants) == (401, ["message-text"])


async def test_a_cut_response_has_half_of_the_varied_body() -> None:
    async with shop("pretty-json") as client:
        fault = {"when": {"request": "list_payments"}, "then": {"truncate": True}}
        await client.control("POST", "/faults", fault)
        cut = await client.send(PAYMENTS)
        assert int(cut.headers["content-length"]) // 2 == len(cut.body)


async def test_an_account_keeps_its_variants_at_a_reset_and_a_restore() -> None:
    async with shop("charset") as client:
        await client.control("PUT", "/snapshots/before")
        await client.control("POST", "/snapshots/before/restore")
        assert (await client.create()).variants == ["charset"]
        await client.emulator.control("POST", "/reset", key=KEY)
        assert (await client.create()).variants == ["charset"]


async def test_accounts_show_their_variants() -> None:
    async with shop("charset, member-order,charset", of_program="17") as client:
        listed = (await client.emulator.shown("/accounts"))["data"]
        assert [account["vary"] for account in listed] == ["member-order,charset", "17", "17"]


# A setting, what is wrong with it, and the nearest name.
UNKNOWN = {
    "charset,charsetts,foo": ("charsetts", "charset"),
    "charset,foo": ("foo", None),
    "pretty_json": ("pretty_json", "pretty-json"),
    "charset,off": ("off", None),
    "017": ("017", None),
}


@pytest.mark.parametrize("given", UNKNOWN)
async def test_the_unknown_variant_is_named_with_the_nearest(given: str) -> None:
    unknown, nearest = UNKNOWN[given]
    accepted = f"names of {', '.join(NAMES)}"
    if "," not in given:
        accepted = f"off, a seed (an integer of at most 64 bits), or {accepted}"
    with pytest.raises(UserError) as refusal:
        resolve({"vary": given}, {})
    advice = f" Did you mean '{nearest}'?" if nearest else ""
    [line] = refusal.value.lines
    end = f".{advice}" if advice else ""
    assert line == f"flag --vary: found '{unknown}', expected {accepted}{end}"
    async with shop() as client:
        answer = await client.emulator.control("POST", "/accounts", {"vary": given})
    message = answer.json()["error"]["message"]
    assert message == f'"vary" must be {accepted} (got "{unknown}").{advice}'


def test_a_setting_has_a_usual_form() -> None:
    assert vary_setting("pretty-json , charset") == "pretty-json,charset"
    assert [vary_setting(text) for text in ("off", "-5", "0")] == ["off", "-5", "0"]


async def test_the_demo_keys_have_the_variants_of_the_option() -> None:
    async with shop(of_program="charset") as client:
        for key in (TEST_KEY, LIVE_KEY):
            answer = await client.emulator.api.get(PAYMENTS, headers=headers(key))
            assert answer.headers["emulator-variant"] == "charset"


@pytest.mark.parametrize("form", SHIPPED_FORMS)
async def test_webhooks_of_every_form_arrive_with_every_variant(form: str) -> None:
    async with shop(",".join(NAMES), form=form) as client:
        webhooks = await client.webhooks()
        deliveries = (await client.control("GET", "/deliveries"))["data"]
        # Webhooks of one form have no type, and so no unknown one.
        assert len(webhooks) == len(deliveries) >= (2 if form == "unsigned" else 4)
        assert {delivery["status"] for delivery in deliveries} == {"succeeded"}
        assert all(webhook.variants for webhook in webhooks)


TIMESTAMPS = ("timestamps-seconds", "timestamps-microseconds", "timestamps-offset")
OF_WEBHOOKS = {
    *("member-order", "member-in-payment", "member-in-event", "pretty-json", "escaped-json"),
    *("charset", *TIMESTAMPS, "event-nulls-omitted", "long-ids", "unknown-event"),
}
# By form: the variants that its webhooks cannot show, beside those of a member that is null.
MISSING = {
    "standard": (),
    "timestamped-hex": (),
    "hex-header": (),
    "unsigned": ("member-in-payment", "escaped-json", "unknown-event"),
    "form-fields": ("member-in-payment", "pretty-json", "escaped-json", "charset", *TIMESTAMPS),
}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(name, marks=() if name == "form-fields" else pytest.mark.deep)
        for name in SHIPPED_FORMS
    ],
)
async def test_a_webhook_in_a_form_names_the_variants_that_it_has_and_no_others(form: str) -> None:
    async with shop(form=form) as client:
        usual = [comparable_body(webhook) for webhook in await client.webhooks()]
    seen = set()
    for name in sorted(OF_WEBHOOKS):
        async with shop(name, form=form) as client:
            varied = await client.webhooks()
        assert all(webhook.variants in ([], [name]) for webhook in varied)
        is_named = any(webhook.variants for webhook in varied)
        seen |= {name} if is_named else set()
        if name not in {"charset", "long-ids"}:  # which change no comparable body
            assert ([*map(comparable_body, varied)] != usual) is is_named, name
    has_null = any(b"null" in body for body in usual)
    assert OF_WEBHOOKS - seen == {*MISSING[form], *([] if has_null else ["event-nulls-omitted"])}


def comparable_body(webhook: Answer) -> bytes:
    """The body without ids, which are random."""
    return re.sub(rb"[A-Za-z0-9_]{20,}", b"id", webhook.body)


@pytest.mark.parametrize("form", ["standard", "hex-header"])
async def test_a_varied_webhook_is_signed_and_stored_as_it_is_sent(form: str) -> None:
    async with shop("pretty-json,escaped-json,member-order", form=form) as client:
        webhooks = await client.webhooks()
        deliveries = (await client.control("GET", "/deliveries"))["data"]
        [endpoint] = (await client.control("GET", "/webhook_endpoints"))["data"]
    stored = {each["attempts"][0]["request"]["body"].encode() for each in deliveries}
    assert stored == {webhook.body for webhook in webhooks}
    for webhook in webhooks:
        assert webhook.body.startswith(b"{\n  ")
        assert b"https:\\/\\/" in webhook.body
        request = ReceivedRequest(headers=webhook.headers, body=webhook.body)
        assert request.read(endpoint["format"]).is_signed_with(endpoint["secret"])


async def test_the_answer_of_a_gateway_does_not_vary() -> None:
    async with shop(",".join(NAMES)) as client:
        fault = {"when": {"request": "list_payments"}, "then": {"status": 502, "body": "html"}}
        await client.control("POST", "/faults", fault)
        answer = await client.send(PAYMENTS)
        assert (answer.status, answer.variants) == (502, [])
        assert answer.headers["content-type"] == "text/html"
