"""Acknowledged writes survive `kill -9`, and scheduled changes occur once."""

import http.client
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.cli.processes import HANGS_AFTER_S, Server, ask, serving, wait_for
from tests.world import START, order

CLIENTS = 4
EXPIRES_IN_S = 1_800
EVENTS_BY_STATUS = "SELECT status, count(*) FROM events GROUP BY status ORDER BY status"
EVENTS_TWICE = (
    "SELECT count(*) FROM (SELECT 1 FROM events GROUP BY payment, status HAVING count(*) > 1)"
)


class Load:
    """Clients that create payments until the server is gone, and what was acknowledged."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._clients = [threading.Thread(target=self._create) for _ in range(CLIENTS)]
        self.acknowledged: dict[str, bytes] = {}

    def start(self) -> None:
        for client in self._clients:
            client.start()

    def wait_for_end(self) -> None:
        for client in self._clients:
            client.join(HANGS_AFTER_S)

    def _create(self) -> None:
        connection = self._server.connection()
        try:
            while True:
                answer = ask(connection, "POST", "/v1/payments", order())
                assert answer.status == http.client.CREATED
                self.acknowledged[answer.json["id"]] = answer.body
        except (OSError, http.client.HTTPException):
            pass  # killed
        finally:
            connection.close()


def create_all(server: Server, count: int, **changes: Any) -> None:
    def create(share: int) -> None:
        connection = server.connection()
        for _ in range(share):
            answer = ask(connection, "POST", "/v1/payments", order(**changes))
            assert answer.status == http.client.CREATED
        connection.close()

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(create, [count // CLIENTS] * CLIENTS))


def query(database: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(statement).fetchall()


def test_every_acknowledged_payment_survives_kill_9(tmp_path: Path) -> None:
    database = tmp_path / "kept.sqlite3"
    acknowledged: dict[str, bytes] = {}
    for kill_after in (1, 100, 300):
        with serving("--database", str(database), logs=tmp_path) as server:
            load = Load(server)
            load.start()
            wait_for(server.process, has_acknowledged(load, kill_after))
            server.kill()
            load.wait_for_end()
        acknowledged |= load.acknowledged
    with serving("--database", str(database), logs=tmp_path) as server:
        connection = server.connection()
        for payment_id, body in acknowledged.items():
            assert ask(connection, "GET", f"/v1/payments/{payment_id}").body == body
        connection.close()
        assert server.stop() == 0
    assert query(database, "PRAGMA integrity_check") == [("ok",)]


def has_acknowledged(load: Load, count: int) -> Callable[[], bool]:
    return lambda: len(load.acknowledged) >= count


def test_timers_that_were_due_during_a_stop_fire_once(tmp_path: Path) -> None:
    database = tmp_path / "kept.sqlite3"
    kept = ("--database", str(database), "--clock", f"frozen@{START}")
    with serving(*kept, logs=tmp_path) as server:
        create_all(server, 20)
        server.kill()
    for _ in range(2):
        with serving(*kept, logs=tmp_path) as server:
            advance(server, EXPIRES_IN_S)
            page = server.request("GET", "/v1/payments?status=expired&limit=100").json
            assert len(page["data"]) == 20
            server.kill()
    assert query(database, EVENTS_BY_STATUS) == [("expired", 20)]
    assert query(database, "SELECT count(*) FROM timers") == [(0,)]


def test_a_killed_advance_continues_and_fires_nothing_twice(tmp_path: Path) -> None:
    count = 1_500
    database = tmp_path / "kept.sqlite3"
    kept = ("--database", str(database), "--clock", f"frozen@{START}")
    with serving(*kept, logs=tmp_path) as server:
        create_all(server, count)
        advancing = threading.Thread(target=advance_until_killed, args=(server,))
        advancing.start()
        wait_for(server.process, lambda: has_expired(server))
        server.kill()
        advancing.join(HANGS_AFTER_S)
    with serving(*kept, logs=tmp_path) as server:
        advance(server, EXPIRES_IN_S)
        server.kill()
    assert query(database, EVENTS_BY_STATUS) == [("expired", count)]
    assert query(database, EVENTS_TWICE) == [(0,)]
    assert query(database, "SELECT status, count(*) FROM payments") == [("expired", count)]
    assert query(database, "SELECT count(*) FROM timers") == [(0,)]


def advance(server: Server, seconds: int) -> None:
    answer = server.request("POST", "/_emulator/clock/advance", {"seconds": seconds})
    assert answer.status == http.client.OK, answer.body


def advance_until_killed(server: Server) -> None:
    with suppress(OSError, http.client.HTTPException):
        advance(server, EXPIRES_IN_S)


def has_expired(server: Server) -> bool:
    return bool(server.request("GET", "/v1/payments?status=expired&limit=1").json["data"])


def test_flowing_clocks_continue_during_a_stop(tmp_path: Path) -> None:
    count = 40
    database = tmp_path / "kept.sqlite3"
    kept = ("--database", str(database))
    with serving(*kept, logs=tmp_path) as server:
        create_all(server, count, expires_in=1)
        server.kill()
    with serving(*kept, logs=tmp_path) as server:
        wait_for(server.process, lambda: has_expired(server))
        server.kill()
    with serving(*kept, logs=tmp_path) as server:
        wait_for(
            server.process,
            lambda: not server.request("GET", "/v1/payments?status=pending").json["data"],
        )
        server.kill()
    assert query(database, EVENTS_BY_STATUS) == [("expired", count)]
    assert query(database, EVENTS_TWICE) == [(0,)]
