"""Measures the checkout pages: processor time relative to the limit, and bytes on the wire."""

import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.benchmarks.http_measures import HEADERS, LIST, Measure, measured
from tests.benchmarks.pairs import Generator, Plan, Quantity
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import Server, ServerFailed, bare, emulator
from tests.benchmarks.traffic import COLLECTION, Reads, Traffic, create_body
from tests.benchmarks.weight import weigh

# Each with an amount and a token of its own, and drawn at random for each burst: what is cached of
# one payment's page is of no use to the next.
PAYMENTS = 5_000
DRAWN_PER_BURST = 10_000
PROVED = 25
CPU_GATE = Gate(at_most=2.5)
WEIGHT_GATE = Gate(at_most=60.0)
# No scenario decides this number: the payment waits for an answer, for ever on a frozen clock.
SUBMITTED = json.dumps({"method": "telebirr", "phone": "0911223344"}).encode()

_FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of every checkout: its address after the checkout's, and what only it shows."""

    name: str
    address: str
    shows: tuple[str, ...]

    @property
    def measure(self) -> Measure:
        """Its line of the table."""
        return Measure(
            name=f"page: {self.name}, CPU", connections=16, gate=CPU_GATE, quantity=Quantity.CPU
        )


METHODS = Page(
    name="methods",
    address="",
    shows=(
        'data-page="choose"',
        'data-testid="method-telebirr"',
        'data-testid="method-mpesa"',
        'data-testid="method-bank_transfer"',
    ),
)
PHONE_FORM = Page(
    name="phone form",
    address="?method=telebirr",
    shows=('data-page="method-form"', 'data-testid="phone"', 'data-testid="number-'),
)
WAITING = Page(
    name="waiting",
    address="/wait",
    shows=('data-page="waiting"', 'data-status="processing"', 'data-handset="asking"'),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A payment as its customer knows it: `path` is its checkout's."""

    id: str
    path: str
    amount_minor: int

    @property
    def amount(self) -> str:
        """As the pages write it."""
        birr, cents = divmod(self.amount_minor, 100)
        return f"ETB\u00a0{birr:,}.{cents:02}"


def pages(plan: Plan, generator: Generator) -> list[Row]:
    """Pages before and after the submit, of the same payments, and the weight of one."""
    with bare() as limit, emulator(plan.tree, "--clock", "frozen") as subject:
        customers, listener = _created(subject)
        servers = (limit, listener)
        weight = _weight(listener, customers[0])
        rows = [_cost(plan, generator, page, servers, customers) for page in (METHODS, PHONE_FORM)]
        _submit(subject, customers)
        rows.append(_cost(plan, generator, WAITING, servers, customers))
    return [*rows, weight]


def _cost(
    plan: Plan,
    generator: Generator,
    page: Page,
    servers: tuple[Server, Server],
    customers: list[Paid],
) -> Row:
    limit, listener = servers
    _prove(listener, page, customers)
    paths = [customer.path + page.address for customer in customers]
    chance = random.Random(1)

    def traffic(server: Server) -> Traffic:
        if server is limit:
            return LIST
        return Reads(paths=tuple(chance.choices(paths, k=DRAWN_PER_BURST)))

    return measured(page.measure, plan, generator, traffic, servers)


def _prove(listener: Server, page: Page, customers: list[Paid]) -> None:
    """Each of some customers gets this very page, about their payment, with forms of their own."""
    form_tokens = set()
    for customer in random.Random(2).sample(customers, k=PROVED):
        path = customer.path + page.address
        status, body = listener.call("GET", path, {"Accept": "text/html"})
        html = body.decode()
        expected = (*page.shows, f'data-testid="amount">{customer.amount}<', customer.path)
        missing = [text for text in expected if text not in html]
        found = _FORM_TOKEN.search(html)
        if status != 200 or missing or found is None:
            raise ServerFailed(f"{path} was answered {status} without {missing}: {html}")
        form_tokens.add(found[1])
    if len(form_tokens) != PROVED:
        raise ServerFailed(f"{len(form_tokens)} form tokens for {PROVED} checkouts")


def _created(subject: Server) -> tuple[list[Paid], Server]:
    """Payments of different amounts, and the listener that their checkouts are on."""
    posts = ((COLLECTION, create_body(f"page-{n}", 125_000 + 77 * n)) for n in range(PAYMENTS))
    customers = []
    for payment in _answers(subject, posts):
        url = urlsplit(payment["checkout_url"])
        customers.append(Paid(id=payment["id"], path=url.path, amount_minor=payment["amount"]))
    if url.port is None or url.port == subject.port:
        raise ServerFailed(f"no listener of its own: {url.geturl()}")
    return customers, replace(subject, port=url.port)


def _submit(subject: Server, customers: list[Paid]) -> None:
    posts = ((f"/_emulator/payments/{customer.id}/pay", SUBMITTED) for customer in customers)
    for payment in _answers(subject, posts):
        if payment["status"] != "processing":
            raise ServerFailed(f"a submitted payment does not wait: {payment}")


def _answers(subject: Server, posts: Iterable[tuple[str, bytes]]) -> Iterator[dict[str, Any]]:
    """What POSTs are answered, one after another over one connection, outside any measurement."""
    with closing(HTTPConnection("127.0.0.1", subject.port, timeout=30)) as connection:
        for path, body in posts:
            connection.request("POST", path, body=body, headers=HEADERS)
            response = connection.getresponse()
            answer = response.read()
            if response.status not in (200, 201):
                raise ServerFailed(f"{path} was answered {response.status}: {answer[:600]!r}")
            yield json.loads(answer)


def _weight(listener: Server, customer: Paid) -> Row:
    """The phone form in Amharic, with everything that it loads."""
    path = f"{customer.path}{PHONE_FORM.address}&lang=am"
    _, html = listener.call("GET", path, {})
    if b'<html lang="am">' not in html:
        raise ServerFailed(f"{path} is not in Amharic: {html.decode()}")
    loaded = weigh(listener, path)
    total_bytes = sum(loaded.values())
    parts = ", ".join(f"{kind} {count:,}" for kind, count in sorted(loaded.items()))
    return Row(
        measure="page: phone form, weight",
        values=(total_bytes / 1000,),
        gate=WEIGHT_GATE,
        unit=" kB",
        absolute=f"{total_bytes:,} bytes: {parts}",
        numbers={f"{kind}_bytes": count for kind, count in loaded.items()},
    )
