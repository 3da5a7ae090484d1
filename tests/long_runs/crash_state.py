"""Reads the state of an account and of a database file, for comparisons after a crash."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cli.processes import Server, ask
from tests.long_runs.crash_calls import ADVANCE, ENDPOINTS, PAYMENTS, SNAPSHOTS, Call

State = dict[str, list[Any]]
# How many of the newest entries are compared after each start.
NEWEST = 30
DETAILED = 3
# They depend on real time, or on the number of requests to a process.
VARIABLE = frozenset({"duration_ms", "request", "response"})
SETTLE = Call(method="POST", path=ADVANCE, body={"seconds": 0})

# What no database has, however its program was ended.
CONTRADICTIONS = {
    "an event twice": "SELECT payment, status FROM events WHERE status <> 'pending'"
    " GROUP BY payment, status HAVING count(*) > 1",
    "a status that is not that of the last event": "SELECT id FROM payments WHERE status <>"
    " coalesce((SELECT status FROM events WHERE payment = payments.position"
    " ORDER BY position DESC LIMIT 1), 'pending')",
    "an event of no payment": "SELECT position FROM events"
    " WHERE payment NOT IN (SELECT position FROM payments)",
    "a timer of no payment": "SELECT payment FROM timers"
    " WHERE payment NOT IN (SELECT position FROM payments)",
    "a delivery twice": "SELECT endpoint, event FROM deliveries WHERE event IS NOT NULL"
    " GROUP BY endpoint, event HAVING count(*) > 1",
    "a delivery of no payment": "SELECT position FROM deliveries WHERE payment IS NOT NULL"
    " AND payment NOT IN (SELECT position FROM payments)",
    "a delivery to no endpoint": "SELECT position FROM deliveries"
    " WHERE endpoint NOT IN (SELECT position FROM endpoints)",
    "an attempt of no delivery": "SELECT delivery FROM attempts"
    " WHERE delivery NOT IN (SELECT position FROM deliveries)",
    "an action on no payment": "SELECT position FROM actions"
    " WHERE payment NOT IN (SELECT position FROM payments)",
}


def check_database(path: Path) -> None:
    """Read the file of a program that runs, as another program does."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for name, statement in CONTRADICTIONS.items():
            rows = connection.execute(statement).fetchmany(5)
            assert not rows, f"the database has {name}: {rows}"


def fill_log(path: Path) -> int:
    """Let SQLite's log grow to the size of the file, without an effect; returns that size."""
    size_bytes, log = path.stat().st_size, Path(f"{path}-wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        while log.stat().st_size < size_bytes:
            # SQLite writes nothing for an equal value.
            connection.execute("UPDATE accounts SET name = name || ' '")
            connection.execute("UPDATE accounts SET name = substr(name, 1, length(name) - 1)")
    return size_bytes


def state(server: Server, key: str, *, is_complete: bool = False) -> State:
    """What an account shows, after the attempts that are due; its newest entries, or all."""
    with closing(server.connection()) as connection:

        def get(path: str) -> Any:
            answer = ask(connection, "GET", path, None, key)
            assert answer.status == 200, (path, answer)
            return answer.json

        def listed(path: str, cursor: str) -> list[Any]:
            page = get(f"{path}?limit={NEWEST}")
            entries = list(page["data"])
            while is_complete and page["has_more"]:
                page = get(f"{path}?limit={NEWEST}&{cursor}={entries[-1]['id']}")
                entries += page["data"]
            return entries

        settled = ask(connection, SETTLE.method, SETTLE.path, SETTLE.body, key)
        assert settled.json["settled"], settled
        payments = listed(PAYMENTS, "after")
        details = payments if is_complete else payments[:DETAILED]
        shown = {
            "clock": [get("/_emulator/clock")],
            "payments": payments,
            "events": listed("/_emulator/events", "before"),
            "deliveries": listed("/_emulator/deliveries", "before"),
            "endpoints": get(ENDPOINTS)["data"],
            "snapshots": get(SNAPSHOTS)["data"],
            "details": [get(f"/_emulator/payments/{payment['id']}") for payment in details],
        }
    return {name: _constant(entries) for name, entries in shown.items()}


def _constant(value: Any) -> Any:
    """Without the members that are not the same in two runs."""
    if isinstance(value, dict):
        return {name: _constant(each) for name, each in value.items() if name not in VARIABLE}
    return [_constant(each) for each in value] if isinstance(value, list) else value


def difference(found: State, expected: State) -> str:
    """The first entry that differs; empty if the states are equal."""
    for name, entries in found.items():
        others = expected[name]
        if entries != others:
            pairs = zip(entries, others, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
            counts = f"{len(entries)} and {len(others)} {name}"
            return f"{counts}; found {json.dumps(first[0])}, expected {json.dumps(first[1])}"
    return ""
