"""Correct shops with a database, of several architectures; `WAYS` has the name of one.

`outbox` ships by a worker, from a table that the transaction of a status fills. `retries` responds
to webhooks at once; its worker reads the payment, and repeats what failed. `sourced` stores only
what happened, and shows it. `optimistic` stores an order if nobody else has. `prefork` is several
processes. With `clicks`, a second click of a customer is no second order. All purge the ids of old
events, have a page of thanks that refuses orders that are not paid, a job that refuses to run
twice, and a `cancel_url` of another host. The settings are those of `shop.py`.
"""

import fcntl
import json
import os
import sqlite3
import threading
import time  # noqa: TID251 - a shop has its own time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

from tests.tools.explore.zoo import shop
from tests.tools.explore.zoo.shop import DATABASE, NAMES, RANKS, WAYS, Json

PROCESSES, ORDERS_A_RUN, MAX_CHECKS = 3, 10, 3
CLICK_S, KEPT_S, PAUSE_S = 10, 3_600, 0.01
ELSEWHERE = "https://www.example.com/cart"
NEW = {"status": "pending", "known": "pending", "shipments": 0, "mails": [], "attempts": 0}
SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT, payment TEXT, at REAL,
    checks INTEGER DEFAULT 0, version INTEGER DEFAULT 0, body TEXT);
CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, number INTEGER, status TEXT);
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, at REAL);
CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, number INTEGER);
"""
local = threading.local()


def query(sql: str, *values: object) -> sqlite3.Cursor:
    """Execute a statement; each thread of each process has a connection."""
    if not hasattr(local, "database"):
        local.database = sqlite3.connect(DATABASE, timeout=20, isolation_level=None)
        local.database.row_factory = sqlite3.Row
        local.database.execute("PRAGMA synchronous = OFF")
    cursor: sqlite3.Cursor = local.database.execute(sql, values)
    return cursor


@contextmanager
def transaction() -> Iterator[None]:
    query("BEGIN IMMEDIATE")
    try:
        yield
        query("COMMIT")
    except BaseException:
        query("ROLLBACK")
        raise


def after(order: Json, status: str) -> Json:
    """The order after a status; an older or equal one changes nothing."""
    if RANKS.get(status, 0) <= RANKS[order["known"]]:
        return order
    ships, mails = status == "completed" and "outbox" not in WAYS, [*order["mails"], status]
    shipments = order["shipments"] + ships
    name = NAMES[status]
    return {**order, "known": status, "status": name, "shipments": shipments, "mails": mails}


def read(number: int) -> tuple[int, Json]:
    """The version and the state of an order."""
    [row] = query("SELECT version, body FROM orders WHERE id = ?", number)
    log = [s for (s,) in query("SELECT status FROM log WHERE number = ? ORDER BY id", number)]
    order = reduce(after, log, json.loads(row["body"]))
    return row["version"], {**order, "log": log}


def write(number: int, order: Json, *, version: int) -> bool:
    """Store an order, unless it has another version by now."""
    body = json.dumps({name: value for name, value in order.items() if name != "log"})
    sql = "UPDATE orders SET body = ?, version = version + 1 WHERE id = ? AND version = ?"
    return query(sql, body, number, version).rowcount == 1


def settle(number: int, status: str) -> None:
    with transaction():
        version, order = read(number)
        changed = after(order, status)
        if changed != order and "sourced" in WAYS:
            query("INSERT INTO log (number, status) VALUES (?, ?)", number, status)
        elif changed != order:
            write(number, changed, version=version)
            if status == "completed" and "outbox" in WAYS:
                query("INSERT INTO tasks (number) VALUES (?)", number)


def settle_optimistically(number: int, status: str) -> None:
    is_stored = False
    while not is_stored:
        version, order = read(number)
        changed = after(order, status)
        is_stored = changed == order or write(number, changed, version=version)


def refresh(number: int) -> None:
    [(payment,)] = query("SELECT payment FROM orders WHERE id = ?", number)
    SETTLE(number, shop.retrieve(payment))


def ship(task: int, number: int) -> None:
    with transaction():
        version, order = read(number)
        write(number, {**order, "shipments": order["shipments"] + 1}, version=version)
        query("DELETE FROM tasks WHERE id = ?", task)


def try_again(task: int, number: int) -> None:
    """Refresh an order; the task remains if the payment cannot be read."""
    with transaction():
        version, order = read(number)
        write(number, {**order, "attempts": order["attempts"] + 1}, version=version)
    try:
        refresh(number)
    except (OSError, HTTPException):
        return
    query("DELETE FROM tasks WHERE id = ?", task)


def work(handle: Callable[[int, int], None]) -> None:
    while True:
        for task, number in query("SELECT id, number FROM tasks").fetchall():
            handle(task, number)
        time.sleep(PAUSE_S)


def start(customer: str) -> tuple[str, str, Json]:
    """The order, the customer and the payment; a second click gets those of the first."""
    since = time.time() - CLICK_S if "clicks" in WAYS else time.time()
    with transaction():
        sql = "SELECT id FROM orders WHERE customer = ? AND at > ?"
        found = query(sql, customer or None, since).fetchone()
        if found is None:
            sql = "INSERT INTO orders (at, body) VALUES (?, ?) RETURNING id"
            [found] = query(sql, time.time(), json.dumps(NEW))
    number = found["id"]
    order = {"id": f"s{number}", "amount": 15_000, "cancel_url": ELSEWHERE}
    payment = shop.create(order)
    customer = customer or f"c{number}"
    sql = "UPDATE orders SET payment = ?, customer = ? WHERE id = ?"
    query(sql, payment["id"], customer, number)
    return f"s{number}", customer, payment


def webhook(headers: object, body: bytes) -> int:
    if not shop.is_genuine(headers, body):
        return 400
    event = json.loads(body)
    data = event["data"]
    number = data["metadata"].get("order", "")[1:]
    sql = "SELECT id FROM orders WHERE id = ? AND ifnull(payment, ?) = ?"
    is_ours = number and query(sql, number, data["id"], data["id"]).fetchone()
    is_known = query("SELECT 1 FROM events WHERE id = ?", event["id"]).fetchone()
    if not is_ours or is_known or event["mode"] != "test":
        return 200
    if "retries" in WAYS:
        query("INSERT INTO tasks (number) VALUES (?)", number)
    else:
        SETTLE(int(number), event["type"].removeprefix("payment."))
    query("INSERT OR IGNORE INTO events VALUES (?, ?)", event["id"], time.time())
    return 200


def run_job() -> int:
    """Ten orders a run, those first that were checked least; 409 while another run lasts."""
    with DATABASE.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 409
        query("DELETE FROM events WHERE at < ?", time.time() - KEPT_S)
        sql = "SELECT id FROM orders WHERE payment IS NOT NULL ORDER BY checks, id"
        numbers = [number for (number,) in query(sql) if is_waiting(number)]
        for number in numbers[:ORDERS_A_RUN]:
            query("UPDATE orders SET checks = checks + 1 WHERE id = ?", number)
            refresh(number)
    return 200


def is_waiting(number: int) -> bool:
    [(checks,)] = query("SELECT checks FROM orders WHERE id = ?", number)
    status = read(number)[1]["status"]
    return status == "pending" or (status == "cancelled" and checks < MAX_CHECKS)


class Handler(shop.Handler, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        url = urlsplit(self.path)
        name = parse_qs(url.query).get("order", [url.path.rpartition("/")[2]])[0]
        if not query("SELECT 1 FROM orders WHERE 's' || id = ?", name).fetchone():
            return self.answer(200 if url.path == "/health" else 404, {})
        if url.path == "/return":
            refresh(int(name[1:]))
        order = read(int(name[1:]))[1]
        is_refused = url.path == "/return" and order["status"] not in ("paid", "refunded")
        return self.answer(409 if is_refused else 200, {"id": name, **order})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            if self.path == "/orders":
                cookie = self.headers.get("cookie", "")
                number, customer, payment = start(cookie.removeprefix("customer="))
                answer = {"id": number, "payment_id": payment["id"]}
                self.answer(201, answer, f"customer={customer}")
            else:
                self.answer(webhook(self.headers, body) if body else run_job(), {})
        except (OSError, HTTPException, RuntimeError):
            self.answer(500, {})


SETTLE = settle_optimistically if "optimistic" in WAYS else settle

if __name__ == "__main__":
    with sqlite3.connect(DATABASE) as database:
        database.executescript(SCHEMA)
    if "prefork" in WAYS:
        shop.server.socket.setblocking(False)  # Another process may accept the connection.
        any(os.fork() == 0 for _ in range(PROCESSES - 1))  # A child serves the same socket.
    for name, handle in (("outbox", ship), ("retries", try_again)):
        if name in WAYS:
            threading.Thread(target=work, args=[handle], daemon=True).start()
    shop.server.RequestHandlerClass = Handler
    shop.server.serve_forever()
