"""Runs the merchant's test command, and reads which of its tests failed."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from msgspec import Struct

from emulator.clock import SystemClock
from emulator.domain.durations import span_text
from emulator.files import open_regular
from emulator.tools.child_process import run_command

MAX_LAST_LINES = 15
MAX_LINE_CHARACTERS = 500
# In the command, it stands for a JUnit file of the run.
JUNIT_PLACEHOLDER = "{junit}"
MAX_NAMES = 100
MAX_NAME_CHARACTERS = 300
MAX_JUNIT_BYTES = 16 * 1024 * 1024

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# A line of each test runner; `name` is the name of the test.
_RUNNERS = (
    # pytest; PHPUnit, which numbers the failures
    re.compile(r"^(?:FAILED|ERROR|[0-9]+\)) (?P<name>[^ ]+::.*)"),
    # unittest; Go
    re.compile(r"^(?:FAIL|ERROR): (?P<name>[^ ]+ \(.+\))"),
    re.compile(r"^--- FAIL: (?P<name>[^ ]+) .*"),
    # Test Anything Protocol; node:test, Jest, Vitest and Pest
    re.compile(r"^not ok [0-9]+ (?:- )?(?P<name>[^#\n]+)(?:#.*)?"),
    re.compile(r"^[✖✕×✗⨯] (?!failing tests:)(?P<name>.+)"),
    re.compile(r"^(?:●|FAIL) +(?P<name>[^ ].* [›>] .+)"),
    # Gradle; Maven
    re.compile(r"^(?P<name>[^ ]+ > .+) FAILED"),
    re.compile(r"^\[ERROR\] +(?P<name>[A-Za-z0-9_$.]+:[0-9]+) .*"),
)
_DURATION = re.compile(r"(?<! ) +\(?[0-9.]+ ?m?s\)?$")


class SuiteRun(Struct, frozen=True, kw_only=True):
    """A run of the command; the exit code is None where it did not end within `max_ms`."""

    exit_code: int | None
    duration_ms: float
    max_ms: float
    last_lines: Sequence[str]
    failed_tests: Sequence[str]

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.exit_code is None:
            return f"it did not end within {span_text(self.max_ms)}"
        return f"exit code {self.exit_code}"


class Suite:
    """The merchant's test command."""

    def __init__(self, words: Sequence[str], wall: SystemClock) -> None:
        self.command = shlex.join(words)
        self._words = words
        self._wall = wall

    async def run(self, variables: Mapping[str, str], *, max_ms: float) -> SuiteRun:
        """Run it with these variables; after `max_ms`, it is ended."""
        with TemporaryDirectory(prefix="payments-rehearsal-") as directory:
            junit = Path(directory) / "junit.xml"
            words = [word.replace(JUNIT_PLACEHOLDER, str(junit)) for word in self._words]
            started_ms = self._wall.monotonic_ms()
            exit_code, output, _ = await run_command(words, variables, self._wall, max_ms=max_ms)
            lines = COLOUR.sub("", output.decode("utf-8", "replace")).splitlines()
            return SuiteRun(
                exit_code=exit_code,
                duration_ms=self._wall.monotonic_ms() - started_ms,
                max_ms=max_ms,
                last_lines=[line[:MAX_LINE_CHARACTERS] for line in lines[-MAX_LAST_LINES:]],
                failed_tests=failed_tests(junit, lines) if exit_code else [],
            )


def failed_tests(junit: Path, output: Sequence[str]) -> list[str]:
    """The names, each once: of the JUnit file, if there is one, or else of the output."""
    names = _in_junit(junit) if junit.is_file() else _in_output(output)
    return list(dict.fromkeys(name[:MAX_NAME_CHARACTERS] for name in names))[:MAX_NAMES]


def _in_junit(file: Path) -> list[str]:
    with open_regular(file) as opened:
        content = opened.read(MAX_JUNIT_BYTES)
    try:
        cases = ElementTree.fromstring(content).iter("testcase")  # noqa: S314 - the user's suite
    except ElementTree.ParseError:
        return []
    failed = [case for case in cases if {part.tag for part in case} & {"failure", "error"}]
    return ["::".join(filter(None, map(case.get, ("classname", "name")))) for case in failed]


def _in_output(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        text = line[: 2 * MAX_NAME_CHARACTERS].strip()
        match = next(filter(None, (runner.fullmatch(text) for runner in _RUNNERS)), None)
        if match is not None:
            yield _DURATION.sub("", match["name"].partition(" - ")[0].strip())
