"""Runs the emulator: listeners, signals, start and shutdown; also inside another program."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import uvicorn

from emulator.app.composition import Running, compose
from emulator.app.log import standard_error
from emulator.app.protocol import Protocol
from emulator.app.ready_file import ready_file
from emulator.clock import RealClock, SystemClock
from emulator.settings import Settings

KEEP_ALIVE_S = 75
NEW_OBJECTS_A_COLLECTION = 50_000
BACKLOG = 2048
# The interval in which the `Date` header is updated.
TICK_MS = 1_000
# The time for requests in progress at the end, a part of the 0.5 s in which the program ends.
LAST_ANSWERS_S = 0.2

logger = logging.getLogger(__name__)
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The address family is not available; another address of the same name may be.
_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class NoListener(Exception):
    """A listener cannot be opened; the message is one sentence for the user."""


def collect_rarely() -> None:
    """Make garbage collections rare.

    The objects loaded so far live as long as the program, and requests leave few cycles. There
    is no collection before the freeze, because it takes a twentieth of the start.
    """
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_A_COLLECTION, 20, 20)


async def serve(
    settings: Settings, *, announce: Callable[[Running], None], warnings: Iterable[str] = ()
) -> None:
    """Run until SIGTERM or SIGINT; `announce` is called once, when requests are served.

    It is called on another thread. The warnings are logged first. Raises NoListener, NoReadyFile,
    ScenarioError, UnusableDatabase.
    """

    def announce_ready(running: Running) -> None:
        write_ready_file(running)
        announce(running)

    with (
        ready_file(settings.ready_file) as write_ready_file,
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
        standard_error(as_json=settings.log_format == "json") as log,
        _ending() as end,
    ):
        for warning in warnings:
            logger.warning("%s", warning)
        wall = RealClock()
        async with compose(
            settings,
            wall=wall,
            api_port=api.getsockname()[1],
            checkout_port=pages.getsockname()[1],
            write_log=log.write,
        ) as running:
            log.is_known_key = running.engine.accounts.is_known
            server = EmulatorServer(running, wall=wall, end=end, announce=announce_ready)
            await server.serve(sockets=[api, pages])


@contextmanager
def _ending() -> Iterator[asyncio.Event]:
    """An event that a signal sets, from `_unblock_signals` on; after that signals do nothing.

    These are not the loop's handlers: closing the loop would restore those of the system, and a
    second signal would then change the exit code.
    """
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Threads inherit the mask of this one, so they never get a signal, not even at the end, when
    # the interpreter has restored the system's handlers.
    _block_signals()
    for number in _ENDING_SIGNALS:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(end.set))
    try:
        yield end
    finally:
        _block_signals()
        for number in _ENDING_SIGNALS:
            signal.signal(number, lambda *_: None)


def _block_signals() -> None:
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING_SIGNALS)


def _unblock_signals() -> None:
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
        if os.name == "posix":  # elsewhere two programs could share a port
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


class EmulatorServer(uvicorn.Server):
    """uvicorn's server, which ends quickly and with exit code 0 on a signal."""

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
        """Signals set the event; uvicorn would raise them again at the end."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._running.gateway.is_ready = True
        # In a thread, because it reads files.
        loop = asyncio.get_running_loop()
        self._announcing = loop.run_in_executor(None, self._announce, self._running)
        _unblock_signals()

    async def main_loop(self) -> None:
        """Tick once a second; uvicorn would check ten times a second whether to end."""
        while not self._end.is_set():
            await self.on_tick(0)
            now_ms = self._wall.monotonic_ms()
            for connection in list(self.server_state.connections):
                connection.check_progress(now_ms)  # type: ignore[union-attr]
            await self._wall.wait(self._end, until=self._wall.now_ms() + TICK_MS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait a short time for requests in progress, then close all connections."""
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


@asynccontextmanager
async def private_emulator(settings: Settings) -> AsyncIterator[str]:
    """Serve inside another program: on this event loop, without log and signals.

    Yields the base URL. Webhooks have the time of their account's clock, for a replay. Raises
    NoListener, ScenarioError, UnusableDatabase.
    """
    with (
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
        _silence(),
    ):
        wall = RealClock()
        api_port = api.getsockname()[1]
        async with compose(
            settings,
            wall=wall,
            api_port=api_port,
            checkout_port=pages.getsockname()[1],
            write_log=lambda _: None,
            stamps_business_time=True,
        ) as running:
            end, is_ready = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()

            def announce(_: Running) -> None:
                loop.call_soon_threadsafe(is_ready.set)

            server = EmulatorServer(running, wall=wall, end=end, announce=announce)
            serving = asyncio.create_task(server.serve(sockets=[api, pages]))
            serving.add_done_callback(lambda _: is_ready.set())
            try:
                await is_ready.wait()
                yield settings.local_url(api_port)
            finally:
                end.set()
                await serving


@contextmanager
def _silence() -> Iterator[None]:
    """Log errors of the emulator, and no warnings about failed webhooks."""
    logger = logging.getLogger("emulator")
    usual = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(usual)
