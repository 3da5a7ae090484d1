"""Runs commands in this process, and on a terminal or a closed pipe in a process of their own."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from inspect import signature

from click import ClickException
from click.testing import CliRunner, Result

from emulator.cli.commands import cli
from emulator.domain.user_error import UserError
from tests.cli.processes import COMMAND, REPOSITORY, environment, run_program

END_OF_OUTPUT = b"\0"
PROGRESS = re.compile(r"[█░]+ |\d+ of \d+ ")
HEALTHY = (200, b'{"status":"ok","version":"0"}')
"""The status and the body of an emulator's health check."""


def invoke(*arguments: str, variables: dict[str, str] | None = None) -> Result:
    # click 8.1 separates standard error on request, and later versions always do.
    is_optional = "mix_stderr" in signature(CliRunner).parameters
    runner = CliRunner(**{"mix_stderr": False} if is_optional else {})
    return runner.invoke(cli, arguments, env=variables, standalone_mode=False)


def output(*arguments: str, variables: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the standard output of a command without an error message.

    One that takes long, perhaps on a busy machine, writes lines of progress to standard error.
    """
    result = invoke(*arguments, variables=variables)
    assert result.exception is None, result.exception
    assert [line for line in result.stderr.splitlines() if not PROGRESS.match(line)] == []
    return result.return_value, result.stdout


def unfolded(text: str) -> str:
    """An output in one line, however its lines were folded."""
    return " ".join(text.split())


def usage_error(*arguments: str) -> str:
    """The error message of a command that prints nothing and ends with exit code 2."""
    result = invoke(*arguments)
    assert isinstance(result.exception, ClickException | UserError), result.output
    assert result.exception.exit_code == 2
    assert result.stdout == ""
    return error_line(result)


def error_line(result: Result) -> str:
    """The only line of the error message."""
    if isinstance(result.exception, UserError):
        [line] = result.exception.lines
        return line
    assert isinstance(result.exception, ClickException), result.output
    return result.exception.format_message()


def problem_lines(*arguments: str) -> list[str]:
    """The mistakes in files of a command that prints nothing and ends with exit code 2."""
    result = invoke(*arguments)
    assert isinstance(result.exception, UserError), result.output
    assert (result.exception.has_places, result.exception.exit_code, result.stdout) == (True, 2, "")
    return [*result.exception.lines]


def run_on_terminal(*arguments: str, variables: dict[str, str] | None = None) -> str:
    """What a new process of the command writes to a terminal."""
    import pty

    leader, follower = pty.openpty()
    usual = {name: text for name, text in environment().items() if name not in {"CI", "NO_COLOR"}}
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=REPOSITORY,
        env={**usual, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    )

    def mark_end() -> None:
        process.wait()
        os.write(follower, END_OF_OUTPUT)

    # A terminal that its last writer closes may lose what has not been read.
    waiting = threading.Thread(target=mark_end)
    waiting.start()
    written = b""
    while not written.endswith(END_OF_OUTPUT):
        written += os.read(leader, 65_536)
    waiting.join()
    os.close(follower)
    os.close(leader)
    return written.removesuffix(END_OF_OUTPUT).decode()


def run_with_closed_pipe(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a new process of the command as in `command | head -0`."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=REPOSITORY,
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
    finally:
        os.close(writing)


def imported_modules(*arguments: str) -> set[str]:
    """The modules that a new process of the command imports."""
    process = run_program(sys.executable, "-X", "importtime", *COMMAND[1:], *arguments)
    lines = process.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


@contextmanager
def running(server: HTTPServer) -> Iterator[str]:
    """The URL of a server that a thread runs."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def other_server(*responses: tuple[int, bytes]) -> Iterator[str]:
    """The URL of a server that returns these responses in turn, the last one for ever."""
    remaining = list(responses)

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            super().handle_one_request()
            self.close_connection = True

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, body = remaining.pop(0) if len(remaining) > 1 else remaining[0]
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_: object) -> None: ...

    with running(HTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


@contextmanager
def webhook_receiver(
    status_of: Callable[[BaseHTTPRequestHandler, bytes], int], port: int = 0
) -> Iterator[str]:
    """The URL of a server that answers each POST with the status of the request and its body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status_of(self, body))
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    class Receiver(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    with running(Receiver(("127.0.0.1", port), Handler)) as url:
        yield url
