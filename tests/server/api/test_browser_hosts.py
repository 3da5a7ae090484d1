"""The host and the port that a browser opens for a URL. The parser is that of Node.js."""

import pytest

from emulator.server.api.redirect_urls import opened_host


@pytest.mark.parametrize(
    ("host", "opened"),
    [
        ("SHOP.Example.", "shop.example."),
        ("%6cocalhost", "localhost"),
        ("ሱቅ.example", "xn--oyd4b.example"),
        ("xn--oyd4b.example", "xn--oyd4b.example"),
        ("134744072", "8.8.8.8"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("a" * 63 + ".example", "a" * 63 + ".example"),
    ],
)
def test_a_host_is_parsed_as_browsers_do(host: str, opened: str) -> None:
    assert opened_host(host, "") == opened


@pytest.mark.parametrize(
    "host",
    [
        *("a|b", "%", "a%2Fb", "a\u200db.example", "1.2.3.4.5", "256.1.1.1"),
        # Browsers parse these, and no name system has them.
        *("a..b", ".", "xn--", "shop.xn--a", "xn--a-"),
        *("a" * 64 + ".example", "a." * 150 + "example"),
    ],
)
def test_a_host_that_no_browser_opens_is_none(host: str) -> None:
    assert opened_host(host, "") is None


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
    assert (opened_host("shop.example", port) is not None) is is_open
