"""The pages about payments: the list with its filters, and a payment as a story."""

import json
import re
from html import unescape
from typing import Any

import pytest

from emulator.server.dashboard.sections import NEXT_PAYMENT, NEXT_REQUEST
from tests.server.dashboard import BROWSER, get, page, shown, texts
from tests.world import LIVE_KEY, TEST_KEY, World, world


async def test_an_empty_account_shows_a_command_without_the_key(emulator: World) -> None:
    html = await page(emulator, "payments")
    commands = texts(html, "lines")
    assert commands[0].startswith("curl http://127.0.0.1:8080/v1/payments")
    assert all("Bearer $TEST_KEY" in command for command in commands)
    assert TEST_KEY not in html
    assert (await get(emulator, "test-key")).text == TEST_KEY
    assert "$LIVE_KEY" in await page(emulator, "payments?mode=live")


FILTERS = {
    "status=completed": ["paid"],
    "method=telebirr": ["paid"],
    "created_gte=2026-01-01T00:00:10Z": ["large"],
    "created_lte=2026-01-01T00:00:00Z": ["small", "paid"],
    "created_gte=2026-01-01%C2%A000:00:10": ["large"],
}


@pytest.mark.parametrize(("query", "found"), FILTERS.items())
async def test_the_filters_are_in_the_address(
    emulator: World, query: str, found: list[str]
) -> None:
    await emulator.create(amount=150, metadata={"order": "small"})
    await emulator.pay(await emulator.create(amount=250, metadata={"order": "paid"}))
    await emulator.advance(10)
    await emulator.create(amount=40_000, metadata={"order": "large"})
    rows = texts(await page(emulator, f"payments?{query}"), "payment-row")
    assert [row.split()[0] for row in rows] == found[::-1]


async def test_a_story_shows_what_happened_and_what_is_next(emulator: World) -> None:
    payment = await emulator.create(metadata={"order": "7"})
    await emulator.pay(payment, "0911223344")
    html = await page(emulator, "payments/latest")
    assert texts(html, "amount") == ["ETB 150.00"]
    assert texts(html, "metadata") == ["order7"]
    assert texts(html, "next")[0].startswith("failed (")
    lines = [line.partition(" At ")[0] for line in texts(html, "entry")]
    assert [line.partition(" 2026-")[0] for line in lines] == [
        "+0 s Your shop to Payments service: POST /v1/payments 201",
        "pending the shop created it",
        "Customer to Payments service: pays with telebirr +251911223344",
        "processing the customer submitted telebirr",
    ]
    assert texts(html, "scheduled") == [
        "+30 s failed if the customer does not answer Advance to it"
    ]
    for testid in ("answer-approve", "transition-completed", "apply-scenario", "export"):
        assert f'data-testid="{testid}"' in html


async def test_a_story_shows_a_failed_attempt_and_the_cancel_after_it(emulator: World) -> None:
    for name in ("several-attempts", "cancel-fails"):
        await emulator.done("PUT", f"/scenarios/{name}/enabled", {"enabled": True})
    payment = await emulator.create()
    await emulator.pay(payment, "+251900000002")
    failed = "pending insufficient_balance : scenario telebirr-test-numbers, rule 2"
    path = f"payments/{payment['id']}"
    story = await shown(emulator, path)
    assert f"{failed} At 2026-01-01 00:00:00 UTC , a failed attempt without an event." in story
    assert texts(await page(emulator, path), "status") == ["pending"]
    await emulator.done("POST", f"/payments/{payment['id']}/cancel")
    story = await shown(emulator, path)
    assert failed in story
    assert "failed user_cancelled : the customer cancelled on the page" in story
    assert texts(await page(emulator, path), "status") == ["failed"]


async def test_only_the_answers_that_fit_have_buttons(emulator: World) -> None:
    for method, target, answers in (
        ("telebirr", {"phone": "0911223344"}, ("wrong_pin", "decline")),
        ("bank_transfer", {"bank": "walia_test"}, ("decline", "wrong_pin")),
    ):
        payment = await emulator.create(methods=[method])
        path = f"/payments/{payment['id']}/pay"
        await emulator.control("POST", path, {"method": method, **target})
        html = await page(emulator, "payments/latest")
        assert [f"answer-{answer}" in html for answer in answers] == [True, False]
    # A scripted outcome waits for no answer.
    await emulator.control("PUT", "/scenarios/refund/enabled", {"enabled": True})
    await emulator.control("PUT", "/scenarios/stuck-in-processing/enabled", {"enabled": True})
    await emulator.pay(await emulator.create())
    assert "answer-" not in await page(emulator, "payments/latest")


async def test_the_pages_of_another_mode_and_account_keep_them(emulator: World) -> None:
    payment = await emulator.create(LIVE_KEY)
    html = await page(emulator, "payments?mode=live")
    [row] = texts(html, "payment-row")
    assert (payment["id"] in row, "ETB 150.00" in row) == (True, True)
    assert f"/payments/{payment['id']}?mode=live" in html
    assert "Live mode of the emulator" in html
    assert (await get(emulator, "payments?account=acct_1")).status_code == 404


async def test_what_is_due_next_leads_to_its_payment_in_either_mode(emulator: World) -> None:
    payment = await emulator.create()
    for mode in ("live", "test"):
        href = re.findall(
            r'next-due"><a href="([^"]*)"', await page(emulator, f"payments?mode={mode}")
        )
        response = await emulator.api.get(unescape(href[0]), headers=BROWSER, follow_redirects=True)
        assert (response.status_code, payment["id"] in response.text) == (200, True)


async def test_the_header_shows_the_clock(emulator: World) -> None:
    await emulator.create()
    html = await page(emulator, "payments")
    assert texts(html, "now") == ["2026-01-01 00:00:00"]
    assert texts(html, "clock-state") == ["frozen"]
    assert texts(html, "next-due") == ["expiry in 30 min"]
    assert 'title="2026-01-01 00:30:00.000 UTC"' in html
    await emulator.control("PUT", "/clock", {"rate": 60})
    assert texts(await page(emulator, "payments"), "clock-state") == ["running ×60"]


async def test_pages_allow_no_script_but_their_own(emulator: World) -> None:
    response = await get(emulator, "payments")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "style=" not in response.text


async def test_the_page_of_a_problem_has_the_header_of_its_account(emulator: World) -> None:
    for path, header in {
        "payments/pay_1?account=acct_other": "/view/webhooks?account=acct_other",
        "payments/pay_1?account=acct_1": '/view/webhooks"',
        "payments?mode=lively": '/view/webhooks"',
    }.items():
        html = (await get(emulator, path)).text
        assert header in html, path
        assert len(texts(html, "advance-30")) == 1


async def test_each_account_is_selected_on_its_pages(emulator: World) -> None:
    for _ in range(60):
        await emulator.control("POST", "/accounts")
    for account in ("acct_demo", "acct_other"):
        assert f'value="{account}" selected' in await page(emulator, f"payments?account={account}")


async def test_other_methods_are_shown_by_their_names() -> None:
    async with world(methods=("birr_card",)) as emulator:
        assert '"methods": ["birr_card"]' in texts(await page(emulator, "payments"), "lines")[0]
        payment = await emulator.create(methods=["birr_card"])
        assert 'name="phone"' not in await page(emulator, "payments/latest")
        await emulator.control("POST", f"/payments/{payment['id']}/pay", {"method": "birr_card"})
        assert texts(await page(emulator, "payments?method=birr_card"), "payment-row")
        assert "birr_card" in await shown(emulator, "payments/latest")


async def test_each_list_and_item_is_a_curl_command(emulator: World) -> None:
    await emulator.create()
    for path, command in {
        "payments?status=pending": "payments?mode=test&status=pending",
        "requests": "requests?mode=test",
        "scenarios": "scenarios?mode=test",
        "scenarios/refund": "scenarios/refund?mode=test",
        "checklist": "checklist?mode=test",
    }.items():
        html = unescape(await page(emulator, f"{path}{'&' if '?' in path else '?'}mode=test"))
        assert f"curl 'http://127.0.0.1:8080/_emulator/{command}'" in html, path


@pytest.mark.parametrize("text", NEXT_PAYMENT)
async def test_a_button_determines_what_the_customer_does_next(emulator: World, text: str) -> None:
    body = _body_of_button(await page(emulator, "payments"), f"The next payment: {text}.")
    await emulator.done("PUT", "/scenarios/next-payment", body)
    for is_next in (True, False):
        payment = await emulator.create(methods=["bank_transfer", "telebirr"])
        await emulator.pay(payment, "0911223344")
        await emulator.advance(30 if is_next and "after" in NEXT_PAYMENT[text] else 0)
        detail = await emulator.shown(f"/payments/{payment['id']}")
        assert (detail["reason"] == NEXT_PAYMENT[text]["reason"]) is is_next


@pytest.mark.parametrize("text", NEXT_REQUEST)
async def test_a_button_determines_the_next_answer(emulator: World, text: str) -> None:
    body = _body_of_button(await page(emulator, "payments"), f"The next request: {text}.")
    fault = await emulator.done("POST", "/faults", body)
    assert (fault["then"], fault["times"]) == (NEXT_REQUEST[text], 1)


def _body_of_button(html: str, sentence: str) -> Any:
    [button] = [line for line in html.splitlines() if f'data-done="{sentence}"' in line]
    return json.loads(button.partition("data-body='")[2].partition("'")[0])
