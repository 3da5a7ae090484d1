"""What pytest shows of an account where a test has failed: what it was asked, and what it told."""

from collections.abc import Iterable, Iterator, Mapping

from .account import Json, PaymentsAccount
from .control_client import PaymentsEmulatorError

MAX_LINES_PER_KIND = 20

_FAILED = "payment.failed"


def failure_report(account: PaymentsAccount) -> str:
    """The newest requests, events and deliveries, a line each."""
    try:
        kinds = {
            "asked": map(_request, account.requests[-MAX_LINES_PER_KIND:]),
            "happened": (_event(account, one) for one in account.events[-MAX_LINES_PER_KIND:]),
            "told": map(_delivery, account.deliveries[-MAX_LINES_PER_KIND:]),
        }
        return "\n".join(_lines(kinds)) or "It was asked nothing."
    except PaymentsEmulatorError as error:
        return str(error)
    except (LookupError, TypeError):
        # One that runs elsewhere may be of another version; the failure is still worth reading.
        return f"What {account.base_url} tells of the account cannot be read."


def _lines(kinds: Mapping[str, Iterable[str]]) -> Iterator[str]:
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
    reason = ""
    if event["type"] == _FAILED:
        reason = f", {account.history(payment_id)['reason']}"
    return f"{event['type']}  {payment_id}, at {event['timestamp']}{reason}"


def _delivery(delivery: Json) -> str:
    attempts = [_attempt(attempt) for attempt in delivery["attempts"]]
    url = delivery["attempts"][-1]["request"]["url"] if attempts else "nobody yet"
    return f"{delivery['type']} to {url}  {', '.join(attempts) or delivery['status']}"


def _attempt(attempt: Json) -> str:
    return str(attempt["status"] or attempt["error"])
