"""What a developer is told when a webhook does not arrive; most of it really happens here."""

import asyncio
import errno
import os
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

import httpx
import pytest

from emulator.domain.webhooks import AttemptResult, WebhookRequest, WebhookResponse
from emulator.http.failures import RequestStage
from emulator.settings import parse_url
from emulator.webhooks.diagnosis import (
    Diagnosis,
    FailedRequest,
    diagnose_failure,
    diagnose_response,
    diagnose_timeout,
)
from emulator.webhooks.sender import TIMEOUT_S, Sender
from tests.webhooks.receiver import (
    HANG_UP,
    NEVER,
    SELF_SIGNED,
    Reply,
    Verbatim,
    receiving,
    self_signed,
)
from tests.world import ManualClock

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def sending(*, is_in_container: bool = False) -> AsyncIterator[Sender]:
    sender = Sender(ManualClock(), is_in_container=is_in_container)
    try:
        yield sender
    finally:
        await sender.close()


async def tried(url: str, *, is_in_container: bool = False) -> AttemptResult:
    async with sending(is_in_container=is_in_container) as sender:
        return await sender.send(WebhookRequest(url=url, headers=(), body=b"{}"))


async def failed(url: str, *, is_in_container: bool = False) -> Diagnosis:
    """What is said of an attempt that got no response."""
    result = await tried(url, is_in_container=is_in_container)
    assert result.response is None
    assert result.error is not None
    assert result.cause is not None
    return well_said(Diagnosis(error=result.error, cause=result.cause))


def diagnosed(
    failure: Exception,
    url: str,
    *,
    stage: RequestStage = RequestStage.CONNECTING,
    is_in_container: bool = False,
) -> Diagnosis:
    at = FailedRequest(url=url, stage=stage, is_in_container=is_in_container)
    return well_said(diagnose_failure(failure, at))


def well_said(diagnosis: Diagnosis) -> Diagnosis:
    """A phrase, and one sentence."""
    assert not diagnosis.error.endswith((".", "?"))
    assert diagnosis.cause.endswith((".", "?"))
    assert re.search(r"[.?!] [A-Z]", diagnosis.cause) is None
    return diagnosis


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[int]:
    """The port of a server that need not speak HTTP; each conversation ends by itself."""
    conversations: list[asyncio.Task[None]] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(
        lambda *streams: conversations.append(asyncio.create_task(converse(*streams))),
        "127.0.0.1",
        0,
    )
    async with server, asyncio.timeout(60):
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*conversations)


async def test_at_a_closed_port_nothing_listens() -> None:
    port = closed_port()
    said = await failed(f"http://127.0.0.1:{port}/hook")
    assert said.error == "connection refused"
    assert said.cause == (
        f"Nothing listens on 127.0.0.1:{port}: is the server started, and on that port?"
    )


async def test_a_name_with_several_addresses_is_refused_by_all_of_them() -> None:
    said = await failed(f"https://localhost:{closed_port()}/")
    assert said.error == "connection refused"


def test_on_another_machine_a_server_may_listen_for_itself_alone() -> None:
    said = diagnosed(ConnectionRefusedError(), "http://shop:8000/")
    assert "Nothing listens on shop:8000" in said.cause
    assert "0.0.0.0 rather than 127.0.0.1" in said.cause


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0.0.0.0"])  # noqa: S104
async def test_in_a_container_localhost_is_the_container(host: str) -> None:
    port = closed_port()
    said = await failed(f"http://{host}:{port}/hook?a=b", is_in_container=True)
    assert said.error == "connection refused"
    assert f"In a container {host} is the container itself" in said.cause
    assert f"register http://host.docker.internal:{port}/hook?a=b for a server" in said.cause
    assert "--add-host=host.docker.internal:host-gateway" in said.cause
    assert "host.containers.internal" in said.cause
    assert "its service in Compose" in said.cause


def test_in_a_container_without_ipv6_localhost_is_the_container_too() -> None:
    failure = httpx.ConnectError("All connection attempts failed")
    failure.__cause__ = OSError(errno.EADDRNOTAVAIL, "Connect call failed")
    said = diagnosed(failure, "https://[::1]:3000/", is_in_container=True)
    assert said.error == f"not connected: {os.strerror(errno.EADDRNOTAVAIL).lower()}"
    assert "register https://host.docker.internal:3000/ for" in said.cause


async def test_in_a_container_what_answers_on_localhost_is_judged_as_anywhere() -> None:
    async with receiving(lambda _: HANG_UP) as receiver:
        said = await failed(receiver.url, is_in_container=True)
    assert "container" not in said.cause


async def test_a_name_that_nobody_has_is_not_found() -> None:
    said = await failed("https://no-such-host.invalid/hook")
    assert said.error == "name not found: no-such-host.invalid"
    assert "spelled right" in said.cause


@pytest.mark.parametrize(
    ("host", "is_in_container", "remedy"),
    [
        ("shop", False, "register http://localhost:3000/hook with the published port"),
        ("shop", True, "the name of a service in the same Compose project"),
        ("host.docker.internal", True, "--add-host=host.docker.internal:host-gateway"),
        ("host.docker.internal", False, "Podman calls it host.containers.internal"),
        ("host.containers.internal", True, "--add-host=host.docker.internal:host-gateway"),
    ],
)
def test_a_name_of_containers_is_known_only_among_them(
    host: str, is_in_container: bool, remedy: str
) -> None:
    said = diagnosed(
        socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
        f"http://{host}:3000/hook",
        is_in_container=is_in_container,
    )
    assert said.error == f"name not found: {host}"
    assert remedy in said.cause


async def test_a_certificate_that_nobody_has_signed_is_not_trusted() -> None:
    async with receiving(tls=self_signed()) as receiver:
        said = await failed(receiver.url)
        assert receiver.received == []
    assert said.error == "certificate not trusted: self-signed certificate"
    assert "SSL_CERT_FILE" in said.cause


async def test_a_certificate_that_is_named_here_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    async with receiving(tls=self_signed()) as receiver:
        result = await tried(receiver.url)
    assert result.has_succeeded


async def test_a_certificate_for_another_name_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    async with receiving(tls=self_signed()) as receiver:
        said = await failed(receiver.url.replace("localhost", "127.0.0.1"))
    assert said.error.startswith("certificate not trusted: ")
    assert "127.0.0.1" in said.error
    assert "made for another name" in said.cause


@pytest.mark.parametrize("verify_code", [9, 10])
def test_a_certificate_out_of_date_is_not_trusted(verify_code: int) -> None:
    failure = ssl.SSLCertVerificationError()
    failure.verify_code = verify_code
    failure.verify_message = "certificate has expired"
    said = diagnosed(failure, "https://shop.example/", stage=RequestStage.TLS_HANDSHAKE)
    assert said.error == "certificate not trusted: certificate has expired"
    assert "renew it" in said.cause


async def test_a_port_that_speaks_plain_http_is_no_https() -> None:
    async with receiving() as receiver:
        said = await failed(receiver.url.replace("http:", "https:"))
    assert said.error == "no TLS spoken there"
    assert f"register {receiver.url}, or" in said.cause


async def test_a_port_that_speaks_tls_is_no_http() -> None:
    async with receiving(tls=self_signed()) as receiver:
        url = receiver.url.replace("https:", "http:")
        said = await failed(url)
    assert said.error in {"the answer was not HTTP", "connection closed without an answer"}
    assert f"or the port speaks TLS and wants {receiver.url}." in said.cause


def test_two_sides_may_have_no_tls_in_common() -> None:
    failure = ssl.SSLError(1, "[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version")
    failure.reason = "TLSV1_ALERT_PROTOCOL_VERSION"
    said = diagnosed(failure, "https://shop.example/", stage=RequestStage.TLS_HANDSHAKE)
    assert said.error == "TLS handshake failed: tlsv1 alert protocol version"
    assert "shop.example:443" in said.cause


async def test_a_server_that_hangs_up_on_a_tls_greeting_may_speak_http() -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read(65_536)

    async with serving(serve) as port:
        said = await failed(f"https://127.0.0.1:{port}/hook")
    assert said.error == "connection closed in the TLS handshake"
    assert f"wants http://127.0.0.1:{port}/hook." in said.cause


async def test_a_server_that_hangs_up_is_told_from_one_that_refuses() -> None:
    async with receiving(lambda _: HANG_UP) as receiver:
        said = await failed(receiver.url)
        assert len(receiver.received) == 1
    assert said.error == "connection closed without an answer"
    assert "its log may tell" in said.cause


async def test_a_server_that_hangs_up_over_tls_is_not_told_to_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(SELF_SIGNED))
    async with receiving(lambda _: HANG_UP, tls=self_signed()) as receiver:
        said = await failed(receiver.url)
    assert said.error == "connection closed without an answer"
    assert "TLS" not in said.cause


@pytest.mark.parametrize(
    ("scheme", "error"),
    [
        ("http", "connection closed without an answer"),
        ("https", "connection closed in the TLS handshake"),
    ],
)
async def test_a_server_that_resets_the_connection_has_hung_up(scheme: str, error: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        # With no time to linger, closing is a reset.
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with serving(serve) as port:
        said = await failed(f"{scheme}://127.0.0.1:{port}/")
    assert said.error == error


@pytest.mark.parametrize(
    "raw",
    [
        b"220 shop ESMTP ready\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: smoke\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
    ],
)
async def test_an_answer_that_is_not_http_is_none(raw: bytes) -> None:
    async def garbage() -> AsyncIterator[bytes]:
        yield raw

    async with receiving(lambda _: Verbatim(parts=garbage())) as receiver:
        said = await failed(receiver.url)
    assert said.error == "the answer was not HTTP"


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://shop.example/hook", "register https://shop.example/hook if"),
        ("/hook/", "register http://127.0.0.1:3000/hook/ if"),
        ("http://[broken", "register http://[broken if"),
        (None, "does not even say where to"),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_names_where_it_leads(status: int, location: str | None, named: str) -> None:
    headers = () if location is None else (("Location", location),)
    response = WebhookResponse(status=status, headers=headers)
    said = diagnose_response(response, "http://127.0.0.1:3000/hook")
    assert said is not None
    assert well_said(said).error == "redirect not followed"
    assert named in said.cause


async def test_a_redirect_is_kept_as_the_response_that_it_is() -> None:
    """Even with a location that httpx would fail over."""
    redirect = Reply(status=302, headers={"Location": "http://[broken"}, body=b"there")
    async with receiving(lambda _: redirect) as receiver:
        result = await tried(receiver.url)
    assert result.response is not None
    assert (result.response.status, result.response.body) == (302, "there")
    assert result.error == "redirect not followed"


@pytest.mark.parametrize("status", [200, 204, 300, 304, 402, 429, 503])
def test_what_is_no_redirect_speaks_for_itself(status: int) -> None:
    response = WebhookResponse(status=status, headers=(("location", "/there"),))
    assert diagnose_response(response, "http://shop/") is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 415, 422, 500])
def test_a_refusal_is_no_error_but_has_a_likely_cause(status: int) -> None:
    said = diagnose_response(WebhookResponse(status=status), "http://shop/")
    assert said is not None
    assert said.error is None
    assert said.cause[0].isupper()
    assert said.cause.endswith((".", "?"))


async def timed_out(url: str, started: Awaitable[object]) -> AttemptResult:
    """What comes of an attempt when its time is over once that has happened."""
    wall = ManualClock()
    sender = Sender(wall, is_in_container=False)
    task = asyncio.create_task(sender.send(WebhookRequest(url=url, headers=(), body=b"{}")))
    await started
    wall.move(TIMEOUT_S * 1_000)
    result = await task
    await sender.close()
    return result


async def test_an_endpoint_that_keeps_silent_should_answer_first() -> None:
    async with receiving(lambda _: NEVER) as receiver:
        result = await timed_out(receiver.url, receiver.wait_for(1))
    assert result.error == "timed out after 15 s"
    assert result.cause is not None
    assert "answer with 2xx first and work afterwards" in result.cause


async def test_a_server_that_keeps_silent_on_a_tls_greeting_may_speak_http() -> None:
    is_greeted = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        is_greeted.set()
        await reader.read()

    async with serving(serve) as port:
        result = await timed_out(f"https://127.0.0.1:{port}/", is_greeted.wait())
    assert result.error == "timed out after 15 s in the TLS handshake"
    assert result.cause is not None
    assert f"does it want http://127.0.0.1:{port}/?" in result.cause


@pytest.mark.parametrize(
    ("stage", "error"),
    [
        (RequestStage.RESOLVING, "timed out after 15 s looking up shop.example"),
        (RequestStage.CONNECTING, "timed out after 15 s while connecting"),
        (RequestStage.TLS_HANDSHAKE, "timed out after 15 s in the TLS handshake"),
        (RequestStage.AWAITING_RESPONSE, "timed out after 15 s"),
    ],
)
def test_a_timeout_is_told_by_what_took_so_long(stage: RequestStage, error: str) -> None:
    at = FailedRequest(url="https://shop.example/{}", stage=stage, is_in_container=False)
    assert well_said(diagnose_timeout(at, TIMEOUT_S)).error == error


@pytest.mark.parametrize(
    "url",
    [
        "http://1.2.3.999/",
        "http://[v1.a]/",
        "http://ሀ..com/",
        "http://-ሀ-.com/",
        f"http://{'ሀ' * 70}.com/",
    ],
)
async def test_an_address_that_may_be_registered_need_not_be_usable(url: str) -> None:
    said = await failed(parse_url(url))
    assert said.error.startswith("address not usable: ")


@pytest.mark.parametrize("url", [f"http://{'a' * 64}.invalid/", "http://a..invalid/", "http://%/"])
async def test_an_address_with_an_impossible_name_is_not_found(url: str) -> None:
    said = await failed(parse_url(url))
    assert said.error.startswith("name not found: ")


def test_a_host_without_a_way_to_it_is_not_connected() -> None:
    failure = httpx.ConnectError("All connection attempts failed")
    failure.__context__ = OSError(errno.EHOSTUNREACH, "Connect call failed")
    said = diagnosed(failure, "http://10.1.2.3/")
    assert said.error == f"not connected: {os.strerror(errno.EHOSTUNREACH).lower()}"
    assert "10.1.2.3:80" in said.cause


def test_a_program_without_files_left_to_open_is_its_own_cause() -> None:
    failure = httpx.ConnectError("All connection attempts failed")
    failure.__cause__ = OSError(errno.EMFILE, "Too many open files")
    assert "ulimit -n" in diagnosed(failure, "http://10.1.2.3/").cause


def test_a_failure_without_a_reason_is_still_one() -> None:
    said = diagnosed(httpx.ConnectError("All connection attempts failed"), "http://10.1.2.3/")
    assert said.error == "not connected: unknown reason"
