"""Pages come alive, are driven by the keyboard, and are safe; test_crawl.py opens each of them."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from tests.server.checkout.browser.boxes import small_controls
from tests.server.dashboard.browser.tabs import HOSTILE, OpenTab, Tab, in_every_look


@in_every_look
async def test_the_search_and_the_dialogs_are_accessible(tab: Tab) -> None:
    await tab.merchant.create(metadata={"order": HOSTILE})
    await tab.open("payments")
    await tab.press("/")
    await tab.page.keyboard.type("onerror")
    await tab.counts("match", 1)
    await tab.is_accessible_and_fits()
    assert await small_controls(tab.page) == []
    await tab.press("Escape", "?")
    await expect(tab.page.get_by_test_id("help")).to_be_visible()
    await tab.is_accessible_and_fits()
    assert await small_controls(tab.page) == []


async def test_an_empty_page_comes_alive(tab: Tab) -> None:
    for path in ("webhooks", "requests", "payments"):
        await tab.open(path)
        await tab.counts("empty", 1)
        await tab.counts("filters", 0)
    for language in ("curl", "Python", "Node", "PHP"):
        if language != "curl":
            await tab.click(f"in-{language}")
        copied = await tab.copies(f"copy-{language}")
        assert f"Bearer {tab.merchant.key}" in copied
    assert tab.merchant.key not in await tab.page.content()
    payment = await tab.merchant.create()
    await tab.sees("payment-row", payment["id"])
    await tab.counts("filters", 1)


@pytest.mark.parametrize(
    ("path", "row", "count"),
    [
        ("payments", "payment-row", "1 new"),
        ("webhooks", "delivery-row", "updates"),
        ("requests", "request-row", "updates"),
    ],
)
async def test_an_older_page_only_counts_what_is_new(
    open_tab: OpenTab, path: str, row: str, count: str
) -> None:
    async with open_tab() as tab, tab.endpoint():
        for _ in range(26):
            await tab.merchant.create()
        await tab.open(path)
        await tab.counts(row, 25)
        await tab.click("older")
        await tab.counts(row, 1)
        await tab.merchant.create()
        await tab.sees("new-count", count)
        await tab.counts(row, 1)
        await tab.page.get_by_test_id("new-count").get_by_role("link").click()
        await tab.counts(row, 25)


async def test_the_keyboard_reaches_search_rows_and_help(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        payments = [await tab.merchant.create() for _ in range(2)]
        await tab.open("payments")
        await tab.press("j", "j", "k", "j", "Enter")
        await expect(tab.page.locator("h1")).to_contain_text(payments[0]["id"])
        await tab.press("?")
        await expect(tab.page.get_by_test_id("help")).to_be_visible()
        await tab.press("Escape")
        await expect(tab.page.get_by_test_id("help")).to_be_hidden()
        await tab.press("/")
        await expect(tab.page.get_by_test_id("search")).to_be_focused()
        # A dialog that is open gets the keys, wherever the focus is.
        await tab.page.evaluate("document.activeElement.blur()")
        await tab.press("?")
        await expect(tab.page.get_by_test_id("help")).to_be_hidden()
        await tab.page.get_by_test_id("search").focus()
        await tab.press("Escape", "Control+k")
        await tab.page.keyboard.type(payments[1]["id"])
        await tab.press("Enter")
        await expect(tab.page.locator("h1")).to_contain_text(payments[1]["id"])
        for path in ("webhooks", "requests", "scenarios"):
            await tab.open(path)
            await tab.press("j", "j")
            row = tab.page.locator("[data-row]").nth(1)
            await expect(row.locator("a:focus")).to_have_count(1)
            await tab.press("Enter")
            await tab.page.wait_for_url(f"**/view/{path}/*")


async def test_the_search_first_has_the_commands_of_the_page(tab: Tab) -> None:
    payment = await tab.merchant.create()
    await tab.open(f"payments/{payment['id']}")
    await tab.press("/")
    commands = tab.page.get_by_test_id("command")
    await expect(commands).to_have_count(8)
    await expect(commands.nth(0)).to_have_text("Checkout page")
    await expect(commands.nth(2)).to_have_text("Pay · telebirr")
    await expect(commands.filter(has_text="Reset account")).to_have_count(0)
    await tab.page.keyboard.type("pay")
    await expect(commands.first).to_have_text("Pay · telebirr")
    # What the emulator finds is nothing, and the commands say enough.
    await tab.counts("no-match", 0)
    await tab.press("Enter")
    phone = tab.page.get_by_test_id("pay-telebirr").get_by_role("textbox")
    await expect(phone).to_be_focused()
    await tab.press("Enter")
    await tab.sees("message", "Submitted by telebirr")


async def test_the_search_goes_to_the_forms_that_are_folded(tab: Tab) -> None:
    await tab.merchant.create()
    for path, text, field in (
        ("payments", "filters", "status"),
        ("scenarios", "store · n", "name"),
        ("webhooks", "add an", "url"),
        ("checklist", "advance · t", "until"),
    ):
        await tab.open(path)
        await tab.press("/")
        await tab.page.keyboard.type(text)
        await tab.counts("command", 1)
        await tab.press("Enter")
        await expect(tab.page.locator(":focus")).to_have_attribute("name", field)


async def test_an_update_keeps_the_focus_and_what_is_folded(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.merchant.create()
        await tab.open("webhooks")
        button = tab.page.get_by_test_id("resend").last
        await button.focus()
        call = await button.get_attribute("data-call")
        await tab.merchant.create()
        await tab.counts("delivery-row", 2)
        await expect(tab.page.locator(f"[data-call='{call}']")).to_be_focused()
        await tab.page.get_by_test_id("pause").focus()
        await tab.press("Enter")
        await expect(tab.page.get_by_test_id("resume")).to_be_focused()
        await tab.click("resume")
        await tab.page.get_by_test_id("delivery-row").locator(".event a").first.click()
        await tab.page.get_by_test_id("attempt").locator("summary").first.click()
        await tab.click("resend")
        await tab.counts("attempt", 2)
        await expect(tab.page.get_by_test_id("attempt").last).not_to_have_attribute("open", "")


async def test_the_focus_stays_with_what_calls_the_same_if_an_update_is_first(tab: Tab) -> None:
    async def respond_after_the_update(route: Route) -> None:
        response = await route.fetch()
        await tab.page.get_by_test_id("resume").wait_for()
        await route.fulfill(response=response)

    async with tab.endpoint():
        await tab.open("webhooks")
        await tab.page.route("**/_emulator/deliveries/paused*", respond_after_the_update)
        await tab.page.get_by_test_id("pause").focus()
        await tab.press("Enter")
        await expect(tab.page.get_by_test_id("resume")).to_be_focused()


async def test_the_back_button_shows_what_the_page_is_about(tab: Tab) -> None:
    await tab.merchant.create()
    await tab.open("payments")
    await tab.page.get_by_text("Filters").click()
    await tab.page.get_by_label("Status").select_option("failed")
    await tab.page.get_by_role("button", name="Filter").click()
    await tab.counts("no-match", 1)
    await tab.page.get_by_test_id("mode").select_option("live")
    await tab.counts("empty", 1)
    await tab.page.go_back()
    await expect(tab.page.get_by_test_id("mode")).to_have_value("test")
    await tab.page.go_back()
    await tab.counts("payment-row", 1)
    await expect(tab.page.get_by_label("Status")).to_have_value("")


async def test_a_page_comes_alive_when_its_item_exists(open_tab: OpenTab) -> None:
    async with open_tab(excused="/payments/latest") as tab:
        await tab.open("latest")
        await tab.counts("problem", 1)
        payment = await tab.merchant.create()
        await expect(tab.page.locator("h1")).to_contain_text(payment["id"])
        await tab.click("menu", "reset-account")
        await tab.counts("step", 3)


async def test_a_hidden_page_has_no_stream(open_tab: OpenTab) -> None:
    """A browser opens six connections to an address, for all its pages."""
    hide = """(isHidden) => {
      Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    async with open_tab() as tab:
        await tab.open("payments")
        await tab.merchant.create()
        await tab.counts("payment-row", 1)
        async with tab.page.expect_event("requestfailed", lambda r: "/stream" in r.url):
            await tab.page.evaluate(hide, True)
        await tab.merchant.create()
        await tab.counts("payment-row", 1)
        await tab.page.evaluate(hide, False)
        await tab.counts("payment-row", 2)


async def test_a_page_without_a_clipboard_copies_as_well(open_tab: OpenTab) -> None:
    async with open_tab(excused="/test-key") as tab:
        clipboard = "Object.defineProperty(navigator, 'clipboard', { value: %s })"
        await tab.page.add_init_script(clipboard % "undefined, configurable: true")
        await tab.merchant.create()
        await tab.open("payments")
        await tab.click("menu", "copy-test-key")
        await tab.sees("message", "Copied.")
        await tab.press("/")
        await tab.press("Control+v")
        await expect(tab.page.get_by_test_id("search")).to_have_value(tab.merchant.key)
        await tab.press("Escape")
        refusal = {"error": {"message": "There is no account."}}
        await tab.page.route("**/test-key*", lambda route: route.fulfill(status=404, json=refusal))
        await tab.click("menu", "copy-test-key")
        await tab.sees("message", "Not copied: There is no account.")


async def test_the_filters_stay_in_the_address(open_tab: OpenTab) -> None:
    async with open_tab() as tab, tab.endpoint():
        await tab.merchant.create()
        await tab.merchant.advance(10)
        await tab.merchant.create()
        await tab.open("payments")
        await tab.page.get_by_text("Filters").click()
        await tab.page.get_by_label("Created from").fill("2026-01-01 00:00:10")
        # An update of the page keeps what is typed.
        await tab.merchant.create()
        await tab.counts("payment-row", 3)
        await tab.page.get_by_role("button", name="Filter").click()
        await tab.counts("payment-row", 2)
        assert "created_gte=2026-01-01" in tab.page.url
        await tab.merchant.create()
        await tab.counts("payment-row", 3)
        await tab.click("show-all")
        await tab.counts("payment-row", 4)
        await tab.open("webhooks")
        await tab.page.get_by_text("Filters").click()
        await tab.page.get_by_test_id("filters").get_by_label("Status").select_option("failed")
        await tab.page.get_by_role("button", name="Filter").click()
        await tab.counts("no-match", 1)
        await tab.click("show-all")
        await tab.counts("delivery-row", 4)


async def test_a_page_connects_again_after_a_refusal(open_tab: OpenTab) -> None:
    """As of a server that starts; browsers do not connect again by themselves."""
    async with open_tab(excused="/stream") as tab:
        await tab.page.route("**/stream*", lambda route: route.fulfill(status=503), times=1)
        await tab.open("payments")
        payment = await tab.merchant.create()
        await tab.sees("payment-row", payment["id"])


async def test_a_page_of_another_version_loads_itself_again(tab: Tab) -> None:
    async def as_another_version(route: Route) -> None:
        response = await route.fetch()
        page = (await response.text()).replace(' data-version="', ' data-version="0.0.')
        await route.fulfill(response=response, body=page)

    await tab.page.route("**/view/payments*", as_another_version, times=1)
    await tab.open("payments")
    await expect(tab.page.locator("body[data-version^='0.0.']")).to_have_count(0)
    assert len(tab.record.opened()) == 2


async def test_a_page_updates_at_most_twice_a_second(tab: Tab) -> None:
    await tab.open("payments")
    await tab.merchant.create()
    await tab.counts("payment-row", 1)
    loop = asyncio.get_running_loop()
    began, before = loop.time(), len(tab.record.requests)
    while loop.time() - began < 3:
        await tab.merchant.create()
    updates = len(tab.record.requests) - before
    assert 2 <= updates <= 2 * (loop.time() - began) + 1


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
    async with open_tab(excused="") as tab:
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
        tab.record.requests.clear()
