"""Which schema a database has, and how it comes to the present one."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

# "ETBP": tells our files from those of other programs.
APPLICATION_ID = 0x45544250

_TABLES = "SELECT count(*) FROM sqlite_schema"


class UnusableDatabase(Exception):
    """The database cannot be opened as ours; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered schema file: it takes a database from `number - 1` to `number`."""

    number: int
    script: str


def migrations() -> list[Migration]:
    """The numbered schema files, in order."""
    directory = files("emulator.storage") / "schema"
    names = sorted(entry.name for entry in directory.iterdir() if entry.name.endswith(".sql"))
    return [
        Migration(number, (directory / name).read_text(encoding="utf-8"))
        for number, name in enumerate(names, start=1)
    ]


def migrate(
    connection: sqlite3.Connection, path: str, steps: Sequence[Migration] | None = None
) -> None:
    """Bring a new or older database to the present schema, each step in one transaction.

    Raises UnusableDatabase for a newer one and for the file of another program.
    """
    steps = migrations() if steps is None else steps
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application_id != APPLICATION_ID and connection.execute(_TABLES).fetchone()[0]:
        raise UnusableDatabase(f"the database {path} belongs to another program")
    if version > len(steps):
        raise UnusableDatabase(
            f"the database {path} has schema {version}, and this version knows up to {len(steps)};"
            " use the emulator that wrote it, or a new file"
        )
    for step in steps[version:]:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{step.script}\n"
            f"PRAGMA application_id = {APPLICATION_ID};\n"
            f"PRAGMA user_version = {step.number};\nCOMMIT;"
        )
