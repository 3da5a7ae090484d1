"""Where a shop generates its client: a directory that has the documents."""

from pathlib import Path

import pytest

from tests.cli.processes import run

DOCUMENTS = {
    "payments.json": ("openapi",),
    "calls.json": ("openapi", "--no-webhooks"),
    "control.json": ("openapi", "--control"),
}


@pytest.fixture(scope="session")
def documents() -> dict[str, str]:
    """What `payments-emulator openapi` prints, by the file that README.md puts it into."""
    printed = {name: run(*arguments) for name, arguments in DOCUMENTS.items()}
    assert all(one.returncode == 0 for one in printed.values()), printed
    return {name: one.stdout for name, one in printed.items()}


@pytest.fixture
def shop(tmp_path: Path, documents: dict[str, str]) -> Path:
    for name, text in documents.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path
