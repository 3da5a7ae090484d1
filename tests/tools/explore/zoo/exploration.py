"""Runs `explore` against a shop of the zoo, and reads what it found."""

import os
import re
import resource
import subprocess
import time  # noqa: TID251 - how long a run takes is a figure
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from xml.etree import ElementTree

from emulator.tools.explore.verdicts import Verdict
from tests.cli.processes import COMMAND, Server, ended, free_port, launch
from tests.tools.explore.zoo.integration import write_integration
from tests.tools.explore.zoo.table import Shop

MAX_RUN_S = 1_800
_VERDICTS = "|".join(verdict.id for verdict in Verdict)
_FAILURE = re.compile(rf"^(?P<verdict>{_VERDICTS}): (?P<history>.+)$", re.MULTILINE)
_SAVED = re.compile(r"^  saved: (?P<path>.+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The first failure of a run; without one the verdict is empty."""

    code: int
    output: str
    seconds: float
    verdict: str = ""
    history: str = ""
    saved: Path | None = None


def explore(shop: Shop, directory: Path, *, depth: int, seed: int = 1) -> Finding:
    """Explore a shop in a new process, until the first failure."""
    port = free_port()
    file = write_integration(shop, directory, port=port)
    flags = ("--depth", str(depth), "--seed", str(seed), "--webhook-format", shop.form)
    return run_explore(str(file), *flags, directory=directory)


def problem(shop: Shop, finding: Finding) -> str:
    """What differs from the row of a shop; empty where nothing does."""
    expected = (int(bool(shop.bug)), shop.verdict, shop.history)
    found = (finding.code, finding.verdict, finding.history)
    return "" if found == expected else f"found {found}, expected {expected}"


def rate(shop: Shop, directory: Path) -> str:
    """How many histories run in a second, and the CPU time of each."""
    port = free_port()
    file, cases = write_integration(shop, directory, port=port), directory / "cases.xml"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    flags = ("--depth", "2", "--junit", str(cases))
    run = run_explore(str(file), *flags, directory=directory, command=COMMAND)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = len(list(ElementTree.parse(cases).iter("testcase")))  # noqa: S314 - our own file
    a_second = f"{count / run.seconds:.1f} a second"
    return (
        f"{shop.name}: {count} histories in {run.seconds:.0f} s: {a_second},"
        f" with {1000 * cpu_s / count:.1f} ms of CPU each for both processes\n"
    )


def replay(
    shop: Shop, directory: Path, outcome: str, *anomalies: str, is_first: bool = False
) -> Finding:
    """Run one history of a shop in a new process, after the usual one of its outcome."""
    history = {"outcome": outcome, "anomalies": list(anomalies)}
    members = {"history": history, "reference": {"outcome": outcome}}
    file = write_integration(shop, directory, port=free_port(), is_first=is_first, **members)
    return replay_file(file, shop, directory)


def replay_file(file: Path, shop: Shop, directory: Path) -> Finding:
    """Run the history of a file; the shop starts with fresh data."""
    for data in directory.glob("orders.sqlite*"):
        data.unlink()
    flags = ("--replay", "--webhook-format", shop.form)
    return run_explore(str(file), *flags, directory=directory)


def start_shop(
    command: str,
    server: Server,
    key: str,
    secret: str,
    *,
    directory: Path | None = None,
    **variables: str,
) -> subprocess.Popen[str]:
    """Start a shop in a process group of its own, configured as `explore` does it."""
    settings = {"URL": server.url, "TEST_KEY": key, "WEBHOOK_SECRET": secret}
    named = {f"PAYMENTS_EMULATOR_{name}": value for name, value in settings.items()}
    return subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env={**os.environ, **named, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,
    )


def run_explore(*arguments: str, directory: Path, command: Sequence[str] | None = None) -> Finding:
    """Run the command in a directory, in which it saves a failure."""
    words = ("explore", *arguments, "--port", "0", "--checkout-port", "0")
    started_s = time.monotonic()
    with TemporaryFile("w+", encoding="utf-8") as output:
        process = launch(*words, stdout=output, stderr=output, command=command, directory=directory)
        with ended(process, MAX_RUN_S):
            code = process.wait(MAX_RUN_S)
        output.seek(0)
        printed = output.read()
    seconds = time.monotonic() - started_s
    failure, saved = _FAILURE.search(printed), _SAVED.search(printed)
    return Finding(
        code=code,
        output=printed,
        seconds=seconds,
        verdict=failure["verdict"] if failure else "",
        history=failure["history"] if failure else "",
        saved=directory / saved["path"] if saved else None,
    )
