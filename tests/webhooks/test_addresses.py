"""Where endpoints are, and where this program runs."""

import asyncio
import socket
from pathlib import Path

import pytest

from emulator.webhooks.addresses import (
    host_and_port,
    ip_addresses,
    is_in_container,
    is_loopback,
    with_host,
    with_scheme,
)


def test_docker_podman_and_kubernetes_are_known_by_their_marks(tmp_path: Path) -> None:
    assert not is_in_container({"HOME": "/root"}, tmp_path)
    assert is_in_container({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)
    (tmp_path / "run").mkdir()
    podman = tmp_path / "run" / ".containerenv"
    podman.touch()
    assert is_in_container({}, tmp_path)
    podman.unlink()
    assert not is_in_container({}, tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert is_in_container({}, tmp_path)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("localhost.", True),
        ("shop.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("0.0.0.0", True),  # noqa: S104 - a name in a URL, nothing is bound
        ("::", True),
        ("shop", False),
        ("localhost.example", False),
        ("10.0.0.1", False),
        ("host.docker.internal", False),
        ("", False),
    ],
)
def test_loopback_is_what_is_another_machine_in_each_container(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("url", "address", "elsewhere", "other_scheme"),
    [
        ("http://localhost/h", "localhost:80", "http://shop/h", "ftp://localhost:80/h"),
        ("https://a:b@h.example", "h.example:443", "https://shop", "ftp://h.example:443"),
        ("http://[::1]:99/?q=1#f", "[::1]:99", "http://shop:99/?q=1#f", "ftp://[::1]:99/?q=1#f"),
    ],
)
def test_a_url_is_taken_elsewhere(
    url: str, address: str, elsewhere: str, other_scheme: str
) -> None:
    assert host_and_port(url) == address
    assert with_host(url, "shop") == elsewhere
    assert with_scheme(url, "ftp") == other_scheme


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "10.1.2.3"])
async def test_an_address_is_not_looked_up(host: str) -> None:
    assert await ip_addresses(host.encode()) == [host]


async def test_a_name_is_looked_up_and_ipv4_comes_first() -> None:
    assert (await ip_addresses(b"localhost"))[0] == "127.0.0.1"


@pytest.mark.parametrize("host", [b"no-such-host.invalid", b"a..b", b"a" * 64, b"%00", b""])
async def test_a_name_that_nobody_has_is_not_found(host: bytes) -> None:
    with pytest.raises(socket.gaierror):
        await ip_addresses(host)


async def test_who_waits_for_a_name_may_be_cancelled() -> None:
    looking_up = [asyncio.create_task(ip_addresses(b"no-such-host.invalid")) for _ in range(3)]
    cancelled = asyncio.Event()
    asyncio.get_running_loop().call_soon(cancelled.set)
    await cancelled.wait()
    for one in looking_up:
        one.cancel()
    ended = await asyncio.gather(*looking_up, return_exceptions=True)
    assert [type(one) for one in ended] == [asyncio.CancelledError] * 3
