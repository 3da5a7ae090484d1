"""The pages about payments: the list, and one payment as a story."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from emulator.dashboard.curl import curl
from emulator.dashboard.page_request import ROWS_PER_PAGE, PageRequest
from emulator.dashboard.state_diagram import diagram
from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.engine.payments.customer import PhoneAnswer

MAX_ENTRIES = "100"

# The order of entries with the same instant: a request causes a transition, and that a delivery.
_ORDER = ("request", "transition", "delivery")


async def payment_list(page: PageRequest) -> Mapping[str, Any]:
    """The newest payments that match the filters in the address."""
    listed = await page.get("/payments", **{**page.query, "limit": ROWS_PER_PAGE})
    return {"payments": listed["data"], "next_cursor": listed["next_cursor"]}


async def payment_story(page: PageRequest) -> Mapping[str, Any]:
    """A payment with everything that happened to it, and what is scheduled."""
    detail = await page.get(f"/payments/{page.item}")
    payment = detail["payment"]
    deliveries = await page.get("/deliveries", payment=payment["id"], limit=MAX_ENTRIES)
    requests = await _requests(page, detail)
    entries = [
        *({"kind": "request", "item": each, "at": each["at"]} for each in requests),
        *({"kind": "transition", "item": each, "at": each["at"]} for each in detail["timeline"]),
        *(
            {"kind": "delivery", "item": each, "attempt": attempt, "at": attempt["at"]}
            for each in reversed(deliveries["data"])
            for attempt in each["attempts"]
        ),
    ]
    scenarios = await page.get("/scenarios")
    return {
        "detail": detail,
        "payment": payment,
        "entries": sorted(entries, key=lambda each: (each["at"], _ORDER.index(each["kind"]))),
        "diagram": diagram(_path(detail)),
        "transitions": [
            {"status": target.value, "is_unusual": edge is Edge.UNUSUAL}
            for (source, target), edge in TRANSITIONS.items()
            if source.value == payment["status"] and target is not Status.PROCESSING
        ],
        "scenario_names": [each["name"] for each in scenarios["data"]],
        "answers": [answer.value for answer in PhoneAnswer],
        "first_phones": {
            name: f"0{method.phone_digit}00000001" for name, method in PHONE_METHODS.items()
        },
        "banks_by_method": {BANK_TRANSFER: BANKS},
        "curl": curl(f"{page.base_url}/v1/payments/{payment['id']}"),
    }


async def _requests(page: PageRequest, detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that created and retrieved the payment, as far as the journal has them."""
    path = f"/v1/payments/{detail['payment']['id']}"
    found: list[Mapping[str, Any]] = (await page.get("/requests", path=path, limit=MAX_ENTRIES))[
        "data"
    ]
    creation = detail["timeline"][0]["request"]
    creates = await page.get("/requests", path="/v1/payments", method="POST", limit=MAX_ENTRIES)
    return [*(each for each in creates["data"] if each["id"] == creation), *reversed(found)]


def _path(detail: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The transitions that the payment took, each with its time of day."""
    return {
        (before["status"], after["status"]): after["at"][11:19]
        for before, after in pairwise(detail["timeline"])
    }
