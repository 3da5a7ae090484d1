"""Each page on each device: accessible, without overflow, live, and safe."""

from itertools import product

import pytest
from playwright.async_api import expect

from tests.checkout.browser.axe import axe_findings, bring_axe
from tests.dashboard.browser.conftest import WIDTHS, OpenTab, Tab, endpoint
from tests.webhooks.receiver import Reply, replies

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u0007" + "x" * 440


async def findings(tab: Tab) -> list[str]:
    """All but the contrasts that axe cannot decide: in a drawing, or below the window."""
    await bring_axe(tab.page)
    undecided = "incomplete color-contrast"
    return [each for each in await axe_findings(tab.page) if not each.startswith(undecided)]


@pytest.mark.parametrize(("device", "scheme"), [*product(WIDTHS, ("light", "dark"))])
async def test_each_page_is_accessible(open_tab: OpenTab, device: str, scheme: str) -> None:
    async with open_tab(WIDTHS[device], scheme) as tab:
        await tab.open("payments")
        assert await findings(tab) == [], "empty"
        async with endpoint(tab, replies(Reply(status=500, body=HOSTILE.encode()), Reply())):
            payment = await tab.merchant.create(metadata={"order": HOSTILE, HOSTILE[:40]: "1"})
            await tab.merchant.pay(payment, "telebirr", phone="0911223344")
            await tab.merchant.advance(0)
            deliveries = (await tab.control("GET", "/deliveries"))["data"]
            paths = ["payments", "webhooks", f"payments/{payment['id']}", "webhooks/dlv_1"]
            paths += [f"webhooks/{deliveries[-1][name]}" for name in ("id", "event")]
            for path in paths:
                await tab.open(path)
                await expect(tab.page.locator("h1")).to_be_visible()
                for details in await tab.page.locator("summary").all():
                    if await details.is_visible():
                        await details.click()
                assert await findings(tab) == [], path
                await tab.has_no_overflow()


async def test_an_empty_page_comes_alive(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        await tab.open("payments")
        await tab.click("copy-first")
        await tab.sees("message", "Copied.")
        copied = await tab.page.evaluate("navigator.clipboard.readText()")
        assert tab.merchant.key in copied
        assert tab.merchant.key not in await tab.page.content()
        payment = await tab.merchant.create()
        await tab.sees("payment-row", payment["id"])


async def test_an_older_page_only_counts_new_payments(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        created = [await tab.merchant.create() for _ in range(26)]
        await tab.open("payments")
        await tab.click("older")
        await tab.sees("payment-row", created[0]["id"])
        await tab.merchant.create()
        await tab.sees("new-count", "1 new")
        await tab.counts("payment-row", 1)


async def test_the_keyboard_reaches_search_rows_and_help(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        payments = [await tab.merchant.create() for _ in range(2)]
        await tab.open("payments")
        press = tab.page.keyboard.press
        for key in ("j", "j", "k", "j", "Enter"):
            await press(key)
        await expect(tab.page.locator("h1")).to_contain_text(payments[0]["id"])
        await press("?")
        await expect(tab.page.get_by_test_id("help")).to_be_visible()
        await press("Escape")
        await expect(tab.page.get_by_test_id("help")).to_be_hidden()
        await press("/")
        await expect(tab.page.get_by_test_id("search")).to_be_focused()
        await tab.page.keyboard.type(payments[1]["id"])
        await press("Enter")
        await expect(tab.page.locator("h1")).to_contain_text(payments[1]["id"])


async def test_the_filters_stay_in_the_address(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        await tab.merchant.create(amount=100)
        await tab.merchant.create(amount=500)
        await tab.open("payments")
        await tab.page.get_by_text("Filters").click()
        await tab.page.get_by_label("From", exact=True).fill("2")
        await tab.page.get_by_role("button", name="Filter").click()
        await tab.counts("payment-row", 1)
        assert "amount_from=2" in tab.page.url
        await tab.merchant.create(amount=600)
        await tab.counts("payment-row", 2)


_ATTACK = """async (base) => {
  const tries = {
    json: { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } },
    plain: { method: "POST", mode: "no-cors" },
  };
  const read = [];
  for (const [name, options] of Object.entries(tries)) {
    try {
      const response = await fetch(`${base}/_emulator/accounts`, options);
      if (response.type !== "opaque") read.push(name);
    } catch {}
  }
  for (const path of ["view/payments", "view/test-key", "accounts", "stream"]) {
    try { read.push(await (await fetch(`${base}/_emulator/${path}`)).text()); } catch {}
  }
  return read;
}"""


async def test_no_button_can_be_pressed_from_another_site(open_tab: OpenTab) -> None:
    async with open_tab() as tab:
        before = await tab.control("GET", "/accounts")
        await tab.page.goto(f"{tab.merchant.shop.base}/foreign".replace("127.0.0.1", "localhost"))
        assert await tab.page.evaluate(_ATTACK, tab.base) == []
        await tab.page.evaluate(
            """(base) => {
              const form = document.createElement("form");
              form.method = "post";
              form.action = `${base}/_emulator/accounts`;
              document.body.append(form);
              form.submit();
            }""",
            tab.base,
        )
        await expect(tab.page.locator("body")).to_contain_text("forbidden_origin")
        assert await tab.control("GET", "/accounts") == before
