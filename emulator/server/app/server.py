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
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from typing import TYPE_CHECKING

from emulator.clock import RealClock, SystemClock
from emulator.domain.instants import http_date
from emulator.server.app.composition import Running, compose
from emulator.server.app.connection import LAST_ANSWERS_S, MAX_HEAD_MS, Connection, ServerState
from emulator.server.app.log import standard_error
from emulator.server.engine.state.journal import MAX_JOURNAL_BYTES
from emulator.settings import Settings

if TYPE_CHECKING:
    import ssl

NEW_OBJECTS_A_COLLECTION = 50_000
BACKLOG = 2048
# The interval in which the `Date` header is updated.
TICK_MS = 1_000
# How long a client may take to confirm the end of a TLS connection.
MAX_TLS_SHUTDOWN_S = 1

logger = logging.getLogger(__name__)
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The address family is not available; another address of the same name may be.
_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


class NoListener(Exception):
    """A listener cannot be opened; the message is one sentence for the user."""


def collect_rarely() -> None:
    """Enable garbage collections, but make them rare.

    The objects loaded so far live as long as the program, and requests leave few cycles.
    """
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_A_COLLECTION, 20, 20)
    gc.enable()


async def serve(
    settings: Settings, *, announce: Callable[[Running], None], warnings: Iterable[str] = ()
) -> None:
    """Run until SIGTERM or SIGINT; `announce` is called once, when requests are served.

    It is called on another thread. The warnings are logged first. Raises NoListener, SettingsError,
    ScenarioError, UnusableDatabase.
    """

    def announce_ready(running: Running) -> None:
        write_ready_file(running)
        announce(running)
        with suppress(OSError):  # clients may have all descriptors already; the limit then stays
            from emulator.http.descriptor_limit import descriptor_limit

            descriptor_limit(raises=True)
        collect_rarely()

    tls = _listener_tls(settings)
    with (
        _ready_file(settings.ready_file) as write_ready_file,
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
            server = EmulatorServer(running, wall=wall, end=end, announce=announce_ready, tls=tls)
            await server.serve(sockets=[api, pages])


def _listener_tls(settings: Settings) -> "ssl.SSLContext | None":
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    from emulator.server.app.tls import listener_tls

    return listener_tls(settings.tls_cert, settings.tls_key)


def _ready_file(path: str | None) -> AbstractContextManager[Callable[[Running], None]]:
    if path is None:
        return nullcontext(lambda _: None)
    from emulator.server.app.ready_file import ready_file

    return ready_file(path)


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
        # Encoded, because the encoding of other names takes a hundredth of the start to import.
        name = host.encode("ascii")
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
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


class EmulatorServer:
    """Serves connections until an event is set, and then ends within half a second."""

    def __init__(
        self,
        running: Running,
        *,
        wall: SystemClock,
        end: asyncio.Event,
        announce: Callable[[Running], None],
        tls: "ssl.SSLContext | None",
    ) -> None:
        self._running = running
        self._wall = wall
        self._end = end
        self._announce = announce
        self._tls = tls
        self._state = ServerState()

    async def serve(self, sockets: list[socket.socket]) -> None:
        """Serve, and announce it; on another thread, because it reads files."""
        loop = asyncio.get_running_loop()
        connect = partial(
            Connection,
            gateway=self._running.gateway,
            wall=self._wall,
            server_state=self._state,
        )
        self._tick()
        listen = partial(loop.create_server, connect, backlog=BACKLOG)
        if self._tls is not None:
            listen = partial(
                listen,
                ssl=self._tls,
                ssl_handshake_timeout=MAX_HEAD_MS / 1000,
                ssl_shutdown_timeout=MAX_TLS_SHUTDOWN_S,
            )
        servers = [await listen(sock=listening) for listening in sockets]
        self._running.gateway.is_ready = True
        announcing = loop.run_in_executor(None, self._announce, self._running)
        _unblock_signals()
        while not self._end.is_set():
            self._tick()
            await self._wall.wait(self._end, until=self._wall.now_ms() + TICK_MS)
        await self._shut_down([*servers, *sockets])
        await announcing

    def _tick(self) -> None:
        """Update the `Date` header, and close connections without progress."""
        date = http_date(self._wall.system_ms()).encode()
        self._state.default_headers = [(b"date", date)]
        now_ms = self._wall.monotonic_ms()
        for connection in list(self._state.connections):
            connection.check_progress(now_ms)

    async def _shut_down(self, listening: "list[asyncio.Server | socket.socket]") -> None:
        """Wait a short time for requests in progress, then close all connections."""
        self._running.gateway.is_ready = False
        self._running.engine.change_notifier.close()
        for listener_or_socket in listening:
            listener_or_socket.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if tasks := self._running.gateway.tasks:
            await asyncio.wait(tasks, timeout=LAST_ANSWERS_S)
        for connection in list(self._state.connections):
            connection.abort()


@asynccontextmanager
async def private_emulator(
    settings: Settings,
    *,
    write_log: Callable[[str], object] = lambda _: None,
    stamps_business_time: bool = True,
    max_journal_bytes: int = MAX_JOURNAL_BYTES,
) -> AsyncIterator[str]:
    """Serve inside another program: on this event loop, without signals.

    Yields the base URL. `write_log` receives the lines of the request log, the last ones at the
    end. By default, webhooks have the time of their account's clock, for a replay. Raises
    NoListener, SettingsError, ScenarioError, UnusableDatabase.
    """
    tls = _listener_tls(settings)
    with (
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
        silence(),
    ):
        wall = RealClock()
        api_port = api.getsockname()[1]
        async with compose(
            settings,
            wall=wall,
            api_port=api_port,
            checkout_port=pages.getsockname()[1],
            write_log=write_log,
            stamps_business_time=stamps_business_time,
            max_journal_bytes=max_journal_bytes,
        ) as running:
            end, is_ready = asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()

            def announce(_: Running) -> None:
                loop.call_soon_threadsafe(is_ready.set)

            server = EmulatorServer(running, wall=wall, end=end, announce=announce, tls=tls)
            serving = asyncio.create_task(server.serve(sockets=[api, pages]))
            serving.add_done_callback(lambda _: is_ready.set())
            try:
                await is_ready.wait()
                yield settings.local_url(api_port)
            finally:
                end.set()
                await serving


@contextmanager
def silence() -> Iterator[None]:
    """Log errors of the emulator, and no warnings about failed webhooks.

    Blocks that overlap must be inside another one.
    """
    logger = logging.getLogger("emulator")
    usual = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(usual)
