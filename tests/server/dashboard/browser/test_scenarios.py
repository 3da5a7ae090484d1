"""The pages about scenarios, faults and snapshots in Chromium."""

from playwright.async_api import expect

from emulator.server.dashboard.sections import ONE_CLICK_FAULTS
from tests.server.dashboard.browser.tabs import OpenTab, Tab


async def test_the_buttons_add_and_delete_faults(tab: Tab) -> None:
    await tab.open("scenarios")
    for number in range(1, len(ONE_CLICK_FAULTS) + 1):
        await tab.click(f"add-fault-{number}")
        await tab.counts("fault", number)
    await tab.click("delete-fault")
    await tab.counts("fault", len(ONE_CLICK_FAULTS) - 1)
    await tab.click("clear-faults")
    await tab.counts("fault", 0)
    await tab.click("add-fault-1")
    await tab.sees("uses", "1 of 1 left")
    # The page shows the use of the rule at once.
    assert (await tab.create())["error"]["code"] == "internal_error"
    await tab.sees("uses", "0 of 1 left")


async def test_a_scenario_is_switched_stored_changed_and_deleted(open_tab: OpenTab) -> None:
    async with open_tab(excused="/scenarios/own") as tab:
        await tab.open("scenarios")
        await tab.click("switch-refund")
        row = tab.page.get_by_test_id("scenario-row").filter(has_text="refund")
        await expect(row.first).to_contain_text("on")
        await tab.click("store")
        form = tab.page.get_by_test_id("put-scenario")
        await form.locator("[name=name]").fill("own")
        text = form.locator("textarea")
        await text.fill("description: One.\noutcomes:\n  - then: []\n")
        await form.get_by_role("button").click()
        await tab.sees("message", "line 3, column")
        selection = "t => t.value.slice(t.selectionStart, t.selectionEnd)"
        assert await text.evaluate(selection) == "  - then: []"
        await text.fill("faults:\n  - {when: {}, then: {status: 500}, times: 2}\n")
        await form.get_by_role("button").click()
        await tab.sees("message", "Stored")
        await tab.page.get_by_role("link", name="own", exact=True).click()
        await tab.sees("uses", "2 of 2 left")
        await tab.create()
        await tab.sees("uses", "1 of 2 left")
        await tab.click("switch")
        await tab.sees("state", "off")
        await tab.click("edit")
        await tab.page.locator("textarea").fill("description: Two.\n")
        await tab.page.get_by_role("button", name="Store in this account").click()
        await expect(tab.page.locator("#scenario")).to_contain_text("Two.")
        await tab.click("delete-scenario")
        await tab.page.wait_for_url("**/view/scenarios?*")
        await expect(tab.page.get_by_role("link", name="own", exact=True)).to_have_count(0)


async def test_snapshots_are_saved_restored_and_deleted(open_tab: OpenTab) -> None:
    async with open_tab(excused="/snapshots/") as tab:
        await tab.open("scenarios")
        name = tab.page.get_by_test_id("save-snapshot").get_by_role("textbox")
        await name.fill("-bad name")
        await name.press("Enter")
        await tab.sees("message", "1 to 64 letters")
        await name.fill("empty")
        await name.press("Enter")
        await tab.sees("message", "Saved.")
        # A focused field does not keep the page from showing what was saved.
        await tab.counts("snapshot", 1)
        await tab.create()
        await tab.click("restore")
        await tab.sees("message", "Restored.")
        assert (await tab.call("GET", "/v1/payments"))["data"] == []
        await tab.click("delete-snapshot")
        await tab.counts("snapshot", 0)
        await tab.control("PUT", "/snapshots/from-a-test")
        await tab.counts("snapshot", 1)


async def test_the_recording_is_downloaded(tab: Tab) -> None:
    await tab.create()
    await tab.open("scenarios")
    assert "script:" in (await tab.downloads("recording"))[1]


async def test_a_script_is_run_with_its_steps_as_the_result(tab: Tab) -> None:
    await tab.open("scenarios/telebirr-test-numbers")
    await tab.click("run")
    steps = tab.page.get_by_test_id("steps-of-run").locator("li")
    count = len((await tab.control("GET", "/scenarios/telebirr-test-numbers"))["script"])
    await tab.sees("message", f"All {count} steps succeeded.")
    await expect(steps).to_have_count(count)
    await expect(steps.nth(1)).to_contain_text(": 200 completed")
    await tab.is_accessible_and_fits()
    await tab.click("account-of-run")
    await tab.counts("payment-row", 7)
    # The account of the page is unchanged.
    assert (await tab.call("GET", "/v1/payments"))["data"] == []


async def test_a_failing_step_is_the_sentence_of_a_run(tab: Tab) -> None:
    create = {"create": {"as": "order"}}
    script = [create, {"expect": {"payment": "order", "status": "completed"}}, create]
    await tab.control("PUT", "/scenarios/wrong", {"script": script})
    await tab.open("scenarios/wrong")
    await tab.click("run")
    await tab.sees("message", "Step 2 failed: status: expected completed, got pending.")
    await expect(tab.page.get_by_test_id("steps-of-run").locator(".cause")).to_have_count(1)
