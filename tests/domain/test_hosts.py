"""Hosts and ports of URLs, and the hosts of local machines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.hosts import (
    hide_url_secrets,
    is_ip_literal,
    is_local_name,
    is_open_port,
    parse_url_host,
    split_host,
)
from tests.tables import rows, values

LOCAL = values(__file__, "local hosts")
NOT_LOCAL = values(__file__, "other hosts")


@pytest.mark.parametrize(("text", "shown"), rows(__file__, "URLs in a text"))
def test_secrets_of_urls_are_hidden(text: str, shown: str) -> None:
    assert hide_url_secrets(text) == shown


@pytest.mark.parametrize(
    ("host", "is_local"),
    [*((host, True) for host in LOCAL), *((host, False) for host in NOT_LOCAL)],
)
def test_a_local_name_is_of_this_machine(host: str, is_local: bool) -> None:
    assert is_local_name(host) is is_local


@pytest.mark.parametrize(
    ("host", "is_address"),
    [
        *((host, True) for host in ("1.2.3.4", "127.0.0.1", "[::1]", "::1", "[2001:db8::1]")),
        *((host, False) for host in ("", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.256", "x")),
    ],
)
def test_an_address_is_an_ip_literal(host: str, is_address: bool) -> None:
    assert is_ip_literal(host) is is_address


@pytest.mark.parametrize(("header", "host"), rows(__file__, "host headers"))
def test_the_host_of_a_host_header_is_without_port_and_case(header: str, host: str) -> None:
    assert split_host(header) == host


@pytest.mark.parametrize(
    ("host", "parsed"),
    [
        *rows(__file__, "hosts"),
        *(
            (host, host)
            for host in (
                *("shop.example", "shop.example.", "shop_1.example", "-a", "a--b"),
                *("a!$&'()*+,;=`{}~\"b", "1.2.3.4x", "a" * 63 + ".example"),
                "ሱ" * 57 + ".example",
                *("ሱቅ.example", "مثال.example", "क्\u200dष.example", "😀.example"),
                *("xn--fsq.example", "xn--mgbh0fb.example", "127.0.0.1", "[::1]"),
            )
        ),
    ],
)
def test_a_host_is_parsed_as_browsers_do(host: str, parsed: str) -> None:
    assert parse_url_host(host) == parsed


@pytest.mark.parametrize(
    "host",
    [
        *values(__file__, "no hosts"),
        *("a" * 64 + ".example", "ሱ" * 58 + ".example", "a." * 150 + "example", "%61" * 100_000),
    ],
    ids=ascii,
)
def test_a_host_that_no_browser_opens_is_none(host: str) -> None:
    assert parse_url_host(host) is None


@pytest.mark.parametrize(
    ("port", "is_open"),
    [
        *((port, True) for port in ("", "80", "443", "8443", "65535", "0443", "0" * 50 + "80")),
        *((port, False) for port in ("0", "00", "1", "22", "025", "6000", "10080", "65536")),
        ("9" * 9_000, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_browsers_open_a_port(port: str, is_open: bool) -> None:
    assert is_open_port(port) is is_open


@given(st.text() | st.text("a1x0-n.%"))
def test_any_text_is_a_host_or_none(text: str) -> None:
    parsed = parse_url_host(text)
    assert parsed is None or parsed
    host = split_host(text)
    assert is_local_name(host) in (True, False)
    assert is_ip_literal(host) in (True, False)
