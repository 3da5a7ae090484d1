"""Runs the emulator with uvicorn: listeners, signals, start and shutdown."""

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
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import replace

import uvicorn

from emulator import __version__
from emulator.clock import pause
from emulator.domain.user_error import UserError
from emulator.files import descriptor_limit
from emulator.http.tls import check_pair
from emulator.server.app.application import Application, create_app
from emulator.server.app.http_protocol import BoundedProtocol
from emulator.server.app.log import standard_error
from emulator.server.app.published_files import ready_file
from emulator.server.engine.state.journal import MAX_JOURNAL_BYTES
from emulator.settings import Settings

BACKLOG = 2048
KEEP_ALIVE_S = 75
# The time for requests in progress at the end, a part of the 1.5 s in which the program ends.
LAST_RESPONSES_S = 0.5
# The event loop needs a few turns to respond to a request that waits; each pause has several.
FIRST_PAUSES = 4

logger = logging.getLogger(__name__)
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The address family is not available; another address of the same name may be.
_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


async def serve(
    settings: Settings, *, announce: Callable[[Application], None], warnings: Iterable[str] = ()
) -> None:
    """Run until SIGTERM or SIGINT; `announce` is called once, when requests are served.

    It is called on another thread. The warnings are logged first. Raises UserError.
    """
    check_pair(settings.tls_cert, settings.tls_key)
    with (
        ready_file(settings.ready_file) as write_ready_file,
        _listeners(settings) as (settings, sockets),
        standard_error(as_json=settings.log_format == "json") as log,
        _ending() as end,
    ):
        for warning in warnings:
            logger.warning("%s", warning)
        app = create_app(settings, write_log=log.write)
        async with app.router.lifespan_context(app):
            log.is_known_key = app.engine.accounts.is_known

            def announce_ready() -> None:
                write_ready_file(
                    {
                        "api": settings.local_url(settings.port),
                        "checkout": settings.public_checkout_url,
                        "pid": os.getpid(),
                        "test_key": app.engine.accounts.first.profile.test_key,
                        "version": __version__,
                    }
                )
                announce(app)
                with suppress(OSError):  # clients may have all descriptors already
                    descriptor_limit(raises=True)
                gc.freeze()

            async with _serving(app, sockets, log_level=logging.WARNING):
                # The imports of another thread would delay the requests that wait for the start.
                for _ in range(FIRST_PAUSES):
                    await pause(app.engine.wall, 0)
                announcing = asyncio.get_running_loop().run_in_executor(None, announce_ready)
                _block_signals(is_blocked=False)
                await end.wait()
            await announcing


@asynccontextmanager
async def private_emulator(settings: Settings) -> AsyncIterator[str]:
    """Serve inside another program, and yield the base URL; see `private_application`."""
    async with private_application(settings) as app:
        yield app.settings.local_url(app.settings.port)


@asynccontextmanager
async def private_application(
    settings: Settings,
    *,
    write_log: Callable[[str], object] = lambda _: None,
    stamps_business_time: bool = True,
    max_journal_bytes: int = MAX_JOURNAL_BYTES,
) -> AsyncIterator[Application]:
    """Serve inside another program: on this event loop, without signals.

    `write_log` receives the lines of the request log. By default, webhooks
    have the time of their account's clock, for a replay. Raises UserError.
    """
    check_pair(settings.tls_cert, settings.tls_key)
    with _listeners(settings) as (settings, sockets), silence():
        app = create_app(
            settings,
            write_log=write_log,
            stamps_business_time=stamps_business_time,
            max_journal_bytes=max_journal_bytes,
        )
        async with (
            app.router.lifespan_context(app),
            _serving(app, sockets, log_level=logging.CRITICAL),
        ):
            yield app


@asynccontextmanager
async def _serving(
    app: Application, sockets: list[socket.socket], *, log_level: int
) -> AsyncIterator[None]:
    """Serve within the block; then requests in progress have a short time for their responses."""
    server = _Server(app, log_level=log_level)
    serving = asyncio.create_task(server.serve(sockets=sockets))
    listening = asyncio.create_task(server.is_listening.wait())
    await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
    listening.cancel()
    try:
        yield
    finally:
        app.engine.end()
        server.should_exit = True
        await asyncio.wait({serving}, timeout=LAST_RESPONSES_S)
        server.force_exit = True
        state = server.server_state
        # The loss of its connection ends a request; uvicorn would write to it, if cancelled before.
        while state.connections:
            for connection in list(state.connections):
                connection.transport.abort()
            await pause(app.engine.wall, 1)
        tasks = list(state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(serving, *tasks)


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers."""

    def __init__(self, app: Application, *, log_level: int) -> None:
        settings = app.settings
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                interface="asgi3",
                # An `X-Forwarded-For` would change the client of a request.
                proxy_headers=False,
                # Without it, an invalid WEB_CONCURRENCY is a traceback.
                workers=1,
                log_config=None,
                log_level=log_level,
                access_log=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                backlog=BACKLOG,
                ssl_certfile=settings.tls_cert,
                ssl_keyfile=settings.tls_key,
            )
        )
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.is_listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the program: uvicorn would raise them again at the end."""
        yield


@contextmanager
def _ending() -> Iterator[asyncio.Event]:
    """An event that a signal sets, from the end of their block on; after that signals do nothing.

    These are not the loop's handlers: closing the loop would restore the system's handlers, and a
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


def _block_signals(*, is_blocked: bool = True) -> None:
    if sys.platform != "win32":
        how = signal.SIG_BLOCK if is_blocked else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, _ENDING_SIGNALS)


@contextmanager
def listener(host: str, port: int, *, option: str) -> Iterator[socket.socket]:
    """A listening socket; `option` names the port. Raises UserError."""
    try:
        # Encoded, because the encoding of other names takes a hundredth of the start to import.
        name = host.encode("ascii")
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot listen on {host}: {reason}") from None
    for family, kind, protocol, _, address in found:
        try:
            # Not `socket.create_server`, whose sockets have the protocol 0: asyncio sends the parts
            # of a response without a delay of 40 ms only where the protocol is TCP.
            bound = _bound(socket.socket(family, kind, protocol), address)
        except OSError as error:
            refused = error
            if error.errno not in _NO_SUCH_ADDRESS:
                break
        else:
            with bound:
                yield bound
            return
    is_of_port = refused.errno in {errno.EADDRINUSE, errno.EACCES}
    advice = f"; name another port with {option}, or 0 for any free one" if is_of_port else ""
    reason = os.strerror(refused.errno or 0)
    raise UserError(f"cannot listen on {host} port {port}: {reason}{advice}")


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


@contextmanager
def _listeners(settings: Settings) -> Iterator[tuple[Settings, list[socket.socket]]]:
    """Both listening sockets, and the settings with their real ports. Raises UserError."""
    with (
        listener(settings.host, settings.port, option="--port") as api,
        listener(settings.host, settings.checkout_port, option="--checkout-port") as pages,
    ):
        port, checkout_port = (each.getsockname()[1] for each in (api, pages))
        yield replace(settings, port=port, checkout_port=checkout_port), [api, pages]


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
