"""The rule_uses table: how often each counted rule of a scenario has struck."""

from emulator.storage.batch import Transaction

_COUNT = (
    "SELECT uses FROM rule_uses WHERE account = ? AND scenario = ? AND section = ? AND rule = ?"
)
_USE = (
    "INSERT INTO rule_uses (account, scenario, section, rule, uses) VALUES (?, ?, ?, ?, 1)"
    " ON CONFLICT DO UPDATE SET uses = uses + 1"
)
_OF_SECTION = "SELECT scenario, uses FROM rule_uses WHERE account = ? AND section = ? AND rule = 0"
_DELETE_ALL = "DELETE FROM rule_uses WHERE account = ?"


def count(tx: Transaction, account: int, rule: tuple[str, str, int]) -> int:
    row = tx.execute(_COUNT, (account, *rule)).fetchone()
    return 0 if row is None else int(row[0])


def of_section(tx: Transaction, account: int, section: str) -> dict[str, int]:
    """How often the first rule of a section has been used, by the name of its scenario."""
    return dict(tx.execute(_OF_SECTION, (account, section)).fetchall())


def use(tx: Transaction, account: int, rule: tuple[str, str, int]) -> None:
    tx.execute(_USE, (account, *rule))


def delete_all(tx: Transaction, account: int) -> None:
    tx.execute(_DELETE_ALL, (account,))
