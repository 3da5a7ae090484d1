"""Plays one script in many environments; each result must have one hash.

An environment is a time zone, a locale, a seed of `hash()` and an event loop. In each, these must
be equal: replays of the script, and the script in a `serve` process, after its start and after each
reset.
"""

import asyncio
import json
import os
import random  # noqa: TID251 - an environment follows from the seed
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.http import emulator_calls as calls
from emulator.http.blocking_client import BlockingEmulator
from tests.cli.processes import COMMAND, REPOSITORY, run_program, serving
from tests.long_runs.one_script import digest, served
from tests.tools.replay.player import CLOCK

COUNT = 1_000
RUNS_PER_ENVIRONMENT = 10
ZONES = ("UTC", "Africa/Addis_Ababa", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham")
# The second has no UTF-8: files and standard output are ASCII.
LOCALES = (
    {"LC_ALL": "C.UTF-8"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "am"},
)
SERVE = ("--seed", "7", "--clock", CLOCK, "--checkout-url", "http://127.0.0.1:8081")
SERVE += ("--allow-http-localhost",)
NO_UVLOOP = "raise ImportError\n"


@contextmanager
def directory_without_uvloop() -> Iterator[Path]:
    """Before the packages of the interpreter, it lets the program run without uvloop."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "uvloop.py").write_text(NO_UVLOOP, encoding="utf-8")
        yield directory


def environment(number: int, seed: int, directory: Path) -> dict[str, str]:
    """Variables: each combination of loop and locale occurs, before one occurs again."""
    chance = random.Random(f"{seed}-{number}")  # noqa: S311 - not for a secret
    path = (str(directory), str(REPOSITORY)) if number % 2 else (str(REPOSITORY),)
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONHASHSEED": str(chance.randrange(2**32)),
        "TZ": chance.choice(ZONES),
        **LOCALES[number // 2 % len(LOCALES)],
    }


def run(seed: int, count: int) -> dict[str, str]:
    return {
        f"{what}, with one hash": f"{sum(counter.values()):,} runs, {next(iter(counter))}"
        for what, counter in compare(seed, count).items()
    }


def compare(seed: int, count: int) -> dict[str, Counter[str]]:
    """How often each hash occurs, by what is hashed. Raises AssertionError at the second hash."""
    hashes: dict[str, Counter[str]] = {}
    each = min(RUNS_PER_ENVIRONMENT, max(2, count // 3))
    with directory_without_uvloop() as directory:
        for number in range(count // each):
            variables = environment(number, seed, directory)
            for what, digests in results(variables, each).items():
                counter = hashes.setdefault(what, Counter())
                counter.update(digests)
                where = f"seed {seed}, environment {number}: {variables}"
                assert len(counter) == 1, f"{what} differs in {where}: {counter}, {digests}"
    return hashes


def results(variables: dict[str, str], times: int) -> dict[str, list[str]]:
    """The digests of `times` runs in an environment."""
    module = (sys.executable, "-m", "tests.long_runs.one_script", str(times))
    played = run_program(*module, variables=variables)
    assert played.returncode == 0, played.stderr
    with TemporaryDirectory() as logs:
        digests = list(served_digests(variables, times, Path(logs)))
    return {"replay": json.loads(played.stdout), "serve": digests}


def served_digests(variables: dict[str, str], times: int, directory: Path) -> Iterator[str]:
    """The digest of the script in a `serve` process, after its start and after each reset."""
    with serving(*SERVE, logs=directory, variables=variables, command=COMMAND) as server:
        for _ in range(times):
            yield digest(asyncio.run(served(server.url)))
            reset = calls.RESET(body={"all": True})
            assert BlockingEmulator(base_url=server.url).send(reset).status == 204
