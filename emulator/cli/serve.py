"""Runs `serve` without click, which would take a tenth of its start to import."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from emulator.domain.message_text import LINE_BREAK, escape_controls
from emulator.settings import OPTIONS, Settings, SettingsError, resolve, start_warnings

if TYPE_CHECKING:
    import asyncio

    from emulator.server.app.composition import Running


class ServeError(Exception):
    """An error of the user that ends `serve`, with a line for each problem."""

    def __init__(self, lines: Sequence[str], *, as_json: bool = False) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.as_json = as_json


def loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def parse_flags(arguments: Sequence[str]) -> dict[str, object] | None:
    """The values of flags by option; None where click must report a mistake or print help."""
    options = {option.flag: option for option in OPTIONS}
    flags: dict[str, object] = {}
    rest = iter(arguments)
    for argument in rest:
        flag, equals, text = argument.partition("=")
        option = options.get(flag)
        if option is None or (option.is_switch and equals):
            return None
        if option.is_switch:
            flags[option.name] = True
            continue
        value = text if equals else next(rest, None)
        if value is None:
            return None
        earlier = flags.get(option.name, ())
        flags[option.name] = (*earlier, value) if option.is_repeatable else value  # type: ignore[misc]
    return flags


def serve(flags: dict[str, object]) -> None:
    """Run the emulator until a signal. Raises ServeError."""
    try:
        settings = resolve(flags, os.environ)
    except SettingsError as error:
        raise ServeError(error.lines) from None
    import asyncio

    from emulator.server.app.server import serve as serve_forever

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            warnings = start_warnings(settings, os.environ)
            runner.run(serve_forever(settings, announce=_announce, warnings=warnings))
    except Exception as error:
        lines = _lines(error, settings)
        if lines is None:
            raise
    else:
        return
    raise ServeError(lines, as_json=settings.log_format == "json")


def _lines(error: Exception, settings: Settings) -> list[str] | None:
    """The lines for an error that the user can correct."""
    import sqlite3

    from emulator.scenarios.problems import ScenarioError
    from emulator.server.app.server import NoListener
    from emulator.server.storage.batch import Busy
    from emulator.server.storage.database_file import UnusableDatabase

    if isinstance(error, ScenarioError):
        return [str(problem) for problem in error.problems]
    if isinstance(error, SettingsError):
        return list(error.lines)
    if isinstance(error, NoListener | UnusableDatabase):
        return [str(error)]
    if isinstance(error, Busy | sqlite3.DatabaseError):
        return [f"cannot use the database {settings.database}: {error}"]
    return None


def _announce(running: "Running") -> None:
    from emulator.cli.banner import banner

    # Switch more often to the thread that serves requests.
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(usual_s / 20)
    try:
        for part in banner(running):
            print(escape_controls(part, besides=LINE_BREAK), end="", flush=True)  # noqa: T201
    except OSError:
        # The pipe is closed (`serve | head -1`), which does not end the server.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        sys.setswitchinterval(usual_s)
