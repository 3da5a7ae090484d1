"""Which emulator a test run has: one that runs elsewhere, or one of its own that all share."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .control_client import ControlClient, PaymentsEmulatorError
from .emulator import PaymentsEmulator
from .serving import Server, ServerOptions, join_or_start, start

MAX_FIRST_RESPONSE_S = 10

_NAME = "payments-emulator"


@contextmanager
def emulator_of(
    config: pytest.Config, directories: pytest.TempPathFactory
) -> Iterator[PaymentsEmulator]:
    """The emulator of a run; where there is none, the tests that need it fail with a sentence."""
    url: str | None = config.getoption("payments_emulator_url")
    server = None
    try:
        if url is None:
            server = _server(config, directories.getbasetemp())
            emulator = _own(server)
        else:
            emulator = _foreign(url, config.getoption("payments_emulator_webhook_host"))
    except PaymentsEmulatorError as error:
        # `from None`: pytest would tell first what this comes from, which says the same.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        yield emulator
    finally:
        emulator.close()
        if server is not None:
            server.let_go()


def _foreign(url: str, webhook_host: str | None) -> PaymentsEmulator:
    """Raises PaymentsEmulatorError where none answers."""
    try:
        ControlClient(base_url=url, longest_answer_s=MAX_FIRST_RESPONSE_S).call("GET", "/health")
    except PaymentsEmulatorError as error:
        raise PaymentsEmulatorError(
            f"--payments-emulator-url {url}: {error}; expected what `serve` prints as API"
        ) from None
    return PaymentsEmulator(ControlClient(base_url=url), is_foreign=True, webhook_host=webhook_host)


def _own(server: Server) -> PaymentsEmulator:
    control = ControlClient(base_url=server.address.base_url, log=Path(server.address.log))
    return PaymentsEmulator(control, is_foreign=False, webhook_host=None)


def _server(config: pytest.Config, temporary: Path) -> Server:
    """The server of this run, which all workers of pytest-xdist share."""
    wanted = ServerOptions(
        options=config.getini("payments_emulator_options"), directory=config.rootpath
    )
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        files = temporary / _NAME
    else:
        # The workers' directories lie side by side, on other machines beside those of other runs.
        files = temporary.parent / f"{_NAME}-{worker['testrunuid']}"
    server = join_or_start(files, partial(start, wanted))
    # Not with the fixture: one worker would wait there for all the tests of the others.
    config.add_cleanup(partial(server.wait, is_shared=worker is not None))
    return server
