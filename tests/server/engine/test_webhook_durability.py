"""No delivery is lost by `kill -9`, by a shutdown or by an absent receiver."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Condition

import pytest

from emulator.server.engine.delivery.dispatcher import MAX_CONCURRENT_ATTEMPTS
from tests.cli.invocation import webhook_receiver
from tests.cli.processes import HANGS_AFTER_S, Server, ask, free_port, serving, wait_for
from tests.depth import usually
from tests.world import order

KILLS = usually(1, deep=6)
EVENTS = 200


class Shop:
    """A merchant's server on a thread, which counts the events that it receives."""

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()
        self._changed = Condition()

    def add(self, name: str) -> None:
        with self._changed:
            self.received[name] += 1
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.received.total() >= count, HANGS_AFTER_S)


@contextmanager
def shop_at(port: int) -> Iterator[Shop]:
    shop = Shop()

    def receive(_: BaseHTTPRequestHandler, body: bytes) -> int:
        shop.add(json.loads(body)["id"])
        return 200

    with webhook_receiver(receive, port):
        yield shop


def create(server: Server, count: int) -> None:
    connection = server.connection()
    for _ in range(count):
        assert ask(connection, "POST", "/v1/payments", order()).status == 201
    connection.close()


def statuses(server: Server) -> Counter[str]:
    deliveries = server.request("GET", "/_emulator/deliveries?limit=1000").json["data"]
    return Counter(delivery["status"] for delivery in deliveries)


def attempts(server: Server) -> list[int]:
    deliveries = server.request("GET", "/_emulator/deliveries").json["data"]
    return [len(delivery["attempts"]) for delivery in deliveries]


def events(server: Server) -> set[str]:
    listed = server.request("GET", "/_emulator/events?limit=1000").json["data"]
    return {event["id"] for event in listed}


def has_delivered(server: Server) -> bool:
    return not server.request("GET", "/_emulator/deliveries?status=pending&limit=1").json["data"]


@pytest.mark.sampled
def test_kill_9_during_200_deliveries_loses_none(tmp_path: Path) -> None:
    """Several times, each time a bit later; what arrives twice was under way in that moment."""
    port = free_port()
    kept = ("--database", str(tmp_path / "kept.sqlite3"))
    webhooks = ("--webhook-url", f"http://127.0.0.1:{port}/hook")
    with shop_at(port) as shop:
        for kill in range(KILLS + 1):
            with serving(*kept, *webhooks, logs=tmp_path) as server:
                if kill > 0:  # what the program before was killed over
                    wait_for(server.process, lambda server=server: has_delivered(server))
                    assert statuses(server) == {"succeeded": EVENTS}
                    assert set(shop.received) == events(server)
                    again = {name for name, count in shop.received.items() if count > 1}
                    assert len(again) <= MAX_CONCURRENT_ATTEMPTS
                    server.request("POST", "/_emulator/reset")
                    shop.received.clear()
                create(server, EVENTS)
                shop.wait_for((kill + 1) * (EVENTS - MAX_CONCURRENT_ATTEMPTS) // (KILLS + 1))
                server.kill()


def test_attempts_in_progress_at_the_end_are_repeated_by_the_next_program(tmp_path: Path) -> None:
    port = free_port()
    kept = ("--database", str(tmp_path / "kept.sqlite3"))
    webhooks = ("--webhook-url", f"http://127.0.0.1:{port}/hook")
    with shop_at(port) as shop:
        with serving(*kept, *webhooks, logs=tmp_path) as server:
            create(server, EVENTS)
            shop.wait_for(1)
            assert server.stop() == 0
        with serving(*kept, *webhooks, logs=tmp_path) as server:
            wait_for(server.process, lambda: has_delivered(server))
            assert set(shop.received) == events(server)


def test_a_receiver_that_starts_late_receives_all_events(tmp_path: Path) -> None:
    port = free_port()
    webhooks = ("--webhook-url", f"http://127.0.0.1:{port}/hook", "--clock", "frozen")
    with serving(*webhooks, logs=tmp_path) as server:
        create(server, 20)
        wait_for(server.process, lambda: attempts(server) == [1] * 20)
        with shop_at(port) as shop:
            advanced = server.request("POST", "/_emulator/clock/advance", {"seconds": 1}).json
            assert len(advanced["effects"]) == 20
            assert set(shop.received) == events(server)
            assert set(shop.received.values()) == {1}
