"""HTTPS on both listeners, and webhooks to endpoints with certificates of a private authority."""

import json
import socket
import ssl
from pathlib import Path

import httpx
import pytest

from emulator.http.tls import MAX_PEM_BYTES
from tests.cli.processes import FREE_PORTS, HANGS_AFTER_S, run, serving
from tests.server.webhooks.receiver import SELF_SIGNED
from tests.world import headers, order

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


# ---- Both listeners


def test_every_address_is_https_and_a_client_that_verifies_reaches_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    with (
        serving(*TLS, "--ready-file", str(ready), logs=tmp_path) as server,
        httpx.Client(verify=TRUSTED, timeout=HANGS_AFTER_S) as client,
    ):
        api, checkout = (f"https://localhost:{p}" for p in (server.api_port, server.checkout_port))
        for line in (f"API         {api}\n", f"Checkout    {checkout}\n", f"{api}/_emulator\n"):
            assert line in server.banner
        assert json.loads(ready.read_text())["api"] == api
        assert json.loads(ready.read_text())["checkout"] == checkout
        created = client.post(f"{api}/v1/payments", json=order(), headers=headers())
        assert created.status_code == 201
        assert created.json()["checkout_url"].startswith(f"{checkout}/c/")
        assert 'data-testid="simulation"' in client.get(created.json()["checkout_url"]).text
        assert client.get(f"{api}/_emulator/").json()["api"] == f"{api}/v1"


def plain(port: int) -> socket.socket:
    """A connection without TLS."""
    return socket.create_connection(("localhost", port), timeout=HANGS_AFTER_S)


def encrypted(port: int) -> ssl.SSLSocket:
    return TRUSTED.wrap_socket(plain(port), server_hostname="localhost")


def test_it_ends_in_time_with_any_connection(tmp_path: Path) -> None:
    request = b"GET /v1/payments HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(*TLS, logs=tmp_path) as server:
        port = server.api_port
        with plain(port), plain(port) as begun, encrypted(port) as idle, encrypted(port) as ended:
            begun.sendall(b"\x16\x03\x01")
            idle.sendall(request)
            assert idle.recv(1_000).startswith(b"HTTP/1.1 401 Unauthorized\r\n")
            ended.unwrap()
            assert server.stop() == 0
        [line] = server.stderr.splitlines()
    assert " GET /v1/payments 401 " in line


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
    (
        "--tls-cert good --tls-key other.key",
        f"--tls-key: the key in '{{}}' does not fit the certificate in '{CERTIFICATE}' (key values"
        " mismatch); name a certificate and its",
    ),
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
