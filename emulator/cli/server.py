"""The commands `serve` and `health`, whose options are the settings."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from emulator.cli.output import CliError
from emulator.settings import OPTIONS, Option, Settings, SettingsError, resolve


class Unhealthy(CliError):
    """The server does not respond, or the settings have no port for it; exit code 1."""

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
@_options([option for option in OPTIONS if option.name in {"host", "port", "config"}])
def health(**flags: object) -> None:
    """Test whether the server responds.

    The options, variables and --config file are those of `serve`. Exit code 0 when the server
    responds, otherwise 1.
    """
    # Ignore the other port, which might equal this one.
    try:
        settings = _settings({**flags, "checkout-port": 0})
    except CliError as error:
        raise Unhealthy(*error.lines) from None
    if settings.port == 0:
        raise Unhealthy("port 0 is any free port; name the real one with --port")
    from emulator.cli.probe import NotHealthy, check_health

    try:
        check_health(settings.host, settings.port)
    except NotHealthy as error:
        raise Unhealthy(str(error)) from None
