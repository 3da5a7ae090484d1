"""A run as a JUnit file, which CI servers read."""

import re
from collections.abc import Sequence
from io import BytesIO
from xml.etree import ElementTree

from emulator.replay.console import failure_lines, step_lines
from emulator.replay.results import Result
from emulator.reporting import Paint

SUITE = "replay"

# What XML 1.0 has no way to say.
_UNSAYABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = Paint(is_on=False)


def junit(results: Sequence[Result], *, duration_ms: float) -> bytes:
    """The file: a test case for each case, a failure with what was told of it."""
    failed = sum(not result.has_passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0"}
    suites = ElementTree.Element("testsuites", counts | {"time": _seconds(duration_ms)})
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": SUITE, **counts, "time": _seconds(duration_ms)}
    )
    for result in results:
        _add(suite, result)
    ElementTree.indent(suites)
    written = BytesIO()
    ElementTree.ElementTree(suites).write(written, encoding="utf-8", xml_declaration=True)
    return written.getvalue() + b"\n"


def _add(suite: ElementTree.Element, result: Result) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "name": result.case.name,
            "classname": _sayable(result.case.source),
            "time": _seconds(result.duration_ms),
        },
    )
    if result.failure is not None:
        failure = ElementTree.SubElement(
            case, "failure", {"message": _sayable(result.failure.message), "type": "expectation"}
        )
        lines = [
            *step_lines(result.steps, _PLAIN),
            "",
            *failure_lines(result, result.failure, _PLAIN),
        ]
        failure.text = _sayable("\n".join(lines))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1_000:.3f}"


def _sayable(text: str) -> str:
    return _UNSAYABLE.sub("\ufffd", text)
