"""Writes the results of a run as a JUnit file for CI servers."""

import re
from collections.abc import Sequence
from io import BytesIO
from xml.etree import ElementTree

from emulator.replay.console import failure_lines, step_lines
from emulator.replay.results import CaseResult
from emulator.reporting import Paint

SUITE = "replay"

# Characters that XML 1.0 cannot represent.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PLAIN = Paint(is_on=False)


def junit(results: Sequence[CaseResult], *, duration_ms: float) -> bytes:
    """The file: a test case for each case, a failure with its printed lines."""
    failed = sum(not result.has_passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0"}
    counts["time"] = _seconds(duration_ms)
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, **counts})
    for result in results:
        _add_case(suite, result)
    ElementTree.indent(suites)
    content = BytesIO()
    ElementTree.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    return content.getvalue() + b"\n"


def _add_case(suite: ElementTree.Element, result: CaseResult) -> None:
    attributes = {
        "name": result.case.name,
        "classname": _xml_text(result.case.source),
        "time": _seconds(result.duration_ms),
    }
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if result.failure is not None:
        attributes = {"message": _xml_text(result.failure.message), "type": "expectation"}
        failure = ElementTree.SubElement(case, "failure", attributes)
        lines = step_lines(result.steps, _PLAIN)
        lines += ["", *failure_lines(result, result.failure, _PLAIN)]
        failure.text = _xml_text("\n".join(lines))


def _seconds(duration_ms: float) -> str:
    return f"{duration_ms / 1_000:.3f}"


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
