"""The values that each option accepts, and values derived from settings."""

import base64
from dataclasses import replace

import pytest

from emulator.domain.user_error import UserError
from emulator.settings import OPTIONS, Option, Settings, data_directory, resolve
from tests.tables import rows


def secret_of(size: int) -> str:
    return "whsec_" + base64.b64encode(bytes(range(256))[-size:]).decode()


READ: list[tuple[str, str, object]] = [
    *rows(__file__, "accepted values"),
    ("live-key", "live_" + "x" * 128, "live_" + "x" * 128),
]


@pytest.mark.parametrize(("name", "text", "value"), READ)
def test_a_well_written_value_is_read(name: str, text: str, value: object) -> None:
    found = getattr(resolve({name: text}, {}), name.replace("-", "_"))
    assert (list(found) if isinstance(found, tuple) else found) == (
        text if value is None else value
    )


REFUSED = [(name, text) for name, *texts in rows(__file__, "refused values") for text in texts]


@pytest.mark.parametrize(("name", "text"), REFUSED)
def test_an_ill_written_value_is_refused(name: str, text: str) -> None:
    with pytest.raises(UserError, match=rf"^flag --{name}: found .*, expected "):
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
    with pytest.raises(UserError, match=r"^flag --webhook-secret: found "):
        resolved_secret(text)


@pytest.mark.parametrize(("flags", "base"), rows(__file__, "checkout URLs"))
def test_the_checkout_url_is_the_configured_one_or_host_and_real_port(
    flags: dict[str, object], base: str
) -> None:
    settings = replace(resolve(flags, {}), checkout_port=9000)
    assert settings.public_checkout_url == base


@pytest.mark.parametrize("name", ["templates", "scenarios"])
def test_the_data_directory_of_a_repository_is_at_its_top(name: str) -> None:
    directory = data_directory(name)
    assert directory.name == name
    assert (directory.parent / "pyproject.toml").is_file()


def test_every_option_has_a_help_text_and_a_description_of_its_values() -> None:
    for option in OPTIONS:
        assert option.help.endswith("."), option.name
        assert option.type.expected, option.name
        assert (option.type.metavar is None) == option.is_switch, option.name


def test_the_listeners_are_on_loopback_by_default() -> None:
    assert Settings().host == "127.0.0.1"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_default_is_shown_as_one_would_write_it(option: Option) -> None:
    if option.default_text is None:
        assert option.default in {None, False, ()}
    else:
        settings = resolve({option.name: option.default_text}, {})
        assert getattr(settings, option.attribute) == option.default
