"""What an account says of scenarios and faults: its own, what is switched, and what counts them."""

from collections.abc import Iterable
from typing import Any

from emulator.storage.batch import Transaction, first_position, last_position

_ACCOUNTS = (
    "SELECT account FROM scenarios UNION SELECT account FROM scenario_switches"
    " UNION SELECT account FROM faults"
)
_SOURCES = "SELECT name, source FROM scenarios WHERE account = ? ORDER BY number DESC"
_PUT = (
    "INSERT OR REPLACE INTO scenarios (account, name, number, source) VALUES (?1, ?2,"
    " (SELECT coalesce(max(number), 0) + 1 FROM scenarios WHERE account = ?1), ?3)"
)
_DELETE = "DELETE FROM scenarios WHERE account = ? AND name = ?"
_SWITCHES = "SELECT name, is_enabled FROM scenario_switches WHERE account = ?"
_SWITCH = "INSERT OR REPLACE INTO scenario_switches (account, name, is_enabled) VALUES (?, ?, ?)"
_DELETE_SWITCH = "DELETE FROM scenario_switches WHERE account = ? AND name = ?"
_FAULTS = "SELECT number, id, source FROM faults WHERE account = ? ORDER BY number DESC"
_ADD_FAULT = "INSERT INTO faults (account, number, id, source) VALUES (?, ?, ?, ?)"
_NUMBER_FAULT = (
    "INSERT INTO faults_made (account, count) VALUES (?, 1)"
    " ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
)
_DELETE_FAULT = "DELETE FROM faults WHERE account = ? AND id = ?"
_PLACED = "SELECT payment, scenario FROM payment_scenarios WHERE payment BETWEEN ? AND ?"
_PLACE = "INSERT OR REPLACE INTO payment_scenarios (payment, scenario) VALUES (?, ?)"
_COUNT = (
    "INSERT INTO request_counts (owner, scenario, rule, count) VALUES (?, ?, ?, 1)"
    " ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
)
_FORGET_USES = "DELETE FROM rule_uses WHERE account = ? AND scenario = ?"
_FORGET_COUNTS = "DELETE FROM request_counts WHERE owner IN (?, ?) AND scenario = ?"
_DELETE_OF_ACCOUNT = (
    "DELETE FROM scenarios WHERE account = ?",
    "DELETE FROM scenario_switches WHERE account = ?",
    "DELETE FROM faults WHERE account = ?",
    "DELETE FROM faults_made WHERE account = ?",
)
_DELETE_COUNTS = "DELETE FROM request_counts WHERE owner = ?"
_DELETE_PLACED = "DELETE FROM payment_scenarios WHERE payment BETWEEN ? AND ?"


def accounts(tx: Transaction) -> list[int]:
    """The numbers of the accounts that say anything of scenarios or faults."""
    return [row[0] for row in tx.execute(_ACCOUNTS)]


def sources(tx: Transaction, account: int) -> list[tuple[str, str]]:
    """The names and texts of an account's own scenarios, the newest first."""
    return tx.execute(_SOURCES, (account,)).fetchall()


def put(tx: Transaction, account: int, name: str, source: str) -> None:
    """Write a scenario of an account, in place of its earlier one of the same name."""
    tx.execute(_PUT, (account, name, source))


def delete(tx: Transaction, account: int, name: str) -> None:
    tx.execute(_DELETE, (account, name))


def switches(tx: Transaction, account: int) -> dict[str, bool]:
    return {name: bool(is_on) for name, is_on in tx.execute(_SWITCHES, (account,))}


def switch(tx: Transaction, account: int, name: str, *, is_enabled: bool | None) -> None:
    """Switch a scenario on or off, or (None) leave it as its file has it."""
    if is_enabled is None:
        tx.execute(_DELETE_SWITCH, (account, name))
    else:
        tx.execute(_SWITCH, (account, name, is_enabled))


def faults(tx: Transaction, account: int) -> list[tuple[int, str, str]]:
    """The numbers, ids and texts of an account's fault rules, the newest first."""
    return tx.execute(_FAULTS, (account,)).fetchall()


def next_fault(tx: Transaction, account: int) -> int:
    """The number of the account's next fault rule; none is given twice."""
    row: Any = tx.execute(_NUMBER_FAULT, (account,)).fetchone()
    return int(row[0])


def add_fault(tx: Transaction, account: int, number: int, fault_id: str, source: str) -> None:
    tx.execute(_ADD_FAULT, (account, number, fault_id, source))


def delete_fault(tx: Transaction, account: int, fault_id: str) -> None:
    tx.execute(_DELETE_FAULT, (account, fault_id))


def placed(tx: Transaction, owners: Iterable[int]) -> dict[int, str]:
    """Which scenarios were put on payments of these owners, by the payments' positions."""
    found: dict[int, str] = {}
    for owner in owners:
        found.update(tx.execute(_PLACED, (first_position(owner), last_position(owner))).fetchall())
    return found


def place(tx: Transaction, payment: int, scenario: str) -> None:
    tx.execute(_PLACE, (payment, scenario))


def count_request(tx: Transaction, owner: int, source: str, rule: int) -> int:
    """Count a request that a fault rule matches; returns how many there were with it."""
    row: Any = tx.execute(_COUNT, (owner, source, rule)).fetchone()
    return int(row[0])


def forget_counts(tx: Transaction, account: int, owners: tuple[int, int], source: str) -> None:
    """Begin to count the uses of a scenario's rules anew."""
    tx.execute(_FORGET_USES, (account, source))
    tx.execute(_FORGET_COUNTS, (*owners, source))


def delete_all(tx: Transaction, account: int, owners: Iterable[int]) -> None:
    """Remove all that an account says; the uses of rules are removed with `rule_uses`."""
    for statement in _DELETE_OF_ACCOUNT:
        tx.execute(statement, (account,))
    for owner in owners:
        tx.execute(_DELETE_COUNTS, (owner,))
        tx.execute(_DELETE_PLACED, (first_position(owner), last_position(owner)))
