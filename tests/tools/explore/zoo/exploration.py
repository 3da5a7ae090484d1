"""Runs `explore` against a shop of the zoo, and reads what it found."""

import re
import resource
import subprocess
import time  # noqa: TID251 - how long a run takes is a figure
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import yaml

from emulator.tools.explore.judgement import VerdictId
from tests.benchmarks.servers import free_ports
from tests.cli.processes import COMMAND, REPOSITORY, environment
from tests.tools.explore.zoo.integration import write_integration
from tests.tools.explore.zoo.table import Shop

MAX_RUN_S = 600
NO_HISTORY = "has no history that fits"
_VERDICTS = "|".join(VerdictId)
_FAILURE = re.compile(rf"^(?P<verdict>{_VERDICTS}): (?P<history>.+)$", re.MULTILINE)
# The application waits before it repeats a call, or the response is held.
_WAITS = re.compile(r"create-|early ")
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
    [port] = free_ports(1)
    file = write_integration(shop, directory, port=port)
    flags = ("--depth", str(depth), "--seed", str(seed))
    return run_explore(str(file), *flags, directory=directory)


def rate(shop: Shop, directory: Path) -> str:
    """How many histories run in a second, of those in which neither side waits in real time."""
    [port] = free_ports(1)
    file, cases = write_integration(shop, directory, port=port), directory / "cases.xml"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = run_explore(str(file), "--junit", str(cases), directory=directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    all_cases = list(ElementTree.parse(cases).iter("testcase"))  # noqa: S314 - our own file
    busy = [case for case in all_cases if not _WAITS.search(case.get("name", ""))]
    seconds = sum(float(case.get("time", 0)) for case in busy)
    return (
        f"{shop.name}: {len(busy)} histories without waits in {seconds:.1f} s:"
        f" {len(busy) / seconds:.0f} a second; all {len(all_cases)} in {run.seconds:.0f} s, with"
        f" {1000 * cpu_s / len(all_cases):.1f} ms of CPU each for both processes\n"
    )


def smaller_failures(finding: Finding, directory: Path) -> list[str]:
    """The proper parts of a failing history that fail, too."""
    assert finding.saved is not None
    document = yaml.safe_load(finding.saved.read_text(encoding="utf-8"))
    anomalies = document["history"].get("anomalies", [])
    failures = []
    for size in range(len(anomalies)):
        for part in combinations(anomalies, size):
            document["history"]["anomalies"] = list(part)
            file = directory / "part.yaml"
            file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
            run = run_explore(str(file), "--replay", directory=directory)
            # A part that does not fit together is no history.
            if run.code != 0 and NO_HISTORY not in run.output:
                failures.append(
                    f"{document['history']['outcome']}, {', '.join(part)}: {run.output}"
                )
    return failures


def run_explore(*arguments: str, directory: Path) -> Finding:
    """Run the command in a directory, in which it saves a failure; by default with `--depth 2`."""
    started_s = time.monotonic()
    run = subprocess.run(
        [*COMMAND, "explore", *arguments, "--port", "0", "--checkout-port", "0"],
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
