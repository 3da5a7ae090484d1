"""SQL is in `storage/` and nowhere else, and its values are bound."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tools import PACKAGE, modules, parsed

pytestmark = pytest.mark.deep

SCHEMA = (PACKAGE / "server/storage/schema.sql").read_text(encoding="utf-8")
TABLES = re.findall(r"^CREATE TABLE (\w+)", SCHEMA, re.MULTILINE)
SQL = re.compile(
    r"^\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|REPLACE\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|DROP|ALTER)\s+(UNIQUE\s+)?(TABLE|INDEX|TRIGGER|VIEW)\s|PRAGMA\s|BEGIN\b|COMMIT\b"
    r"|ROLLBACK\b|SAVEPOINT\s|RELEASE\s|WITH\s+RECURSIVE\s|VACUUM\b|ATTACH\s)"
    rf"|\sFROM\s+({'|'.join(TABLES)})\b"
)


# A word of each alternative: most modules have none of them and need not be parsed.
WORDS = re.compile(
    r"SELECT|INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT"
    r"|RELEASE|RECURSIVE|VACUUM|ATTACH|FROM"
)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def sql_in(path: Path) -> list[int]:
    if not WORDS.search(path.read_text(encoding="utf-8")):
        return []
    return [line for line, text in texts(parsed(path)) if SQL.search(text)]


def test_there_is_no_sql_outside_of_storage() -> None:
    found = [
        f"{name}:{line}"
        for name, path in modules()
        if not name.startswith("emulator/server/storage/")
        for line in sql_in(path)
    ]
    assert found == []


def test_sql_is_found_where_it_is() -> None:
    assert {"payments", "deliveries"} <= set(TABLES)
    storage = [name for name, path in modules() if sql_in(path)]
    assert {"emulator/server/storage/payments.py", "emulator/server/storage/timers.py"} <= set(
        storage
    )


def test_nothing_outside_of_storage_opens_a_database() -> None:
    """The command line imports sqlite3 for its errors only."""
    opening = [
        f"{name}:{node.lineno}"
        for name, path in modules()
        if not name.startswith("emulator/server/storage/")
        and "sqlite" in path.read_text(encoding="utf-8")
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) == "sqlite3.connect")
        or (isinstance(node, ast.ImportFrom) and node.module in {"sqlite3", "aiosqlite"})
        or (isinstance(node, ast.Import) and any(a.name == "aiosqlite" for a in node.names))
    ]
    assert opening == []


def test_statements_are_constants() -> None:
    """Statements are complete at import time, so that each value must be bound."""
    put_together = [
        f"{name}:{node.lineno}"
        for name, path in modules()
        if name.startswith("emulator/server/storage/")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"execute", "executemany"}
        and node.args
        and isinstance(node.args[0], ast.JoinedStr | ast.BinOp)
    ]
    assert put_together == []
