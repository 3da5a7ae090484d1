"""Command `health`: sends one request to a server on this machine."""

import os
from collections.abc import Mapping

import click

from emulator.cli.output import cli_error
from emulator.cli.settings_options import settings_options
from emulator.domain.user_error import UserError
from emulator.http.addresses import host_with_port
from emulator.http.blocking_client import BlockingEmulator
from emulator.http.emulator_calls import HEALTH
from emulator.settings import resolve

MAX_HEALTH_CHECK_S = 2.0
MAX_HEALTH_BYTES = 1_000
# The addresses at which a server that listens on all addresses is reached.
_REACHABLE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound


class Unhealthy(UserError):
    """The emulator did not answer `ok`, or the settings have no port; exit code 1."""

    exit_code = 1


@click.command()
@click.option("--url", metavar="URL", help="URL of a server, instead of the options of `serve`.")
@settings_options("host", "port", "tls-cert", "tls-key", "config")
def health(url: str | None, **flags: object) -> None:
    """Test whether the server responds.

    The other options, variables and the --config file are the same as for `serve`.
    """
    try:
        _check_health(_address(flags) if url is None else _named_address(url, flags))
    except Unhealthy:
        raise
    except UserError as error:
        raise Unhealthy(*error.lines) from None


def _named_address(url: str, flags: Mapping[str, object]) -> str:
    """Raises UserError for another flag, or another text than a URL."""
    beside = next((name for name, value in flags.items() if value is not None), None)
    if beside is not None:
        cli_error(f"flag --{beside.replace('_', '-')}: expected no --url")
    from emulator.cli.emulator_options import base_url  # noqa: PLC0415 - loads PyYAML

    return base_url("--url", url)


def _address(flags: Mapping[str, object]) -> str:
    """The address of the server with the settings. Raises UserError."""
    # Ignore the other port, which might equal this one.
    settings = resolve({**flags, "checkout-port": 0}, os.environ)
    if settings.port == 0:
        cli_error("port 0 is any free port; name the real one with --port")
    host = _REACHABLE.get(settings.host, settings.host)
    return f"{settings.scheme}://{host_with_port(host, settings.port)}"


def _check_health(address: str) -> None:
    """Send one request, without verifying the certificate. Raises Unhealthy."""
    url = f"{address}{HEALTH.path}"
    # The certificate has the name by which others reach the server.
    emulator = BlockingEmulator(
        base_url=address,
        timeout_s=MAX_HEALTH_CHECK_S,
        max_bytes=MAX_HEALTH_BYTES,
        verifies=False,
    )
    response = emulator.send(HEALTH)
    if response.failure is not None:
        raise Unhealthy(f"no response from {url}: {response.failure}")
    if response.status != 200:
        raise Unhealthy(f"{url} returned {response.status}; expected 200")
    if b'"status":"ok"' not in response.body:
        raise Unhealthy(f"{url} is not the address of a payments emulator")
