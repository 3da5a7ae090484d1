"""The command that examines a running emulator: its options, its exit code, what it prints."""

from typing import TYPE_CHECKING

import click

from emulator.cli.event_loop import run_loop
from emulator.cli.output import (
    DEFAULT_URL,
    base_url,
    check_key,
    cli_error,
    console_paint,
    write,
)

if TYPE_CHECKING:
    from emulator.cli.examination.examining import DoctorOptions
    from emulator.cli.examination.findings import Section
    from emulator.replay.client import Address


@click.command()
@click.option(
    "--url", metavar="URL", default=DEFAULT_URL, show_default=True, help="URL of the emulator."
)
@click.option(
    "--key",
    metavar="KEY",
    show_default="the first test key",
    help="API key of the account and mode.",
)
@click.option(
    "--webhook-url",
    metavar="URL",
    help="URL of a webhook handler to test in addition to the registered endpoints.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
def doctor(url: str, key: str | None, webhook_url: str | None, is_json: bool) -> int:
    """Test which addresses a container, a browser and a webhook need.

    The command changes nothing in the account. The journal shows one GET /v1/payments, and each
    enabled endpoint of the account and mode receives one ping. Exit code 1 when something will
    not work, 2 when there is no emulator or an option is wrong.
    """
    _check(key, webhook_url)
    address = _address(url)
    from emulator.cli.examination.examining import DoctorOptions
    from emulator.cli.examination.surroundings import look_around

    wanted = DoctorOptions(
        address=address, key=key, webhook_url=webhook_url, surroundings=look_around()
    )
    return examine_and_print(wanted, is_json=is_json)


def examine_and_print(wanted: "DoctorOptions", *, is_json: bool) -> int:
    """The exit code."""
    from emulator.cli.examination.asking import Patience, load_client
    from emulator.cli.examination.examining import NoEmulator, examine
    from emulator.cli.examination.reporting import (
        conclusion,
        printable,
        report_json,
        section_lines,
    )
    from emulator.clock import RealClock

    paint = console_paint()

    def tell(section: "Section") -> None:
        if not is_json:
            write("".join(f"{line}\n" for line in section_lines(section, paint)))

    load_client()
    try:
        report = run_loop(lambda: examine(wanted, Patience(wall=RealClock()), tell))
    except NoEmulator as nobody:
        if is_json:
            write(f"{report_json(nobody.report)}\n")
        cli_error(*map(printable, nobody.lines))
    write(f"{report_json(report) if is_json else conclusion(report)}\n")
    return int(report.problem_count > 0)


def _check(key: str | None, webhook_url: str | None) -> None:
    from emulator.settings import parse_url

    check_key("--key", key)
    if webhook_url is not None:
        try:
            parse_url(webhook_url)
        except ValueError:
            cli_error("flag --webhook-url: expected an absolute http or https URL")


def _address(url: str) -> "Address":
    from emulator.replay.client import Address

    return Address.of(base_url("--url", url))
