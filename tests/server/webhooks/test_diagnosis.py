"""Errors and causes of webhooks that fail; most of the failures are real."""

import asyncio
import errno
import os
import re
import socket
import ssl
import struct

import pytest

from emulator.domain.hosts import parse_url
from emulator.domain.webhooks import MAX_TIMEOUT_MS, AttemptResult, WebhookRequest, WebhookResponse
from emulator.http.diagnosis import (
    Diagnosis,
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)
from emulator.http.exchange import MAX_RESPONSE_BYTES, Sender
from emulator.http.failures import RequestStage
from tests.cli.processes import free_port
from tests.server.webhooks.receiver import (
    HANG_UP,
    SELF_SIGNED,
    Response,
    Serve,
    receiving,
    replies,
    self_signed,
    serving,
)
from tests.world import ManualClock


async def attempt(url: str, *, is_in_container: bool = False) -> AttemptResult:
    sender = Sender(ManualClock(), is_in_container=is_in_container)
    try:
        return await sender.send(WebhookRequest(url=url, headers=(), body=b"{}"))
    finally:
        await sender.close()


async def failed(url: str, *, is_in_container: bool = False) -> Diagnosis:
    """The diagnosis of an attempt without a response."""
    result = await attempt(url, is_in_container=is_in_container)
    assert result.response is None
    assert result.cause is not None
    return well_formed(Diagnosis(error=result.error, cause=result.cause))


def well_formed(diagnosis: Diagnosis) -> Diagnosis:
    """A phrase, and one sentence."""
    assert diagnosis.error is not None
    assert not diagnosis.error.endswith((".", "?"))
    assert diagnosis.cause.endswith((".", "?"))
    assert re.search(r"[.?!] [A-Z]", diagnosis.cause) is None
    return diagnosis


# ---- Exceptions


def not_connected(number: int | None) -> OSError:
    """Of the loop with several addresses, an exception has no number."""
    return OSError() if number is None else OSError(number, "Connect call failed")


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


def out_of_date() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError()
    error.verify_message = "certificate has expired"
    return error


NO_NAME = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
NO_ROUTE = os.strerror(errno.EHOSTUNREACH).lower()
NO_FILES = os.strerror(errno.EMFILE).lower()
NO_ADDRESS = os.strerror(errno.EADDRNOTAVAIL).lower()
ADD_HOST = "--add-host=host.docker.internal:host-gateway"
DOCKER, PODMAN = "host.docker.internal", "host.containers.internal"


@pytest.mark.parametrize(
    ("failure", "host", "is_in_container", "error", "cause"),
    [
        (ConnectionRefusedError(), "shop", False, "connection refused", "0.0.0.0 rather than 127"),
        (not_connected(errno.EHOSTUNREACH), "a.b", False, f"not connected: {NO_ROUTE}", "a.b:3000"),
        (not_connected(errno.EMFILE), "a.b", False, f"not connected: {NO_FILES}", "ulimit -n"),
        (not_connected(None), "a.b", False, "not connected: unknown reason", "a.b:3000"),
        (
            not_connected(errno.EADDRNOTAVAIL),
            "[::1]",
            True,
            f"not connected: {NO_ADDRESS}",
            "register http://host.docker.internal:3000/hook for",
        ),
        (out_of_date(), "a.b", False, "certificate not trusted: certificate has", "valid at the"),
        (tls_error("NO_SHARED_X"), "a.b", False, "TLS handshake failed: no shared x", "a.b:3000"),
        (NO_NAME, "shop", False, "name not found: shop", "http://localhost:3000/hook with the pub"),
        (NO_NAME, "shop", True, "name not found: shop", "a service in the same Compose project"),
        (NO_NAME, DOCKER, True, f"name not found: {DOCKER}", ADD_HOST),
        (NO_NAME, DOCKER, False, f"name not found: {DOCKER}", f"Podman calls it {PODMAN}"),
        (NO_NAME, PODMAN, True, f"name not found: {PODMAN}", ADD_HOST),
    ],
)
def test_an_exception_is_explained_by_its_kind_and_its_host(
    failure: Exception, host: str, is_in_container: bool, error: str, cause: str
) -> None:
    url, stage = f"http://{host}:3000/hook", RequestStage.CONNECTING
    at = FailedRequest(url=url, stage=stage, is_in_container=is_in_container)
    diagnosis = well_formed(diagnose_failure(failure, at))
    assert diagnosis.error is not None
    assert diagnosis.error.startswith(error)
    assert cause in diagnosis.cause


@pytest.mark.parametrize(
    ("stage", "error"),
    [
        (RequestStage.RESOLVING, "timed out after 15 s looking up shop.example"),
        (RequestStage.CONNECTING, "timed out after 15 s while connecting"),
        (RequestStage.TLS_HANDSHAKE, "timed out after 15 s in the TLS handshake"),
        (RequestStage.AWAITING_RESPONSE, "timed out after 15 s"),
    ],
)
def test_a_timeout_names_the_stage(stage: RequestStage, error: str) -> None:
    at = FailedRequest(url="https://shop.example/{}", stage=stage, is_in_container=False)
    assert well_formed(diagnose_timeout(at, MAX_TIMEOUT_MS)).error == error


# ---- Names and ports


async def test_a_closed_port_is_refused() -> None:
    port = free_port()
    diagnosis = await failed(f"http://127.0.0.1:{port}/hook")
    assert diagnosis.error == "connection refused"
    assert diagnosis.cause == (
        f"Nothing listens on 127.0.0.1:{port}: has the server started, on that port?"
    )


async def test_a_closed_port_of_a_name_with_several_addresses_is_refused() -> None:
    assert (await failed(f"https://localhost:{free_port()}/")).error == "connection refused"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0"])  # noqa: S104
async def test_in_a_container_localhost_is_the_container(host: str) -> None:
    port = free_port()
    diagnosis = await failed(f"http://{host}:{port}/hook?a=b", is_in_container=True)
    assert diagnosis.error == "connection refused"
    assert f"Nothing listens on {host}:{port} in this container" in diagnosis.cause
    assert f"register http://host.docker.internal:{port}/hook?a=b for a server" in diagnosis.cause
    assert "--add-host=host.docker.internal:host-gateway" in diagnosis.cause
    assert "host.containers.internal" in diagnosis.cause
    assert "its service in Compose" in diagnosis.cause


async def test_in_a_container_a_failure_after_connecting_has_the_usual_cause() -> None:
    async with receiving(replies(HANG_UP)) as receiver:
        diagnosis = await failed(receiver.url, is_in_container=True)
    assert "container" not in diagnosis.cause


@pytest.mark.parametrize(
    "url",
    [
        "https://no-such-host.invalid/hook",
        f"http://{'a' * 64}.invalid/",
        f"http://{'ሀ' * 70}.invalid/",
        "http://a..invalid/",
        "http://ሀ..invalid/",
        "http://%/",
    ],
)
async def test_an_unknown_or_impossible_name_is_not_found(url: str) -> None:
    diagnosis = await failed(parse_url(url))
    assert diagnosis.error is not None
    assert diagnosis.error.startswith("name not found: ")
    assert ("host name correct" in diagnosis.cause) is ("." in diagnosis.error)


@pytest.mark.parametrize(
    "url", ["http://1.2.3.999/", "http://[v1.a]/", "http://ሀ⒈.invalid/", "http://אa.invalid/"]
)
async def test_an_address_can_be_registered_and_unusable(url: str) -> None:
    diagnosis = await failed(parse_url(url))
    assert diagnosis.error is not None
    assert diagnosis.error.startswith("address not usable: ")


# ---- TLS


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver's certificate is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_of_a_configured_authority_is_trusted() -> None:
    async with receiving(tls=self_signed()) as receiver:
        assert (await attempt(receiver.url)).error is None


async def test_an_unknown_certificate_is_not_trusted() -> None:
    async with receiving(tls=self_signed()) as receiver:
        diagnosis = await failed(receiver.url)
        assert receiver.received == []
    assert diagnosis.error == "certificate not trusted: self-signed certificate"
    assert "--webhook-ca" in diagnosis.cause


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("is_tls", "old", "new", "error", "cause"),
    [
        (
            *(True, "localhost", "127.0.0.1", r"certificate not trusted: .*127\.0\.0\.1.*"),
            "must be for 127.0.0.1",
        ),
        (False, "http:", "https:", "TLS handshake failed: .*", "(then register {url})"),
        (
            True,
            "https:",
            "http:",
            "the response was not HTTP|connection closed without a response",
            "or the port uses TLS: then register {url}.",
        ),
    ],
    ids=["other name", "https at a port of http", "http at a port of https"],
)
async def test_a_wrong_address_of_a_server_is_recognised(
    is_tls: bool, old: str, new: str, error: str, cause: str
) -> None:
    async with receiving(tls=self_signed() if is_tls else None) as receiver:
        diagnosis = await failed(receiver.url.replace(old, new))
    assert diagnosis.error is not None
    assert re.fullmatch(error, diagnosis.error)
    assert cause.format(url=receiver.url) in diagnosis.cause


# ---- Connections that end


async def read_and_close(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(65_536)


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(1)
    # With no time to linger, closing is a reset.
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


@pytest.mark.parametrize("serve", [read_and_close, reset])
@pytest.mark.parametrize(
    ("scheme", "error", "cause"),
    [
        ("http", "connection closed without a response", "see its log, or the port uses TLS"),
        ("https", "connection closed in the TLS handshake", "(then register http://127.0.0.1:"),
    ],
)
async def test_a_closed_connection_is_explained_by_its_stage(
    serve: Serve, scheme: str, error: str, cause: str
) -> None:
    async with serving(serve) as port:
        diagnosis = await failed(f"{scheme}://127.0.0.1:{port}/hook")
    assert diagnosis.error == error
    assert cause in diagnosis.cause


@pytest.mark.usefixtures("trusted")
async def test_a_server_that_speaks_tls_is_not_advised_to_use_it() -> None:
    async with receiving(replies(HANG_UP), tls=self_signed()) as receiver:
        diagnosis = await failed(receiver.url)
    assert diagnosis.error == "connection closed without a response"
    assert "TLS" not in diagnosis.cause


@pytest.mark.parametrize(
    "raw",
    [
        b"220 shop ESMTP ready\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: smoke\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * MAX_RESPONSE_BYTES + b"\r\n\r\n",
    ],
)
async def test_a_response_that_is_not_http_is_an_error(raw: Response) -> None:
    async with receiving(replies(raw)) as receiver:
        assert (await failed(receiver.url)).error == "the response was not HTTP"


# ---- Responses


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://shop.example/hook", "register https://shop.example/hook if"),
        ("/hook/", "register http://127.0.0.1:3000/hook/ if"),
        ("http://[broken", "register http://[broken if"),
        (None, "no Location header"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_explained_with_its_target(
    status: int, location: str | None, named: str
) -> None:
    headers = () if location is None else (("Location", location),)
    response = WebhookResponse(status=status, headers=headers)
    diagnosis = diagnose_response(response, "http://127.0.0.1:3000/hook")
    assert diagnosis is not None
    assert well_formed(diagnosis).error == "redirect not followed"
    assert named in diagnosis.cause


@pytest.mark.parametrize("status", [200, 204, 300, 304, 402, 429, 503])
def test_other_statuses_have_no_diagnosis(status: int) -> None:
    response = WebhookResponse(status=status, headers=(("location", "/there"),))
    assert diagnose_response(response, "http://shop/") is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 415, 422, 500])
def test_an_error_status_has_a_likely_cause(status: int) -> None:
    diagnosis = diagnose_response(WebhookResponse(status=status), "http://shop/")
    assert diagnosis is not None
    assert diagnosis.error is None
    assert diagnosis.cause[0].isupper()
    assert diagnosis.cause.endswith((".", "?"))
