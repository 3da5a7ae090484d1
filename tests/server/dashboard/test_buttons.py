"""Each button, form and download of the pages is used by a test in a browser."""

import re
from pathlib import Path

import pytest

from emulator.settings import data_directory
from tests.server.checkout.browsing import REPOSITORY

_JINJA = r"\{\{.*?\}\}|\{%.*?%\}"
_TAG = re.compile(rf"<(button|form|select|a)\b((?:{_JINJA}|[^>])*)>")
_ACTS = re.compile(
    r'\b(?:data-call|data-copy|data-copy-from|data-window|download)\b|class="filters"'
)
_TESTID = re.compile(rf'data-testid="((?:{_JINJA}|[^"])+)"')


def _pages() -> str:
    pages = data_directory("templates") / "dashboard"
    return "".join(path.read_text("utf-8") for path in sorted(pages.rglob("*.html")))


def _controls() -> list[str]:
    """The test id of each element that acts, or the element without one."""
    elements = [match[0] for match in _TAG.finditer(_pages()) if _ACTS.search(match[2])]
    found = [(_TESTID.search(element), element) for element in elements]
    return sorted({testid[1] if testid else element for testid, element in found})


CONTROLS = _controls()
CALLS = [match[0] for match in _TAG.finditer(_pages()) if "data-call=" in match[2]]
TESTS = "".join(
    path.read_text("utf-8")
    for path in Path(REPOSITORY, "tests/server/dashboard/browser").glob("*.py")
)


@pytest.mark.parametrize("testid", CONTROLS)
def test_each_control_is_used_in_a_browser(testid: str) -> None:
    # What a template fills in may be anything.
    pattern = '[^"]+'.join(re.escape(part) for part in re.split(_JINJA, testid))
    assert re.search(f'"{pattern}"', TESTS), f"no test uses {testid}"


# Their responses have sentences of their own.
DESCRIBED = ("/clock/advance", "/ping", "/resend", "/release", "/run")


@pytest.mark.parametrize("element", CALLS)
def test_each_call_has_a_sentence(element: str) -> None:
    path = element.partition('data-call="')[2].partition('"')[0]
    assert "data-done=" in element or path.endswith(DESCRIBED)


def test_there_are_controls() -> None:
    assert len(CONTROLS) > 40
