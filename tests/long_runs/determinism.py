"""Plays one script in many environments; each result must have one hash.

An environment is an interpreter, a time zone, a locale, a seed of `hash()` and an event loop. In
each, these must be equal: replays of the script; the script in a `serve` process, after its start
and after each reset; the histories of `explore`; and its first failure with a wrong shop.
"""

import asyncio
import json
import os
import random  # noqa: TID251 - an environment follows from the seed
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.http import emulator_calls as calls
from emulator.http.blocking_client import BlockingEmulator
from tests.cli.processes import REPOSITORY, Server, run_program, serving
from tests.long_runs.one_script import CLOCK, digest, served
from tests.tools.explore.small_shop import small_shop

UNIT = "runs"
COUNT = 1_000
RUNS_PER_ENVIRONMENT = 10
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
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
# Durations, the ports and numbers of the shop, and the payments of an emulator with a random seed.
_VARIES = re.compile(r"\d+(\.\d+)? m?s\b|127\.0\.0\.1:\d+|order \d+|pay_\w+")


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The interpreter with its version, and the variables of its processes."""

    version: str
    python: str
    variables: dict[str, str]

    @property
    def command(self) -> tuple[str, ...]:
        return self.python, "-m", "emulator"


@dataclass(frozen=True, kw_only=True)
class Interpreters:
    """The paths by version; `directory` is for the environments' own files."""

    paths: dict[str, str]
    directory: Path

    def environment(self, number: int, seed: int) -> Environment:
        """Each combination of interpreter, loop and locale occurs, before one occurs again."""
        chance = random.Random(f"{seed}-{number}")  # noqa: S311 - not for a secret
        version = list(self.paths)[number % len(self.paths)]
        number //= len(self.paths)
        path = (str(self.directory), str(REPOSITORY)) if number % 2 else (str(REPOSITORY),)
        variables = {
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONHASHSEED": str(chance.randrange(2**32)),
            "TZ": chance.choice(ZONES),
            **LOCALES[number % len(LOCALES)],
        }
        return Environment(version=version, python=self.paths[version], variables=variables)


@contextmanager
def interpreters(versions: Sequence[str]) -> Iterator[Interpreters]:
    """The interpreters of the machine; those of another version get the dependencies."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        # Before the packages of the interpreter, so that the program runs without uvloop.
        (directory / "uvloop.py").write_text(NO_UVLOOP, encoding="utf-8")
        paths = {own_version(): sys.executable}
        for version in versions:
            if version not in paths and (python := interpreter(version)) is not None:
                paths[version] = with_dependencies(python, directory / version)
        yield Interpreters(paths=paths, directory=directory)


def own_version() -> str:
    return "{}.{}".format(*sys.version_info)


def interpreter(version: str) -> str | None:
    """An interpreter that starts: of the path, or one that pyenv has installed."""
    installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for python in (shutil.which(f"python{version}"), *map(str, installed)):
        if python and not subprocess.run([python, "-c", ""], capture_output=True).returncode:
            return python
    return None


def with_dependencies(python: str, directory: Path) -> str:
    """A virtual environment with what the program needs; the program itself is in the path."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    subprocess.run([python, "-m", "venv", directory], check=True)
    made = str(directory / "bin/python")
    pip = (made, "-m", "pip", "install", "--quiet", *project["dependencies"])
    subprocess.run(pip, check=True, capture_output=True)
    return made


def run(seed: int, count: int) -> dict[str, str]:
    with interpreters(VERSIONS) as found:
        hashes = compare(found, seed, count)
        missing = [version for version in VERSIONS if version not in found.paths]
    return {
        "Python": ", ".join(sorted(found.paths, key=VERSIONS.index)),
        "Python that this machine does not have": ", ".join(missing) or "none",
        **{
            f"{what}, with one hash": f"{sum(counter.values()):,} runs, {next(iter(counter))}"
            for what, counter in hashes.items()
        },
    }


def compare(found: Interpreters, seed: int, count: int) -> dict[str, Counter[str]]:
    """How often each hash occurs, by what is hashed. Raises AssertionError at the second hash."""
    hashes: dict[str, Counter[str]] = {}
    each = min(RUNS_PER_ENVIRONMENT, max(2, count // 3))
    for number in range(count // each):
        environment = found.environment(number, seed)
        for what, digests in results(environment, each).items():
            counter = hashes.setdefault(what, Counter())
            counter.update(digests)
            where = f"seed {seed}, environment {number}: {environment}"
            assert len(counter) == 1, f"{what} differs in {where}: {counter}, {digests}"
    return hashes


def results(where: Environment, times: int) -> dict[str, list[str]]:
    """The digests of `times` runs in an environment."""
    module = (where.python, "-m", "tests.long_runs.one_script", str(times))
    played = run_program(*module, variables=where.variables)
    assert played.returncode == 0, played.stderr
    with TemporaryDirectory() as name:
        directory = Path(name)
        return {
            **json.loads(played.stdout),
            "serve": list(served_digests(where, times, directory)),
            "first failure": [digest(first_failure(where, directory).encode())],
        }


def served_digests(where: Environment, times: int, directory: Path) -> Iterator[str]:
    """The digest of the script in a `serve` process, after its start and after each reset."""
    variables, command = where.variables, where.command
    with serving(*SERVE, logs=directory, variables=variables, command=command) as server:
        for _ in range(times):
            yield digest(asyncio.run(served(url(server))))
            reset = calls.RESET(body={"all": True})
            assert BlockingEmulator(base_url=url(server)).send(reset).status == 204


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.api_port}"


def first_failure(where: Environment, directory: Path) -> str:
    """What `explore` prints and saves about the failure of a shop that fulfils an order twice.

    The numbers of histories that ran depend on how many the shop serves at the same time.
    """
    with small_shop() as shop:
        shop.repeats = True
        flags = (*shop.flags, "--depth", "1", "--save", str(directory / "saved"))
        command = (*where.command, "explore", shop.write(directory), *flags)
        explored = run_program(*command, directory=directory, variables=where.variables)
        assert explored.returncode == 1, explored.stdout + explored.stderr
    [saved] = (directory / "saved").iterdir()
    failure, _, _ = explored.stdout.partition("\n\n")
    text = failure.replace(str(directory), "") + saved.read_text(encoding="utf-8")
    return _VARIES.sub("", text)
