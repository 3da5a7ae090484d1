"""Webhooks in other forms: of one endpoint, or of all."""

import hmac
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.user_error import UserError
from emulator.domain.webhooks import SecretFormat, Tamper, tamper_problem
from emulator.scenarios.entries import ScenarioError
from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, shipped_form
from emulator.settings import Settings
from tests.server.engine.webhook_world import WebhookWorld, register, webhook_world
from tests.server.webhooks.receiver import Received, receiving
from tests.world import world

URL = "http://127.0.0.1:9/hook"
PHRASE = "correct horse"
PATH = "/webhook_endpoints"
MINE = {
    "version": 1,
    "name": "mine",
    "events": {"payment.processing": None, "payment.completed": "paid"},
    "content_type": "application/json",
    "body": {"type": "{event.type}", "total": "{payment.amount}", "items": [1, 0.5, True, None]},
    "signature": {
        "algorithm": "hmac-sha1",
        "secret": "text",
        "content": "{body}",
        "encoding": "hex",
        "prefix": "sha1=",
        "separator": ";",
    },
    "headers": {"x-hub-signature": "{signature}", "x-status": "{payment.status}"},
}


async def paid(hooks: WebhookWorld) -> list[Received]:
    """What is received about a payment that completes."""
    await hooks.pay(await hooks.create(amount=15_000))
    await hooks.settle()
    return hooks.receiver.received


async def test_a_format_may_be_given_as_json() -> None:
    async with webhook_world(format=MINE, secret=PHRASE) as hooks:
        received = await paid(hooks)
        assert hooks.endpoint["format"] == MINE
        assert [each.json for each in received] == [
            {"type": sent_type, "total": 15_000, "items": [1, 0.5, True, None]}
            for sent_type in ("payment.created", "paid")
        ]
        assert [each.headers["x-status"] for each in received] == ["pending", "completed"]
        for each in received:
            signature = hmac.new(PHRASE.encode(), each.body, "sha1").hexdigest()
            assert each.headers["x-hub-signature"] == f"sha1={signature}"


async def test_an_event_that_is_not_sent_has_no_delivery_and_remains_an_event() -> None:
    async with webhook_world(format="hex-header") as hooks:
        [received] = await paid(hooks)
        assert received.json["event"] == "charge.success"
        [delivery] = await hooks.deliveries()
        assert delivery["type"] == "payment.completed"
        events = (await hooks.emulator.shown("/events"))["data"]
        own = [f"payment.{name}" for name in ("completed", "processing", "created")]
        assert [event["type"] for event in events] == own
        assert events[0]["data"]["status"] == "completed"


@pytest.mark.parametrize("name", SHIPPED_FORMS)
async def test_a_generated_secret_fits_the_format_also_after_a_rotation(name: str) -> None:
    async with world(webhook_format=name) as emulator:
        endpoint = await register(emulator, URL)
        rotated = await emulator.done("POST", f"{PATH}/{endpoint['id']}/rotate")
    wanted = SecretFormat.HEX if name == "form-fields" else SecretFormat.BASE64
    assert wanted.accepts(endpoint["secret"])
    assert wanted.accepts(rotated["secret"])
    assert endpoint["secret"] != rotated["secret"]


async def test_a_secret_that_does_not_fit_the_format_is_refused() -> None:
    async with world(webhook_format="form-fields") as emulator:
        endpoint = await register(emulator, URL)
        for method, path in (
            ("POST", PATH),
            ("PATCH", f"{PATH}/{endpoint['id']}"),
            ("POST", f"{PATH}/{endpoint['id']}/rotate"),
        ):
            body = {"secret": "short", **({"url": URL} if path == PATH else {})}
            refusal = (await emulator.control(method, path, body)).json()["error"]
            assert refusal["param"] == "secret"
            assert refusal["message"] == '"secret" must be 24 to 64 bytes as hexadecimal digits.'
        assert await emulator.shown(f"{PATH}/{endpoint['id']}") == endpoint


async def test_a_ping_has_the_form_without_a_payment() -> None:
    async with webhook_world(format="timestamped-hex") as hooks:
        await hooks.emulator.done("POST", f"{PATH}/{hooks.endpoint['id']}/ping")
        [received] = hooks.receiver.received
        assert (received.json["type"], received.json["data"]) == ("ping", {})


async def test_the_format_of_the_settings_is_that_of_every_new_endpoint() -> None:
    async with receiving() as receiver:
        async with world(webhook_url=receiver.url, webhook_format="unsigned") as emulator:
            [given] = (await emulator.shown(PATH))["data"]
            other = await register(emulator, URL, format="standard")
            assert (given["format"]["name"], other["format"]["name"]) == ("unsigned", "standard")
            payment = await emulator.create()
            await emulator.pay(payment, "+251900000001")
            await receiver.wait_for(1)
        [received] = receiver.received
        assert received.json["result"]["transaction_id"] == payment["id"]
        assert not [name for name in received.headers if "signature" in name]


async def test_a_format_outlives_a_restart_a_snapshot_and_a_reset(tmp_path: Path) -> None:
    kept = {"database": str(tmp_path / "state.db"), "webhook_url": URL}
    async with world(**kept, webhook_format="form-fields") as emulator:
        await register(emulator, URL, format=MINE)
        before = (await emulator.shown(PATH))["data"]
    async with world(**kept) as emulator:
        assert (await emulator.shown(PATH))["data"] == before
        await emulator.done("PUT", "/snapshots/a")
        await emulator.control("DELETE", f"{PATH}/{before[0]['id']}")
        await emulator.done("POST", "/snapshots/a/restore")
        assert (await emulator.shown(PATH))["data"] == before
        await emulator.control("POST", "/reset")
        assert (await emulator.shown(PATH))["data"] == before[1:]


TAMPER = "webhooks:\n  - when: {{event: payment.completed}}\n    then: {{tamper: {}}}\n"


@pytest.mark.parametrize(
    ("name", "tamper", "problem"),
    [
        ("hex-header", "stale", "webhooks of the format 'hex-header' have no signed timestamp; "),
        ("form-fields", "timestamp", "webhooks of the format 'form-fields' have no signed time"),
        ("unsigned", "signature", "webhooks of the format 'unsigned' have no signature; use 'ta"),
        ("unsigned", "unsigned", "webhooks of the format 'unsigned' have no signature; use 'tam"),
    ],
)
async def test_a_tamper_without_a_place_in_the_format_is_refused(
    name: str, tamper: str, problem: str, tmp_path: Path
) -> None:
    rules = TAMPER.format(tamper)
    file = tmp_path / "odd.yaml"
    file.write_text(f"version: 1\nname: odd\n{rules}")
    message = f"tamper must not be {tamper}: {problem}"
    with pytest.raises(ScenarioError, match=rf"odd\.yaml:5:20: {message}"):
        async with world(scenarios=(str(file),), webhook_format=name):
            pass
    async with webhook_world(format=name) as hooks:
        put = await hooks.emulator.api.put(
            "/_emulator/scenarios/odd",
            content=rules,
            headers={"content-type": "application/yaml", "authorization": "Bearer test_demo_key"},
        )
        assert put.status_code == 400
        assert message in put.json()["error"]["message"]


@pytest.mark.parametrize("name", SHIPPED_FORMS)
async def test_a_shipped_scenario_is_applied_as_far_as_the_format_allows_it(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with webhook_world(format=name) as hooks:
        await hooks.emulator.done("PUT", "/scenarios/forged-webhooks/enabled", {"enabled": True})
        payment = await hooks.create()
        await hooks.pay(payment, "+251900000001")
        await hooks.emulator.transition(payment, "refunded")
        await hooks.settle()
        seen = {
            delivery["type"]: (delivery["fault"], delivery["attempts"][0]["tampered"])
            for delivery in await hooks.deliveries()
            if delivery["type"] != "payment.created"
        }
    form = shipped_form(name)
    of_scenario = {
        "payment.processing": Tamper.BODY,
        "payment.completed": Tamper.SIGNATURE,
        "payment.refunded": Tamper.UNSIGNED,
    }
    sent = {event: tamper for event, tamper in of_scenario.items() if form.sends(event)}
    genuine = {event for event in sent if tamper_problem(form, sent[event])}
    assert seen == {
        event: (None, None) if event in genuine else ({"tamper": tamper}, tamper)
        for event, tamper in sent.items()
    }
    assert [record.message for record in caplog.records if "not applied" in record.message] == [
        f"'tamper: {sent[event]}' is not applied: {tamper_problem(form, sent[event])}"
        for event in sent
        if event in genuine
    ]


@pytest.mark.parametrize("is_put", [True, False])
async def test_an_endpoint_in_a_form_that_a_scenario_cannot_tamper_with_is_refused(
    is_put: bool, tmp_path: Path
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(f"version: 1\nname: odd\nenabled: false\n{TAMPER.format('stale')}")
    async with world(scenarios=() if is_put else (str(file),)) as emulator:
        if is_put:
            rule = {"when": {"event": "payment.completed"}, "then": {"tamper": "stale"}}
            await emulator.done("PUT", "/scenarios/odd", {"webhooks": [rule]})
        refusal = await emulator.control("POST", PATH, {"url": URL, "format": "unsigned"})
        assert refusal.status_code == 400
        assert refusal.json()["error"]["param"] == "format"
        assert refusal.json()["error"]["message"] == (
            "\"format\" does not fit the scenario 'odd' with 'tamper: stale': webhooks of the"
            " format 'unsigned' have no signature; use 'tamper: body', or another format."
        )
        assert (await emulator.shown(PATH))["data"] == []
        await register(emulator, URL, format="timestamped-hex")
        # One of the account replaces that of a file.
        await emulator.done("PUT", "/scenarios/odd", {"webhooks": []})
        await register(emulator, URL, format="unsigned")


async def test_a_tampered_body_is_shown_as_it_was_sent() -> None:
    async with webhook_world(format="hex-header") as hooks:
        rule = {"webhooks": [{"when": {}, "then": {"tamper": "body"}}]}
        await hooks.emulator.done("PUT", "/scenarios/odd", rule)
        [received] = await paid(hooks)
        assert received.json["amount"] == 15_001
        [delivery] = await hooks.deliveries()
        assert delivery["attempts"][0]["request"]["body"] == received.body.decode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"webhook_format": "hex-headr"},
            "hex-headr:1:1: cannot be read: .*; did you mean 'hex-header'",
        ),
        (
            {"webhook_format": "form-fields", "webhook_url": URL, "webhook_secret": "x"},
            "flag --webhook-secret: expected for --webhook-format form-fields 24 to 64 bytes",
        ),
    ],
)
async def test_a_format_of_the_settings_that_cannot_be_used_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises((UserError), match=message):
        async with world(Settings(**changes)):
            pass
