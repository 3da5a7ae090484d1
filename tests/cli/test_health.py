"""The command `health`."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.processes import HANGS_AFTER_S, free_port, run, serving


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """The port of a server that sends one response, or hangs when there is none."""

    def answer_once() -> None:
        connection, _ = listener.accept()
        # A client that closes the connection before it has read everything resets it.
        with connection, suppress(ConnectionError):
            connection.recv(4096)
            if answer:
                connection.sendall(answer)
            connection.recv(4096)  # until the client closes the connection

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_once)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(HANGS_AFTER_S)


HOSTS = ("127.0.0.1", "localhost", *(("::", "::1") if socket.has_ipv6 else ()))


@pytest.mark.parametrize("host", HOSTS)
def test_a_server_that_responds_is_healthy(host: str, tmp_path: Path) -> None:
    with serving("--host", host, logs=tmp_path) as server:
        ended = run("health", "--host", host, "--port", str(server.api_port))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_server_is_named_by_its_url(tmp_path: Path) -> None:
    with serving(logs=tmp_path) as server:
        url = server.url
        for given in (url, f"{url}/"):
            # The settings of another server do not matter.
            ended = run("health", "--url", given, variables={"EMULATOR_PORT": "0"})
            assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        assert run("health", "--url", f"{url}/other").returncode == 1
    ended = run("health", "--url", url)
    assert ended.returncode == 1
    assert f"no response from {url}/_emulator/health: " in ended.stderr
    for given in ("localhost", url + "?", ""):
        ended = run("health", "--url", given)
        assert ended.returncode == 1
        assert f"flag --url: found '{given}', expected an absolute http" in ended.stderr
    ended = run("health", "--url", url, "--port", "1")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "flag --port: expected no --url" in ended.stderr


def test_its_settings_are_those_of_the_server(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    with serving("--host", "0.0.0.0", logs=tmp_path) as server:  # noqa: S104 - what is tested
        config.write_text(f"port: {server.api_port}\nstrict: true\n")
        variables = {"EMULATOR_HOST": "0.0.0.0", "EMULATOR_PORT": str(server.api_port)}  # noqa: S104
        assert run("health", variables=variables).returncode == 0
        assert run("health", "--config", str(config)).returncode == 0
        assert run("health", variables={"EMULATOR_CONFIG": str(config)}).returncode == 0


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "returned 503; expected 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "is not the address of a payments"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "no response from"),
        (b"", "no response from"),
    ],
)
def test_another_answer_or_none_is_exit_code_1(answer: bytes, expected: str) -> None:
    with answering(answer) as port:
        ended = run("health", "--port", str(port))
    assert ended.returncode == 1
    assert expected in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_port_without_a_server_is_exit_code_1() -> None:
    port = free_port()
    expected = f"no response from http://127.0.0.1:{port}/_emulator/health: connection refused"
    ended = run("health", "--port", str(port))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"payments-emulator: {expected}\n"
    # The usual port of the checkout pages, which have no port here, can be tested, too.
    assert "same port" not in run("health", "--port", "8081").stderr


def test_a_mistake_in_the_settings_is_exit_code_1() -> None:
    """A container's health check knows no other code, and reserves 2."""
    for port, expected in (
        ("x", "variable EMULATOR_PORT: found 'x', expected an integer from 0 to 65535"),
        ("0", "port 0 is any free port; name the real one with --port"),
    ):
        ended = run("health", variables={"EMULATOR_PORT": port})
        assert (ended.returncode, ended.stderr) == (1, f"payments-emulator: {expected}\n")
