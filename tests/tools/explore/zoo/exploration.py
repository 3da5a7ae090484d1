"""Runs `explore` against a shop of the zoo, and reads what it found."""

import re
import resource
import subprocess
import time  # noqa: TID251 - how long a run takes is a figure
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from emulator.tools.explore.verdicts import Verdict
from tests.cli.processes import COMMAND, REPOSITORY, environment, free_port
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


def rate(shop: Shop, directory: Path) -> str:
    """How many histories run in a second, and the CPU time of each."""
    port = free_port()
    file, cases = write_integration(shop, directory, port=port), directory / "cases.xml"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = run_explore(str(file), "--depth", "2", "--junit", str(cases), directory=directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    count = len(list(ElementTree.parse(cases).iter("testcase")))  # noqa: S314 - our own file
    a_second = f"{count / run.seconds:.1f} a second"
    return (
        f"{shop.name}: {count} histories in {run.seconds:.0f} s: {a_second},"
        f" with {1000 * cpu_s / count:.1f} ms of CPU each for both processes\n"
    )


def replay(shop: Shop, directory: Path, outcome: str, *anomalies: str) -> Finding:
    """Run one history of a shop in a new process."""
    port = free_port()
    history = {"outcome": outcome, "anomalies": list(anomalies)}
    file = write_integration(shop, directory, port=port, history=history)
    flags = ("--replay", "--webhook-format", shop.form)
    return run_explore(str(file), *flags, directory=directory)


def run_explore(*arguments: str, directory: Path) -> Finding:
    """Run the command in a directory, in which it saves a failure."""
    words = (*COMMAND, "explore", *arguments, "--port", "0", "--checkout-port", "0")
    return run_words(*words, directory=directory)


def run_words(*words: str, directory: Path) -> Finding:
    started_s = time.monotonic()
    run = subprocess.run(
        words,
        cwd=directory,
        env=environment({"PYTHONPATH": str(REPOSITORY)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=MAX_RUN_S,
    )
    seconds = time.monotonic() - started_s
    failure, saved = _FAILURE.search(run.stdout), _SAVED.search(run.stdout)
    return Finding(
        code=run.returncode,
        output=run.stdout,
        seconds=seconds,
        verdict=failure["verdict"] if failure else "",
        history=failure["history"] if failure else "",
        saved=directory / saved["path"] if saved else None,
    )
