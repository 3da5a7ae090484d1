"""The command `verify`, which compares a service with the contract."""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import click

from emulator.cli.emulator_options import base_url
from emulator.cli.event_loop import SIGNAL_CODE, run_loop
from emulator.cli.output import (
    JSON_OPTION,
    PROGRAM,
    REPORT_OPTION,
    STDOUT,
    ProgressLine,
    cli_error,
    console_paint,
    is_terminal,
    number_within,
    parsed_by,
    write,
    write_coloured,
    write_file,
    write_json,
    write_lines,
)
from emulator.clock import RealClock, SystemClock
from emulator.domain.clauses import CLAUSES
from emulator.domain.durations import parse_duration_ms
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.http.received_webhooks import ReceivedRequest, ReceivedWebhook, WebhookReceiver
from emulator.scenarios.webhook_form_file import load_webhook_form, webhook_form_json
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.verify.client import HttpTransport, ServiceClient
from emulator.tools.verify.comparison import Comparison, check_service, compare, compare_recording
from emulator.tools.verify.report import (
    DEFAULT_WIDTH,
    comparison_html,
    comparison_json,
    comparison_lines,
    incompleteness,
)
from emulator.tools.verify.session import CollectedWebhooks, Session

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


_TEST = "test_"
_LIVE = "live_"
_HAS_DRIFTED = 1
_IS_INCOMPLETE = 2
DEFAULT_MAX_WAIT_MS = 180_000
MAX_PORT = 65_535
# The paths of the contract begin with it: a base URL that ends with it contains it twice.
_VERSION = re.compile(r"/v1(?:/payments)?/*$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The options of a run."""

    base_url: str
    key: str
    other_key: str | None
    accepted: frozenset[str]
    has_customer: bool = False
    max_wait_ms: int = DEFAULT_MAX_WAIT_MS
    webhook_port: int | None = None
    webhook_form: WebhookForm = STANDARD


class VerifyProgress:
    """A line of a terminal that shows the current check, or that the command waits after a 429."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._check = ""

    def checked(self, done: int, total: int) -> None:
        self._check = f"check {done} of {total}" if done < total else ""
        self._show(self._check)

    def waiting(self, seconds: int) -> None:
        """Show the length of a wait; 0 ends it."""
        self._show(f"waiting {seconds} s: the service said 429" if seconds else self._check)

    def end(self) -> None:
        """Leave an empty line for the next output."""
        self._show("")


@click.command()
@click.option(
    "--base-url", "url", metavar="URL", help="URL of the service; required without --har."
)
@click.option("--key", metavar="KEY", help="A test_ key of the service; required without --har.")
@click.option(
    "--har",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Recorded exchanges to compare, instead of a service; the options --base-url and --key"
    " are then needed only to choose among several.",
)
@click.option("--other-key", metavar="KEY", help="A test_ key of another account.")
@click.option(
    "--accept",
    "accepted",
    metavar="NUMBER",
    multiple=True,
    help="Clause with a known drift, which does not change the exit code; repeatable.",
)
@JSON_OPTION
@REPORT_OPTION
@click.option(
    "--customer",
    "has_customer",
    is_flag=True,
    help="Ask for payments, which you make in a browser.",
)
@click.option(
    "--max-time",
    metavar="DURATION",
    callback=parsed_by(parse_duration_ms),
    show_default="3m",
    help="Maximum time of each payment of --customer, such as 60s.",
)
@click.option(
    "--webhook-port",
    metavar="PORT",
    type=str,
    callback=number_within(int, 0, MAX_PORT),
    help="Port of this machine that receives webhooks, with --customer; 0 is any free port.",
)
@click.option(
    "--webhook-format",
    metavar="NAME_OR_FILE",
    show_default="standard",
    help="Expected form of the webhooks, as for `serve`, with --webhook-port.",
)
@click.option("--i-know", is_flag=True, help="Accept live_ keys; no payment is paid.")
def verify(
    url: str | None,
    key: str | None,
    har: Path | None,
    other_key: str | None,
    accepted: tuple[str, ...],
    has_customer: bool,
    max_time: int | None,
    webhook_port: int | None,
    webhook_format: str | None,
    i_know: bool,
    **files: Path | None,
) -> int:
    """Compare a service with the contract, clause by clause.

    The command creates about fifteen payments of 1 ETB, which stay pending, and pays none of them;
    with --customer, you pay seven more. After a 429 the command waits, at most a minute in total.
    """
    if files["report"] is not None and files["report"] in (STDOUT, files["json"]):
        cli_error("flag --report: expected a file of its own")
    base = None if url is None else base_url("--base-url", _VERSION.sub("", url))
    if har is not None:
        if other_key is not None or has_customer or webhook_port is not None:
            cli_error("flag --har: a recording needs no --other-key, --customer or --webhook-port")
        return _end(_recorded_comparison(har, base, key, _accepted(accepted)), **files)
    if base is None or key is None:
        missing = "--base-url" if base is None else "--key"
        other = ", or '--har' for a recording" if (base, key) == (None, None) else ""
        raise click.UsageError(f"Missing option '{missing}'{other}.")
    if webhook_port is not None and not has_customer:
        cli_error("flag --webhook-port: expected --customer, which changes payments")
    if webhook_format is not None and webhook_port is None:
        cli_error("flag --webhook-format: expected --webhook-port, which receives webhooks")
    if has_customer and key.startswith(_LIVE):
        cli_error("flag --customer: a customer would pay with real money; use a test_ key")
    _check_service_key("--key", key, accepts_live=i_know)
    if other_key is not None:
        _check_service_key("--other-key", other_key, accepts_live=i_know)
    options = VerifyOptions(
        base_url=base,
        key=key,
        other_key=other_key,
        accepted=_accepted(accepted),
        has_customer=has_customer,
        max_wait_ms=DEFAULT_MAX_WAIT_MS if max_time is None else max_time,
        webhook_port=webhook_port,
        webhook_form=STANDARD if webhook_format is None else load_webhook_form(webhook_format),
    )
    if key == other_key:
        cli_error("flag --other-key: this is the key of --key; expected one of another account")

    progress = VerifyProgress(ProgressLine().show)
    return _end(run_comparison(options, wall=RealClock(), progress=progress), **files)


def _recorded_comparison(
    har: Path, url: str | None, key: str | None, accepted: frozenset[str]
) -> Comparison:
    """Run the checks of recordings. Raises UserError."""
    try:
        traffic = read_traffic([har])
        return run_loop(
            lambda: compare_recording(traffic, base_url=url, key=key, accepted=accepted)
        )
    except RecursionError:
        cli_error(f"{har}: a body is nested too deeply")


def run_comparison(
    options: VerifyOptions, *, wall: SystemClock, progress: VerifyProgress
) -> Comparison:
    """Run all checks. Raises UserError if the server cannot be compared."""

    async def run() -> Comparison:
        async with AsyncExitStack() as stack:
            transport = await stack.enter_async_context(HttpTransport(options.base_url))
            client = ServiceClient(transport, wall=wall, report_wait=progress.waiting)
            session = Session(client, key=options.key, other_key=options.other_key)
            if options.has_customer:
                customer = TerminalCustomer(wall, max_wait_ms=options.max_wait_ms)
                await check_service(session)
                session.customer = customer
                if (port := options.webhook_port) is not None:
                    form = options.webhook_form
                    session.webhooks = await receive_webhooks(customer, port, form, stack)
            return await compare(
                session,
                began_at=wall.now_ms(),
                accepted=options.accepted,
                report_progress=progress.checked,
            )

    try:
        return run_loop(run)
    finally:
        progress.end()


def _end(comparison: Comparison, *, json: Path | None, report: Path | None) -> int:
    """Write the results, and return the exit code; an incomplete comparison is also reported on
    standard error."""
    if json != STDOUT:
        write_coloured(_table(comparison))
    write_json(json, lambda: comparison_json(comparison))
    write_file("--report", report, lambda: comparison_html(comparison))
    message = incompleteness(comparison)
    if message is not None:
        click.echo(f"{PROGRAM}: {message}", err=True)
    if comparison.is_interrupted:
        return SIGNAL_CODE + signal.SIGINT
    if comparison.has_drifted:
        return _HAS_DRIFTED
    return 0 if message is None else _IS_INCOMPLETE


def _table(comparison: Comparison) -> list[str]:
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else DEFAULT_WIDTH
    return comparison_lines(comparison, console_paint(), width)


def _check_service_key(option: str, key: str, *, accepts_live: bool) -> None:
    """Raises UserError. A key of a service needs only our prefix, not our form."""
    if not key.isascii() or not key.isprintable() or " " in key:
        cli_error(f"flag {option}: a key has neither blanks nor characters beyond ASCII")
    if key.startswith(_LIVE) and not accepts_live:
        cli_error(
            f"flag {option}: a live_ key processes real payments; use a test_ key, or add --i-know"
        )
    if not key.startswith((_TEST, _LIVE)):
        cli_error(f"flag {option}: expected a key that begins with test_")


def _accepted(numbers: tuple[str, ...]) -> frozenset[str]:
    known = {clause.number for clause in CLAUSES}
    for number in numbers:
        if number not in known:
            cli_error(f"flag --accept: there is no clause {number!r}; expected one such as 4.1.3")
    return frozenset(numbers)
