"""HTTPS on both listeners, and webhooks to endpoints with certificates of a private authority."""

import asyncio
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from emulator.server.app.server import private_emulator
from emulator.server.app.tls import MAX_LOGGED_FAILURES, MAX_PEM_BYTES, listener_tls
from emulator.settings import resolve
from tests.cli.processes import FREE_PORTS, HANGS_AFTER_S, Server, run, serving
from tests.server.dashboard import page
from tests.server.webhooks.receiver import SELF_SIGNED, receiving, self_signed
from tests.world import headers, order, world

CERTIFICATE = str(SELF_SIGNED)
# The certificate is for this name.
TLS = ("--host", "localhost", "--tls-cert", CERTIFICATE, "--tls-key", CERTIFICATE)
TRUSTED = ssl.create_default_context(cafile=SELF_SIGNED)
# Of no certificate here.
OTHER_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvtmi6OFk9v8tdsfO
P7bOJnT8sykyAmsL+/qF16f9zBahRANCAATTXuC+M80SmTM/ijKene543gWWiQsd
qvn9INpFuYTqtUvh9v2rABnyuT0l7XYEjEwzijeGnRd49AtnYU1jrawR
-----END PRIVATE KEY-----
"""
BEGIN = "-----BEGIN CERTIFICATE-----\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    logs = tmp_path_factory.mktemp("logs")
    with serving(*TLS, "--ready-file", str(logs / "ready.json"), logs=logs) as server:
        yield server


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(verify=TRUSTED, timeout=HANGS_AFTER_S) as client:
        yield client


def api_url(server: Server) -> str:
    return f"https://localhost:{server.api_port}"


# ---- Both listeners


def test_every_address_is_https_and_a_client_that_verifies_reaches_it(
    server: Server, client: httpx.Client
) -> None:
    api, checkout = api_url(server), f"https://localhost:{server.checkout_port}"
    for line in (f"API         {api}\n", f"Checkout    {checkout}\n", f"{api}/_emulator\n"):
        assert line in server.banner
    [ready] = server.stderr_path.parent.glob("ready.json")
    assert json.loads(ready.read_text())["api"] == api
    assert json.loads(ready.read_text())["checkout"] == checkout
    created = client.post(f"{api}/v1/payments", json=order(), headers=headers())
    assert created.status_code == 201
    assert created.json()["checkout_url"].startswith(f"{checkout}/c/")
    assert 'data-testid="simulation"' in client.get(created.json()["checkout_url"]).text
    assert client.get(f"{api}/_emulator/").json()["api"] == f"{api}/v1"


def test_the_health_check_follows(server: Server) -> None:
    port = str(server.api_port)
    assert run("health", *TLS, "--port", port).returncode == 0
    variables = {"EMULATOR_TLS_CERT": CERTIFICATE, "EMULATOR_TLS_KEY": CERTIFICATE}
    variables |= {"EMULATOR_HOST": "localhost", "EMULATOR_PORT": port}
    assert run("health", variables=variables).returncode == 0
    ended = run("health", "--host", "localhost", "--port", port)
    assert ended.returncode == 1
    assert ended.stderr.endswith("returned 400; expected 200\n")


COMMANDS = [
    "trigger payment.completed --url",
    "checklist --url",
    "replay scenarios/refund.yaml --url",
    "record --url",
    pytest.param("verify --key test_demo_key --base-url", marks=pytest.mark.deep),
    pytest.param("doctor --url", marks=pytest.mark.deep),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_trust_the_authority_of_ssl_cert_file(server: Server, command: str) -> None:
    name, *arguments = command.split()
    url = f"https://localhost:{server.api_port}"
    trusting = run(name, *arguments, url, variables={"SSL_CERT_FILE": CERTIFICATE})
    assert trusting.returncode == 0, trusting.stderr + trusting.stdout
    others = run(name, *arguments, url)
    assert others.returncode == 2
    assert "certificate not trusted: self-signed certificate; set SSL_CERT_FILE" in others.stderr


def plain(port: int) -> socket.socket:
    """A connection without TLS."""
    return socket.create_connection(("localhost", port), timeout=HANGS_AFTER_S)


def encrypted(port: int) -> ssl.SSLSocket:
    """A connection that has verified the certificate."""
    return TRUSTED.wrap_socket(plain(port), server_hostname="localhost")


def response_to(request: bytes, connection: socket.socket) -> bytes:
    connection.sendall(request)
    response = b""
    while b"}}" not in response:
        part = connection.recv(65_536)
        assert part, response
        response += part
    return response


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "CONNECT", "PRI"])
def test_a_client_that_uses_plain_http_gets_a_response(server: Server, method: str) -> None:
    request = f"{method} /v1/payments HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{'x' * 1000000}"
    for port in (server.api_port, server.checkout_port):
        with plain(port) as connection:
            response = response_to(request.encode(), connection)
        assert response.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b'"message":"This port uses HTTPS: begin the URL with https://' in response


def test_failed_handshakes_are_logged_once_for_each_reason(tmp_path: Path) -> None:
    untrusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with serving(*TLS, logs=tmp_path) as server:
        for _ in range(3):
            with plain(server.api_port) as connection:
                response_to(b"GET / HTTP/1.1\r\n\r\n", connection)
            with plain(server.api_port) as connection, pytest.raises(ssl.SSLError):
                untrusting.wrap_socket(connection, server_hostname="localhost")
            plain(server.api_port).close()
        assert server.stop() == 0
        first, second = server.stderr.splitlines()
    assert first == (
        "WARNING a client used plain HTTP: its URL must begin with https:// (logged once)"
    )
    assert second.startswith("WARNING TLS handshake failed: tlsv1 alert unknown ca; the client")


def test_the_number_of_logged_failures_is_limited(caplog: pytest.LogCaptureFixture) -> None:
    context = listener_tls(CERTIFICATE, CERTIFICATE)
    for number in range(2 * MAX_LOGGED_FAILURES):
        failure = ssl.SSLError(1, "")
        failure.reason = f"REASON_{number}"
        assert context.explain(failure) is None
    assert len(caplog.records) == MAX_LOGGED_FAILURES


def test_it_ends_in_time_with_any_connection(tmp_path: Path) -> None:
    health = b"GET /_emulator/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(*TLS, logs=tmp_path) as server:
        port = server.api_port
        with plain(port), plain(port) as begun, encrypted(port) as idle, encrypted(port) as ended:
            begun.sendall(b"\x16\x03\x01")
            idle.sendall(health)
            assert idle.recv(1_000).startswith(b"HTTP/1.1 200 OK\r\n")
            ended.unwrap()
            assert server.stop() == 0
        [line] = server.stderr.splitlines()
    assert " GET /_emulator/health 200 " in line


async def test_the_event_loop_of_the_standard_library_does_the_same() -> None:
    flags = {"port": 0, "checkout-port": 0, "host": "localhost"}
    flags |= {"tls-cert": CERTIFICATE, "tls-key": CERTIFICATE}
    async with private_emulator(resolve(flags, {})) as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await reader.readline()) == b"HTTP/1.1 400 Bad Request\r\n"
        writer.close()
        # A response to a request whose body is still being sent.
        reader, writer = await asyncio.open_connection("localhost", port, ssl=TRUSTED)
        writer.write(
            b"POST /v1/payments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer test_demo_key"
            b"\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n"
        )
        writer.write(b"x" * 10_000_000)
        assert (await reader.readline()) == b"HTTP/1.1 400 Bad Request\r\n"
        writer.transport.abort()


# ---- Mistakes at the start


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "other.key").write_text(OTHER_KEY)
    encrypted = OTHER_KEY.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
    (tmp_path / "encrypted.key").write_text(encrypted)
    (tmp_path / "text").write_text("no PEM")
    (tmp_path / "broken").write_text(f"{BEGIN}!\n-----END CERTIFICATE-----\n")
    (tmp_path / "large").write_text("x" * 2 * MAX_PEM_BYTES + BEGIN)
    return tmp_path


NO_PEM = "found no PEM in '{}', expected at most 1,048,576 bytes with a line -----BEGIN … "
MISTAKES = [
    ("--tls-cert good", "flag --tls-cert: found one of --tls-cert and --tls-key, expected both"),
    ("--tls-key good", "flag --tls-key: found one of --tls-cert and --tls-key, expected both"),
    ("--tls-key good --tls-cert none", "--tls-cert: cannot read '{}': No such file or directory"),
    ("--tls-key good --tls-cert .", "--tls-cert: cannot read '{}': Is a directory"),
    ("--tls-key good --tls-cert text", f"--tls-cert: {NO_PEM}CERTIFICATE-----"),
    ("--tls-key good --tls-cert large", f"--tls-cert: {NO_PEM}CERTIFICATE-----"),
    ("--tls-cert good --tls-key none", "--tls-key: cannot read '{}': No such file or directory"),
    ("--tls-cert good --tls-key text", f"--tls-key: {NO_PEM}PRIVATE KEY-----"),
    ("--tls-cert good --tls-key encrypted.key", "--tls-key: the key in '{}' has a passphrase"),
    ("--tls-cert good --tls-key other.key", "--tls-key: the key in '{}' does not fit the certifi"),
    ("--webhook-ca none", "--webhook-ca: cannot read '{}': No such file or directory"),
    ("--webhook-ca text", f"--webhook-ca: {NO_PEM}CERTIFICATE-----"),
    ("--webhook-ca broken", "--webhook-ca: found an invalid certificate in '{}'"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line(arguments: str, message: str, files: Path) -> None:
    paths = {name: str(files / name) for name in arguments.split()[1::2]} | {"good": CERTIFICATE}
    options = [paths.get(word, word) for word in arguments.split()]
    ended = run("serve", *FREE_PORTS, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"payments-emulator: {message.format(options[-1])}")
    assert ended.stderr.count("\n") == 1


def test_an_unfitting_pair_is_explained_with_both_files(files: Path) -> None:
    with pytest.raises(Exception, match=r"\(key values mismatch\); name a certificate and its"):
        listener_tls(CERTIFICATE, str(files / "other.key"))


# ---- Webhooks


async def attempt(*options: str, logs: Path) -> tuple[int, str]:
    """The status of an attempt to a self-signed endpoint, and what was logged."""
    async with receiving(tls=self_signed()) as receiver:
        with serving("--webhook-url", receiver.url, *options, logs=logs) as server:
            await asyncio.to_thread(server.create)
            path = "/_emulator/deliveries/wait?event=payment.created"
            waited = (await asyncio.to_thread(server.request, "GET", path)).json
            return waited["delivery"]["attempts"][0]["status"], server.stderr


async def test_a_private_authority_of_an_endpoint_is_trusted(tmp_path: Path) -> None:
    status, log = await attempt("--webhook-ca", CERTIFICATE, logs=tmp_path)
    assert status == 200
    assert "WARNING" not in log


async def test_without_verification_each_endpoint_is_trusted_with_a_warning(tmp_path: Path) -> None:
    status, log = await attempt("--webhook-insecure", logs=tmp_path)
    assert status == 200
    assert log.startswith(
        "WARNING --webhook-insecure: the certificates of https webhook endpoints are not verified\n"
    )


@pytest.mark.parametrize("is_insecure", [True, False])
async def test_the_dashboard_says_that_endpoints_are_not_verified(is_insecure: bool) -> None:
    async with world(webhook_insecure=is_insecure) as emulator:
        text = await page(emulator, "payments")
    assert ('data-testid="webhook-insecure"' in text) is is_insecure
