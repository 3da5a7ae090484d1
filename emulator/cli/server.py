"""The commands `serve` and `health`, whose options are the settings."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from emulator.cli.output import CliError
from emulator.settings import OPTIONS, Option, Settings, SettingsError, resolve

MAX_HEALTH_CHECK_S = 2.0
MAX_HEALTH_BYTES = 1_000
_HEALTH_OPTIONS = {"host", "port", "tls-cert", "tls-key", "config"}
# The addresses at which a server that listens on all addresses is reached.
_REACHABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


class Unhealthy(CliError):
    """No response, not that of a healthy emulator, or no port in the settings; exit code 1."""

    exit_code = 1


def _options(options: Sequence[Option]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = _click_option(option)(command)
        return command

    return decorate


def _click_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = f"  [default: {option.default_text}]" if option.default_text else ""
    if option.is_switch:
        return click.option(option.flag, is_flag=True, default=None, help=option.help)
    return click.option(
        option.flag,
        metavar=option.type.metavar,
        multiple=option.is_repeatable,
        help=option.help + default,
    )


def _settings(flags: dict[str, object]) -> Settings:
    try:
        return resolve(flags, os.environ)
    except SettingsError as error:
        raise CliError(*error.lines) from None


@click.command()
@_options(OPTIONS)
def serve(**flags: object) -> None:
    """Run the emulator.

    Each option is also a variable EMULATOR_<NAME> and a key of the --config file.
    """
    from emulator.cli.serve import ServeError
    from emulator.cli.serve import serve as run_serve

    try:
        run_serve(flags)
    except ServeError as error:
        raise CliError(*error.lines, as_json=error.as_json) from None


@click.command()
@_options([option for option in OPTIONS if option.name in _HEALTH_OPTIONS])
def health(**flags: object) -> None:
    """Test whether the server responds.

    The options, variables and --config file are those of `serve`.
    """
    # Ignore the other port, which might equal this one.
    try:
        settings = _settings({**flags, "checkout-port": 0})
    except CliError as error:
        raise Unhealthy(*error.lines) from None
    if settings.port == 0:
        raise Unhealthy("port 0 is any free port; name the real one with --port")
    _check_health(settings)


def _check_health(settings: Settings) -> None:
    """Send one request, without verifying the certificate. Raises Unhealthy."""
    from emulator.http.addresses import host_with_port
    from emulator.http.blocking_client import BlockingEmulator
    from emulator.http.emulator_calls import HEALTH

    host = _REACHABLE.get(settings.host, settings.host)
    base_url = f"{settings.scheme}://{host_with_port(host, settings.port)}"
    url = f"{base_url}{HEALTH.path}"
    # The certificate has the name by which others reach the server.
    emulator = BlockingEmulator(
        base_url=base_url,
        timeout_s=MAX_HEALTH_CHECK_S,
        max_bytes=MAX_HEALTH_BYTES,
        verifies=False,
    )
    response = emulator.send(HEALTH)
    if response.failure is not None:
        raise Unhealthy(f"no response from {url}: {response.failure}")
    if response.status != 200:
        raise Unhealthy(f"{url} returned {response.status}; expected 200")
    if b'"status":"ok"' not in response.body:
        raise Unhealthy(f"{url} is not the address of a payments emulator")
