"""The pages about scenarios, faults and snapshots in Chromium."""

import pytest
from playwright.async_api import expect

from emulator.dashboard.scenarios import ONE_CLICK_FAULTS
from tests.checkout.browser.tabs import Device, Scheme
from tests.dashboard.browser.screens import HOSTILE, LOOK_NAMES, LOOKS, Screens


@pytest.mark.parametrize(("device", "scheme"), LOOKS, ids=LOOK_NAMES)
async def test_the_pages_are_accessible_and_fit(
    screens: Screens, device: Device, scheme: Scheme
) -> None:
    async with screens.open(device, scheme) as screen:
        await screen.call("POST", "/_emulator/faults", {"then": {"drop": True}, "times": 1})
        await screen.call("PUT", "/_emulator/scenarios/own", {"description": HOSTILE})
        await screen.call("PUT", f"/_emulator/snapshots/{'x' * 64}")
        for path in ("scenarios", "scenarios/own", "scenarios/half-an-answer"):
            await screen.open(path)
            await screen.is_accessible_and_fits()
            assert await screen.page.title() != "run"


async def test_the_buttons_add_and_delete_faults(screens: Screens) -> None:
    async with screens.open() as screen:
        await screen.open("scenarios")
        for number in range(1, len(ONE_CLICK_FAULTS) + 1):
            await screen.click(f"add-fault-{number}")
            await screen.sees("fault", number)
        await screen.click("delete-fault")
        await screen.sees("fault", len(ONE_CLICK_FAULTS) - 1)
        await screen.click("clear-faults")
        await screen.sees("fault", 0)
        await screen.click("add-fault-1")
        await screen.reads("uses", "1 of 1 left")
        # The page shows the use of the rule at once.
        assert (await screen.create())["error"]["code"] == "internal_error"
        await screen.reads("uses", "0 of 1 left")


async def test_a_scenario_is_switched_stored_changed_and_deleted(screens: Screens) -> None:
    async with screens.open(excused="/scenarios/own") as screen:
        await screen.open("scenarios")
        await screen.click("switch-refund")
        row = screen.page.get_by_test_id("scenario-row").filter(has_text="refund")
        await expect(row.first).to_contain_text("on")
        form = screen.page.get_by_test_id("put-scenario")
        await form.locator("[name=name]").fill("own")
        text = form.locator("textarea")
        await text.fill("description: One.\noutcomes:\n  - then: []\n")
        await form.get_by_role("button").click()
        await screen.reads("message", "line 3, column")
        selection = "t => t.value.slice(t.selectionStart, t.selectionEnd)"
        assert await text.evaluate(selection) == "  - then: []"
        await text.fill("faults:\n  - {when: {}, then: {status: 500}, times: 2}\n")
        await form.get_by_role("button").click()
        await screen.reads("message", "Stored")
        await screen.page.get_by_role("link", name="own", exact=True).click()
        await screen.reads("uses", "2 of 2 left")
        await screen.create()
        await screen.reads("uses", "1 of 2 left")
        await screen.click("switch")
        await screen.reads("state", "off")
        await screen.page.locator("textarea").fill("description: Two.\n")
        await screen.page.get_by_role("button", name="Store in this account").click()
        await expect(screen.page.locator("#scenario")).to_contain_text("Two.")
        await screen.click("delete-scenario")
        await screen.page.wait_for_url("**/view/scenarios?*")
        await expect(screen.page.get_by_role("link", name="own", exact=True)).to_have_count(0)


async def test_snapshots_are_saved_restored_and_deleted(screens: Screens) -> None:
    async with screens.open(excused="/snapshots/") as screen:
        await screen.open("scenarios")
        name = screen.page.locator("[name=name]").first
        await name.fill("-bad name")
        await name.press("Enter")
        await screen.reads("message", "1 to 64 letters")
        await name.fill("empty")
        await name.press("Enter")
        await screen.reads("message", "Saved.")
        # A focused field does not keep the page from showing what was saved.
        await screen.sees("snapshot", 1)
        await screen.create()
        await screen.click("restore")
        await screen.reads("message", "Restored.")
        assert (await screen.call("GET", "/v1/payments"))["data"] == []
        await screen.click("delete-snapshot")
        await screen.sees("snapshot", 0)


async def test_the_recording_is_downloaded(screens: Screens) -> None:
    async with screens.open() as screen:
        await screen.create()
        await screen.open("scenarios")
        async with screen.page.expect_download() as download:
            await screen.click("recording")
        path = await (await download.value).path()
        assert "script:" in path.read_text("utf-8")
