"""The example of the guide that runs the application without a socket."""

import runpy
from pathlib import Path

import pytest

from tests.docs.document import part, shown_file

PROGRAM = "in_process.py"


def test_the_application_runs_without_a_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / PROGRAM
    program.write_text(shown_file(PROGRAM).text, encoding="utf-8")
    runpy.run_path(str(program))
    printed = capsys.readouterr().out.strip()
    assert f"`{PROGRAM}` prints `{printed}`" in part("docs/guides/asgi.md", "Without a socket")
