"""The command that examines a running emulator: its options, its exit code, what it prints."""

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from emulator.cli.looping import run_loop

if TYPE_CHECKING:
    from emulator.cli.examination.examining import Wanted
    from emulator.cli.examination.findings import Section
    from emulator.replay.client import Address

USUAL_URL = "http://127.0.0.1:8080"


@click.command()
@click.option("--url", metavar="URL", default=USUAL_URL, show_default=True, help="The emulator.")
@click.option(
    "--key", metavar="KEY", help="Key of the account and mode; without one, the first test key."
)
@click.option(
    "--webhook-url", metavar="URL", help="A handler to be called, beside registered endpoints."
)
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
def doctor(url: str, key: str | None, webhook_url: str | None, is_json: bool) -> int:
    """Say which address a container, a browser and a webhook need, and try it.

    Of a running emulator nothing is changed. Each endpoint of the account gets one ping. Exit code
    1 when something will not work, 2 when there is no emulator or an option is wrong.
    """
    _check(key, webhook_url)
    address = _address(url)
    from emulator.cli.examination.examining import Wanted
    from emulator.cli.examination.surroundings import look_around

    wanted = Wanted(address=address, key=key, webhook_url=webhook_url, surroundings=look_around())
    return examine_and_print(wanted, is_json=is_json)


def examine_and_print(wanted: "Wanted", *, is_json: bool) -> int:
    """The exit code."""
    from emulator.cli.examination.asking import Patience, load_client
    from emulator.cli.examination.examining import NoEmulator, examine
    from emulator.cli.examination.reporting import (
        conclusion,
        printable,
        report_json,
        section_lines,
    )
    from emulator.clock import SystemWall
    from emulator.replay.wording import Paint

    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    paint = Paint(is_on=is_terminal and not os.environ.get("NO_COLOR"))

    def tell(section: "Section") -> None:
        if not is_json:
            _write("\n".join(section_lines(section, paint)))

    load_client()
    try:
        report = run_loop(examine(wanted, Patience(wall=SystemWall()), tell))
    except NoEmulator as nobody:
        if is_json:
            _write(report_json(nobody.report))
        _mistake(*map(printable, nobody.lines))
    _write(report_json(report) if is_json else conclusion(report))
    return int(report.problem_count > 0)


def _check(key: str | None, webhook_url: str | None) -> None:
    from emulator.domain.accounts import is_well_formed_key
    from emulator.settings import parse_url

    if key is not None and not is_well_formed_key(key):
        _mistake("flag --key: expected test_ or live_ and 4 to 128 letters, digits or _")
    if webhook_url is not None:
        try:
            parse_url(webhook_url)
        except ValueError:
            _mistake("flag --webhook-url: expected an absolute http or https URL")


def _address(url: str) -> "Address":
    from emulator.replay.client import Address
    from emulator.settings import parse_checkout_url

    try:
        if not url.isascii():
            raise ValueError(url)
        address = Address.of(parse_checkout_url(url))
    except ValueError:
        _mistake(f"flag --url: found {url!r}, expected an absolute http or https URL")
    if "@" in url:
        _mistake("flag --url: a user and a password cannot be sent beside an API key")
    return address


def _mistake(*lines: str) -> NoReturn:
    from emulator.cli.commands import Mistake

    raise Mistake(*lines) from None


def _write(text: str) -> None:
    """Print at once. Where nobody reads any more (`doctor | head`) it goes on, unheard."""
    try:
        click.echo(text)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
