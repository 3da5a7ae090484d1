"""Runs the merchant's test command, and reads which of its tests failed."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from emulator.clock import SystemClock
from emulator.tools.child_process import run_command
from emulator.tools.rehearse.failed_tests import COLOUR, failed_tests

MAX_LAST_LINES = 15
MAX_LINE_CHARACTERS = 500
# In the command, it stands for a JUnit file of the run.
JUNIT_PLACEHOLDER = "{junit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """A run of the command; the exit code is None where it did not end in time."""

    exit_code: int | None
    duration_ms: float
    last_lines: Sequence[str]
    failed_tests: Sequence[str]

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0

    @property
    def end(self) -> str:
        """How it ended, in words."""
        if self.exit_code is None:
            return f"it did not end within {self.duration_ms / 1_000:.0f} s"
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
            exit_code, output = await run_command(words, variables, self._wall, max_ms=max_ms)
            lines = COLOUR.sub("", output.decode("utf-8", "replace")).splitlines()
            return SuiteRun(
                exit_code=exit_code,
                duration_ms=self._wall.monotonic_ms() - started_ms,
                last_lines=[line[:MAX_LINE_CHARACTERS] for line in lines[-MAX_LAST_LINES:]],
                failed_tests=failed_tests(junit, lines) if exit_code else [],
            )
