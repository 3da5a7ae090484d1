"""The JUnit file, read as a CI server would."""

from xml.etree import ElementTree

from emulator.replay.junit import junit
from emulator.replay.results import Result
from tests.replay.made import failed, failure, result


def read(*results: Result) -> ElementTree.Element:
    return ElementTree.fromstring(junit(results, duration_ms=1_234.5))  # noqa: S314 - it is ours


def test_there_is_a_suite_with_a_case_for_each_case() -> None:
    suites = read(result("one", duration_ms=250.0), failed("two"))
    [suite] = suites
    counts = {"tests": "2", "failures": "1", "errors": "0", "time": "1.234"}
    assert suites.attrib == counts
    assert suite.attrib == {"name": "replay", **counts}
    assert [case.attrib for case in suite] == [
        {"name": "one", "classname": "cases/one.yaml", "time": "0.250"},
        {"name": "two", "classname": "cases/two.yaml", "time": "0.000"},
    ]


def test_a_failure_tells_what_was_printed() -> None:
    [[passed, bad]] = read(result(), failed())
    assert list(passed) == []
    [told] = bad
    assert told.tag == "failure"
    assert told.attrib["message"] == "create was refused: 400 invalid_amount"
    assert "FAILED  advance: 1s" in (told.text or "")
    assert "cases/mine.yaml:7:5: create was refused" in (told.text or "")


def test_what_xml_cannot_say_is_replaced() -> None:
    [[bad]] = read(failed(why=failure("a null \0, an escape \x1b[31m, <tags> & ብር")))
    assert bad[0].attrib["message"] == "a null \ufffd, an escape \ufffd[31m, <tags> & ብር"
