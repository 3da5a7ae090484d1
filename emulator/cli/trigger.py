"""The command `trigger`, which drives a new payment to an event."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.output import (
    JSON_OPTION,
    URL_OPTION,
    calling_emulator,
    check_key,
    cli_error,
    number_within,
    write,
    write_json,
)
from emulator.domain.accounts import DEMO_TEST_KEY
from emulator.domain.message_text import nearest_word_hint
from emulator.domain.payment import MAX_AMOUNT_MINOR, MIN_AMOUNT_MINOR, STATUS_OF_EVENT, Status
from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER, customer_submission
from emulator.domain.transitions import TRANSITIONS, Edge
from emulator.http import emulator_calls as calls

if TYPE_CHECKING:
    from emulator.http.blocking_client import BlockingEmulator
    from emulator.tools.json_results import TriggerResults

# An attempt ends after 15 s, and the attempts for the events before it come first.
MAX_WAITS = 240
_WAIT_S = 0.25
_NO_ENDPOINT = (
    "No enabled webhook endpoint of this account and mode receives {}. Register one with"
    " `serve --webhook-url` or POST /_emulator/webhook_endpoints.\n"
)
_ADVICE = "See the delivery on the dashboard, or with GET /_emulator/deliveries."
_NOT_SENT = {
    "pending": "not sent yet: due at {next_attempt_at} on the account's clock",
    "dropped": "not sent: a scenario drops it",
    "cancelled": "not sent: the endpoint was disabled or deleted",
}


def _pairs(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """A callback of `--metadata`, which parses its pairs."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        # A byte that is not UTF-8 is a surrogate.
        if not (name and separator) or text.encode(errors="replace").decode() != text:
            cli_error(f"flag --metadata: found {text!r}, expected NAME=VALUE, such as order=17")
        if name in pairs:
            cli_error(f"flag --metadata: found {name!r} twice, expected each name once")
        pairs[name] = value
    return pairs


@click.command()
@click.argument("event", metavar="EVENT")
@click.option(
    "--amount",
    "amount_minor",
    metavar="CENTS",
    type=str,
    callback=number_within(int, MIN_AMOUNT_MINOR, MAX_AMOUNT_MINOR),
    default=DEFAULT_ORDER["amount"],
    show_default=True,
    help=f"Amount in ETB cents, {MIN_AMOUNT_MINOR} to {MAX_AMOUNT_MINOR}.",
)
@click.option(
    "--method", metavar="METHOD", show_default=DEFAULT_METHODS[0], help="Payment method to submit."
)
@click.option(
    "--metadata",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pairs,
    help="Metadata of the payment, such as the order's number; repeatable.",
)
@JSON_OPTION
@URL_OPTION
@click.option(
    "--key",
    metavar="KEY",
    default=DEMO_TEST_KEY,
    show_default=True,
    help="API key of the account and mode.",
)
def trigger(
    event: str,
    amount_minor: int,
    method: str | None,
    metadata: dict[str, str],
    url: str,
    key: str,
    json: Path | None,
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
    check_key("--key", key)
    methods = [method] if method else list(DEFAULT_METHODS)
    order = {"amount": amount_minor, "methods": methods, "metadata": metadata}
    with calling_emulator(url, key) as emulator:
        results = _trigger(emulator, event, order)
    write_json(json, results.encode)
    return int(not all(each.is_accepted for each in results.results))


def _trigger(emulator: "BlockingEmulator", event: str, order: dict[str, Any]) -> "TriggerResults":
    """Drive a payment to the event, and print the results."""
    from emulator.http.addresses import without_password
    from emulator.tools.json_results import TriggeredDelivery, TriggerResults

    payment_id = _drive_to(emulator, STATUS_OF_EVENT[event], order)
    write(f"{event}: {payment_id}\n")
    endpoints = emulator.call(calls.ENDPOINTS)
    receivers = [
        each
        for each in endpoints
        if each["enabled"]
        and event in each["events"]
        and each["format"]["events"].get(event, event) is not None
    ]
    if not receivers:
        write(_NO_ENDPOINT.format(event))
    results = []
    for endpoint in reversed(receivers):
        selection = {"event": event, "payment": payment_id, "endpoint": endpoint["id"]}
        delivery = _delivery(emulator, selection)
        is_accepted, result = delivery["status"] == "succeeded", _result(delivery)
        url = without_password(endpoint["url"])
        write(f"{url}: {result}\n")
        attempts = delivery["attempts"] or [{"cause": None}]
        advice = None if is_accepted else attempts[-1]["cause"] or _ADVICE
        results.append(
            TriggeredDelivery(url=url, is_accepted=is_accepted, result=result, what_to_do=advice)
        )
    return TriggerResults(event=event, payment=payment_id, results=results)


def _drive_to(emulator: "BlockingEmulator", to: Status, order: dict[str, Any]) -> str:
    """Create a payment that takes on a status; return its id."""
    payment = emulator.call(calls.CREATE_PAYMENT(body={**DEFAULT_ORDER, **order}))
    payment_id = str(payment["id"])
    for status in _path_to(to):
        if status is Status.PROCESSING:
            submission = customer_submission(order["methods"][0])
            payment = emulator.call(calls.PAY(payment_id, body=submission))
        elif payment["status"] != status:
            payment = emulator.call(calls.TRANSITION(payment_id, body={"status": status}))
    return payment_id


def _path_to(status: Status) -> list[Status]:
    """The statuses that a new payment takes on, by ordinary changes, until it has this one."""
    for (before, after), edge in TRANSITIONS.items():
        if after is status and edge is Edge.ORDINARY:
            return [*_path_to(before), after]
    return []


def _delivery(emulator: "BlockingEmulator", selection: dict[str, str]) -> dict[str, Any]:
    """The delivery after its first attempt, or before where a scenario delays it."""
    # An endpoint that is newer than the event.
    delivery: dict[str, Any] = {"status": "cancelled", "attempts": []}
    for _ in range(MAX_WAITS):
        waited = emulator.call(calls.AWAIT_DELIVERY(**selection, timeout=_WAIT_S))
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
