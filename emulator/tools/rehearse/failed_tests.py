"""Recognises the names of failed tests: in a JUnit file, or in the output of test runners."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from emulator.files import open_regular

MAX_NAMES = 100
MAX_NAME_CHARACTERS = 300
MAX_JUNIT_BYTES = 16 * 1024 * 1024

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# A line of each test runner; `name` is that of the test.
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
