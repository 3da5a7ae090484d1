"""The tables of an account's scenarios and faults: its own, its switches and their counts."""

from emulator.domain.instants import Instant
from emulator.server.storage.batch import Transaction, positions_of_account

_SOURCES = "SELECT name, source FROM scenarios WHERE account = ? ORDER BY number DESC"
_PUT = (
    "INSERT OR REPLACE INTO scenarios (account, name, number, source) VALUES (?1, ?2,"
    " (SELECT coalesce(max(number), 0) + 1 FROM scenarios WHERE account = ?1), ?3)"
)
_DELETE = "DELETE FROM scenarios WHERE account = ? AND name = ?"
_SWITCHES = "SELECT name, is_enabled FROM scenario_switches WHERE account = ?"
_SWITCH = "INSERT OR REPLACE INTO scenario_switches (account, name, is_enabled) VALUES (?, ?, ?)"
_DELETE_SWITCH = "DELETE FROM scenario_switches WHERE account = ? AND name = ?"
_STARTS = "SELECT source, at FROM scenario_starts WHERE account = ?"
_START = "INSERT OR REPLACE INTO scenario_starts (account, source, at) VALUES (?, ?, ?)"
_DELETE_START = "DELETE FROM scenario_starts WHERE account = ? AND source = ?"
_FAULTS = "SELECT number, id, source FROM faults WHERE account = ? ORDER BY number DESC"
_ADD_FAULT = "INSERT INTO faults (account, number, id, source) VALUES (?, ?, ?, ?)"
_NUMBER_FAULT = (
    "INSERT INTO faults_made (account, count) VALUES (?, 1)"
    " ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
)
_DELETE_FAULT = "DELETE FROM faults WHERE account = ? AND id = ?"
_APPLIED = "SELECT payment, scenario FROM payment_scenarios WHERE payment BETWEEN ? AND ?"
_APPLY = "INSERT OR REPLACE INTO payment_scenarios (payment, scenario) VALUES (?, ?)"
_USE_COUNT = (
    "SELECT uses FROM rule_uses WHERE account = ? AND scenario = ? AND section = ? AND rule = ?"
)
_COUNT_USE = (
    "INSERT INTO rule_uses (account, scenario, section, rule, uses) VALUES (?, ?, ?, ?, 1)"
    " ON CONFLICT DO UPDATE SET uses = uses + 1"
)
_ALL_USES = "SELECT scenario, section, rule, uses FROM rule_uses WHERE account = ?"
_COUNT_REQUEST = (
    "INSERT INTO request_counts (owner, scenario, rule, count) VALUES (?, ?, ?, 1)"
    " ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
)
_RESET_USES = "DELETE FROM rule_uses WHERE account = ? AND scenario = ?"
_RESET_COUNTS = "DELETE FROM request_counts WHERE owner IN (?1 * 2, ?1 * 2 + 1) AND scenario = ?2"


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
    """Switch a scenario on or off, or (None) as its file sets it."""
    if is_enabled is None:
        tx.execute(_DELETE_SWITCH, (account, name))
    else:
        tx.execute(_SWITCH, (account, name, is_enabled))


def starts(tx: Transaction, account: int) -> dict[str, Instant]:
    """When scenarios were enabled and faults were added, by their names and ids."""
    return dict(tx.execute(_STARTS, (account,)).fetchall())


def start(tx: Transaction, account: int, source: str, at: Instant) -> None:
    tx.execute(_START, (account, source, at))


def delete_start(tx: Transaction, account: int, source: str) -> None:
    tx.execute(_DELETE_START, (account, source))


def faults(tx: Transaction, account: int) -> list[tuple[int, str, str]]:
    """The numbers, ids and texts of an account's fault rules, the newest first."""
    return tx.execute(_FAULTS, (account,)).fetchall()


def next_fault(tx: Transaction, account: int) -> int:
    """The number of the account's next fault rule; none is given twice."""
    (number,) = tx.execute(_NUMBER_FAULT, (account,)).fetchone()
    return int(number)


def add_fault(tx: Transaction, account: int, number: int, fault_id: str, source: str) -> None:
    tx.execute(_ADD_FAULT, (account, number, fault_id, source))


def delete_fault(tx: Transaction, account: int, fault_id: str) -> None:
    tx.execute(_DELETE_FAULT, (account, fault_id))


def applied(tx: Transaction, account: int) -> dict[int, str]:
    """The scenarios that were applied to payments of an account, by position."""
    return dict(tx.execute(_APPLIED, positions_of_account(account)).fetchall())


def apply(tx: Transaction, payment: int, scenario: str) -> None:
    tx.execute(_APPLY, (payment, scenario))


def count_request(tx: Transaction, owner: int, source: str, rule: int) -> int:
    """Count a request that a fault rule matches; returns the count."""
    (count,) = tx.execute(_COUNT_REQUEST, (owner, source, rule)).fetchone()
    return int(count)


def reset_counts(tx: Transaction, account: int, source: str) -> None:
    """Reset the counts of a scenario's rules."""
    tx.execute(_RESET_USES, (account, source))
    tx.execute(_RESET_COUNTS, (account, source))


def use_count(tx: Transaction, account: int, rule: tuple[str, str, int]) -> int:
    """How often a rule (scenario, section, index) has been used."""
    (uses,) = tx.execute(_USE_COUNT, (account, *rule)).fetchone() or (0,)
    return int(uses)


def count_use(tx: Transaction, account: int, rule: tuple[str, str, int]) -> None:
    tx.execute(_COUNT_USE, (account, *rule))


def all_uses(tx: Transaction, account: int) -> dict[tuple[str, str, int], int]:
    """How often each used rule (scenario, section, index) has been used."""
    return {tuple(rule): uses for *rule, uses in tx.execute(_ALL_USES, (account,))}
