"""The pages about webhooks: endpoints and deliveries, and one delivery or event."""

import json
from collections.abc import Mapping
from shlex import quote
from typing import Any

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryState, Profile
from emulator.server.dashboard.view_request import ROWS_PER_PAGE, ViewRequest

_EVENT = "evt_"


async def delivery_list(page: ViewRequest) -> Mapping[str, Any]:
    """The endpoints, and the newest deliveries that match the filters in the address."""
    listed = await page.get("/deliveries", **{**page.query, "limit": ROWS_PER_PAGE})
    rows = listed["data"]
    return {
        "deliveries": rows,
        "next_cursor": rows[-1]["id"] if listed["has_more"] else None,
        "curl": page.curl("/deliveries", **page.query),
        "endpoints": await _endpoints(page),
        "event_types": EVENT_TYPES_IN_ORDER,
        "delivery_states": [state.value for state in DeliveryState],
        "profiles": [profile.value for profile in Profile],
    }


async def delivery_details(page: ViewRequest) -> Mapping[str, Any]:
    """A delivery with each attempt, or an event with its deliveries."""
    item = str(page.item)
    if not item.startswith(_EVENT):
        delivery = await page.get(f"/deliveries/{item}")
        return {"event": None, **_details(page, [delivery], await _endpoints(page))}
    event = await page.get(f"/events/{item}")
    of_payment = await page.get("/deliveries", payment=event["data"]["id"])
    deliveries = [each for each in of_payment["data"] if each["event"] == event["id"]]
    text = json.dumps(event, indent=2, ensure_ascii=False)
    details = _details(page, deliveries, await _endpoints(page))
    command = page.curl(f"/events/{item}")
    return {"event": event, "event_text": text, "event_curl": command, **details}


async def _endpoints(page: ViewRequest) -> dict[str, Any]:
    listed = await page.get("/webhook_endpoints")
    return {endpoint["id"]: endpoint for endpoint in listed["data"]}


def _details(
    page: ViewRequest, deliveries: list[Any], endpoints: Mapping[str, Any]
) -> Mapping[str, Any]:
    attempts = [attempt for delivery in deliveries for attempt in delivery["attempts"]]
    for attempt in attempts:
        attempt["signed"] = _signed(attempt["request"])
        attempt["verification"] = verification(attempt["request"])
        attempt["curl"] = _curl(attempt["request"])
    for delivery in deliveries:
        delivery["curl"] = page.curl(f"/deliveries/{delivery['id']}")
    return {"deliveries": deliveries, "endpoints": endpoints}


def _signed(request: Mapping[str, Any]) -> str:
    """What Standard Webhooks signs: id, timestamp and body, joined by dots."""
    headers = request["headers"]
    return f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{request['body']}"


def verification(request: Mapping[str, Any]) -> str:
    """A shell line that prints whether a signature of a request is valid for `$SECRET`."""
    key = "$(printf %s \"${SECRET#whsec_}\" | base64 -d | od -An -v -tx1 | tr -d ' \\n')"
    signature = (
        f"$(printf %s {quote(_signed(request))}"
        f' | openssl dgst -sha256 -mac HMAC -macopt "hexkey:{key}" -binary | base64)'
    )
    signatures = quote(request["headers"]["webhook-signature"])
    return f'case " "{signatures}" " in *" v1,{signature} "*) echo valid;; *) echo invalid;; esac'


def _curl(request: Mapping[str, Any]) -> str:
    """The attempt as a command; a receiver may refuse its timestamp after five minutes."""
    lines = [f"curl {quote(request['url'])}"]
    lines += [f"-H {quote(f'{name}: {value}')}" for name, value in request["headers"].items()]
    return " \\\n  ".join([*lines, f"--data-raw {quote(request['body'])}"])
