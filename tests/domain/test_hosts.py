"""Hosts of URLs and headers, and the hosts of local machines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.domain.hosts import (
    hide_url_secrets,
    is_ip_literal,
    is_local_name,
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


@given(st.text() | st.text("a1x0-n.%"))
def test_any_text_has_a_host_that_is_local_or_not(text: str) -> None:
    host = split_host(text)
    assert is_local_name(host) in (True, False)
    assert is_ip_literal(host) in (True, False)
