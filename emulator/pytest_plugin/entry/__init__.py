"""Declares the fixtures and options; pytest loads this module in every run, and nothing else.

It is installed as `etb_payments_emulator_pytest`, a unique name. A package `emulator` may be the
merchant's, so the other modules are loaded from their files, when a fixture is used, as part of a
package `etb_payments_emulator`.
"""

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Generator, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from emulator.http.emulator_calls import PaymentsEmulatorError
    from emulator.pytest_plugin.account import Endpoint, PaymentsAccount
    from emulator.pytest_plugin.emulator import PaymentsEmulator
    from emulator.pytest_plugin.webhooks import Webhook

__all__ = ["Endpoint", "PaymentsAccount", "PaymentsEmulator", "PaymentsEmulatorError", "Webhook"]

# Also in `emulator/http/emulator_calls.py`, which is not imported before a fixture is used.
_URL_VARIABLE = "PAYMENTS_EMULATOR_URL"
_PACKAGE = "etb_payments_emulator"
_SUBPACKAGE = "pytest_plugin"
_MODULES = {
    "Endpoint": "account",
    "PaymentsAccount": "account",
    "PaymentsEmulator": "emulator",
    "PaymentsEmulatorError": "account",
    "Webhook": "webhooks",
}
_ACCOUNT = pytest.StashKey["PaymentsAccount"]()


def __getattr__(name: str) -> Any:
    """Load the types for annotations in tests when they are first used."""
    if name in _MODULES:
        return getattr(_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("payments emulator")
    group.addoption(
        "--payments-emulator-url",
        metavar="URL",
        type=_base_url,
        help="Use the payments emulator at this URL, such as one in a container; by default that "
        f"of {_URL_VARIABLE}, else one that is started when a test first needs it.",
    )
    group.addoption(
        "--payments-emulator-webhook-host",
        metavar="HOST",
        help="The name by which that emulator reaches this machine, such as host.docker.internal; "
        "webhooks for the tests are then received on all addresses.",
    )
    parser.addini(
        "payments_emulator_options",
        type="args",
        help="Options of `payments-emulator serve` for the started emulator, such as --strict; "
        "relative paths begin at pytest's root directory.",
    )


@pytest.fixture(scope="session")
def payments_emulator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[PaymentsEmulator]":
    """A payments emulator, one for the whole run: `base_url`, and `account()` for further ones."""
    url, source = request.config.getoption("payments_emulator_url"), "--payments-emulator-url"
    if url is None and (text := os.environ.get(_URL_VARIABLE)):
        source = _URL_VARIABLE
        try:
            url = _base_url(text.rstrip("/").removesuffix("/v1"))
        except ArgumentTypeError as error:
            # `from None`: pytest would also show the cause, which says the same.
            raise pytest.fail.Exception(f"{source}: {error}", pytrace=False) from None
    session_emulator = _module("emulator").session_emulator
    with session_emulator(request.config, tmp_path_factory, url, source) as emulator:
        yield emulator


@pytest.fixture
def payments_account(
    request: pytest.FixtureRequest, payments_emulator: "PaymentsEmulator"
) -> "Iterator[PaymentsAccount]":
    """A new account at the emulator, for this test alone, with a frozen clock.

    An indirect parameter has other arguments of `account()`, such as `{"vary": "long-ids"}`.
    """
    options = getattr(request, "param", {})
    with payments_emulator.account(request.node.nodeid, **options) as account:
        request.node.stash[_ACCOUNT] = account
        yield account


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the requests, events and deliveries of its account to the report of a failed test.

    An error of the emulator begins without its module, so that the summary has its message.
    """
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = crash.message.removeprefix(f"{__name__}.")
    if report.failed and report.when == "call" and _ACCOUNT in item.stash:
        text = _module("account").failure_report(item.stash[_ACCOUNT])
        report.sections.append(("payments emulator", text))
    return report


def _base_url(text: str) -> str:
    try:
        url = urlsplit(text)
        is_url = url.scheme in {"http", "https"} and url.hostname and url.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise ArgumentTypeError(f"found {text!r}, expected an absolute http or https URL")
    if "@" in text:
        raise ArgumentTypeError("a user and a password cannot be sent beside an API key")
    url_text = text.rstrip("/")
    if url_text.endswith("/v1"):
        bare = url_text.removesuffix("/v1")
        raise ArgumentTypeError(f"found {text!r}, expected the address without /v1: {bare}")
    return url_text


def _module(name: str) -> Any:
    """Import a module of this package under its unique name."""
    if _PACKAGE not in sys.modules:
        _load_package()
    return import_module(f"{_PACKAGE}.{_SUBPACKAGE}.{name}")


def _load_package() -> None:
    directory = _directory()
    spec = spec_from_file_location(
        _PACKAGE, directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(_PACKAGE)
    module = sys.modules[_PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _directory() -> Path:
    """The package's directory: beside this one, or on `sys.path` when installed editable."""
    beside = Path(__file__).resolve().parents[1]
    for parent in (beside, *map(Path, sys.path)):
        directory = parent / "emulator"
        if (directory / _SUBPACKAGE / "emulator.py").is_file():
            return directory
    raise ModuleNotFoundError(f"there is no {_SUBPACKAGE} of the payments emulator in {beside}")
