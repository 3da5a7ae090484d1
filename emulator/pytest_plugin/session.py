"""Selects the emulator of a test run: a running one, or a new server that all workers share."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from .control_client import ControlClient, PaymentsEmulatorError
from .emulator import PaymentsEmulator
from .server import ServerLease, join_or_start, start

MAX_FIRST_RESPONSE_S = 10

_NAME = "payments-emulator"


@contextmanager
def session_emulator(
    config: pytest.Config, directories: pytest.TempPathFactory
) -> Iterator[PaymentsEmulator]:
    """The emulator of a run; without one, the tests that need it fail with a sentence."""
    url: str | None = config.getoption("payments_emulator_url")
    lease = None
    try:
        if url is None:
            lease = _lease_server(config, directories.getbasetemp())
            control = ControlClient(base_url=lease.server.base_url, log=Path(lease.server.log))
            emulator = PaymentsEmulator(control, is_external=False, webhook_host=None)
        else:
            emulator = _external(url, config.getoption("payments_emulator_webhook_host"))
    except PaymentsEmulatorError as error:
        # `from None`: pytest would also show the cause, which says the same.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        yield emulator
    finally:
        emulator.close()
        if lease is not None:
            lease.release()


def _external(url: str, webhook_host: str | None) -> PaymentsEmulator:
    """Raises PaymentsEmulatorError when it does not respond."""
    try:
        ControlClient(base_url=url, timeout_s=MAX_FIRST_RESPONSE_S).call("GET", "/health")
    except PaymentsEmulatorError as error:
        raise PaymentsEmulatorError(
            f"--payments-emulator-url {url}: {error}; expected what `serve` prints as API"
        ) from None
    control = ControlClient(base_url=url)
    return PaymentsEmulator(control, is_external=True, webhook_host=webhook_host)


def _lease_server(config: pytest.Config, temporary: Path) -> ServerLease:
    """The server of this run, which all workers of pytest-xdist share."""
    start_server = partial(start, config.getini("payments_emulator_options"), config.rootpath)
    worker = getattr(config, "workerinput", None)
    files = temporary / _NAME
    if worker is not None:
        # Workers' directories are side by side; on another machine, beside those of other runs.
        files = temporary.parent / f"{_NAME}-{worker['testrunuid']}"
    lease = join_or_start(files, start_server)
    # Not in the fixture: there one worker would wait for all tests of the others.
    config.add_cleanup(partial(lease.wait, is_shared=worker is not None))
    return lease
