"""Judges a merchant's integration by ten items, from the stored requests and deliveries."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from emulator.domain.payment import Event, Payment
from emulator.server.engine.accounts.checklist_items import (
    ITEMS,
    MAX_EVIDENCE,
    Finding,
    Item,
    JournalledRequest,
    Observations,
    grouped,
)
from emulator.server.engine.delivery.deliveries import Deliveries, DeliveryDetail
from emulator.server.engine.payments.payment_history import PaymentHistory
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.journal import MAX_ATTEMPTS, Journal, JournalEntry

MAX_DELIVERIES = 5_000
MAX_EVENTS = 20_000
# Of requests that are not the merchant's.
_COMMAND_AGENTS = (b"payments-emulator/", b"payments-emulator-verify/")


class ItemResult(StrEnum):
    """The result of an item."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EXERCISED = "not_exercised"
    """Nothing occurred by which the item can be judged."""


class JudgedItem(NamedTuple):
    """The result of an item, with the findings that show it."""

    item: Item
    result: ItemResult
    evidence: Sequence[Finding]


async def judge_owner(
    owner: Owner,
    history: PaymentHistory,
    deliveries: Deliveries,
    *,
    excluded_endpoint: str | None,
    now_ms: float,
) -> list[JudgedItem]:
    """Judge the items for an account and mode; `now_ms` is monotonic real time."""
    journal = owner.journal.copy()
    newest = await deliveries.newest(owner, limit=MAX_DELIVERIES)
    merchants = [
        delivery
        for delivery in reversed(newest)
        if delivery.job.payment_id and delivery.endpoint_id != excluded_endpoint
    ]
    changes = await history.changes(owner, limit=MAX_EVENTS)
    # A full journal takes about a second.
    return await asyncio.to_thread(_judge, journal, merchants, changes, excluded_endpoint, now_ms)


def _judge(
    journal: Journal,
    deliveries: Sequence[DeliveryDetail],
    changes: Sequence[tuple[Event, Payment]],
    excluded_endpoint: str | None,
    now_ms: float,
) -> list[JudgedItem]:
    entries = [*journal.newest_first()][::-1]
    requests = [JournalledRequest(entry) for entry in entries if not _is_of_command(entry)]
    requests.sort(key=lambda request: request.started_ms)
    of_commands = {entry.id.decode() for entry in entries if _is_of_command(entry)}
    not_judged = {payment.id for event, payment in changes if event.request_id in of_commands}
    changes = [each for each in changes if each[1].id not in not_judged]
    attempts = [each for each in journal.attempts if each.endpoint_id != excluded_endpoint]
    is_full = len(journal.attempts) == MAX_ATTEMPTS
    observed = Observations(
        requests,
        deliveries,
        changes,
        journal.departures,
        {
            of_payment[0].payment_id: of_payment
            for of_payment in grouped(attempts, lambda attempt: attempt.payment_id)
        },
        journal.attempts[0].began_ms if is_full else 0.0,
        now_ms,
    )
    return [_judged(item, list(item.findings(observed))) for item in ITEMS]


def _is_of_command(entry: JournalEntry) -> bool:
    return dict(entry.headers).get(b"user-agent", b"").startswith(_COMMAND_AGENTS)


def _judged(item: Item, findings: Sequence[Finding]) -> JudgedItem:
    failures = [finding for finding in findings if not finding.is_good]
    result = (
        ItemResult.FAILED
        if failures
        else ItemResult.PASSED
        if findings
        else ItemResult.NOT_EXERCISED
    )
    return JudgedItem(item, result, (failures or findings)[:MAX_EVIDENCE])
