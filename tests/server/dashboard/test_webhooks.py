"""The pages about webhooks: endpoints and deliveries, and one delivery or event."""

from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, STDOUT
from html import unescape
from typing import Any

import pytest

from emulator.scenarios.webhook_form_file import SHIPPED_FORMS, webhook_form_of
from tests.server.dashboard import page, texts
from tests.server.engine.webhook_world import register, webhook_world
from tests.server.webhooks.receiver import Reply, replies
from tests.world import World, world


async def test_a_delivery_shows_past_attempts_and_the_next_one() -> None:
    async with webhook_world(replies(Reply(status=500, body=b"no <b>disk</b>"), Reply())) as hooks:
        payment = await hooks.create()
        [delivery] = await hooks.deliveries()
        html = await page(hooks.emulator, f"webhooks/{delivery['id']}")
        assert texts(html, "next-attempt") == [
            "Next attempt: 2026-01-01 00:00:01 UTC Advance to it"
        ]
        assert texts(html, "cause") == ["status 500: The handler failed: see its own log."]
        assert "no &lt;b&gt;disk&lt;/b&gt;" in html
        assert hooks.receiver.received[0].body.decode() in texts(html, "request")[0]
        await hooks.advance(1)
        html = await page(hooks.emulator, f"webhooks/{delivery['id']}")
        assert len(texts(html, "request")) == 2
        assert texts(html, "next-attempt") == ["No further attempt is scheduled."]
        [row] = texts(await page(hooks.emulator, "webhooks"), "delivery-row")
        url = hooks.receiver.url.partition("://")[2]
        order = payment["id"][-8:]
        assert row == f"{order} ETB 150.00 payment.created {url} 500 200 1 s ago Resend"


TOKEN = {
    "version": 1,
    "name": "token",
    "signature": {"algorithm": "token", "prefix": "Bearer "},
    "headers": {"verif-hash": "{signature}"},
}
MEMBERS = {
    "version": 1,
    "name": "members",
    "signature": {
        "algorithm": "hmac-sha256",
        "content": "{payment.metadata}|{payment.amount_birr}|{event.id}",
    },
    "headers": {"x-signature": "{signature}"},
}


@pytest.mark.parametrize("tamper", [None, "body", "signature"])
@pytest.mark.parametrize(
    "form", [*(name for name in SHIPPED_FORMS if name != "unsigned"), TOKEN, MEMBERS], ids=str
)
async def test_the_shell_line_verifies_the_signature(form: Any, tamper: str | None) -> None:
    known = webhook_form_of(form)
    if tamper == "body" and not known.signs_amount:
        return
    async with webhook_world(format=form) as hooks:
        secret = hooks.endpoint["secret"]
        if tamper:
            rules = f"webhooks: [{{when: {{}}, then: {{tamper: {tamper}}}}}]"
            response = await hooks.emulator.api.put(
                "/_emulator/scenarios/forged",
                content=rules,
                headers={"Content-Type": "application/yaml"},
            )
            assert response.status_code == 201, response.text
        else:
            # Both secrets sign, or the new one.
            path = f"/webhook_endpoints/{hooks.endpoint['id']}/rotate"
            rotated = await hooks.emulator.done("POST", path)
            secret = secret if known.signature.separator else rotated["secret"]
        await hooks.pay(await hooks.create(metadata={"ስም": "it's $HOME `x` \\n"}))
        await hooks.settle()
        *_, delivery = await hooks.deliveries()
        html = await page(hooks.emulator, f"webhooks/{delivery['id']}")
    start = html.index(">", html.index('data-testid="verification"')) + 1
    line = unescape(html[start : html.index("</pre>", start)])
    process = await create_subprocess_exec(
        *("sh", "-c", line),
        env={"SECRET": secret, "PATH": "/usr/bin:/bin"},
        stdout=PIPE,
        stderr=STDOUT,
    )
    output, _ = await process.communicate()
    assert output == (b"invalid\n" if tamper else b"valid\n")


async def test_an_attempt_without_a_signature_has_no_line_that_verifies_it() -> None:
    async with webhook_world(format="unsigned") as hooks:
        await hooks.pay(await hooks.create())
        await hooks.settle()
        [delivery] = await hooks.deliveries()
        html = await page(hooks.emulator, f"webhooks/{delivery['id']}")
        assert 'data-testid="verification"' not in html
        assert 'data-testid="copy-attempt"' in html


async def test_an_event_shows_its_body_and_its_deliveries() -> None:
    async with webhook_world() as hooks:
        await hooks.create()
        [delivery] = await hooks.deliveries()
        html = await page(hooks.emulator, f"webhooks/{delivery['event']}")
        assert '"type": "payment.created"' in texts(html, "event-body")[0]
        assert delivery["id"] in texts(html, "delivery")[0]
        for path in (f"events/{delivery['event']}", f"deliveries/{delivery['id']}"):
            assert f"curl http://127.0.0.1:8080/_emulator/{path}</pre>" in html


async def test_a_pause_is_shown_with_what_waits() -> None:
    async with webhook_world() as hooks:
        assert "pause" in (await page(hooks.emulator, "webhooks"))
        await hooks.emulator.control("PUT", "/deliveries/paused", {"paused": True})
        await hooks.emulator.create()
        html = await page(hooks.emulator, "webhooks")
        assert "5 min 0 s" in texts(html, "paused")[0]
        assert texts(html, "delivery-row")[0].endswith("pending next now Send now Drop")


async def test_endpoints_are_shown_without_their_secrets(emulator: World) -> None:
    assert len(texts(await page(emulator, "webhooks"), "no-endpoint")) == 1
    endpoint = await register(emulator, "http://127.0.0.1:1/<b>", events=["payment.failed"])
    html = await page(emulator, "webhooks")
    assert "http://127.0.0.1:1/&lt;b&gt;" in html
    assert endpoint["id"] in texts(html, "endpoint")[0]
    assert "payment.failed" in texts(html, "endpoint")[0]
    assert endpoint["secret"] not in html


async def test_a_webhook_whose_resend_failed_in_a_pause_is_failing() -> None:
    async with webhook_world(replies(Reply(status=500))) as hooks:
        await hooks.emulator.control("PUT", "/deliveries/paused", {"paused": True})
        await hooks.emulator.create()
        assert texts(await page(hooks.emulator, "webhooks"), "only-failing") == []
        [delivery] = await hooks.deliveries()
        await hooks.resend(delivery)
        html = await page(hooks.emulator, "webhooks?failing=true")
        assert texts(html, "only-failing") == ["1 failing"]
        [row] = texts(html, "delivery-row")
        assert "pending 500 next now" in row


async def test_the_failing_ones_of_all_pages_come_first_with_a_filter() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        failing, *_ = [await hooks.emulator.create() for _ in range(27)]
        await hooks.settle()
        for query, count in (("", 25), ("?event=payment.created", 26), ("?failing=true", 1)):
            html = await page(hooks.emulator, f"webhooks{query}")
            rows = texts(html, "delivery-row")
            assert len(rows) == count
            assert (failing["id"][-8:] in rows[0]) == bool(query)
        assert texts(html, "delivery-status") == ["pending"]
        older = (await hooks.deliveries())[-3]["id"]
        html = await page(hooks.emulator, f"webhooks?event=payment.created&before={older}")
        assert failing["id"][-8:] in texts(html, "delivery-row")[-1]


async def test_equal_results_in_turn_are_counted() -> None:
    async with webhook_world(replies(*[Reply(status=500)] * 3, Reply())) as hooks:
        await hooks.create()
        for seconds, results in ((0, "500"), (1, "500 ×2"), (5, "500 ×3"), (15, "500 ×3 200")):
            await hooks.advance(seconds)
            [row] = texts(await page(hooks.emulator, "webhooks"), "delivery-row")
            assert f" {results} " in row, seconds
        assert "pending" not in row


async def test_a_delivery_that_a_scenario_changed_shows_its_fault() -> None:
    async with webhook_world() as hooks:
        rule = {"when": {"event": "payment.created"}, "then": {"copies": 2}}
        await hooks.emulator.control("PUT", "/scenarios/twice", {"webhooks": [rule]})
        await hooks.emulator.create()
        [delivery, _] = await hooks.deliveries()
        html = await page(hooks.emulator, f"webhooks/{delivery['id']}")
        assert "A scenario changed it" in html
        assert "copies" in html


@pytest.mark.parametrize("is_insecure", [True, False])
async def test_the_dashboard_says_that_endpoints_are_not_verified(is_insecure: bool) -> None:
    async with world(webhook_insecure=is_insecure) as emulator:
        text = await page(emulator, "payments")
    assert ('data-testid="webhook-insecure"' in text) is is_insecure


async def test_failures_are_one_line_for_each_endpoint_and_cause() -> None:
    async with webhook_world(replies(*[Reply(status=500)] * 2, Reply(status=503))) as hooks:
        assert texts(await page(hooks.emulator, "webhooks"), "failures") == []
        for _ in range(3):
            await hooks.create()
        url, since = hooks.receiver.url.partition("://")[2], "2026-01-01 00:00:00 UTC"
        html = await page(hooks.emulator, "webhooks")
        cause = "The handler failed: see its own log."
        first, second = texts(html, "failures")
        assert first == (
            f"{url}: 2 failed, status 500, since {since} Resend all of the endpoint {cause}"
        )
        assert second.startswith(f"{url}: 1 failed, status 503, since {since}")
        assert html.count('data-testid="resend-all"') == 1
        path = f"/webhook_endpoints/{hooks.endpoint['id']}"
        await hooks.emulator.control("DELETE", path)
        html = await page(hooks.emulator, "webhooks")
        assert 'data-testid="resend-all"' not in html, "nothing can be sent to it"


async def test_the_kinds_are_the_failing_ones_the_states_and_the_endpoints() -> None:
    async with webhook_world(replies(Reply(status=500), Reply())) as hooks:
        assert texts(await page(hooks.emulator, "webhooks"), "kind") == []
        for _ in range(2):
            await hooks.create()
        other = await register(hooks.emulator, "http://127.0.0.1:9/other")
        await hooks.emulator.control("PUT", "/deliveries/paused", {"paused": True})
        await hooks.emulator.create()
        html = await page(hooks.emulator, "webhooks")
        url = hooks.receiver.url.partition("://")[2]
        assert texts(html, "only-failing") == ["1 failing"]
        assert texts(html, "kind") == [
            "3 pending",
            "1 succeeded",
            f"3 to {url}",
            "1 to 127.0.0.1:9/other",
        ]
        for query, count in (
            ("failing=true", 1),
            ("status=pending", 3),
            (f"endpoint={other['id']}", 1),
        ):
            assert query in html
            selected = await page(hooks.emulator, f"webhooks?{query}")
            assert len(texts(selected, "delivery-row")) == count
            assert ' aria-current="true"' in selected
