"""Runs `explore` against a shop of the zoo, and reads what it found."""

import json
import re
import resource
import subprocess
import sys
import time  # noqa: TID251 - how long a run takes is a figure
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import yaml

from emulator.domain.payment import EVENT_TYPES
from emulator.scenarios.webhook_form_file import load_webhook_form
from emulator.tools.explore.exploration import capabilities
from emulator.tools.explore.histories import histories_of_size, normal_form
from emulator.tools.explore.integration_file import read_integration
from emulator.tools.explore.judgement import Verdict
from emulator.tools.explore.steps import READ_FAULTS
from tests.benchmarks.servers import free_ports
from tests.cli.processes import COMMAND, REPOSITORY, environment
from tests.tools.explore.zoo.drawing import RESULTS
from tests.tools.explore.zoo.integration import write_integration
from tests.tools.explore.zoo.table import Shop

MAX_RUN_S = 1_800
NO_HISTORY = "has no history that fits"
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
    [port] = free_ports(1)
    file = write_integration(shop, directory, port=port)
    flags = ("--depth", str(depth), "--seed", str(seed), "--webhook-format", shop.form)
    return run_explore(str(file), *flags, directory=directory)


def rate(shop: Shop, directory: Path) -> str:
    """How many histories run in a second, and the CPU time of each."""
    [port] = free_ports(1)
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
    [port] = free_ports(1)
    history = {"outcome": outcome, "anomalies": list(anomalies)}
    file = write_integration(shop, directory, port=port, history=history)
    flags = ("--replay", "--webhook-format", shop.form)
    return run_explore(str(file), *flags, directory=directory)


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """The kinds of anomalies of the histories of size 1 that fail, and their verdicts."""

    kinds: set[str]
    verdicts: set[str]


def exposure(shop: Shop, directory: Path) -> Exposure:
    """Explore all histories of a shop up to size 1.

    A kind also counts if its history was skipped because it is equivalent to one that failed.
    """
    [port] = free_ports(1)
    file, cases = write_integration(shop, directory, port=port), directory / "cases.xml"
    flags = ("--depth", "1", "--max-failures", "1000", "--junit", str(cases))
    flags += ("--webhook-format", shop.form)
    run = run_explore(str(file), *flags, directory=directory)
    assert run.code == 1, run.output
    tree = ElementTree.parse(cases)  # noqa: S314 - our own file
    ran = {str(case.get("name")): case.find("failure") for case in tree.iter("testcase")}
    can = capabilities(read_integration(file), load_webhook_form(shop.form))
    histories = {h.title: h for size in (0, 1) for h in histories_of_size(size, can)}
    # The faults on reads that were not skipped show how often the shop reads a payment.
    read_numbers = (
        READ_FAULTS.get(s.manner, (0,))[0] for title in ran for s in histories[title].steps
    )
    reads = dict.fromkeys(EVENT_TYPES.values(), max(read_numbers))
    forms = {title: (h.outcome, normal_form(h.steps, reads)) for title, h in histories.items()}
    kinds, verdicts = set(), set()
    for title, failure in ran.items():
        if failure is None:
            continue
        verdicts.add(str(failure.get("type")))
        equal = [h for h in histories.values() if forms[h.title] == forms[title]]
        skipped = [h for h in equal if h.title not in ran]
        for history in (histories[title], *skipped):
            kinds |= {anomaly.kind.name for anomaly in history.anomalies} or {"none"}
    return Exposure(kinds=kinds, verdicts=verdicts)


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


def draw(shop: Shop, directory: Path, *, seed: int, seconds: int) -> tuple[Finding, int]:
    """Explore a shop at random in a new process; also return how many histories were drawn."""
    [port] = free_ports(1)
    file = write_integration(shop, directory, port=port)
    module = "tests.tools.explore.zoo.drawing"
    words = (sys.executable, "-m", module, str(file), shop.form, str(seed), str(seconds))
    finding = run_words(*words, directory=directory)
    results = json.loads((directory / RESULTS).read_text())["results"]
    return finding, sum(each["history"].count(",") > 1 for each in results)


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
