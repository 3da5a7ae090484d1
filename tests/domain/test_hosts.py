"""Which names can only mean this machine (design 2, `--allow-http-localhost`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.hosts import is_ip_literal, is_local_name, split_host


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.255.255.254",
        "[::1]",
        "::1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "web",
        "merchant-app",
        "merchant_app",
        "ሱቅ.test",
        "shop.localhost",
        "a.b.localhost",
        "shop.test",
        "SHOP.TEST",
        "shop.test.",
        "host.docker.internal",
        "Host.Docker.Internal",
        "host.containers.internal",
    ],
)
def test_a_name_of_this_machine_is_local(host: str) -> None:
    assert is_local_name(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "shop.example",
        "localhost.example",
        "test.example",
        "shop.testing",
        "shop.local",
        "shop.internal",
        "docker.internal",
        "evil.host.docker.internal",
        "10.0.0.1",
        "192.168.0.1",
        "172.17.0.1",
        "169.254.169.254",
        "0.0.0.0",  # noqa: S104 - a name in a URL, nothing is bound
        "8.8.8.8",
        "128.0.0.1",
        "[::]",
        "[fe80::1]",
        "[2001:db8::1]",
        "127.0.0.1.example",
        "127.0.0.1.nip.io",
        "evil.example/.test",
        "a,b",
        "a b",
        ".test",
    ],
)
def test_a_name_that_may_be_anywhere_is_not_local(host: str) -> None:
    assert not is_local_name(host)


@pytest.mark.parametrize("host", ["1.2.3.4", "127.0.0.1", "[::1]", "::1", "[2001:db8::1]"])
def test_an_address_is_an_ip_literal(host: str) -> None:
    assert is_ip_literal(host)


@pytest.mark.parametrize("host", ["", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.256", "x"])
def test_what_is_no_ip_literal(host: str) -> None:
    assert not is_ip_literal(host)


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost", "localhost"),
        ("localhost:8080", "localhost"),
        ("LocalHost:8080", "localhost"),
        ("shop.example.", "shop.example"),
        ("shop.example.:80", "shop.example"),
        ("127.0.0.1:8080", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:8080", "[::1]"),
        ("[::1", ""),
        (" localhost ", "localhost"),
        ("", ""),
        (":8080", ""),
    ],
)
def test_the_host_of_a_host_header_is_without_port_and_case(header: str, host: str) -> None:
    assert split_host(header) == host


@given(st.text())
def test_any_text_is_a_host_or_none(text: str) -> None:
    host = split_host(text)
    assert is_local_name(host) in (True, False)
    assert is_ip_literal(host) in (True, False)
