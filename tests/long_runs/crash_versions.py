"""Opens a database file that the program of the commit before has written."""

import io
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

from emulator.server.storage.database_file import SCHEMA_VERSION
from tests.cli.processes import REPOSITORY, serving
from tests.cli.test_mistakes import database_mistake
from tests.long_runs.crash_state import check_database

PROGRAM = "import sys; sys.path.insert(0, {path!r}); from emulator.cli import main; main()"
PAY = {"method": "telebirr", "phone": "0900000001"}


def open_earlier_file(directory: Path) -> str:
    """Whether the file was opened or refused; raises AssertionError for anything else."""
    content = subprocess.run(
        ["git", "archive", "HEAD~1", "emulator", "scenarios", "templates"],
        cwd=REPOSITORY,
        capture_output=True,
    )
    if content.returncode != 0:
        return "there is no commit before this one"
    with tarfile.open(fileobj=io.BytesIO(content.stdout)) as archive:
        archive.extractall(directory / "earlier", filter="data")
    command = (sys.executable, "-c", PROGRAM.format(path=str(directory / "earlier")))
    database = directory / "earlier.sqlite3"
    kept = ("--database", str(database))
    with serving(*kept, logs=directory, command=command) as server:
        payments = [server.create()["id"] for _ in range(3)]
        assert server.request("POST", f"/_emulator/payments/{payments[0]}/pay", PAY).status == 200
        assert server.request("PUT", "/_emulator/snapshots/here").status == 201
        server.kill()
    with closing(sqlite3.connect(database)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        assert "; use the emulator that wrote it, or a new file" in database_mistake(database)
        return "refused with a sentence"
    with serving(*kept, logs=directory) as server:
        for _ in range(2):
            listed = server.request("GET", "/v1/payments").json["data"]
            assert [(each["id"], each["status"]) for each in reversed(listed)] == [
                *zip(payments, ("completed", "pending", "pending"), strict=True)
            ]
            assert server.request("POST", "/_emulator/snapshots/here/restore").status == 200
        check_database(database)
        assert server.stop() == 0
    return "opened"
