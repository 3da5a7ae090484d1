"""SQL is in `storage/` and nowhere else, and its values are bound."""

import ast
import re

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


def test_there_is_sql_in_storage_and_nowhere_else() -> None:
    found = {
        name
        for name, path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
    }
    assert {f"emulator/server/storage/{name}.py" for name in ("payments", "timers")} <= found
    assert {name for name in found if not name.startswith("emulator/server/storage/")} == set()


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
