"""Small recordings, as HAR and as JSON lines."""

import json
from pathlib import Path
from typing import Any

from emulator.domain.instants import format_instant
from emulator.domain.payment import PAYMENT_MEMBERS
from tests.world import START_MS, order

HOST = "https://api.service.example"
JSON = {"name": "Content-Type", "value": "application/json"}


def at(seconds: float) -> str:
    return format_instant(START_MS + int(1_000 * seconds))


def payment(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A payment as a service returns it; a member that is `...` is left out."""
    body = order()
    members = dict.fromkeys(PAYMENT_MEMBERS) | {
        "id": f"pay_{number:024}",
        "object": "payment",
        "amount": body["amount"],
        "currency": "ETB",
        "status": "pending",
        "checkout_url": f"https://pay.service.example/c/{number}",
        "success_url": body["success_url"],
        "cancel_url": body["cancel_url"],
        "metadata": {},
        "created_at": at(0),
        "expires_at": at(1_800),
        **changes,
    }
    return {name: value for name, value in members.items() if value is not ...}


def entry(
    method: str, path: str, shown: Any, body: Any = None, *, seconds: float = 0, status: int = 200
) -> dict[str, Any]:
    sent = {} if body is None else {"postData": {"text": json.dumps(body)}}
    return {
        "startedDateTime": at(seconds),
        "time": 3,
        "request": {"method": method, "url": f"{HOST}{path}", "headers": [JSON], **sent},
        "response": {"status": status, "headers": [JSON], "content": {"text": json.dumps(shown)}},
    }


def created(shown: dict[str, Any], seconds: float = 0, **changes: Any) -> dict[str, Any]:
    body = order(**changes)
    return entry("POST", "/v1/payments", shown, body, seconds=seconds, status=201)


def retrieved(shown: dict[str, Any], seconds: float) -> dict[str, Any]:
    return entry("GET", f"/v1/payments/{shown['id']}", shown, seconds=seconds)


def webhook(shown: dict[str, Any], seconds: float, *, late_s: float = 0) -> dict[str, Any]:
    """A webhook in the standard form, of the present status of a payment."""
    name = "created" if shown["status"] == "pending" else shown["status"]
    event = {"type": f"payment.{name}", "timestamp": at(seconds), "data": shown}
    identifier = f"evt_{shown['id'][-4:]}_{name}"
    return {"at": at(seconds + late_s), "headers": {"webhook-id": identifier}, "body": event}


def har_file(directory: Path, *entries: dict[str, Any]) -> Path:
    path = directory / "recording.har"
    path.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    return path


def lines_file(directory: Path, *webhooks: dict[str, Any]) -> Path:
    path = directory / "webhooks.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in webhooks), encoding="utf-8")
    return path
