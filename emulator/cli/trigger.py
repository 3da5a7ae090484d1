"""The command `trigger`, which drives a new payment to an event."""

from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import run_loop
from emulator.cli.output import URL_OPTION, base_url, check_key, cli_error, write
from emulator.domain.accounts import DEMO_TEST_KEY
from emulator.domain.payment import EVENT_TYPES, MAX_AMOUNT_MINOR, MIN_AMOUNT_MINOR, Status

if TYPE_CHECKING:
    from emulator.http.client import HttpClient

_NO_ENDPOINT = (
    "No enabled webhook endpoint of this account and mode receives {event}. Register one with"
    " `serve --webhook-url` or POST /_emulator/webhook_endpoints."
)


@click.command()
@click.argument("event", metavar="EVENT")
@click.option(
    "--amount",
    "amount_minor",
    metavar="CENTS",
    type=click.IntRange(MIN_AMOUNT_MINOR, MAX_AMOUNT_MINOR),
    default=10_000,
    show_default=True,
    help="Amount in ETB cents.",
)
@click.option(
    "--method", metavar="METHOD", show_default="telebirr", help="Payment method to submit."
)
@URL_OPTION
@click.option(
    "--key",
    metavar="KEY",
    default=DEMO_TEST_KEY,
    show_default=True,
    help="API key of the account and mode.",
)
def trigger(event: str, amount_minor: int, method: str | None, url: str, key: str) -> int:
    """Create a payment in a running emulator and drive it to an event.

    EVENT is payment.created, payment.processing, payment.completed, payment.failed,
    payment.expired or payment.refunded. The command prints the payment and the result of the
    event's delivery to each webhook endpoint. It never moves the clock. Exit code 1 when an
    endpoint has not accepted the event, 2 when an option is wrong or the emulator refuses a
    request.
    """
    status = _status_of(event)
    check_key("--key", key)
    from emulator.http.addresses import BaseUrl
    from emulator.http.client import HttpClient, Unreachable
    from emulator.replay.trigger import NotTriggered

    client = HttpClient(BaseUrl.parse(base_url("--url", url)), key=key)
    try:
        return run_loop(lambda: _trigger(client, status, amount_minor, method))
    except (NotTriggered, Unreachable) as error:
        cli_error(str(error))


async def _trigger(
    client: "HttpClient", status: Status, amount_minor: int, method: str | None
) -> int:
    """Returns the exit code."""
    from emulator.replay.emulator_api import find_emulator
    from emulator.replay.trigger import drive_to, endpoint_results

    event = EVENT_TYPES[status]
    await find_emulator(client)
    async with client:
        payment_id = await drive_to(client, status, amount_minor=amount_minor, method=method)
        write(f"{event}: {payment_id}\n")
        results = await endpoint_results(client, payment_id, event)
    for result in results:
        write(f"{result.url}: {result.text}\n")
    if not results:
        write(f"{_NO_ENDPOINT.format(event=event)}\n")
    return int(not all(result.is_delivered for result in results))


def _status_of(event: str) -> Status:
    """Raises CliError for an unknown event."""
    statuses = {event_type: status for status, event_type in EVENT_TYPES.items()}
    if event not in statuses:
        from emulator.scenarios.problems import hint_nearest

        hint = hint_nearest(event, statuses)
        cli_error(f"EVENT: found {event!r}, expected one of: {', '.join(statuses)}{hint}")
    return statuses[event]
