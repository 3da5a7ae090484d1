"""The command `trigger`, which drives a new payment to an event."""

from typing import Any

import click

from emulator.cli.emulator_options import (
    METADATA_OPTION,
    URL_OPTION,
    call_emulator,
    key_option,
)
from emulator.cli.output import cli_error, number_option, write
from emulator.domain.accounts import DEMO_TEST_KEY
from emulator.domain.message_text import nearest_word_hint
from emulator.domain.payment import MAX_AMOUNT_MINOR, MIN_AMOUNT_MINOR, STATUS_OF_EVENT, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER, customer_submission
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.http import emulator_calls as calls
from emulator.http.addresses import without_password
from emulator.http.client import EmulatorClient

# An attempt ends after 15 s, and the attempts for the events before it come first.
MAX_WAITS = 240
_WAIT_S = 0.25
_NO_ENDPOINT = (
    "No enabled webhook endpoint of this account and mode receives {}. Register one with"
    " `serve --webhook-url` or POST /_emulator/webhook_endpoints.\n"
)
_NOT_SENT = {
    "pending": "not sent yet: due at {next_attempt_at} on the account's clock",
    "dropped": "not sent: a scenario drops it",
    "cancelled": "not sent: the endpoint was disabled or deleted",
}


@click.command()
@click.argument("event", metavar="EVENT")
@number_option(
    "--amount",
    "amount_minor",
    limits=(MIN_AMOUNT_MINOR, MAX_AMOUNT_MINOR),
    metavar="CENTS",
    default=DEFAULT_ORDER["amount"],
    help=f"Amount in ETB cents, {MIN_AMOUNT_MINOR} to {MAX_AMOUNT_MINOR}.",
)
@click.option(
    "--method", metavar="METHOD", show_default=DEFAULT_METHODS[0], help="Payment method to submit."
)
@METADATA_OPTION
@URL_OPTION
@key_option(default=DEMO_TEST_KEY, show_default=True)
def trigger(
    event: str,
    amount_minor: int,
    method: str | None,
    metadata: dict[str, str],
    url: str,
    key: str,
) -> int:
    """Create a payment and drive it to an event.

    The emulator is already running. EVENT is payment.created, payment.processing,
    payment.completed, payment.failed, payment.expired or payment.refunded. The command prints the
    payment and the result of the event's delivery to each webhook endpoint. It never moves the
    clock.
    """
    if event not in STATUS_OF_EVENT:
        hint = nearest_word_hint(event, STATUS_OF_EVENT)
        expected = f"expected one of: {', '.join(STATUS_OF_EVENT)}.{hint}".removesuffix(".")
        cli_error(f"EVENT: found {event!r}, {expected}")
    methods = list(DEFAULT_METHODS) if method is None else [method]
    order = {"amount": amount_minor, "methods": methods, "metadata": metadata}
    is_accepted = call_emulator(url, key, lambda emulator: _trigger(emulator, event, order))
    return int(not is_accepted)


async def _trigger(emulator: EmulatorClient, event: str, order: dict[str, Any]) -> bool:
    """Drive a payment to the event, and print the results; whether all endpoints accepted it."""
    payment_id = await _drive_to(emulator, STATUS_OF_EVENT[event], order)
    write(f"{event}: {payment_id}\n")
    endpoints = await emulator.call(calls.ENDPOINTS)
    receivers = [
        each
        for each in endpoints
        if each["enabled"]
        and event in each["events"]
        and each["format"]["events"].get(event, event) is not None
    ]
    if not receivers:
        write(_NO_ENDPOINT.format(event))
    are_accepted = True
    for endpoint in reversed(receivers):
        selection = {"event": event, "payment": payment_id, "endpoint": endpoint["id"]}
        delivery = await _delivery(emulator, selection)
        are_accepted &= delivery["status"] == "succeeded"
        write(f"{without_password(endpoint['url'])}: {_result(delivery)}\n")
    return are_accepted


async def _drive_to(emulator: EmulatorClient, to: Status, order: dict[str, Any]) -> str:
    """Create a payment that takes on a status; return its id."""
    payment = await emulator.call(calls.CREATE_PAYMENT(body={**DEFAULT_ORDER, **order}))
    payment_id = str(payment["id"])
    for status in _path_to(to):
        if status is Status.PROCESSING:
            submission = customer_submission(order["methods"][0])
            payment = await emulator.call(calls.PAY(payment_id, body=submission))
        elif payment["status"] != status:
            payment = await emulator.call(calls.TRANSITION(payment_id, body={"status": status}))
    return payment_id


def _path_to(status: Status) -> list[Status]:
    """The statuses that a new payment takes on, by ordinary changes, until it has this one."""
    for (before, after), edge in TRANSITIONS.items():
        if after is status and edge is Edge.ORDINARY:
            return [*_path_to(before), after]
    return []


async def _delivery(emulator: EmulatorClient, selection: dict[str, str]) -> dict[str, Any]:
    """The delivery after its first attempt, or before where a scenario delays it."""
    # An endpoint that is newer than the event.
    delivery: dict[str, Any] = {"status": "cancelled", "attempts": []}
    for _ in range(MAX_WAITS):
        waited = await emulator.call(calls.AWAIT_DELIVERY(**selection, timeout=_WAIT_S))
        delivery = waited["delivery"] or delivery
        is_delayed = not {"delay", "hold"}.isdisjoint(delivery.get("fault") or ())
        if waited["reached"] or waited["delivery"] is None or delivery["attempts"] or is_delayed:
            break
    return delivery


def _result(delivery: dict[str, Any]) -> str:
    if not delivery["attempts"]:
        return _NOT_SENT[delivery["status"]].format(**delivery)
    attempt = delivery["attempts"][-1]
    found = (attempt["status"], attempt["error"], attempt["cause"])
    return ". ".join(str(part) for part in found if part is not None)
