"""The file of `--ready-file`: when it exists, what it contains, and which paths are refused.

`--clock-file` refuses the same paths.
"""

import json
import os
import stat
from pathlib import Path

import pytest

from emulator import __version__
from emulator.files import create_file
from tests.cli.processes import FREE_PORTS, run, serving, wait_for


def test_it_describes_a_server_that_responds_and_is_removed_at_exit(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_text('{"api": "of a former process"}\n')
    options = ("--test-key", "test_own_key", "--checkout-url", "https://pay.example")
    variables = {"EMULATOR_READY_FILE": str(path)}
    with serving(*options, logs=tmp_path, variables=variables) as server:
        assert json.loads(path.read_text()) == {
            "api": f"http://127.0.0.1:{server.api_port}",
            "checkout": "https://pay.example",
            "pid": server.process.pid,
            "test_key": "test_own_key",
            "version": __version__,
        }
        assert [entry.name for entry in tmp_path.glob("*ready*")] == ["ready.json"]
        assert server.stop() == 0
        assert not list(tmp_path.glob("*ready*"))
        assert server.stderr == ""


def test_only_its_user_can_read_it_and_the_file_of_another_process_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_bytes(b"")  # as by mktemp
    before = os.umask(0)
    try:
        with serving("--ready-file", str(path), logs=tmp_path) as server:
            wait_for(server.process, path.read_bytes)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            path.write_text("another")
            assert server.stop() == 0
    finally:
        os.umask(before)
    assert path.read_text() == "another"


def test_a_file_is_written_through_no_link(tmp_path: Path) -> None:
    link, foreign = tmp_path / "link", tmp_path / "foreign"
    foreign.write_text("of the user")
    link.symlink_to(foreign)
    create_file(link, b"new", mode=0o600)
    assert (link.read_bytes(), link.is_symlink()) == (b"new", False)
    assert foreign.read_text() == "of the user"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/ready.json", "cannot write '{}': No such file or directory"),
        (".", "cannot write '{}': Is a directory"),
        ("/", "cannot write '{}': Is a directory"),
        ("text", "found another file at '{}', expected none or the file of a former process"),
        ("pipe", "cannot write '{}': found a pipe, expected a regular file"),
        ("n" * 255, "cannot write '{}': File name too long"),
    ],
)
@pytest.mark.parametrize("option", ["--ready-file", "--clock-file"])
def test_a_path_that_cannot_be_written_is_a_mistake(
    option: str, path: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("1767225600 of the user")
    os.mkfifo(tmp_path / "pipe")
    full = tmp_path / path
    ended = run("serve", *FREE_PORTS, option, str(full))
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"payments-emulator: {option}: {reason.format(full)}")
    assert ended.stderr.count("\n") == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["pipe", "text"]
    assert (tmp_path / "text").read_text() == "1767225600 of the user"


def test_a_failed_start_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    ended = run("serve", *FREE_PORTS, "--ready-file", str(path), "--database", str(tmp_path))
    assert ended.returncode == 2
    assert not list(tmp_path.iterdir())
