"""Dockerfile, as hadolint sees it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.dockerfile import DOCKERFILE
from tests.cli.processes import run_program

HADOLINT = Path(sys.executable).parent / "hadolint"


def linted(text: str) -> subprocess.CompletedProcess[str]:
    assert HADOLINT.exists(), "there is no hadolint in this environment (the extra `interop`)"
    return run_program(str(HADOLINT), "--no-color", "-", sent=text)


def test_there_is_nothing_to_find_in_the_dockerfile() -> None:
    ended = linted(DOCKERFILE.read_text(encoding="utf-8"))
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("written", "worse", "rule"),
    [
        ("USER 10001:0", "USER root", "DL3002"),
        ("WORKDIR /src", "WORKDIR src", "DL3000"),
        ('CMD ["payments-emulator", "serve"]', "CMD payments-emulator serve", "DL3025"),
    ],
)
def test_what_is_worse_is_found(written: str, worse: str, rule: str) -> None:
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert written in text
    assert rule in linted(text.replace(written, worse)).stdout
