"""Pipes, devices and sockets, which commands must not open: reading a pipe could block."""

import os
import socket
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.cli.test_mistakes import serve_mistake

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="it has no such files")

Make = Callable[[Path], Path]


def a_pipe(directory: Path) -> Path:
    path = directory / "odd.yaml"
    os.mkfifo(path)
    return path


def a_socket(directory: Path) -> Path:
    # The path of a socket may have about a hundred characters.
    with chdir(directory), socket.socket(socket.AF_UNIX) as bound:
        bound.bind("odd.yaml")
    return directory / "odd.yaml"


def a_device(directory: Path) -> Path:
    path = directory / "odd.yaml"
    path.symlink_to(os.devnull)
    return path


KINDS = [
    (a_pipe, "a pipe, expected a regular file; write its content to a file first"),
    (a_socket, "a socket, expected a regular file"),
    (a_device, "a device, expected a regular file"),
]


@pytest.mark.parametrize(("make", "found"), KINDS)
def test_a_file_that_is_not_regular_is_refused(make: Make, found: str, tmp_path: Path) -> None:
    path = make(tmp_path)
    for command in ("check", "replay"):
        for named in (path, tmp_path):
            ended = run(command, str(named))
            assert ended.returncode == 2
            assert ended.stdout + ended.stderr == f"{path}:1:1: cannot be read: found {found}\n"
    for option, expected in (
        ("--scenarios", f"{path}:1:1: cannot be read: found {found}"),
        ("--config", f"flag --config: cannot read '{path}': found {found}"),
        ("--database", f"cannot open the database {path}: found {found}"),
    ):
        assert serve_mistake(option, str(path)) == expected


def test_a_link_to_a_regular_file_is_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("version: 1\nname: one\n")
    (tmp_path / "link.yaml").symlink_to("file")
    assert run("check", str(tmp_path)).stdout == "1 file: no problems\n"
