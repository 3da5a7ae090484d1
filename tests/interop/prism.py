"""Runs Prism between a client and the emulator, a proxy for each document; records exchanges.

    client -> Front -> Prism of the document -> Back -> emulator

Prism cannot pass on a broken connection: without a response it returns 500, and for half a response
it waits for ever. So `Back` drops half a response, and `Front` drops Prism's own responses.
"""

import json
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cli.processes import environment, wait_for

PACKAGE = "@stoplight/prism-cli@5"
# In one process, also where NODE_ENV would make it two.
OPTIONS = ("--host=127.0.0.1", "--port=0", "--multiprocess=false")
# The media type of Prism's own errors, such as an unreachable upstream.
ITS_OWN = "application/problem+json"
MAX_RESPONSE_S = 60

_LISTENING = re.compile(r"Prism is listening on http://127\.0\.0\.1:(\d+)")
# Of one connection only; the length is computed.
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}

Part = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A violation that Prism reports; `location` begins with `request` or `response`."""

    location: Part
    code: str | int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """Its value, empty where there is none."""
        return next((value for known, value in self.headers if known.lower() == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request, its response, and the violations of both."""

    request: Request
    answer: Answer
    violations: tuple[Violation, ...]

    def __str__(self) -> str:
        words = "; ".join(f"{'.'.join(one.location)}: {one.message}" for one in self.violations)
        return f"{self.request.method} {self.request.target}: {self.answer.status} {words}".rstrip()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A head and a body are two packets, and the second one would wait for the first.
    disable_nagle_algorithm = True
    server: "Back"

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        request = Request(
            method=self.command,
            target=self.path,
            headers=self.headers.items(),
            body=self.rfile.read(length),
        )
        answer = self.server.ask(request)
        if answer is None:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - their names

    def log_message(self, *_: object) -> None:
        """No log."""


class Back(ThreadingHTTPServer):
    """Passes requests on to `port`; drops a response that is cut."""

    port = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)

    def ask(self, request: Request) -> Answer | None:
        try:
            return send(self.port, request)
        except (HTTPException, ConnectionError):
            return None


class Front(Back):
    """Passes requests on to the Prism whose document has their path, and records exchanges."""

    def __init__(self) -> None:
        super().__init__()
        self.ports: dict[str, int] = {}
        self.exchanges: list[Exchange] = []
        # Prism's errors for requests without a response.
        self.lost: list[str] = []

    def ask(self, request: Request) -> Answer | None:
        exchange = self.passed(request)
        if exchange is None:
            return None
        self.exchanges.append(exchange)
        return exchange.answer

    def passed(self, request: Request) -> Exchange | None:
        """The exchange of a request, unrecorded; None without a response to pass on."""
        document = "v1" if request.target.startswith("/v1/") else "control"
        answer = send(self.ports[document], request)
        if answer.header("content-type") == ITS_OWN:
            self.lost.append(json.loads(answer.body)["title"])
            return None
        violations = _violations(answer.header("sl-violations"))
        return Exchange(request=request, answer=answer, violations=violations)


def send(port: int, request: Request) -> Answer:
    """Raises HTTPException or ConnectionError where no answer, or half of one, comes."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=MAX_RESPONSE_S)) as connection:
        connection.putrequest(
            request.method, request.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in request.headers:
            connection.putheader(name, value)
        connection.endheaders(request.body)
        response = connection.getresponse()
        return Answer(status=response.status, headers=response.getheaders(), body=response.read())


def _violations(header: str) -> tuple[Violation, ...]:
    return tuple(
        Violation(
            location=tuple(map(str, one["location"])), code=one.get("code"), message=one["message"]
        )
        for one in json.loads(header or "[]")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxied:
    """Both Prisms, ready; `back.port` is the emulator's port."""

    front: Front
    back: Back

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.front.server_port}"


@contextmanager
def proxied(modules: Path, documents: Mapping[str, Any], directory: Path) -> Iterator[Proxied]:
    """A Prism for each document, by the names of Front; `modules` has its package."""
    program = modules / ".bin" / "prism"
    with ExitStack() as running:
        front, back = Front(), Back()
        for relay in (front, back):
            running.enter_context(_served(relay))
        upstream = f"http://127.0.0.1:{back.server_port}"
        started = {}
        for name, document in documents.items():
            path = directory / f"{name}.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            command = [str(program), "proxy", str(path), upstream, *OPTIONS]
            started[name] = running.enter_context(_started(command, directory / f"{name}.log"))
        for name, process in started.items():
            front.ports[name] = _port(process, directory / f"{name}.log")
        yield Proxied(front=front, back=back)


@contextmanager
def _served(relay: Back) -> Iterator[None]:
    thread = threading.Thread(target=relay.serve_forever)
    thread.start()
    try:
        yield
    finally:
        relay.shutdown()
        thread.join()
        relay.server_close()


@contextmanager
def _started(command: list[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as written:
        process = subprocess.Popen(
            command,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            encoding="utf-8",
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[str], log: Path) -> int:
    """The port that Prism prints after it has read its document."""

    def read() -> re.Match[str] | None:
        return _LISTENING.search(log.read_text(encoding="utf-8"))

    wait_for(process, lambda: read() is not None)
    found = read()
    assert found is not None
    return int(found[1])
