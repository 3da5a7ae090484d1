"""Formats the requests, events and deliveries of an account for the report of a failed test."""

from collections.abc import Iterator
from functools import partial

from .account import Json, PaymentsAccount
from .control_client import PaymentsEmulatorError

MAX_LINES_PER_KIND = 20

_FAILED = "payment.failed"


def failure_report(account: PaymentsAccount) -> str:
    """The newest requests, events and deliveries, one line each."""
    try:
        return "\n".join(_lines(account)) or "The account has no requests and no events."
    except PaymentsEmulatorError as error:
        return str(error)
    except (LookupError, TypeError):
        # An external emulator may have another version; the test's failure is still worth reading.
        return f"The account's data from {account.base_url} cannot be read."


def _lines(account: PaymentsAccount) -> Iterator[str]:
    kinds = (
        ("requests", account.requests, _request),
        ("events", account.events, partial(_event, account)),
        ("webhooks", account.deliveries, _delivery),
    )
    for kind, entries, line in kinds:
        for number, entry in enumerate(entries[-MAX_LINES_PER_KIND:]):
            yield f"{'' if number else kind:<9} {line(entry)}"


def _request(request: Json) -> str:
    error = request["error"] or {}
    fault = ", by a fault" if request["fault"] else ""
    outcome = " ".join(filter(None, [str(request["status"] or "no answer"), error.get("code")]))
    warnings = f"  (warnings: {', '.join(request['warnings'])})" if request["warnings"] else ""
    return f"{request['method']} {request['path']}  {outcome}{fault}{warnings}"


def _event(account: PaymentsAccount, event: Json) -> str:
    payment_id = event["data"].get("id")
    is_failure = event["type"] == _FAILED
    reason = f", {account.history(payment_id)['reason']}" if is_failure else ""
    return f"{event['type']}  {payment_id}, at {event['timestamp']}{reason}"


def _delivery(delivery: Json) -> str:
    attempts = delivery["attempts"]
    url = attempts[-1]["request"]["url"] if attempts else "no URL yet"
    outcomes = ", ".join(str(attempt["status"] or attempt["error"]) for attempt in attempts)
    return f"{delivery['type']} to {url}  {outcomes or delivery['status']}"
