"""The listeners and the process: sockets, signals, the first second and the last."""

import asyncio
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn

from emulator.app.composition import Running, compose
from emulator.app.log import standard_error
from emulator.app.protocol import Protocol
from emulator.clock import RealClock, SystemClock
from emulator.settings import Settings

KEEP_ALIVE_S = 75
NEW_OBJECTS_A_COLLECTION = 50_000
BACKLOG = 2048
# How often the `Date` header is made anew.
TICK_MS = 1_000
# How long a client that never finishes its request may hold up the end of the program, of the
# 0.5 s that it has.
LAST_ANSWERS_S = 0.2

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The family of addresses is not there: another address of the same name may do.
_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class NoListener(Exception):
    """A listener cannot be had; the message is one sentence for the user."""


def collect_rarely() -> None:
    """Spare the garbage collector what it would look at in vain.

    What is loaded by now lives as long as the program, and requests leave hardly any cycles.
    Nor is it made to look once before: that would take a twentieth of the time to start.
    """
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_A_COLLECTION, 20, 20)


async def serve(settings: Settings, *, announce: Callable[[Running], None]) -> None:
    """Run until SIGTERM or SIGINT; `announce` is called once, when requests are answered.

    It is called on a thread of its own. Raises NoListener, ScenarioError, UnusableDatabase.
    """
    with (
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
        standard_error(as_json=settings.log_format == "json") as log,
        _ending() as end,
    ):
        wall = RealClock()
        async with compose(
            settings,
            wall=wall,
            api_port=api.getsockname()[1],
            checkout_port=pages.getsockname()[1],
            write_log=log.write,
        ) as running:
            log.is_known_key = running.engine.accounts.is_known
            server = Server(running, wall=wall, end=end, announce=announce)
            await server.serve(sockets=[api, pages])


@contextmanager
def _ending() -> Iterator[asyncio.Event]:
    """An event that a signal sets, from `_let_signals_in` on; in the end signals do nothing.

    Not the loop's own handlers: closing the loop would bring back those of the system, and a
    second signal would then spoil the exit code.
    """
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Threads are born with the mask of this one: no signal goes to them, not even in the last
    # moment, when the interpreter has put the system's handlers back.
    _hold_signals()
    for number in _ENDING_SIGNALS:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(end.set))
    try:
        yield end
    finally:
        _hold_signals()
        for number in _ENDING_SIGNALS:
            signal.signal(number, lambda *_: None)


def _hold_signals() -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)


def _let_signals_in() -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING_SIGNALS)


@contextmanager
def listener(host: str, port: int, *, option: str) -> Iterator[socket.socket]:
    """A listening socket; `option` names the port. Raises NoListener."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise NoListener(f"cannot listen on {host}: {_reason(error)}") from None
    for family, kind, protocol, _, address in found:
        try:
            bound = _bound(socket.socket(family, kind, protocol), address)
        except OSError as error:
            refused = error
            if error.errno not in _NO_SUCH_ADDRESS:
                break
        else:
            with bound:
                yield bound
            return
    raise NoListener(
        f"cannot listen on {host} port {port}: {_reason(refused)}{_advice(refused, option)}"
    )


def _bound(unbound: socket.socket, address: tuple[object, ...]) -> socket.socket:
    try:
        if os.name == "posix":  # elsewhere it would let two programs share a port
            unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        unbound.bind(address)
        unbound.listen(BACKLOG)
    except OSError:
        unbound.close()
        raise
    return unbound


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _advice(error: OSError, option: str) -> str:
    if error.errno in {errno.EADDRINUSE, errno.EACCES}:
        return f"; name another port with {option}, or 0 for any free one"
    return ""


class Server(uvicorn.Server):
    """uvicorn's server, which ends with exit code 0 on a signal, and soon."""

    def __init__(
        self,
        running: Running,
        *,
        wall: SystemClock,
        end: asyncio.Event,
        announce: Callable[[Running], None],
    ) -> None:
        super().__init__(
            uvicorn.Config(
                running.gateway,
                loop="none",
                http=partial(Protocol, wall=wall),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # the gateway answers and logs whatever goes wrong
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                backlog=BACKLOG,
            )
        )
        self._running = running
        self._wall = wall
        self._end = end
        self._announce = announce
        self._announcing: asyncio.Future[None]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals set the event; uvicorn would raise them again when all is done."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._running.gateway.is_ready = True
        # It reads files, and no request should wait for that.
        loop = asyncio.get_running_loop()
        self._announcing = loop.run_in_executor(None, self._announce, self._running)
        _let_signals_in()

    async def main_loop(self) -> None:
        """Tick once a second; uvicorn would look ten times whether it should end."""
        while not self._end.is_set():
            await self.on_tick(0)
            now_ms = self._wall.monotonic_ms()
            for connection in list(self.server_state.connections):
                connection.check_progress(now_ms)  # type: ignore[union-attr]
            await self._wall.wait(self._end, until=self._wall.now_ms() + TICK_MS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let what is under way be answered, for a moment, and hang up on everybody."""
        self._running.gateway.is_ready = False
        self._running.engine.change_notifier.close()
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        connections, tasks = self.server_state.connections, self.server_state.tasks
        for connection in list(connections):
            connection.shutdown()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_ANSWERS_S)
        for connection in list(connections):
            connection.transport.abort()
        await self._announcing
