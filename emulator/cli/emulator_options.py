"""Options of commands that name an emulator, a key or a form of webhooks."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import click

from emulator import ids
from emulator.cli.event_loop import run_loop
from emulator.cli.output import Decorator, cli_error
from emulator.cli.settings_options import private_settings, settings_options
from emulator.domain.accounts import DEMO_TEST_KEY, KEY_FORM, is_well_formed_key
from emulator.domain.hosts import ACCEPTED_URL
from emulator.domain.message_text import copied_ends
from emulator.domain.webhooks import SecretFormat, WebhookForm
from emulator.http.addresses import BaseUrl
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import HEALTH, MAX_IDENTIFICATION_S
from emulator.settings import Settings, parse_checkout_url

T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8080"


def _checked_url(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    return None if text is None else base_url("--url", text)


def _checked_key(_: click.Context, __: click.Parameter, key: str | None) -> str | None:
    if key is not None and not is_well_formed_key(key):
        cli_error(f"flag --key: expected test_ or live_ {KEY_FORM}{copied_ends(key)}")
    return key


def url_option(text: str, **more: Any) -> Decorator:
    """The option `--url`: the validated address of an emulator, which may get the key."""
    return click.option("--url", metavar="URL", callback=_checked_url, help=text, **more)


def key_option(text: str = "API key of the account and mode.", **more: Any) -> Decorator:
    """The option `--key`, with a well-formed key."""
    return click.option("--key", metavar="KEY", callback=_checked_key, help=text, **more)


URL_OPTION = url_option("URL of the emulator.", default=DEFAULT_URL, show_default=True)
KEY_OPTION = key_option(show_default="the first test key")
_PRIVATE_OPTIONS = (
    url_option("URL of a running emulator; otherwise the command starts a private one."),
    key_option(f"API key of the account, with --url.  [default: {DEMO_TEST_KEY}]"),
    settings_options("port", "checkout-port", "test-key"),
)


def private_emulator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with the options of a running emulator, or of a private one."""
    for option in reversed(_PRIVATE_OPTIONS):
        command = option(command)
    return command


def private_emulator_settings(
    url: str | None, key: str | None, private: Mapping[str, str | None]
) -> tuple[str | None, str, Settings]:
    """The URL and the key, and the settings of a private emulator. Raises UserError."""
    given = {name.replace("_", "-"): value for name, value in private.items() if value is not None}
    if url is not None and given:
        flag = next(iter(given))
        cli_error(f"flag --{flag}: the emulator at --url has its own; leave this flag out")
    # Without a seed: a shop that keeps its orders must not meet the ids of an earlier run.
    settings = private_settings({**given, "clock": "frozen", "allow-http-localhost": True})
    if url is None and key is not None:
        cli_error("flag --key: expected --url")
    return url, settings.test_key if url is None else key or DEMO_TEST_KEY, settings


def generated_secret(form: WebhookForm, seed: int | None, purpose: str) -> str:
    """A webhook secret that fits a form; with a seed, the same in each run."""
    is_hex = form.signature.secret is SecretFormat.HEX
    return ids.webhook_secret(ids.stream_key(seed, purpose), 1, is_hex=is_hex)


def _pairs(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """A callback of `--metadata`, which parses its pairs."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        # A byte that is not UTF-8 is a surrogate.
        if not (name and separator) or text.encode(errors="replace").decode() != text:
            cli_error(f"flag --metadata: found {text!r}, expected NAME=VALUE, such as order=17")
        if name in pairs:
            cli_error(f"flag --metadata: found {name!r} twice, expected each name once")
        pairs[name] = value
    return pairs


METADATA_OPTION = click.option(
    "--metadata",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pairs,
    help="Metadata of the payment, such as the order's number; repeatable.",
)


def base_url(option: str, text: str) -> str:
    """The validated base URL of a service that receives an API key. Raises UserError."""
    try:
        if not text.isascii():
            raise ValueError(text)
        url = parse_checkout_url(text)
    except ValueError:
        bare = ", without ? and #" if {"?", "#"} & set(text) else ""
        cli_error(f"flag {option}: found {text!r}, expected {ACCEPTED_URL}{bare}")
    if url.endswith("/v1"):
        bare = url.removesuffix("/v1")
        cli_error(f"flag {option}: found {text!r}, expected the address without /v1: {bare}")
    if "@" in url:
        # They would need the header that holds the key.
        cli_error(f"flag {option}: a user and a password cannot be sent beside an API key")
    return url


def call_emulator(url: str, key: str | None, calls: Callable[[EmulatorClient], Awaitable[T]]) -> T:
    """The result of calls to the emulator at --url, which gets the key only if it is an emulator.

    Raises UserError if it is not, or for an error of the calls.
    """

    async def run() -> T:
        async with EmulatorClient(BaseUrl.parse(url)) as client:
            await replace(client, timeout_s=MAX_IDENTIFICATION_S).call(HEALTH)
            return await calls(replace(client, key=key))

    return run_loop(run)
