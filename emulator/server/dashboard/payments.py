"""The pages about payments: the list, and one payment as a story."""

import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any

from emulator.domain.errors import UnknownRequest
from emulator.domain.message_text import not_accepted
from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge, TimerKind
from emulator.server.dashboard.state_diagram import diagram
from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest, curl
from emulator.server.engine.payments.customer import (
    ANSWERS_OF_A_BANK,
    ANSWERS_OF_A_PHONE,
    PhoneAnswer,
)
from emulator.server.storage.payments import MAX_COMPARED_PAYMENTS

MAX_ENTRIES = "100"

# In the address, amounts are in ETB; the control API takes cents.
_AMOUNT_FILTERS = {"amount_from": "amount_gte", "amount_to": "amount_lte"}
# A page shows an instant with a blank between date and time.
_TIME_FILTERS = ("created_gte", "created_lte")
_SHOWN_INSTANT = re.compile(r"(\d-\d\d)\s+(\d\d:)")
_ETB = re.compile(r"([0-9]{1,13})(?:\.([0-9]{1,2}))?", re.ASCII)

# The order of entries with the same instant: a request causes a transition, and that a delivery.
_ORDER = ("request", "transition", "delivery")


async def payment_list(page: ViewRequest) -> Mapping[str, Any]:
    """The newest payments that match the filters in the address."""
    query = dict(page.query)
    for shown, parameter in _AMOUNT_FILTERS.items():
        if shown in query:
            query[parameter] = _cents(shown, query.pop(shown))
    for parameter in {*_TIME_FILTERS} & {*query}:
        query[parameter] = _SHOWN_INSTANT.sub(r"\1T\2", query[parameter].strip())
    listed = await page.get("/payments", **{**query, "limit": ROWS_PER_PAGE})
    return {
        "payments": listed["data"],
        "next_cursor": listed["next_cursor"],
        "curl": page.curl("/payments", **query),
        "is_compared": bool({*query} & {*_AMOUNT_FILTERS.values(), "phone", "metadata"}),
        "max_compared": MAX_COMPARED_PAYMENTS,
        "unauthorized": await page.get("/unauthorized"),
        "shown_unauthorized": 3,
    }


def _cents(name: str, value: str) -> str:
    """The amount in ETB cents. Raises InvalidField."""
    match = _ETB.fullmatch(value.replace(",", "").removeprefix("ETB").strip())
    if match is None:
        raise not_accepted(name, value, "an amount in ETB, such as 150 or 150.50")
    return match[1] + (match[2] or "").ljust(2, "0")


async def payment_story(page: ViewRequest) -> Mapping[str, Any]:
    """A payment with everything that happened to it, and what is scheduled."""
    detail = await page.get(f"/payments/{page.item}")
    payment = detail["payment"]
    deliveries = await page.get("/deliveries", payment=payment["id"], limit=MAX_ENTRIES)
    requests = await _requests(page, detail)
    # The journal has a request at the instant of its response, which is after its change.
    changed_at = {each["request"]: each["at"] for each in detail["timeline"]}
    entries = [
        *(
            {"kind": "request", "item": each, "at": changed_at.get(each["id"], each["at"])}
            for each in requests
        ),
        *({"kind": "transition", "item": each, "at": each["at"]} for each in detail["timeline"]),
        *(
            {"kind": "delivery", "item": each, "attempt": attempt, "at": attempt["at"]}
            for each in reversed(deliveries["data"])
            for attempt in each["attempts"]
        ),
    ]
    scenarios = await page.get("/scenarios")
    is_asked = any(each["kind"] == TimerKind.HANDSET_TIMEOUT for each in detail["scheduled"])
    answers = ANSWERS_OF_A_BANK if payment["method"] == BANK_TRANSFER else ANSWERS_OF_A_PHONE
    return {
        "detail": detail,
        "payment": payment,
        "entries": sorted(entries, key=lambda each: (each["at"], _ORDER.index(each["kind"]))),
        "diagram": diagram(_path(detail), current=payment["status"]),
        "transitions": [
            {"status": target.value, "is_unusual": edge is Edge.UNUSUAL}
            for (source, target), edge in TRANSITIONS.items()
            if source.value == payment["status"] and target is not Status.PROCESSING
        ],
        "scenario_names": [each["name"] for each in scenarios["data"]],
        "answers": [answer.value for answer in PhoneAnswer if is_asked and answer in answers],
        "first_phones": {
            name: f"0{method.phone_digits[0]}00000001" for name, method in PHONE_METHODS.items()
        },
        "banks_by_method": {BANK_TRANSFER: BANKS},
        "curl": curl(
            f"{page.base_url}/v1/payments/{payment['id']}",
            authorization=f"Authorization: Bearer ${detail['mode'].upper()}_KEY",
        ),
    }


async def _requests(page: ViewRequest, detail: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that created and retrieved the payment, as far as the journal has them."""
    path = f"/v1/payments/{detail['payment']['id']}"
    found: list[Mapping[str, Any]] = (await page.get("/requests", path=path, limit=MAX_ENTRIES))[
        "data"
    ]
    created_by = detail["timeline"][0]["request"]
    if created_by is not None:
        with suppress(UnknownRequest):  # The journal has the newest requests only.
            found.append(await page.get(f"/requests/{created_by}"))
    return found[::-1]


def _path(detail: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The transitions that the payment took, each with its time of day."""
    return {
        (before["status"], after["status"]): after["at"][11:19]
        for before, after in pairwise(detail["timeline"])
    }
