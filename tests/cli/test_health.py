"""`health`: what a container asks in a tight interval."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.processes import HANGS_AFTER_S, free_port, run, serving


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """A server that gives everybody this answer, or hangs when there is none; its port."""

    def answer_one() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            if answer:
                connection.sendall(answer)
            connection.recv(4096)  # until the client has had enough

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_one)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(HANGS_AFTER_S)


def test_a_server_that_answers_is_healthy(tmp_path: Path) -> None:
    with serving(logs=tmp_path) as server:
        ended = run("health", "--port", str(server.api_port))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_nobody_there_is_exit_code_1_and_one_line() -> None:
    port = free_port()
    ended = run("health", "--port", str(port))
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        "payments-emulator: no answer from"
        f" http://127.0.0.1:{port}/_emulator/health: Connection refused\n"
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "answers 503, not 200"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "answers 404, not 200"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "is no payments emulator"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "no answer from"),
        (b"", "no answer from"),
    ],
)
def test_another_answer_or_none_is_exit_code_1(answer: bytes, expected: str) -> None:
    with answering(answer) as port:
        ended = run("health", "--port", str(port))
    assert ended.returncode == 1
    assert expected in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_it_takes_the_variables_that_configure_the_server(tmp_path: Path) -> None:
    with serving("--host", "0.0.0.0", logs=tmp_path) as server:  # noqa: S104 - what is tested
        variables = {"EMULATOR_HOST": "0.0.0.0", "EMULATOR_PORT": str(server.api_port)}  # noqa: S104
        assert run("health", variables=variables).returncode == 0


def test_it_takes_the_file_that_configures_the_server(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    with serving(logs=tmp_path) as server:
        config.write_text(f"port: {server.api_port}\nstrict: true\n")
        assert run("health", "--config", str(config)).returncode == 0
        assert run("health", variables={"EMULATOR_CONFIG": str(config)}).returncode == 0


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
@pytest.mark.parametrize("host", ["::", "::1"])
def test_it_reaches_a_server_on_ipv6(host: str, tmp_path: Path) -> None:
    with serving("--host", host, logs=tmp_path) as server:
        ended = run("health", "--host", host, "--port", str(server.api_port))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_it_reaches_a_server_on_a_name(tmp_path: Path) -> None:
    with serving("--host", "localhost", logs=tmp_path) as server:
        ended = run("health", "--host", "localhost", "--port", str(server.api_port))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_server_on_the_usual_port_of_the_pages_can_be_asked() -> None:
    ended = run("health", "--port", "8081")
    assert "same port" not in ended.stderr


def test_a_mistake_in_the_settings_is_exit_code_1_too() -> None:
    """What asks for the health of a container knows no other code, and reserves 2."""
    ended = run("health", variables={"EMULATOR_PORT": "x"})
    assert ended.returncode == 1
    assert ended.stderr == (
        "payments-emulator: variable EMULATOR_PORT: found 'x',"
        " expected an integer from 0 to 65535\n"
    )


def test_a_port_that_is_any_free_one_is_exit_code_1_too() -> None:
    ended = run("health", "--port", "0")
    assert ended.returncode == 1
    assert ended.stderr == (
        "payments-emulator: port 0 is any free port; name the real one with --port\n"
    )
