"""The command line: each command's options, and how a mistake is told in one line."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from emulator import __version__
from emulator.settings import OPTIONS, Option, Settings, SettingsError, resolve

if TYPE_CHECKING:
    from emulator.app.composition import Running

PROGRAM = "payments-emulator"
HEALTH_TIMEOUT_S = 2.0


class Mistake(click.ClickException):
    """Something the user got wrong: one line on stderr and exit code 2."""

    exit_code = 2


def main() -> NoReturn:
    """Run the command line. Exit code 2 for every mistake of the user."""
    try:
        result = cli.main(prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        click.echo(f"{PROGRAM}: {' '.join(error.format_message().split())}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    sys.exit(result if isinstance(result, int) else 0)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """A local, high-fidelity emulator of the ETB hosted-checkout payments service."""


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = _click_option(option)(command)
    return command


def _click_option(option: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    default = f"  [default: {option.default_text}]" if option.default_text else ""
    if option.is_switch:
        return click.option(option.flag, is_flag=True, default=None, help=option.help)
    return click.option(
        option.flag,
        metavar=option.metavar,
        multiple=option.is_repeatable,
        help=option.help + default,
    )


def _settings(flags: dict[str, object]) -> Settings:
    try:
        return resolve(flags, os.environ)
    except SettingsError as error:
        raise Mistake(str(error)) from None


@cli.command()
@_with_options
def serve(**flags: object) -> None:
    """Run the service.

    Each option is also a variable EMULATOR_<NAME> and a key of the --config file.
    """
    settings = _settings(flags)
    from emulator.app.server import NoListener
    from emulator.app.server import serve as serve_forever
    from emulator.scenarios.problems import ScenarioError
    from emulator.storage.migrations import UnusableDatabase

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    # What is loaded now lives as long as the program: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(serve_forever(settings, announce=_announce))
    except ScenarioError as error:
        raise Mistake(str(error.problems[0])) from None
    except (NoListener, UnusableDatabase) as error:
        raise Mistake(str(error)) from None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _announce(running: "Running") -> None:
    print(running.api_port, flush=True)
