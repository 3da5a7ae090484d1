"""Hostile requests: invalid, truncated and oversize ones, and others that no client sends."""

import json
from collections.abc import Callable
from random import Random  # noqa: TID251 - what is drawn follows from a seed
from typing import Any

from tests.server.api.calls import CREATE_PARAMS, QUERY_PARAMS
from tests.server.app.drawn_requests import KINDS, LETTERS, text
from tests.world import OTHER_TEST_KEY, TEST_KEY, order

# What is put into requests, besides random bytes.
_TOKENS = [
    *(b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b"%", b"%00", b"\xff", b"?"),
    *(b"#", b"0\r\n\r\n", b"-1", b"+1", b"9" * 30, b"0x10", b"HTTP/1.1", b"HTTP/2.0", b"http/1.1"),
    *(b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: identity\r\n"),
    *(b"Expect: 100-continue\r\n", b"Expect: 200-ok\r\n", b"Connection: close\r\n", b" folded\r\n"),
    *(b"Connection: Transfer-Encoding\r\n", b"Host: a\r\n", b"Host:\r\n", b"Upgrade: h2c\r\n"),
    *(
        b"Authorization: Bearer x\r\n",
        b"Content-Type: text/plain\r\n",
        b'"',
        b"{",
        b"[",
        b"\\u0000",
    ),
]
_OTHER_PROTOCOLS = [
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"EHLO example\r\n",
    b"CONNECT example:443 HTTP/1.1\r\nHost: example:443\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"OPTIONS rtsp://a/b RTSP/1.0\r\nCSeq: 1\r\n\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
    b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
    b"GET /v1/payments\r\n\r\n",
    b"GET  /v1/payments HTTP/1.1\r\n\r\n",
    b"GET /v1/payments HTTP/1.1 \r\n\r\n",
    b"GET /v1/payments HTTP/0.9\r\n\r\n",
    b"GET http:// HTTP/1.1\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\n\r\n",
    b"GET //example/v1/payments HTTP/1.1\r\n\r\n",
    b"GET ?limit=1 HTTP/1.1\r\n\r\n",
    b"QUERY /v1/payments HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
]
_FRAMINGS = [
    *("Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 2", "Content-Length: -1"),
    *("Content-Length: 18446744073709551616", "Content-Length: 2 3", "Content-Length:"),
    *("Content-Length: ٢", "Content-Length: 2\r\nTransfer-Encoding: chunked"),
    *("Transfer-Encoding: chunked\r\nContent-Length: 2", "Transfer-Encoding: chunked, chunked"),
    *("Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked", "Transfer-Encoding:"),
    *("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding : chunked"),
    *("Transfer-Encoding:\r\n chunked", "Transfer-Encoding: chunked\0", "Content_Length: 2"),
]
_CHUNKS = [
    *(b"2\r\n{}\r\n0\r\n\r\n", b"0\r\n\r\n", b"2\n{}\n0\n\n", b"-2\r\n{}\r\n0\r\n\r\n", b"\r\n"),
    *(b"ffffffffffffffff\r\n{}", b"10000000000000002\r\n{}\r\n0\r\n\r\n", b"2 \r\n{}\r\n0\r\n\r\n"),
    *(
        b"2\r\n{}0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"2;\r\n{}\r\n0\r\n\r\n",
        b"3\r\n{}\r\n0\r\n\r\n",
    ),
    *(b"2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n", b"2\r\n{}\r\n0\r\n: x\r\n\r\n", b"zz\r\n"),
]
_SCALARS: list[Any] = [
    *(None, True, False, 0, -1, 1, 99, 100, 2**53, 2**63, 2**64, -(10**30), 10**400, 0.5, 1e308),
    *("", "ETB", "etb", "100", "\0", "\ud800", "\u202e", "telebirr", "a" * 600, "a" * 70_000),
    *("https://shop.example/ok", "http://shop.example", "https://", "https://[::1]", "https://u@s"),
    *(
        "javascript:1",
        "https://é.example",
        "https://a:99999/",
        "https://a\\b",
        "//a",
        "https://\ud800",
    ),
    *([], {}, [[]], [{}], {"": ""}, {"a": {}}, ["telebirr"] * 40, [None], {"a": "b" * 900}),
]
_VALUES = [
    *(
        "",
        "0",
        "1",
        "101",
        "-1",
        "１",
        "1e2",
        "pending",
        "PENDING",
        "mpesa",
        "pay_1",
        "%00",
        "%",
        "+",
    ),
    *("2026-01-01", "2026-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "9999-12-31T23:59:60+24:00"),
    *("0000-00-00", "2026-01-01T00:00:00.000000000000001+03:00", "%ED%A0%80", "%C0%AF", "9" * 700),
]
_PATHS = [
    *("/v1", "/v1/", "/v1//payments", "/v1/payments/", "/v1/payments/..", "/v1/./payments"),
    *("/v1/payments/%2e%2e/%2e%2e", "/v1/payments/%00", "/v1/payments/%", "/v1/payments/%zz"),
    *("/v1%2fpayments", "/V1/payments", "/v1/payments;a=b", "/v1/payments/pay_", "/v2/payments"),
    *(
        "/v1/payments/%ED%A0%80",
        "/v1/payments/%C0%AF",
        "/v1/payments/" + "a" * 3_000,
        "/v1\\payments",
    ),
]
_CREDENTIALS = [
    *(
        "Bearer",
        "Bearer ",
        "bearer  test_demo_key",
        "Basic dGVzdDo=",
        "test_demo_key",
        "Bearer test_",
    ),
    *("Bearer test_demo_key test_demo_key", "Bearer live_" + "x" * 200, "Bearer test_ключ", '""'),
    *(
        "Bearer test_demo_key,",
        "Bearer\ttest_demo_key",
        "Bearer test_demo_key\x01",
        "Bearer " * 900,
    ),
]
_HEADERS = [
    *("Content-Type: application/json; charset=utf-16", "Content-Type: application/json;;;=;"),
    *('Content-Type: application/json; charset="utf-8', "Content-Type: text/html", "Content-Type:"),
    *("Content-Encoding: gzip", "Idempotency-Key: ключ", "Idempotency-Key:", "X-\x7f: a", ": a"),
    *("Host: evil.example", "Host: a, b", "Origin: https://evil.example", "Range: bytes=9-1", "X"),
    *("Accept: " + "a," * 9_000, "X-A: é\xff\x80", "X-A:\x0b", "Sec-Fetch-Site: cross-site"),
]


def _head(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, *headers, "", ""]).encode("utf-8", "surrogatepass")


def _request(
    method: str = "POST", target: str = "/v1/payments", *headers: str, body: bytes | None = None
) -> bytes:
    """A request whose framing is right; a header of the arguments precedes the usual ones."""
    length = [] if body is None else [f"Content-Length: {len(body)}"]
    usual = [f"Authorization: Bearer {TEST_KEY}", "Content-Type: application/json"]
    head = _head(f"{method} {target} HTTP/1.1", "Host: localhost", *headers, *usual, *length)
    return head + (body or b"")


def spoil(draws: Random, sent: bytes) -> bytes:
    """The bytes with some of them replaced, removed, repeated or moved."""
    for _ in range(draws.randint(1, 4)):
        start = draws.randint(0, len(sent))
        end = min(len(sent), start + draws.choice([0, 0, 1, 1, 2, 8, 40]))
        piece = sent[start:end]
        put = draws.choice([draws.randbytes(draws.randint(1, 4)), draws.choice(_TOKENS), b""])
        match draws.randint(0, 3):
            case 0:
                put = piece * draws.randint(2, 9)
            case 1:
                other = draws.randint(0, len(sent))
                put = sent[other : other + draws.randint(1, 60)]
        sent = sent[:start] + put + sent[end:]
    return sent


def _valid(draws: Random) -> bytes:
    """A valid request whose response has a body, without the key whose list must stay empty."""
    while True:
        request = draws.choice(KINDS)(draws)
        if not request.is_head and request.key != OTHER_TEST_KEY:
            return request.sent


def mutated(draws: Random) -> bytes:
    # The repetition of a request is recognized by its header lines.
    first = _valid(draws)
    rest = draws.choice([b"", first, _valid(draws)])
    return draws.choice([b"", first]) + spoil(draws, first + rest)


def truncated(draws: Random) -> bytes:
    sent = _valid(draws)
    return sent[: draws.randint(0, len(sent) - 1)]


def oversize(draws: Random) -> bytes:
    long = draws.choice([2_000, 8_000, 8_300, 65_000, 66_000, 70_000])
    body = b"a" * draws.choice([long, 262_144, 262_145, 400_000])
    chunked = _head(
        "POST /v1/payments HTTP/1.1",
        f"Authorization: Bearer {TEST_KEY}",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    )
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    cases: list[Callable[[], bytes]] = [
        lambda: _request("GET", "/v1/payments?after=" + "a" * long),
        lambda: _request("G" * long),
        lambda: _request("GET", "/v1/payments", "X-A: " + "a" * long),
        lambda: _request("GET", "/v1/payments", *["A: b"] * (long // 6)),
        lambda: _request("GET", "/v1/payments", "a" * long + ": b"),
        lambda: _request("GET", "/v1/payments") + b"\r\n" * long,
        lambda: _request(body=body),
        lambda: _request("GET", "/v1/payments", body=body),
        lambda: _request("POST", "/_emulator/reset", body=body),
        lambda: _head("POST /v1/payments HTTP/1.1", "Content-Length: " + "9" * (long % 40)),
        lambda: chunked + chunk + b"0\r\n\r\n",
        lambda: chunked + b"1\r\na\r\n" * (long // 10) + b"0\r\n\r\n",
        lambda: chunked + b"1;" + b"e" * long + b"\r\na\r\n0\r\n\r\n",
        lambda: chunked + b"0\r\nX: " + b"t" * long + b"\r\n\r\n",
        lambda: chunked + b"0" * long + b"\r\n\r\n",
    ]
    return draws.choice(cases)()


def ambiguous(draws: Random) -> bytes:
    """A request whose end is not certain, with another one behind it."""
    framing = draws.choice(_FRAMINGS)
    if draws.random() < 0.5:
        framing = "Transfer-Encoding: chunked"
    head = _head(
        "POST /v1/payments HTTP/1.1",
        f"Authorization: Bearer {TEST_KEY}",
        "Content-Type: application/json",
        framing,
    )
    return head + draws.choice(_CHUNKS) + draws.choice([b"", _valid(draws)])


def foreign(draws: Random) -> bytes:
    start = draws.choice([*_OTHER_PROTOCOLS, draws.randbytes(draws.randint(1, 200))])
    return draws.choice([b"", _valid(draws)]) + start


def _written(draws: Random, value: Any) -> bytes:
    written = json.dumps(value, ensure_ascii=draws.random() < 0.5)
    return written.encode(errors="surrogatepass")


def hostile_body(draws: Random) -> bytes:
    members: list[tuple[str, Any]] = list(order().items())
    for _ in range(draws.randint(0, 3)):
        name = draws.choice([*CREATE_PARAMS, text(draws, 8)])
        members.insert(draws.randint(0, len(members)), (name, draws.choice(_SCALARS)))
    body = b",".join(_written(draws, name) + b":" + _written(draws, one) for name, one in members)
    nested = draws.choice([30, 31, 32, 33, 2_000])
    others = [
        spoil(draws, b"{%b}" % body),
        b"{%b}" % body,
        b'{"metadata":%b}' % (b"[" * nested + b"]" * nested),
        b"[" * nested,
        b'{"amount":%b}'
        % draws.choice([b"1e999", b"NaN", b"-Infinity", b"9" * 5_000, b"01", b"1."]),
        draws.choice(["utf-16", "utf-32", "utf-8-sig"]).encode() + body,
        "{}".encode(draws.choice(["utf-16", "utf-32", "utf-8-sig"])),
        draws.randbytes(draws.randint(0, 60)),
        b'{"a":1' + b',"a":1' * 3_000 + b"}",
        b'{"metadata":{%b}}' % b",".join(b'"\\ud83d%d":""' % number for number in range(30)),
    ]
    return _request(body=draws.choice(others))


def hostile_target(draws: Random) -> bytes:
    names = [*QUERY_PARAMS, "limit", "", "lim%69t", "%FF", "a[]", "Limit"]
    pairs = [
        draws.choice(names) + draws.choice(["=", "=", "", "=="]) + draws.choice(_VALUES)
        for _ in range(draws.choice([0, 1, 2, 3, 200]))
    ]
    query = draws.choice(["&", "&", "&&", ";"]).join(pairs)
    noise = "".join(f"%{byte:02x}" for byte in draws.randbytes(draws.randint(0, 6)))
    path = draws.choice(["/v1/payments", draws.choice(_PATHS), f"/v1/payments/{noise}"])
    target = f"{path}?{query}".encode("utf-8", "surrogatepass").decode("latin-1")
    ascii_target = "".join(sign if "!" <= sign <= "~" else f"%{ord(sign):02X}" for sign in target)
    return _request(
        draws.choice(["GET", "GET", "POST", "PATCH", "DELETE"]), ascii_target, body=b"{}"
    )


def hostile_headers(draws: Random) -> bytes:
    headers = [draws.choice(_HEADERS) for _ in range(draws.randint(0, 3))]
    if draws.random() < 0.5:
        headers.append(f"Authorization: {draws.choice(_CREDENTIALS)}")
    if draws.random() < 0.2:
        headers.append(f"X-Text: {draws.choice(LETTERS)}")
    body = draws.choice([None, b"{}", json.dumps(order()).encode()])
    return _request("GET" if body is None else "POST", "/v1/payments", *headers, body=body)


# After these, the connection may end.
UNFRAMED = (mutated, mutated, truncated, oversize, ambiguous, foreign, hostile_headers)
# After these, the connection serves the next request.
FRAMED = (hostile_body, hostile_body, hostile_target)
