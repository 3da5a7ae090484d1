"""Sequences of valid requests, each with the response that it must get, in arbitrary packets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random  # noqa: TID251 - what is drawn follows from a seed
from typing import Any

from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, order

# Headers that change nothing about the response to the request that carries them.
HARMLESS = [
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
    "Upgrade: TLS/1.0\r\nConnection: Upgrade",
    "Upgrade: h2c",
    "Connection: keep-alive",
    "Connection: keep-alive, X-Trace\r\nX-Trace: 1",
    "Keep-Alive: timeout=5, max=100",
    "Expect: 100-continue",
    "TE: trailers",
    "Accept: */*",
    "Accept-Encoding: gzip, deflate, br",
    "Content-Encoding: identity",
    "Content-Language: am",
    "User-Agent: shop/1.0 (ሱቅ)",
    "Cookie: a=b; c=d",
    "Cookie: a=b\r\nCookie: c=d",
    "X-Empty:",
    "X-Blanks:   \t many   blanks\t ",
    "X-Request-Id: 0123456789",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "Via: 1.1 proxy\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https",
    "If-None-Match: *",
    "Range: bytes=0-10",
    "Pragma: no-cache",
    "Trailer: X-Checksum",
    "Date: Thu, 01 Jan 2026 00:00:00 GMT",
    "Max-Forwards: 0",
    "DNT: 1",
    "X-Quotes: \"{}\", '[]'",
    "X-Long: " + "x" * 5_000,
    "X-Methods: GET / HTTP/1.1",
]
# No request begins with any of these bytes.
INVALID_STARTS = [
    bytes([byte]) for byte in range(256) if not chr(byte).isalpha() and byte not in b"\r\n-_"
]
# The beginning of a request that is not complete.
INCOMPLETE = [b"\r\n", b"G", b"POST /v1/pay", b"GET / HTTP/1.1\r\nHost: x\r\nX-", b"DELETE "]
MAX_PACKETS = 1_000
# Characters of one to four bytes, without control characters.
LETTERS = [
    *map(chr, range(0x20, 0x7F)),
    *"é߿\u00a0\u2028\u202eሀብርፚ\ufeff\ufffd\uffff\U00010000\U0001f4b8\U0010ffff",
]


@dataclass(frozen=True, kw_only=True)
class ValidRequest:
    """One request, and what its response must be."""

    sent: bytes
    status: int
    # Members that the body of the response has.
    members: dict[str, Any] = field(default_factory=dict)
    is_head: bool = False
    # The account whose journal has the request.
    key: str | None = None
    ends_connection: bool = False


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What one client sends: requests, then bytes that are no request, or the start of one."""

    requests: tuple[ValidRequest, ...]
    tail: bytes
    is_tail_invalid: bool
    packets: tuple[bytes, ...]
    pauses: bool

    def answered(self) -> list[ValidRequest]:
        """The requests up to the first after which the connection ends."""
        ends = [place for place, request in enumerate(self.requests, 1) if request.ends_connection]
        return list(self.requests[: ends[0] if ends else None])

    @property
    def ends_connection(self) -> bool:
        """Whether the server ends the connection after a request or an invalid tail."""
        return self.is_tail_invalid or self.answered()[-1].ends_connection


LAST_REQUEST = ValidRequest(
    sent=b"GET /_emulator/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    status=200,
    members={"status": "ok"},
    ends_connection=True,
)


def _case(draws: Random, head: str) -> str:
    """The same names of headers in another case."""
    change = draws.choice([str, str.lower, str.upper, str.title])
    lines = [line.partition(":") for line in head.split("\r\n")]
    return "\r\n".join(change(name) + colon + value for name, colon, value in lines)


def _chunked(draws: Random, body: bytes) -> bytes:
    cuts = {draws.randint(0, len(body)) for _ in range(draws.randint(0, 5))}
    written = b""
    for start, end in pairwise(sorted(cuts | {0, len(body)})):
        size = draws.choice([b"%x", b"%X", b"000%x"]) % (end - start)
        extension = draws.choice([b"", b"", b";name", b";name=value", b';name="a b"'])
        written += size + extension + b"\r\n" + body[start:end] + b"\r\n"
    trailers = draws.choice([b"", b"", b"X-Checksum: 1\r\n", b"A: b\r\nETag: c\r\n"])
    return written + b"0\r\n" + trailers + b"\r\n"


def _written(
    draws: Random, method: str, target: str, *, key: str | None, body: bytes | None = None
) -> tuple[bytes, bool]:
    """The request, and whether the connection ends after it."""
    lines = ["Host: 127.0.0.1:8080"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    chunks = body is not None and draws.random() < 0.5
    if body is not None:
        lines.append("Content-Type: application/json")
        lines.append("Transfer-Encoding: chunked" if chunks else f"Content-Length: {len(body)}")
    lines += draws.sample(HARMLESS, draws.randint(0, 3))
    ends = draws.random() < 0.1
    if ends:
        lines.append("Connection: close")
    draws.shuffle(lines)
    if draws.random() < 0.1:
        target = "http://127.0.0.1:8080" + target
    # Not a chunked body: HTTP/1.0 does not know it.
    version = "1.0" if not chunks and draws.random() < 0.05 else "1.1"
    head = _case(draws, "\r\n".join(lines))
    blank = draws.choice(["", "", "", "\r\n"])
    sent = f"{blank}{method} {target} HTTP/{version}\r\n{head}\r\n\r\n".encode()
    if body is not None:
        sent += _chunked(draws, body) if chunks else body
    return sent, ends or version == "1.0"


def _valid(
    draws: Random,
    method: str,
    target: str,
    status: int,
    *,
    key: str | None = None,
    body: bytes | None = None,
    members: dict[str, Any] | None = None,
    is_journaled: bool = True,
) -> ValidRequest:
    sent, ends = _written(draws, method, target, key=key, body=body)
    return ValidRequest(
        sent=sent,
        status=status,
        members=members or {},
        is_head=method == "HEAD",
        key=key if is_journaled else None,
        ends_connection=ends,
    )


def text(draws: Random, limit: int = 40) -> str:
    return "".join(draws.choices(LETTERS, k=draws.randint(0, limit)))


def create(draws: Random) -> ValidRequest:
    changes: dict[str, Any] = {"amount": draws.randint(100, 2**53 - 1)}
    if draws.random() < 0.5:
        changes["metadata"] = {text(draws): text(draws) for _ in range(draws.randint(0, 4))}
    body = json.dumps(order(**changes), ensure_ascii=draws.random() < 0.5).encode()
    key = draws.choice([TEST_KEY, LIVE_KEY])
    return _valid(draws, "POST", "/v1/payments", 201, key=key, body=body, members=changes)


def _refused_create(draws: Random) -> ValidRequest:
    body = draws.choice([b"{", b"[]", b"", b'{"amount":1}', b"POST / HTTP/1.1\r\n\r\n"])
    return _valid(draws, "POST", "/v1/payments", 400, key=OTHER_TEST_KEY, body=body)


def _unauthenticated(draws: Random) -> ValidRequest:
    body = draws.choice([None, draws.randbytes(draws.randint(0, 300))])
    method = "GET" if body is None else draws.choice(["POST", "PATCH", "PUT"])
    return _valid(draws, method, "/v1/payments", 401, body=body)


def _list(draws: Random) -> ValidRequest:
    # `create` never uses this account, so its list stays empty.
    target = f"/v1/payments?limit={draws.randint(1, 100)}"
    members = {"data": [], "has_more": False, "next_cursor": None}
    return _valid(draws, "GET", target, 200, key=OTHER_TEST_KEY, members=members)


def _unknown(draws: Random) -> ValidRequest:
    method = draws.choice(["DELETE", "PATCH", "PUT", "OPTIONS"])
    body = draws.choice([None, b'{"amount":100}'])
    return _valid(draws, method, "/v1/payments/pay_1", 404, key=OTHER_TEST_KEY, body=body)


def _health(draws: Random) -> ValidRequest:
    method = draws.choice(["HEAD", "GET"])
    members = {} if method == "HEAD" else {"status": "ok"}
    return _valid(draws, method, "/_emulator/health", 200, members=members)


def _unknown_control(draws: Random) -> ValidRequest:
    body, target = b'{"events":[]}', "/_emulator/nothing"
    return _valid(draws, "POST", target, 404, key=TEST_KEY, body=body, is_journaled=False)


KINDS = [
    *(create, create, _refused_create, _unauthenticated),
    *(_list, _unknown, _health, _unknown_control),
]


def cut(draws: Random, sent: bytes) -> tuple[bytes, ...]:
    """The same bytes in packets."""
    cuts = {0, len(sent)} | {draws.randint(0, len(sent)) for _ in range(draws.randint(0, 8))}
    if draws.random() < 0.05:
        cuts |= set(range(0, len(sent), draws.randint(1, 7) + len(sent) // MAX_PACKETS))
    return tuple(sent[start:end] for start, end in pairwise(sorted(cuts)))


def pauses(draws: Random, packets: Sequence[bytes]) -> bool:
    """Whether the server is idle between two packets, which takes long for many of them."""
    return draws.random() < 0.5 and len(packets) < 10


def conversation(draws: Random, tails: Sequence[bytes] = (b"", *INCOMPLETE)) -> Conversation:
    """Up to five valid requests, then one of the tails or an invalid one, cut anywhere."""
    requests = tuple(draws.choice(KINDS)(draws) for _ in range(draws.randint(1, 5)))
    is_invalid = draws.random() < 0.5
    tail = draws.choice(tails)
    if is_invalid:
        tail = draws.choice(INVALID_STARTS) + draws.randbytes(draws.randint(0, 30))
    packets = cut(draws, b"".join(request.sent for request in requests) + tail)
    return Conversation(
        requests=requests,
        tail=tail,
        is_tail_invalid=is_invalid,
        packets=packets,
        pauses=pauses(draws, packets),
    )
