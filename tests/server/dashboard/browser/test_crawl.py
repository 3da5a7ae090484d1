"""One crawl of every page, on each device: accessible, without overflow, with usable controls."""

from typing import Any

from playwright.async_api import expect

from emulator.server.dashboard.app import SECTIONS
from tests.server.checkout.browser.boxes import small_controls
from tests.server.dashboard.browser.tabs import HOSTILE, Tab, in_every_look
from tests.server.webhooks.receiver import Reply, replies

LONG_URL = "http://127.0.0.1:9/%3Cscript%3E%E2%80%AE/" + "x" * 500
# With the menu of the header.
_UNFOLD = "for (const each of document.querySelectorAll('details')) each.open = true"
FAILS_ONCE = replies(
    Reply(status=500, body=HOSTILE.encode(), headers={"X-Note": "x" * 500}), Reply()
)


async def pages(tab: Tab) -> list[str]:
    """The address of every page, on an account in which much has happened."""
    hostile = {"order": HOSTILE, HOSTILE[:39]: "under_scores_1"}
    await tab.control("POST", "/faults", {"then": {"status": 500}, "times": 1})
    await tab.create(metadata=hostile)
    await tab.create(amount=HOSTILE)
    await tab.call("GET", "/v1/payments?limitt=1")
    await tab.call("GET", f"/v1/{'x' * 500}")
    await tab.api.get("/v1/payments")
    refund = await tab.merchant.create(metadata=hostile)
    await tab.merchant.pay(refund, "telebirr", phone="0911223344")
    await tab.merchant.answer(refund, "approve")
    await tab.merchant.transition(refund, "refunded")
    await tab.merchant.advance(0)
    await tab.control("PUT", "/deliveries/paused", {"paused": True})
    waiting = await tab.merchant.create()
    await tab.merchant.pay(waiting, "telebirr", phone="0911223344")
    await tab.control("PUT", f"/snapshots/{'x' * 64}")
    await tab.control("PUT", "/scenarios/own", {"description": HOSTILE})
    await tab.control("POST", "/faults", {"then": {"drop": True}, "times": 1})
    deliveries = (await tab.control("GET", "/deliveries"))["data"]
    requests = (await tab.control("GET", "/requests"))["data"]
    return [
        *(*SECTIONS, "scenarios/own", "scenarios/webhook-chaos", "search?list=1&q=onerror"),
        *("search?q=nothing", "none/x", "webhooks/dlv_1", "payments?mode=live"),
        *("payments?status=expired", "webhooks?status=dropped"),
        *(f"payments/{each['id']}" for each in (refund, waiting)),
        *(f"webhooks/{each['id']}" for each in (deliveries[0], deliveries[-1])),
        f"webhooks/{deliveries[-1]['event']}",
        *(f"requests/{each['id']}" for each in requests),
    ]


async def check(tab: Tab, path: str) -> None:
    await tab.open(path)
    await expect(tab.page.locator("h1")).to_be_visible()
    await tab.is_accessible_and_fits()
    assert await misnamed(tab) == [], path
    await tab.page.evaluate(_UNFOLD)
    assert await small_controls(tab.page) == [], path


@in_every_look
async def test_each_page_is_accessible_and_its_controls_are_large_and_named(tab: Tab) -> None:
    for path in SECTIONS:
        await check(tab, path)
    await tab.control("POST", "/webhook_endpoints", {"url": LONG_URL})
    async with tab.endpoint(FAILS_ONCE):
        await check(tab, "webhooks")
        for path in await pages(tab):
            await check(tab, path)


def names_of(tree: Any) -> dict[int, str]:
    """The accessible name of each button and link, by the node of the document."""
    return {
        node["backendDOMNodeId"]: " ".join(node["name"]["value"].split())
        for node in tree["nodes"]
        if node["role"]["value"] in ("button", "link") and "backendDOMNodeId" in node
    }


async def misnamed(tab: Tab) -> list[tuple[str, str]]:
    """The visible text and the name of each button and link whose name begins otherwise."""
    session = await tab.page.context.new_cdp_session(tab.page)
    names = names_of(await session.send("Accessibility.getFullAXTree"))
    assert len(names) > 10
    found = []
    for node, name in names.items():
        remote = await session.send("DOM.resolveNode", {"backendNodeId": node})
        called = await session.send(
            "Runtime.callFunctionOn",
            {
                "objectId": remote["object"]["objectId"],
                "functionDeclaration": "function () { return this.innerText }",
                "returnByValue": True,
            },
        )
        text = " ".join((called["result"].get("value") or "").split())
        if not name.startswith(text):
            found.append((text, name))
    return found
