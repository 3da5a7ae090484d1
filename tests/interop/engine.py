"""Emulates the Docker calls that Testcontainers uses; containers are processes of the emulator.

A container behaves as `Dockerfile` says: without a health check there, it never is healthy.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.architecture.dockerfile import Instruction, of_image
from tests.cli.invocation import running
from tests.cli.processes import COMMAND, ended, environment, free_port, run

API_VERSION = "1.44"
# The address inside of the container, which does not know how its ports are mapped.
CHECKOUT_URL = "http://localhost:8081"

_VARIABLES = {8080: "EMULATOR_PORT", 8081: "EMULATOR_CHECKOUT_PORT"}
_NEVER = "0001-01-01T00:00:00Z"


class Container:
    """A process with two ports of this machine mapped to those of the image."""

    def __init__(self, options: dict[str, Any], log: Path) -> None:
        self.options = options
        self.ports = {port: free_port() for port in _exposed(options)}
        self._log = log
        self._running = ExitStack()
        self._is_healthy = False

    def start(self) -> None:
        image = of_image("CMD")
        assert image is not None
        with self._log.open("w") as log:
            process = subprocess.Popen(
                [*COMMAND, *image.command[1:]],
                env=environment(self._variables),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                encoding="utf-8",
            )
        self._running.enter_context(ended(process))

    def end(self) -> None:
        self._running.close()

    @property
    def _variables(self) -> dict[str, str]:
        inside = {"EMULATOR_CHECKOUT_URL": CHECKOUT_URL}
        given = (pair.partition("=") for pair in self.options.get("Env") or [])
        ports = {_VARIABLES[port]: str(mapped) for port, mapped in self.ports.items()}
        return inside | {name: value for name, _, value in given} | ports

    @property
    def inspected(self) -> dict[str, Any]:
        state: dict[str, Any] = {"Status": "running", "Running": True, "FinishedAt": _NEVER}
        check = of_image("HEALTHCHECK")
        if check is not None:
            state["Health"] = {"Status": "healthy" if self._checked(check) else "starting"}
        mapped = {
            f"{port}/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(number)}]  # noqa: S104
            for port, number in self.ports.items()
        }
        return {
            "Id": "c0ffee",
            "Name": "/emulator",
            "State": state,
            "Config": {"Labels": self.options.get("Labels", {}), "Hostname": "c0ffee"},
            "HostConfig": {"PortBindings": mapped},
            "NetworkSettings": {"Ports": mapped, "Networks": {}},
        }

    def _checked(self, check: Instruction) -> bool:
        if not self._is_healthy:
            self._is_healthy = run(*check.command[1:], variables=self._variables).returncode == 0
        return self._is_healthy


def _exposed(options: dict[str, Any]) -> list[int]:
    return [int(port.partition("/")[0]) for port in options["ExposedPorts"]]


class Engine(ThreadingHTTPServer):
    """One container at a time."""

    daemon_threads = True

    def __init__(self, logs: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.logs = logs
        self.container: Container | None = None
        self.calls: list[str] = []
        self.images: list[str] = []

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.server_port}"

    def answer(self, call: str, body: dict[str, Any]) -> tuple[HTTPStatus, Any]:
        self.calls.append(call)
        match call.split("/"):
            case ["GET ", "version"]:
                return HTTPStatus.OK, {"ApiVersion": API_VERSION, "MinAPIVersion": "1.24"}
            case ["GET ", "info"]:
                return HTTPStatus.OK, {"OSType": "linux", "Architecture": "x86_64"}
            case ["GET ", "images", _, "json"]:
                return HTTPStatus.OK, {"Id": "sha256:c0ffee", "Config": {}}
            case ["GET ", "containers", "json"]:
                return HTTPStatus.OK, []
            case ["POST ", "containers", "create"]:
                self.images.append(body["Image"].removesuffix(":latest"))
                self.container = Container(body, self.logs / "container.log")
                return HTTPStatus.CREATED, {"Id": "c0ffee", "Warnings": []}
        return self._of_container(call)

    def _of_container(self, call: str) -> tuple[HTTPStatus, Any]:
        if self.container is None:
            return HTTPStatus.NOT_FOUND, {"message": "no such container"}
        match call.split("/"):
            case ["GET ", "containers", _, "json"]:
                return HTTPStatus.OK, self.container.inspected
            case ["GET ", "containers", _, "logs"]:
                return HTTPStatus.OK, None
            case ["POST ", "containers", _, "start"]:
                self.container.start()
                return HTTPStatus.NO_CONTENT, None
            case ["POST ", "containers", _, "stop"]:
                self.container.end()
                return HTTPStatus.NO_CONTENT, None
            case ["DELETE ", "containers", _]:
                self.container.end()
                self.container = None
                return HTTPStatus.NO_CONTENT, None
        return HTTPStatus.NOT_IMPLEMENTED, {"message": call}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Engine

    def _answer(self) -> None:
        path = re.sub(r"^/v[\d.]+", "", self.path.partition("?")[0])
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "{}")
        status, answer = self.server.answer(f"{self.command} {path}", body)
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - their names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
        """No log; `calls` has the requests."""


@contextmanager
def engine(logs: Path) -> Iterator[Engine]:
    """An engine that listens until the block ends; no container outlives it."""
    listening = Engine(logs)
    try:
        with running(listening):
            yield listening
    finally:
        if listening.container is not None:
            listening.container.end()
