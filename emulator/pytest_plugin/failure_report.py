"""Formats the requests, events and deliveries of an account for the report of a failed test."""

from collections.abc import Iterator

from .account import Json, PaymentsAccount
from .control_client import PaymentsEmulatorError

MAX_LINES_PER_KIND = 20

_FAILED = "payment.failed"


def failure_report(account: PaymentsAccount) -> str:
    """The newest requests, events and deliveries, one line each."""
    try:
        return "\n".join(_lines(account)) or "It was asked nothing."
    except PaymentsEmulatorError as error:
        return str(error)
    except (LookupError, TypeError):
        # An external emulator may have another version; the test's failure is still worth reading.
        return f"What {account.base_url} tells of the account cannot be read."


def _lines(account: PaymentsAccount) -> Iterator[str]:
    kinds = {
        "asked": [_request(one) for one in account.requests[-MAX_LINES_PER_KIND:]],
        "happened": [_event(account, one) for one in account.events[-MAX_LINES_PER_KIND:]],
        "told": [_delivery(one) for one in account.deliveries[-MAX_LINES_PER_KIND:]],
    }
    for kind, lines in kinds.items():
        for number, line in enumerate(lines):
            yield f"{'' if number else kind:<9} {line}"


def _request(request: Json) -> str:
    error = request["error"] or {}
    fault = ", by a fault" if request["fault"] else ""
    outcome = " ".join(filter(None, [str(request["status"] or "no answer"), error.get("code")]))
    warnings = f"  (odd: {', '.join(request['warnings'])})" if request["warnings"] else ""
    return f"{request['method']} {request['path']}  {outcome}{fault}{warnings}"


def _event(account: PaymentsAccount, event: Json) -> str:
    payment_id = event["data"].get("id")
    is_failure = event["type"] == _FAILED
    reason = f", {account.history(payment_id)['reason']}" if is_failure else ""
    return f"{event['type']}  {payment_id}, at {event['timestamp']}{reason}"


def _delivery(delivery: Json) -> str:
    attempts = delivery["attempts"]
    url = attempts[-1]["request"]["url"] if attempts else "nobody yet"
    outcomes = ", ".join(str(attempt["status"] or attempt["error"]) for attempt in attempts)
    return f"{delivery['type']} to {url}  {outcomes or delivery['status']}"
