"""Runs the event loop of commands, and ends it in an orderly way on Ctrl-C."""

import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

from emulator.cli.serve import loop_factory

T = TypeVar("T")


def run_loop(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run a coroutine. Raises KeyboardInterrupt after the cleanup for one."""
    import asyncio

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        loop = runner.get_loop()

        def end() -> None:
            # The task exists by then.
            loop.call_soon_threadsafe(lambda: task.cancel())  # noqa: PLW0108

        try:
            with _interrupted_once(end):
                # Only now: an earlier Ctrl-C must not leave a coroutine that never runs.
                task = loop.create_task(main())
                return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


@contextmanager
def _interrupted_once(end: Callable[[], object]) -> Iterator[None]:
    """Call `end` on the first Ctrl-C and ignore a second one.

    Two are usual: from the terminal, and from the program that started this one.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler:  # ignored, in the background of a shell
        yield
        return

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, usual)
