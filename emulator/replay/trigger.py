"""Drives a new payment to a status, and collects the results of the event's deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from emulator.domain.payment import Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, DEFAULT_METHODS, PHONE_METHODS
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.domain.webhooks import DeliveryState
from emulator.http.client import HttpClient, HttpResponse
from emulator.replay.emulator_api import CONTROL, PAYMENTS, full_refusal_text
from emulator.replay.step_executor import DEFAULT_BODY

# An attempt ends after 15 s, and the attempts for the events before it come first.
MAX_WAIT_S = 60
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 2.0
# A number that no shipped scenario names: the payment waits for an answer.
_PHONE = "0{digit}11223344"
_NOT_SENT = {
    DeliveryState.DROPPED: "not sent: a scenario drops it",
    DeliveryState.CANCELLED: "not sent: the endpoint was disabled or deleted",
}

Json = Mapping[str, Any]


class NotTriggered(Exception):
    """The emulator refused a request; the message is one line for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointResult:
    """The result of the event's delivery to one endpoint, in words."""

    url: str
    is_delivered: bool
    text: str


async def drive_to(client: HttpClient, to: Status, *, amount_minor: int, method: str | None) -> str:
    """Create a payment with this status; returns its id. Raises NotTriggered, Unreachable."""
    methods = list(DEFAULT_METHODS) if method is None else [method]
    body = {**DEFAULT_BODY, "amount": amount_minor, "methods": methods}
    payment = _checked(await client.request_json("POST", PAYMENTS, body))
    path = f"{CONTROL}/payments/{payment['id']}"
    for status in _path_to(to):
        if status is Status.PROCESSING:
            submission = _submission(methods[0])
            payment = _checked(await client.request_json("POST", f"{path}/pay", submission))
        elif payment["status"] != status:
            change = {"status": status.value}
            payment = _checked(await client.request_json("POST", f"{path}/transition", change))
    return str(payment["id"])


async def endpoint_results(client: HttpClient, payment_id: str, event: str) -> list[EndpointResult]:
    """The result for each endpoint that receives the event. Raises NotTriggered, Unreachable."""
    endpoints = _checked(await client.request("GET", f"{CONTROL}/webhook_endpoints"))["data"]
    receivers = [each for each in endpoints if each["enabled"] and event in each["events"]]
    return [await _result(client, payment_id, event, each) for each in reversed(receivers)]


async def _result(
    client: HttpClient, payment_id: str, event: str, endpoint: Json
) -> EndpointResult:
    """The result of the first attempt, or the reason why none is made now."""
    selection = {"event": event, "payment": payment_id, "endpoint": endpoint["id"]}
    passed_s, wait_s = 0.0, _FIRST_WAIT_S
    while True:
        query = urlencode({**selection, "timeout": wait_s})
        waited = _checked(await client.request("GET", f"{CONTROL}/deliveries/wait?{query}"))
        delivery: Json | None = waited["delivery"]
        passed_s += wait_s
        has_result = waited["reached"] or (delivery is not None and delivery["attempts"])
        if has_result or passed_s > MAX_WAIT_S or await _is_later(client, delivery):
            is_delivered = delivery is not None and delivery["status"] == DeliveryState.SUCCEEDED
            return EndpointResult(
                url=endpoint["url"], is_delivered=is_delivered, text=_text(delivery)
            )
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


async def _is_later(client: HttpClient, delivery: Json | None) -> bool:
    """Whether a delivery does not exist, or is due at a later instant of a frozen clock."""
    if delivery is None:
        return True
    clock = _checked(await client.request("GET", f"{CONTROL}/clock"))
    return bool(clock["frozen"] and (delivery["next_attempt_at"] or "") > clock["now"])


def _text(delivery: Json | None) -> str:
    if delivery is None:
        return "not sent: the endpoint did not exist at the event"
    if delivery["attempts"]:
        attempt = delivery["attempts"][-1]
        found = (attempt["status"], attempt["error"], attempt["cause"])
        return ". ".join(str(part) for part in found if part is not None)
    pending = f"not sent yet: due at {delivery['next_attempt_at']} on the account's clock"
    return _NOT_SENT.get(delivery["status"], pending)


def _path_to(status: Status) -> list[Status]:
    """The statuses that a new payment takes on, by ordinary changes, until it has this one."""
    for (before, after), edge in TRANSITIONS.items():
        if after is status and edge is Edge.ORDINARY:
            return [*_path_to(before), after]
    return []


def _submission(method: str) -> dict[str, str]:
    if method in PHONE_METHODS:
        digit = PHONE_METHODS[method].phone_digit
        return {"method": method, "phone": _PHONE.format(digit=digit)}
    if method == BANK_TRANSFER:
        return {"method": method, "bank": next(iter(BANKS))}
    return {"method": method}


def _checked(response: HttpResponse) -> Json:
    """The object of a response. Raises NotTriggered."""
    if response.is_error:
        raise NotTriggered(f"the emulator refused a request: {full_refusal_text(response)}")
    if not isinstance(response.json, dict):
        raise NotTriggered(f"the response is not that of an emulator: {response.status}")
    return response.json
