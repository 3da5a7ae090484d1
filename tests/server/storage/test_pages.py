"""A page costs the same at a hundred thousand payments as at a thousand, with any filter.

Each bound on the instant is a binary search, which halves the range some times more.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from emulator.domain.payment import Status
from emulator.server.storage import payments
from emulator.server.storage.batch import Transaction, first_position
from emulator.server.storage.database_file import create_schema
from emulator.server.storage.payments import MAX_COMPARED_PAYMENTS, PageQuery

FEW, MANY = 1_000, 100_000
LIMIT = 10
OWNER = 4
OWNERS = (2, 3, OWNER, 5, 6)
# Of many payments as many are failed ones of M-Pesa as of few, all over the table. In between are
# failed ones and ones of M-Pesa: a query that reads those takes more steps.
STATUSES = ("pending", "processing", "completed", "failed", "expired", "refunded")
METHODS = (None, "telebirr", "mpesa", "bank_transfer")
TICK_MS = 10
MORE_HALVINGS = (MANY // FEW).bit_length()
MAX_STEPS_PER_HALVING = 16

# The payments of one owner, and in between those of others; ordinals count from 1.
FILL = """
INSERT INTO payments (position, owner, id, amount_minor, methods, terms, created_at, expires_at,
                      first_event, expiry_timer, status, method)
WITH RECURSIVE ordinals (ordinal) AS (
    SELECT 1 UNION ALL SELECT ordinal + 1 FROM ordinals WHERE ordinal < :count
)
SELECT (owners.value << 40) + ordinal,
       owners.value,
       'pay_' || owners.value || '_' || ordinal,
       15000,
       'telebirr',
       '{"checkout_url":"","success_url":"","cancel_url":"","metadata":{}}',
       ordinal * :tick_ms,
       ordinal * :tick_ms + 1800000,
       (owners.value << 40) + ordinal,
       ordinal * 10 + owners.value,
       iif(ordinal % :stride, iif(ordinal % 2, 'failed', 'completed'),
           json_extract(:statuses, '$[' || (ordinal / :stride % 6) || ']')),
       iif(ordinal % :stride, iif(ordinal % 2, 'telebirr', 'mpesa'),
           json_extract(:methods, '$[' || (ordinal / :stride / 6 % 4) || ']'))
FROM ordinals CROSS JOIN json_each(:owners) AS owners
WHERE owners.value = :owner OR ordinal % 10 = 0
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A payments table with so many payments of the owner."""

    connection: sqlite3.Connection
    count: int

    @property
    def transaction(self) -> Transaction:
        return Transaction(self.connection, {})

    def query(self, filters: dict[str, Any]) -> PageQuery:
        """The filters, with what they are relative to the table: the middle, the outer quarters."""
        values = {
            "after": f"pay_{OWNER}_{self.count // 2}",
            "created_gte": self.count // 4 * TICK_MS,
            "created_lte": self.count // 4 * 3 * TICK_MS,
        }
        return PageQuery(
            limit=LIMIT, **{name: values.get(name, value) for name, value in filters.items()}
        )


def filled(count: int) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create_schema(connection, "memory")
    parameters = {
        "count": count,
        "tick_ms": TICK_MS,
        "stride": count // FEW,
        "owner": OWNER,
        "owners": json.dumps(OWNERS),
        "statuses": json.dumps(STATUSES),
        "methods": json.dumps(METHODS),
    }
    connection.execute(FILL, parameters)
    return connection


@pytest.fixture(scope="module")
def few() -> Iterator[Table]:
    with closing(filled(FEW)) as connection:
        yield Table(connection=connection, count=FEW)


@pytest.fixture(scope="module")
def many() -> Iterator[Table]:
    with closing(filled(MANY)) as connection:
        yield Table(connection=connection, count=MANY)


FILTERS: dict[str, Any] = {
    "status": Status.FAILED,
    "method": "mpesa",
    "created_gte": ...,
    "created_lte": ...,
    "after": ...,
}
EVERY_COMBINATION = [
    {name: value for (name, value), is_used in zip(FILTERS.items(), used, strict=True) if is_used}
    for used in product((False, True), repeat=len(FILTERS))
]
every_combination = pytest.mark.parametrize(
    "filters", EVERY_COMBINATION, ids=lambda filters: "+".join(filters) or "none"
)


def steps(table: Table, query: PageQuery) -> int:
    """How many instructions of SQLite's virtual machine a page takes."""
    return steps_of(table, lambda: payments.page(table.transaction, OWNER, query))


def steps_of(table: Table, work: Callable[[], object]) -> int:
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    table.connection.set_progress_handler(step, 1)
    try:
        work()
    finally:
        table.connection.set_progress_handler(None, 1)
    return count


def plans(table: Table, query: PageQuery) -> list[str]:
    """How SQLite answers every statement of a page."""
    statements: list[str] = []
    table.connection.set_trace_callback(statements.append)
    try:
        payments.page(table.transaction, OWNER, query)
    finally:
        table.connection.set_trace_callback(None)
    assert statements
    return [
        row[3]
        for statement in statements
        for row in table.connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]


@every_combination
def test_a_page_takes_as_many_steps_of_many_as_of_few(
    filters: dict[str, Any], few: Table, many: Table
) -> None:
    of_few = steps(few, few.query(filters))
    assert of_few > LIMIT
    searches = len(filters.keys() & {"created_gte", "created_lte"})
    more = steps(many, many.query(filters)) - of_few
    assert 0 <= more <= searches * MORE_HALVINGS * MAX_STEPS_PER_HALVING


@every_combination
def test_no_page_scans_or_sorts(filters: dict[str, Any], many: Table) -> None:
    for plan in plans(many, many.query(filters)):
        assert "SCAN" not in plan
        assert "TEMP B-TREE" not in plan


@every_combination
def test_a_page_contains_the_payments_that_match_the_filters(
    filters: dict[str, Any], few: Table
) -> None:
    query = few.query(filters)
    expected = [
        ordinal
        for ordinal in range(FEW, 0, -1)
        if (query.status is None or STATUSES[ordinal % 6] == query.status)
        and (query.method is None or METHODS[ordinal // 6 % 4] == query.method)
        and (query.created_gte is None or ordinal * TICK_MS >= query.created_gte)
        and (query.created_lte is None or ordinal * TICK_MS <= query.created_lte)
        and (query.after is None or ordinal < FEW // 2)
    ]
    found = payments.page(few.transaction, OWNER, query)
    assert [position - first_position(OWNER) for position in found] == expected[: LIMIT + 1]


def test_ids_with_a_beginning_take_as_many_steps_of_many_as_of_few(few: Table, many: Table) -> None:
    prefix = f"pay_{OWNER}_9"

    def search(table: Table) -> list[int]:
        return payments.with_prefix(table.transaction, prefix, limit=LIMIT)

    assert steps_of(few, lambda: search(few)) == steps_of(many, lambda: search(many))
    found = search(many)
    ids = [each.id for each in payments.summaries(many.transaction, found).values()]
    assert [name.startswith(prefix) for name in ids] == [True] * LIMIT


def test_a_text_is_compared_with_a_bounded_number_of_payments(few: Table, many: Table) -> None:
    def search(table: Table, text: str) -> list[str]:
        rest = {"amounts_minor": (None, None), "phone_digits": None, "part": text}
        found = payments.containing(table.transaction, OWNER, text, **rest)[:LIMIT]
        return [payments.get(table.transaction, position).id for position in found]

    per_payment = steps_of(few, lambda: search(few, "nothing")) / FEW
    of_many = steps_of(many, lambda: search(many, "nothing"))
    assert of_many < 1.1 * per_payment * MAX_COMPARED_PAYMENTS
    for ordinal, is_found in ((MANY, True), (MANY - 2 * MAX_COMPARED_PAYMENTS, False)):
        name = f"pay_{OWNER}_{ordinal}"
        assert (name in search(many, name)) is is_found


def test_a_filter_that_nothing_matches_costs_no_more(many: Table) -> None:
    nothing = PageQuery(limit=LIMIT, status=Status.FAILED, method="unheard_of")
    assert payments.page(many.transaction, OWNER, nothing) == []
    assert steps(many, nothing) < steps(many, PageQuery(limit=LIMIT))
    too_late = PageQuery(limit=LIMIT, created_gte=(MANY + 1) * TICK_MS)
    assert payments.page(many.transaction, OWNER, too_late) == []


@pytest.mark.parametrize("cursor", ["pay_unheard_of", "pay_5_500", ""])
def test_a_cursor_without_a_payment_or_of_another_owner_is_unknown(cursor: str, few: Table) -> None:
    with pytest.raises(payments.UnknownCursor):
        payments.page(few.transaction, OWNER, PageQuery(limit=LIMIT, after=cursor))
