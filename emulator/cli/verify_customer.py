"""The customer of `verify --customer`: the person at the terminal, and the webhooks of a run."""

import asyncio
import os
from collections import deque
from contextlib import AsyncExitStack, suppress
from threading import Thread

from emulator.cli.output import cli_error, write, write_lines
from emulator.clock import SystemClock
from emulator.domain.webhook_forms import WebhookForm
from emulator.http.received_webhooks import ReceivedRequest, ReceivedWebhook, WebhookReceiver
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.tools.verify.session import CollectedWebhooks

MAX_LINE_BYTES = 4_096
MAX_WEBHOOKS = 1_000
LOOPBACK = "127.0.0.1"


class TerminalCustomer:
    """Prints instructions and reads lines of standard input.

    A thread reads them, which the program does not wait for: nothing else ends a read of a
    terminal, a pipe or a file on every platform.
    """

    def __init__(self, wall: SystemClock, *, max_wait_ms: int) -> None:
        self.max_wait_ms = max_wait_ms
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._lines: deque[str] = deque(maxlen=1)
        self._has_ended = False
        self._changed = asyncio.Event()
        Thread(target=self._read, daemon=True).start()

    async def instruct(self, *lines: str) -> None:
        write_lines(("", *lines))

    async def ask(self, question: str) -> str | None:
        # A line from before the question is no answer to it.
        self._lines.clear()
        write(question)
        until = self._wall.now_ms() + self.max_wait_ms
        while not (self._lines or self._has_ended) and self._wall.now_ms() < until:
            await self._wall.wait(self._changed, until=until)
            self._changed.clear()
        return self._lines.popleft().strip() if self._lines else None

    def _read(self) -> None:
        line = b""
        # RuntimeError: the loop is closed.
        with suppress(OSError, RuntimeError):
            while part := os.read(0, MAX_LINE_BYTES):
                *ended, line = (line + part).split(b"\n")
                line = line[-MAX_LINE_BYTES:]
                if ended:
                    self._lines.append(ended[-1].decode(errors="replace"))
                    self._loop.call_soon_threadsafe(self._changed.set)
            self._has_ended = True
            self._loop.call_soon_threadsafe(self._changed.set)


async def receive_webhooks(
    customer: TerminalCustomer, port: int, form: WebhookForm, stack: AsyncExitStack
) -> CollectedWebhooks:
    """Receive webhooks at a port in a form. Raises UserError."""
    receiver = await stack.enter_async_context(WebhookReceiver())
    try:
        await receiver.listen(LOOPBACK, port)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        cli_error(f"flag --webhook-port: cannot listen on {port}: {reason}")
    received: deque[ReceivedWebhook] = deque(maxlen=MAX_WEBHOOKS)
    form_json = webhook_form_json(form)

    def receive(request: ReceivedRequest) -> None:
        received.append(request.read(form_json))

    url = f"{receiver.base_url}{receiver.register(receive)}"
    await customer.instruct(
        f"Register {url} with the service as the URL for webhooks,",
        "or the URL of a tunnel to it, if the service cannot reach this machine.",
    )
    secret = ""
    if form.is_signed:
        question = "Enter the endpoint's secret, or an empty line if it has no secret: "
        secret = await customer.ask(question) or ""
    if secret and (problem := form.signature.secret_problem(secret)):
        cli_error(f"the secret does not fit the format '{form.name}': expected {problem}")
    return CollectedWebhooks(received=received, secret=secret, form=form)
