"""The command line: runs a command and prints each error of the user in one line."""

import os
import signal
import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line. The exit code is 2 for every error of the user."""
    if sys.argv[1:2] == ["serve"]:
        _end_on_signals()
    try:
        # Imported only here: a signal during the import would otherwise have Python's effect.
        from emulator.cli.program import run

        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _end_on_signals() -> None:
    """Let SIGTERM and SIGINT end `serve` with exit code 0 already while it starts.

    The first process of a container would otherwise ignore them. There is nothing to close yet,
    and an exception might be lost in an import.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
