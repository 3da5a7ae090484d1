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

LOCAL = [
    *("127.0.0.1", "127.255.255.254", "[::1]", "::1"),
    *("localhost", "LOCALHOST", "localhost.", "shop.localhost", "a.b.localhost"),
    *("web", "merchant-app", "merchant_app", "ሱቅ.test", "shop.test", "SHOP.TEST", "shop.test."),
    *("host.docker.internal", "Host.Docker.Internal", "host.containers.internal"),
]
NOT_LOCAL = [
    *("", ".", ".test", "a,b", "a b", "evil.example/.test"),
    *("shop.example", "localhost.example", "test.example", "shop.testing", "shop.local"),
    *("shop.internal", "docker.internal", "evil.host.docker.internal"),
    *("10.0.0.1", "192.168.0.1", "172.17.0.1", "169.254.169.254", "8.8.8.8", "128.0.0.1"),
    "0.0.0.0",  # noqa: S104 - a name in a URL, nothing is bound
    *("[::]", "[fe80::1]", "[2001:db8::1]", "127.0.0.1.example", "127.0.0.1.nip.io"),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3000/"),
        ("https://shop.example/hook", "https://shop.example/…"),
        ("https://a:b@shop.example", "https://shop.example"),
        ("https://a@b:c@[::1]:1/hook?token=1#end", "https://[::1]:1/…"),
        ("https://shop.example?token=1", "https://shop.example/…"),
        ("register http://a:b@c/d, or e://f/g?h: no", "register http://c/… or e://f/… no"),
        ("no URL: /hook, a:b@c", "no URL: /hook, a:b@c"),
    ],
)
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


@pytest.mark.parametrize(
    ("host", "parsed"),
    [
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
        ("SHOP.Example", "shop.example"),
        ("%6cocalhost", "localhost"),
        ("shop%2eexample", "shop.example"),
        ("%E1%88%B1%E1%89%85.example", "ሱቅ.example"),
        ("shop。example", "shop.example"),
        ("Straße.example", "straße.example"),
        ("so\u00adft.example", "soft.example"),
        ("XN--FSQ.example", "xn--fsq.example"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        *(
            (host, "127.0.0.1")
            for host in ("127.0.0.1.", "127.1", "0x7f.1", "0177.0.0.01", "2130706433")
        ),
        *((host, "8.8.8.8") for host in ("134744072", "１３４７４４０７２", "\u3164134744072")),
        ("4294967295", "255.255.255.255"),
        ("1.2.3", "1.2.0.3"),
        ("0x1", "0.0.0.1"),
    ],
)
def test_a_host_is_parsed_as_browsers_do(host: str, parsed: str) -> None:
    assert parse_url_host(host) == parsed


@pytest.mark.parametrize(
    "host",
    [
        # Forbidden characters, also percent-encoded.
        *("<", "a|b", "a^b", "a>b", "a\\b", "%", "a%zz", "a%00.example", "a%20b", "a%2Fb", "a%25b"),
        *("%ff.example", "a\u2488com", "a\ue000b", "a\ufffdb", "a\u200db.example", "\u00ad"),
        # Labels that are empty, invalid or too long.
        *("a..b", ".a", "a..", ".", "%2e", "\u0301a.example", "1א", "אa", "aאb", "1.א.example"),
        *("xn--", "shop.xn--", "xn--a", "xn--a-", "xn--\u00e9"),
        *("a" * 64 + ".example", "ሱ" * 58 + ".example", "a." * 150 + "example", "%61" * 100_000),
        # Numbers that are no address.
        *("999.1.1.1", "256.1.1.1", "1.2.3.256", "1.2.3.4.5", "1.2.256.4", "4294967296"),
        *("a.1", "a.0x", "a.09", "08", "9" * 200),
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
