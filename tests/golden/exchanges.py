"""Sends requests to `/v1` of an emulator without options, on a virtual clock."""

import json
import re
from collections.abc import AsyncIterator

from tests.connection import Connection
from tests.tables import rows
from tests.world import TEST_KEY, World, order, world

Body = dict[str, object] | list[object] | str | None


async def exchanges() -> AsyncIterator[tuple[str, bytes]]:
    """The name of each exchange with `/v1`, and the bytes of the response."""
    created: list[str] = []
    async with world() as emulator:
        for name, template, body, headers in rows(__file__, "exchanges"):
            line = re.sub(r"\$(\d)", lambda number: created[int(number[1]) - 1], template)
            response = await _response(emulator, line, body, headers)
            head, _, content = response.partition(b"\r\n\r\n")
            if b" 201 " in head and "/v1/" in line:
                created.append(json.loads(content)["id"])
            if "/v1/" in line:
                yield name, response


async def _response(
    emulator: World, line: str, body: Body, changes: dict[str, str | None]
) -> bytes:
    content = _content(body)
    headers = {
        "host": "localhost",
        "authorization": f"Bearer {TEST_KEY}",
        "content-type": None if body is None else "application/json",
        "content-length": None if body is None else str(len(content)),
        **changes,
    }
    lines = [f"{line} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
    connection = Connection(emulator)
    await connection.send("\r\n".join([*lines, "", ""]).encode() + content)
    await connection.ended()
    return bytes(connection.transport.sent)


def _content(body: Body) -> bytes:
    match body:
        case dict():
            return json.dumps(order(**body), ensure_ascii=False).encode()
        case [str(text), int(times)]:
            return (text * times).encode()
        case _:
            return str(body or "").encode()
