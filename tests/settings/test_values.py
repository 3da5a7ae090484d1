"""The values that each option accepts, and values derived from settings."""

import base64
import dataclasses

import pytest

from emulator.domain.rate_limit import RateLimit
from emulator.settings import OPTIONS, Option, Settings, SettingsError, data_directory, resolve


def secret_of(size: int) -> str:
    return "whsec_" + base64.b64encode(bytes(range(256))[-size:]).decode()


READ: list[tuple[str, str, object]] = [
    ("host", "localhost", "localhost"),
    ("host", "Emulator.Example.COM.", "emulator.example.com"),
    ("host", "my_service-1", "my_service-1"),
    ("host", "::1", "::1"),
    ("host", "[::1]", "::1"),
    ("port", "0", 0),
    ("checkout-port", "0", 0),
    ("port", "65535", 65_535),
    ("checkout-url", "https://pay.example.com/", "https://pay.example.com"),
    ("checkout-url", "http://localhost:9000/a/b//", "http://localhost:9000/a/b"),
    ("checkout-url", "http://[::1]:9000", "http://[::1]:9000"),
    ("database", ":memory:", ":memory:"),
    ("seed", "-9223372036854775808", -(2**63)),
    ("seed", "9223372036854775807", 2**63 - 1),
    ("test-key", "test_abcd", "test_abcd"),
    ("live-key", "live_" + "x" * 128, "live_" + "x" * 128),
    ("strict", "TRUE", True),
    ("webhook-url", "http://host.docker.internal:3000/hook?a=b", None),
    ("rate-limit", "100/s", RateLimit(requests=100, period_ms=1_000)),
    ("rate-limit", "1000000/min", RateLimit(requests=1_000_000, period_ms=60_000)),
    ("log-format", "json", "json"),
    ("ready-file", "ready.json", "ready.json"),
    ("methods", "a" + "9" * 39, ("a" + "9" * 39,)),
    ("allowed-hosts", "Emulator.Example.com,::1", ("emulator.example.com", "[::1]")),
]


@pytest.mark.parametrize(("name", "text", "value"), READ)
def test_a_well_written_value_is_read(name: str, text: str, value: object) -> None:
    settings = resolve({name: text}, {})
    assert getattr(settings, name.replace("-", "_")) == (text if value is None else value)


REFUSED = [
    *[("host", text) for text in ("", "a b", "http://a", "a:80", "[::1", "[a]", "-a", "a..b")],
    *[("host", text) for text in ("256.0.0.1", "1.2.3", "[1.2.3.4]", "a" * 64, "ä.example")],
    *[("port", text) for text in ("", "-1", "65536", "80.0", "0x50", " 80", "080", "٨٠", "9" * 99)],
    *[("seed", text) for text in ("1.0", "x", "9223372036854775808", "--1", "1_000")],
    *[("checkout-url", text) for text in ("", "pay.example.com", "/pay", "ftp://a", "https://")],
    *[("checkout-url", text) for text in ("https://:80", "https://a:x", "https://a:65536")],
    *[
        ("checkout-url", text)
        for text in ("https://a?b", "https://a?", "https://a#b", "http://a b")
    ],
    *[("checkout-url", text) for text in ("http://a\n", "\x01http://a", "http://[::1", "http:a")],
    *[("webhook-url", text) for text in ("", "localhost:3000", "file:///x", "https:///x")],
    *[("database", text) for text in ("", "a\0b")],
    *[("clock", text) for text in ("", "Real", "frozen@", "frozen@tomorrow", "real@2026-01-01")],
    *[("methods", text) for text in ("", "Telebirr", "1a", "_a", "a-b", "a,,b", "a" * 41, "é")],
    *[("test-key", text) for text in ("", "test_", "test_abc", "live_abcd", "test_a-bcd")],
    *[("test-key", text) for text in ("test_other_key", "test_" + "x" * 129)],
    *[("live-key", text) for text in ("test_abcd", "live_other_key", "sk_live_abcd")],
    *[("rate-limit", text) for text in ("", "0/s", "100", "100/h", "1000001/s", "1.5/s", "1 /s")],
    *[("log-format", text) for text in ("", "JSON", "xml")],
    *[("allowed-hosts", text) for text in ("", "https://a", "a:80", "*.example.com", "a,")],
    *[("strict", text) for text in ("", "2", "y", "enabled")],
    *[("scenarios", text) for text in ("",)],
    *[("config", text) for text in ("", "a\0b")],
]


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_an_ill_written_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=rf"^flag --{name}: found .*, expected "):
        resolve({name: text}, {})


def resolved_secret(text: str) -> str | None:
    return resolve({"webhook_url": "https://a/", "webhook_secret": text}, {}).webhook_secret


@pytest.mark.parametrize("size", [24, 25, 32, 64])
def test_a_webhook_secret_is_the_base64_of_24_to_64_bytes(size: int) -> None:
    assert resolved_secret(secret_of(size)) == secret_of(size)


@pytest.mark.parametrize(
    "text",
    [
        *("", "whsec_", secret_of(23), secret_of(65), secret_of(32).rstrip("=")),
        *(secret_of(24).removeprefix("whsec_"), secret_of(24) + "\n"),
        *(secret_of(24).replace("whsec", "whsek"), "whsec_" + "-_" * 16, "whsec_" + "é" * 32),
    ],
)
def test_any_other_webhook_secret_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^flag --webhook-secret: found "):
        resolved_secret(text)


@pytest.mark.parametrize(
    ("flags", "base"),
    [
        ({"host": "127.0.0.1"}, "http://127.0.0.1:9000"),
        ({"host": "0.0.0.0"}, "http://localhost:9000"),  # noqa: S104 - a value, nothing is bound
        ({"host": "::"}, "http://localhost:9000"),
        ({"host": "0:0:0:0:0:0:0:0"}, "http://localhost:9000"),
        ({"host": "::1"}, "http://[::1]:9000"),
        ({"host": "emulator"}, "http://emulator:9000"),
        ({"host": "::", "checkout_url": "https://pay.example/x/"}, "https://pay.example/x"),
    ],
)
def test_the_checkout_url_is_the_configured_one_or_host_and_real_port(
    flags: dict[str, object], base: str
) -> None:
    assert resolve(flags, {}).public_checkout_url(9000) == base


@pytest.mark.parametrize("name", ["templates", "scenarios"])
def test_the_data_directory_of_a_repository_is_at_its_top(name: str) -> None:
    directory = data_directory(name)
    assert directory.name == name
    assert (directory.parent / "pyproject.toml").is_file()


def test_every_setting_has_one_option_and_every_option_one_setting_and_a_help_text() -> None:
    assert [option.attribute for option in OPTIONS] == [
        member.name for member in dataclasses.fields(Settings)
    ]
    for option in OPTIONS:
        assert option.help.endswith("."), option.name
        assert option.type.expected, option.name
        assert (option.type.metavar is None) == option.is_switch, option.name


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_default_is_shown_as_one_would_write_it(option: Option) -> None:
    if option.default_text is None:
        assert option.default in {None, False, ()}
    else:
        settings = resolve({option.name: option.default_text}, {})
        assert getattr(settings, option.attribute) == option.default
