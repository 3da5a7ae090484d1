"""The bytes that are sent: every request is built ahead, or is one formatting step away."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, repeat

TEST_KEY = "test_demo_key"
HEADERS = {"Authorization": f"Bearer {TEST_KEY}", "Content-Type": "application/json"}
COLLECTION = "/v1/payments"


def create_body(number: str) -> bytes:
    """A create with all that a shop sends; `number` makes its idempotency key unique."""
    body = {
        "amount": 125_000,
        "currency": "ETB",
        "methods": ["telebirr", "mpesa", "bank_transfer"],
        "success_url": "https://shop.example.com/orders/100042/success?source=hosted",
        "cancel_url": "https://shop.example.com/orders/100042/cancelled?source=hosted",
        "metadata": {
            "order_id": "100042",
            "customer": "customer.042@example.com",
            "branch": "Bole",
        },
        "idempotency_key": f"order-100042-attempt-{number}",
    }
    return json.dumps(body).encode()


def _head(port: int, line: str, key: str = TEST_KEY) -> bytes:
    return (
        f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
        "Accept: */*\r\nUser-Agent: benchmark\r\n"
    ).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """GETs of these paths, in this order, again and again."""

    paths: tuple[str, ...]
    key: str = TEST_KEY

    def requests(self, port: int) -> Iterator[bytes]:
        """An endless supply of requests built once."""
        return cycle([_head(port, f"GET {path}", self.key) + b"\r\n" for path in self.paths])


@dataclass(frozen=True, slots=True, kw_only=True)
class Posts:
    """POSTs of one body to one path, again and again."""

    path: str
    body: bytes
    content_type: str
    key: str

    def requests(self, port: int) -> Iterator[bytes]:
        """An endless supply of one request."""
        head = _head(port, f"POST {self.path}", self.key)
        typed = f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n\r\n"
        return repeat(head + typed.encode() + self.body)


Traffic = Reads | Posts
