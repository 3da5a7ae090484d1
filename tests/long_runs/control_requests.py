"""Requests to the control API: the examples of its document, and spoiled ones."""

import json
from collections.abc import Mapping
from functools import cache
from random import Random  # noqa: TID251 - what is drawn follows from a seed
from typing import Any
from urllib.parse import quote

from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.server.control.app import RESOURCES
from emulator.server.control.document import build
from tests.long_runs.parsers import spoiled_json
from tests.long_runs.spoiled_requests import spoil
from tests.world import TEST_KEY

# These wait for something to occur.
_WAITING = ("/wait", "/stream")
# Nothing listens there.
_UNREACHABLE = b"http://127.0.0.1:9"
_NAMES = ["latest", "acct_demo", "acct_other", "banks", "before", "pay_1", "..", "\0", "a" * 300]
_VALUES = [
    "1",
    "0",
    "1000",
    "-1",
    "latest",
    "test",
    "live",
    "x",
    "",
    "2026-01-01",
    "%",
    "201",
    "4xx",
]


@cache
def _operations() -> list[tuple[str, str, list[bytes], list[str]]]:
    """Method and path of each call, its examples of bodies, and its query parameters."""
    document = build(RESOURCES, base_url="http://localhost", methods=tuple(DEFAULT_METHODS))
    return [
        (
            method.upper(),
            path,
            _examples(operation.get("requestBody", {})),
            [each.get("name", "mode") for each in operation.get("parameters", ())],
        )
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in {"get", "put", "post", "patch", "delete"} and not path.endswith(_WAITING)
    ]


def _examples(body: Mapping[str, Any]) -> list[bytes]:
    found: list[Any] = []
    for content in body.get("content", {}).values():
        found += [content["example"]] if "example" in content else []
        found += [each["value"] for each in content.get("examples", {}).values()]
    return [each.encode() if isinstance(each, str) else json.dumps(each).encode() for each in found]


def control_request(draws: Random) -> tuple[bytes, str]:
    """A request that ends its connection, and the call that it is for."""
    method, path, examples, parameters = draws.choice(_operations())
    call = f"{method} {path}"
    while "{" in path:
        start, _, rest = path.partition("{")
        name = draws.choice(_NAMES[:5] if draws.random() < 0.9 else _NAMES)
        path = start + quote(name, safe="") + rest.partition("}")[2]
    if draws.random() < 0.3:
        pairs = [
            f"{draws.choice([*parameters, 'account', 'x'])}={quote(draws.choice(_VALUES))}"
            for _ in range(draws.randint(1, 3))
        ]
        path += f"?{'&'.join(pairs)}"
    body = draws.choice(examples) if examples else draws.choice([b"", b"{}"])
    if draws.random() < 0.8:
        body = draws.choice([spoil, spoiled_json])(draws, body)
    body = body.replace(b"https://", b"http://").replace(b"http://", _UNREACHABLE + b"/")
    media_type = draws.choice(["application/json"] * 9 + ["application/yaml"])
    key = f"Authorization: Bearer {TEST_KEY}\r\n" if draws.random() < 0.5 else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{key}"
        f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body, call
