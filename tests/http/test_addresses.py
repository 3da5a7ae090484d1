"""Addresses of servers, and whether this program runs in a container."""

from pathlib import Path

import pytest

from emulator.http.addresses import (
    BaseUrl,
    host_and_port,
    is_in_container,
    is_loopback,
    with_host,
    with_scheme,
)


def test_docker_podman_and_kubernetes_are_recognised(tmp_path: Path) -> None:
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


def test_loopback_hosts_mean_the_connecting_machine() -> None:
    names = ("localhost", "localhost.", "shop.localhost")
    for host in (*names, "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::"):  # noqa: S104
        assert is_loopback(host), host
    for host in ("shop", "localhost.example", "10.0.0.1", "host.docker.internal", ""):
        assert not is_loopback(host), host


@pytest.mark.parametrize(
    ("url", "address", "elsewhere", "other_scheme"),
    [
        ("http://localhost/h", "localhost:80", "http://shop/h", "ftp://localhost:80/h"),
        ("https://a:b@h.example", "h.example:443", "https://shop", "ftp://h.example:443"),
        ("http://[::1]:99/?q=1#f", "[::1]:99", "http://shop:99/?q=1#f", "ftp://[::1]:99/?q=1#f"),
    ],
)
def test_the_host_or_the_scheme_of_a_url_is_replaced(
    url: str, address: str, elsewhere: str, other_scheme: str
) -> None:
    assert host_and_port(url) == address
    assert with_host(url, "shop") == elsewhere
    assert with_scheme(url, "ftp") == other_scheme


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://localhost:8080/sandbox/", "http://localhost:8080/sandbox"),
        ("https://emulator.test", "https://emulator.test:443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_a_base_url_has_an_optional_path_and_a_default_port(url: str, text: str) -> None:
    assert str(BaseUrl.parse(url)) == text
