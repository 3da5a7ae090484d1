"""Selects the deliveries of an endpoint whose attempts can begin now."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from emulator.domain.instants import Instant
from emulator.domain.transitions import LAST_SEQUENCE, DueKey
from emulator.server.engine.delivery.attempts import DeliveryJob, delivery_job
from emulator.server.engine.delivery.gates import MAX_PAUSED_DELIVERIES
from emulator.server.engine.state.account import NEVER, Account, Owner
from emulator.server.storage import deliveries
from emulator.server.storage.batch import Transaction
from emulator.server.storage.deliveries import Delivery

# Concurrent attempts for one endpoint. Each has a connection of its own, and a small server, such
# as Python's, has a backlog of five: the next connection would take a second.
MAX_CONCURRENT_ATTEMPTS = 5


@dataclass(slots=True, eq=False)
class EndpointQueue:
    """The attempts in progress for one endpoint, and when its next delivery is due.

    `due_at` is NEVER also where nothing can begin before an attempt in progress ends.
    """

    owner: Owner
    endpoint: int
    due_at: Instant = NEVER
    in_progress: dict[int, Delivery] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


class NextJobs(NamedTuple):
    """The jobs of a queue that can begin now, and when the queue has to be read again.

    `paused` deliveries are due and wait for the end of a pause.
    """

    jobs: list[DeliveryJob]
    due_at: Instant
    has_more: bool
    paused: int = 0


def horizon(account: Account) -> DueKey:
    """The last due key that may be attempted now."""
    return account.advance.horizon or (account.clock.now(), LAST_SEQUENCE)


def next_jobs(
    tx: Transaction,
    queue: EndpointQueue,
    in_progress: dict[int, Delivery],
    awaiting_page: Collection[int],
    *,
    is_paused: bool = False,
) -> NextJobs:
    """The jobs that can begin; in a pause none, but the number of the deliveries that wait."""
    limit = MAX_PAUSED_DELIVERIES if is_paused else MAX_CONCURRENT_ATTEMPTS - len(in_progress)
    if limit <= 0 or queue.endpoint not in queue.owner.endpoints:
        return NextJobs([], NEVER, has_more=False)
    # A first attempt of theirs is in progress: another first attempt waits for it.
    first = (delivery for delivery in in_progress.values() if delivery.attempts == 0)
    busy = set() if is_paused else {delivery.payment for delivery in first}
    upcoming = deliveries.upcoming(
        tx,
        queue.endpoint,
        exclude=in_progress,
        busy_payments=busy,
        awaiting_page=awaiting_page,
        limit=limit + 1,
    )
    latest = horizon(queue.owner.account)
    due = [delivery for delivery in upcoming if deliveries.due_key(delivery) <= latest]
    due_at = upcoming[len(due)].due_at or NEVER if len(due) < len(upcoming) else NEVER
    if is_paused:
        return NextJobs([], due_at, has_more=False, paused=len(due))
    begun: list[Delivery] = []
    has_more = False
    for delivery in due:
        is_first = delivery.attempts == 0
        if delivery in begun:
            continue
        if len(begun) >= limit or (is_first and delivery.payment in busy):
            has_more = True
            continue
        # Copies that are sent at the same moment may exceed the limit together.
        begun += _concurrent_copies(tx, delivery) if is_first else [delivery]
        if is_first:
            busy.add(delivery.payment)
    jobs = [delivery_job(tx, queue.owner, delivery) for delivery in begun]
    return NextJobs(jobs, due_at, has_more=has_more and len(due) == len(upcoming))


def _concurrent_copies(tx: Transaction, delivery: Delivery) -> list[Delivery]:
    """The deliveries whose first attempts begin together with this one, which included."""
    if not delivery.is_concurrent or delivery.payment is None:
        return [delivery]
    return [
        copy
        for copy in deliveries.pending_of_payment(tx, delivery.payment)
        if copy.attempts == 0
        and (copy.event, copy.endpoint, copy.due_at)
        == (delivery.event, delivery.endpoint, delivery.due_at)
    ]
