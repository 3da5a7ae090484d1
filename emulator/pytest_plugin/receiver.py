"""Where the webhooks of an account arrive in the test's own process, and whether they are genuine.

It works signatures out by itself (Standard Webhooks 1.0), as a merchant's library does.
"""

import hmac
import json
import socket
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any

MAX_BODY_BYTES = 1024 * 1024

_SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with
_EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - only where the user names the host to be told
_HANDED_ON = ("content-type", "user-agent")
_POLL_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """One webhook as it arrived; `headers` and `body` can be handed on to a test client.

    The names of the headers are in small letters, and those of the transport are left out.
    """

    headers: Mapping[str, str]
    body: bytes
    is_verified: bool

    @property
    def id(self) -> str:
        """The event's id, by which a handler tells what it already knows."""
        return self.headers.get("webhook-id", "")

    @cached_property
    def event(self) -> Mapping[str, Any]:
        """The body; empty where it is no JSON object."""
        try:
            event = json.loads(self.body)
        except ValueError:
            return {}
        return event if isinstance(event, dict) else {}

    @property
    def type(self) -> str:
        return str(self.event.get("type"))

    @property
    def data(self) -> Mapping[str, Any]:
        """The payment as it was then."""
        data = self.event.get("data")
        return data if isinstance(data, dict) else {}

    @property
    def payment(self) -> str | None:
        """The payment's id."""
        return self.data.get("id")

    def __repr__(self) -> str:
        forged = "" if self.is_verified else ", not verified"
        return f"<Webhook {self.type} of {self.payment}{forged}>"


class Inbox:
    """One account's address; `secret` is what signs for it."""

    def __init__(self, url: str, path: str) -> None:
        self.url = url
        self.path = path
        self.secret = ""
        self.webhooks: list[Webhook] = []

    def take(self, headers: Mapping[str, str], body: bytes) -> None:
        signed = f"{headers.get('webhook-id')}.{headers.get('webhook-timestamp')}.".encode() + body
        expected = signature(self.secret, signed).encode()
        given = headers.get("webhook-signature", "").split(" ")
        self.webhooks.append(
            Webhook(
                headers=headers,
                body=body,
                is_verified=any(hmac.compare_digest(one.encode(), expected) for one in given),
            )
        )


def signature(secret: str, signed: bytes) -> str:
    """The one signature that is right for `id.timestamp.body`."""
    key = b64decode(secret.removeprefix(_SECRET_PREFIX))
    return f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode('ascii')}"


class Receiver:
    """Receives on a free port of an address of this machine.

    With a `told_host` it receives on every address, and that is the host of the URLs.
    """

    def __init__(self, host: str, told_host: str | None) -> None:
        self._inboxes: dict[str, Inbox] = {}
        self._numbers = count(1)
        address = host if told_host is None else _EVERY_ADDRESS
        self._server = _Server(address, self._inboxes)
        self.base_url = f"http://{_authority(told_host or host, self._server.server_port)}"
        self._thread = Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="payments webhooks"
        )
        # It must not keep alive a process in which nobody got as far as closing it.
        self._thread.daemon = True
        self._thread.start()

    def open_inbox(self) -> Inbox:
        path = f"/{next(self._numbers)}"
        inbox = self._inboxes[path] = Inbox(self.base_url + path, path)
        return inbox

    def close_inbox(self, inbox: Inbox) -> None:
        self._inboxes.pop(inbox.path, None)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    # So that closing it waits for those that are at it, and none is left with an open socket.
    daemon_threads = False

    def __init__(self, host: str, inboxes: Mapping[str, Inbox]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.inboxes = inboxes
        super().__init__((host, 0), _Handler)

    def server_bind(self) -> None:
        """Without the usual look for this machine's name, which may take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.socket.getsockname()[:2]


class _Handler(BaseHTTPRequestHandler):
    timeout = 15
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        inbox = self.server.inboxes.get(self.path)
        if inbox is None or not 0 <= length <= MAX_BODY_BYTES:
            self._answer(404)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        handed_on = {
            name: value
            for name, value in headers.items()
            if name in _HANDED_ON or name.startswith("webhook-")
        }
        inbox.take(handed_on, self.rfile.read(length))
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """What arrives is for the test to look at, and no news on stderr."""


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
