"""Command `doctor`: its options, its exit code, and the printing of its report."""

from collections.abc import Iterable

import click

from emulator.cli.emulator_options import KEY_OPTION, URL_OPTION
from emulator.cli.event_loop import run_loop
from emulator.cli.output import console_paint, write, write_coloured, write_lines
from emulator.cli.settings_options import private_settings
from emulator.clock import RealClock
from emulator.http.addresses import BaseUrl
from emulator.tools.doctor.report import (
    DoctorFinding,
    Perspective,
    conclusion,
    report_json,
    section_lines,
)
from emulator.tools.doctor.runner import DoctorOptions, NoEmulator, run_probes
from emulator.tools.doctor.search import Timeouts, read_network


@click.command()
@URL_OPTION
@KEY_OPTION
@click.option(
    "--webhook-url",
    metavar="URL",
    help="URL of a webhook handler to test in addition to the registered endpoints.",
)
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
def doctor(url: str, key: str | None, webhook_url: str | None, is_json: bool) -> int:
    """Test which addresses a container, a browser and a webhook need.

    The command changes nothing in an account. The journal shows one GET /v1/payments, and each
    enabled endpoint of the account and mode receives one ping.
    """
    private_settings({"webhook-url": webhook_url})
    options = DoctorOptions(
        base_url=BaseUrl.parse(url), key=key, webhook_url=webhook_url, network=read_network()
    )
    return run_doctor(options, is_json=is_json)


def run_doctor(options: DoctorOptions, *, is_json: bool) -> int:
    """Run the probes and print the report; return the exit code."""
    paint = console_paint()

    def print_section(perspective: Perspective, findings: Iterable[DoctorFinding]) -> None:
        if not is_json:
            write_coloured(section_lines(perspective, findings, paint))

    timeouts = Timeouts(clock=RealClock())
    try:
        report = run_loop(lambda: run_probes(options, timeouts, print_section))
    except NoEmulator as error:
        if is_json:
            write(f"{report_json(error.report)}\n")
        raise
    if is_json:
        write(f"{report_json(report)}\n")
    else:
        write_lines([conclusion(report)])
    return int(report.problem_count > 0)
