"""Runs the event loop of commands, and ends it in an orderly way on a signal."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

try:
    import uvloop
except ImportError:
    LOOP_FACTORY: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    LOOP_FACTORY = uvloop.new_event_loop

T = TypeVar("T")
# The signals that end a program; Windows has no SIGHUP and no SIGQUIT.
ENDING_SIGNALS = tuple(
    signal.Signals[name]
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT")
    if name in signal.Signals.__members__
)
# The exit code that shells report is this number plus the signal's number.
SIGNAL_CODE = 128


def run_loop(
    main: Callable[[], Coroutine[object, object, T]], *, ends_on: Iterable[signal.Signals] = ()
) -> T:
    """Run a coroutine; cancel it on SIGINT, and on the signals of `ends_on`.

    Raises KeyboardInterrupt after the cleanup for SIGINT, SystemExit after that for another signal.
    """
    received: list[int] = []

    with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
        loop = runner.get_loop()

        def end(number: int) -> None:
            received.append(number)
            # The task exists by then.
            loop.call_soon_threadsafe(lambda: task.cancel())  # noqa: PLW0108

        try:
            with _interrupted_once(end, (signal.SIGINT, *ends_on)):
                # Only now: an earlier Ctrl-C must not leave a coroutine that never runs.
                task = loop.create_task(main())
                return loop.run_until_complete(task)
        except asyncio.CancelledError:
            if received and received[0] != signal.SIGINT:
                raise SystemExit(SIGNAL_CODE + received[0]) from None
            raise KeyboardInterrupt from None


@contextmanager
def _interrupted_once(
    end: Callable[[int], object], numbers: Iterable[signal.Signals]
) -> Iterator[None]:
    """Call `end` on the first of the signals and ignore a second one.

    Two are usual: from the terminal, and from the program that started this one. A signal that is
    ignored, as Ctrl-C is in the background of a shell, remains so.
    """
    usual = {number: signal.getsignal(number) for number in numbers}
    heard = [n for n, handler in usual.items() if handler not in (signal.SIG_IGN, None)]

    def interrupt(received: int, _: object) -> None:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)
        end(received)

    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            if signal.getsignal(number) is interrupt:
                signal.signal(number, usual[number])
