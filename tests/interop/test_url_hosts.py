"""Redirect URLs as the URL parser of Node.js, and a real Chromium, read them."""

import json
import shutil
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import pytest
from playwright.async_api import Error as BrowserError

from emulator.domain.hosts import (
    BLOCKED_PORTS,
    MAX_LABEL_LENGTH,
    MAX_NAME_LENGTH,
    is_open_port,
    parse_url_host,
)
from tests.cli.processes import run_program
from tests.server.checkout.browsing import CHROMIUM, running_chromium

LETTERS = "axnAXN0189._-%<>^|!$&'()+,;=`{}~\""
# Of each script some, of those that IDNA maps, removes and splits at some.
UNICODE = "éßÅΩሱ中。．①ａ０ﬁ\u00ad\u0301😀"
NUMBERS = ("0x", "0", "1", "255", "256", "08", "07", "0xff", "65536", "a", "", "4294967295")
NUMBERS += ("16777215", "16777216", "4294967296", "0xg", "999", "0300")
# Of a parser of URLs with the hosts as its input, one result each: the host, or null.
PARSE = """
const hosts = JSON.parse(require("fs").readFileSync(0));
const parse = host => { try { return new URL(`https://${host}/`).hostname } catch { return null } };
console.log(JSON.stringify(hosts.map(parse)));
"""
BLOCKED_PORTS_IN_NODE = """
const dispatcher = {dispatch() { throw new Error("reached") }};
const blocked = async port => {
  try { await fetch(`http://127.0.0.1:${port}/`, {dispatcher}) }
  catch (error) { return error.cause?.message === "bad port" }
};
(async () => {
  const ports = [];
  for (let port = 0; port < 65536; port++) if (await blocked(port)) ports.push(port);
  console.log(JSON.stringify(ports));
})();
"""
# Chromium opens them, although the Fetch standard says that it should not.
OPENED_BY_CHROMIUM = {4190, 6679}


def in_node(program: str, value: Any = None) -> Any:
    assert shutil.which("node") is not None, "not on this machine: node"
    ended = run_program("node", "-e", program, sent=json.dumps(value))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def texts(parts: Iterable[str], lengths: range, separator: str = "") -> Iterator[str]:
    """Every sequence of so many of the parts."""
    known = tuple(parts)
    for length in lengths:
        yield from (separator.join(found) for found in product(known, repeat=length))


def hosts() -> list[str]:
    letters = list(texts(LETTERS + UNICODE, range(1, 3)))
    found = [
        *letters,
        *(f"a{text}b.example" for text in letters),
        *("".join(f"%{byte:02x}" for byte in text.encode()) for text in letters),
        *texts("aA1.-%4" + UNICODE, range(3, 4)),
        *texts(NUMBERS, range(1, 4), "."),
        *texts(("0", "255", "256", "0x1", "a", ""), range(4, 6), "."),
    ]
    return list(dict.fromkeys(host for host in found if host))


def is_resolvable(host: str) -> bool:
    """Whether the name system can hold it: a parser of URLs does not care."""
    labels = host.removesuffix(".").split(".")
    return len(host) <= MAX_NAME_LENGTH and all(
        1 <= len(label) <= MAX_LABEL_LENGTH for label in labels
    )


def encoded(host: str) -> str:
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in host.split(".")
    )


def test_a_host_is_parsed_as_node_parses_it() -> None:
    all_hosts = hosts()
    for host, expected in zip(all_hosts, in_node(PARSE, all_hosts), strict=True):
        parsed = parse_url_host(host)
        if expected is not None and not is_resolvable(expected):
            assert parsed is None, ascii(host)
        else:
            assert (None if parsed is None else encoded(parsed)) == expected, ascii(host)


def test_the_blocked_ports_are_those_of_the_fetch_standard() -> None:
    blocked = set(in_node(BLOCKED_PORTS_IN_NODE))
    assert blocked - OPENED_BY_CHROMIUM == BLOCKED_PORTS - {0}


async def test_chromium_opens_every_other_port_and_none_of_these() -> None:
    assert CHROMIUM is not None, "chromium is missing"
    async with running_chromium() as browser:
        page = await browser.new_page()
        for port in (*sorted(BLOCKED_PORTS | OPENED_BY_CHROMIUM), 3001):
            with pytest.raises(BrowserError) as refusal:
                await page.goto(f"https://127.0.0.1:{port}/")
            assert ("ERR_UNSAFE_PORT" in str(refusal.value)) is not is_open_port(str(port)), port
