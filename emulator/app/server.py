"""The listeners and the process: sockets, signals, the first second and the last."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from emulator.app.composition import Running, compose
from emulator.app.protocol import Protocol
from emulator.clock import SystemWall
from emulator.settings import Settings

KEEP_ALIVE_S = 75
BACKLOG = 2048
# How long a client that never finishes its request may hold up the end of the program.
LAST_ANSWERS_S = 0.2


class NoListener(Exception):
    """A listener cannot be had; the message is one sentence for the user."""


async def serve(settings: Settings, *, announce: Callable[[Running], None]) -> None:
    """Run until SIGTERM or SIGINT; `announce` is called once, when requests are answered.

    Raises NoListener, ScenarioError, UnusableDatabase.
    """
    with (
        listener(settings.host, settings.port) as api,
        listener(settings.host, settings.checkout_port) as pages,
    ):
        async with compose(
            settings,
            wall=SystemWall(),
            api_port=api.getsockname()[1],
            checkout_port=pages.getsockname()[1],
        ) as running:
            server = _Server(running, announce)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                with suppress(NotImplementedError):  # Windows ends a program its own way
                    loop.add_signal_handler(number, server.stop)
            await server.serve(sockets=[api, pages])


@contextmanager
def listener(host: str, port: int) -> Iterator[socket.socket]:
    """A bound socket. Raises NoListener."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise NoListener(f"cannot listen on {host}: {error.strerror or error}") from None
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError as error:
            raise NoListener(
                f"cannot listen on {host} port {port}: {error.strerror or error}"
            ) from None
        yield bound


class _Server(uvicorn.Server):
    """uvicorn's server, which ends with exit code 0 on a signal, and soon."""

    def __init__(self, running: Running, announce: Callable[[Running], None]) -> None:
        super().__init__(
            uvicorn.Config(
                running.gateway,
                loop="none",
                http=Protocol,
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
        self._announce = announce

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals come to `stop`; uvicorn would raise them again when all is done."""
        yield

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._running.gateway.is_ready = True
        self._announce(self._running)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._running.gateway.is_ready = False
        self._running.engine.announcements.close()
        asyncio.get_running_loop().call_later(LAST_ANSWERS_S, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        self.force_exit = True
        for connection in list(self.server_state.connections):
            connection.transport.abort()
