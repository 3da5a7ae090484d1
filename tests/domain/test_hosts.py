"""Hosts and ports of URLs, and the hosts of local machines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.hosts import (
    is_ip_literal,
    is_local_name,
    is_open_port,
    parse_url_host,
    split_host,
)


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
def test_a_name_is_not_an_ip_literal(host: str) -> None:
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


@pytest.mark.parametrize(
    ("host", "parsed"),
    [
        ("shop.example", "shop.example"),
        ("SHOP.Example", "shop.example"),
        ("shop.example.", "shop.example."),
        ("shop_1.example", "shop_1.example"),
        ("-a", "-a"),
        ("a--b", "a--b"),
        ("a!$&'()*+,;=`{}~\"b", "a!$&'()*+,;=`{}~\"b"),
        ("%6cocalhost", "localhost"),
        ("shop%2eexample", "shop.example"),
        ("%E1%88%B1%E1%89%85.example", "ሱቅ.example"),
        ("ሱቅ.example", "ሱቅ.example"),
        ("shop。example", "shop.example"),
        ("Straße.example", "straße.example"),
        ("so\u00adft.example", "soft.example"),
        ("xn--fsq.example", "xn--fsq.example"),
        ("XN--FSQ.example", "xn--fsq.example"),
        ("xn--mgbh0fb.example", "xn--mgbh0fb.example"),
        ("مثال.example", "مثال.example"),
        ("क्\u200dष.example", "क्\u200dष.example"),
        ("😀.example", "😀.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("134744072", "8.8.8.8"),
        ("１３４７４４０７２", "8.8.8.8"),
        ("\u3164134744072", "8.8.8.8"),
        ("4294967295", "255.255.255.255"),
        ("1.2.3", "1.2.0.3"),
        ("0x1", "0.0.0.1"),
        ("1.2.3.4x", "1.2.3.4x"),
        ("[::1]", "[::1]"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("a" * 63 + ".example", "a" * 63 + ".example"),
    ],
)
def test_a_host_is_parsed_as_browsers_do(host: str, parsed: str) -> None:
    assert parse_url_host(host) == parsed


@pytest.mark.parametrize(
    "host",
    [
        "<",
        "a|b",
        "a^b",
        "a>b",
        "%",
        "a%zz",
        "a%00.example",
        "a%20b",
        "a%2Fb",
        "a%25b",
        "a\\b",
        "%ff.example",
        "xn--",
        "shop.xn--",
        "xn--a",
        "xn--a-",
        "xn--\u00e9",
        "999.1.1.1",
        "256.1.1.1",
        "1.2.3.256",
        "1.2.3.4.5",
        "1.2.256.4",
        "a.1",
        "a.0x",
        "a.09",
        "08",
        "4294967296",
        "9" * 200,
        "a..b",
        ".a",
        "a..",
        ".",
        "%2e",
        "\u00ad",
        "\u0301a.example",
        "a\u200db.example",
        "a\u2488com",
        "a\ue000b",
        "a\ufffdb",
        "1א",
        "אa",
        "a" * 64 + ".example",
        "ሱ" * 60 + ".example",
        "a." * 150 + "example",
        "%61" * 100_000,
    ],
    ids=ascii,
)
def test_a_host_that_no_browser_opens_is_none(host: str) -> None:
    assert parse_url_host(host) is None


@pytest.mark.parametrize(
    "port", ["", "80", "443", "8443", "3000", "65535", "0443", "0" * 50 + "80"]
)
def test_a_port_is_open(port: str) -> None:
    assert is_open_port(port)


@pytest.mark.parametrize(
    "port", ["0", "00", "1", "22", "025", "6000", "10080", "65536", "9" * 9_000]
)
def test_a_port_is_not_open(port: str) -> None:
    assert not is_open_port(port)


@given(st.text() | st.text("a1x0-n.%"))
def test_any_text_is_parsed_or_refused(host: str) -> None:
    parsed = parse_url_host(host)
    assert parsed is None or parsed
