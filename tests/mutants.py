"""Draws mutants of a session of cosmic-ray, and runs both lanes with the killed ones as patches."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

LANES = {"default": (), "slow": ("-m", "interop or deep or sampled or hypothesis")}
IGNORED = ("--ignore=tests/architecture", "--ignore=tests/benchmarks")
DELETE = """
WITH untested AS (
  SELECT job_id FROM work_items WHERE job_id NOT IN (SELECT job_id FROM work_results)
), drawn AS (SELECT job_id FROM untested ORDER BY random() LIMIT ?)
DELETE FROM work_items WHERE job_id IN untested AND job_id NOT IN drawn
"""


def draw(session: str, count: str) -> None:
    """Leave some mutants without a result, drawn by chance."""
    with closing(sqlite3.connect(session)) as database, database:
        database.execute(DELETE, (int(count),))


def patches(session: str, directory: str) -> None:
    """Write a patch for each mutant that the tests have killed."""
    Path(directory).mkdir(exist_ok=True)
    query = "SELECT job_id, diff FROM work_results WHERE test_outcome = 'KILLED'"
    with closing(sqlite3.connect(session)) as database:
        for job, diff in database.execute(query):
            # A heading, and an empty line after the end of a file, are no part of the patch.
            text = diff.partition("\n")[2].removesuffix("\n ")
            Path(directory, f"{job}.patch").write_text(f"{text}\n", encoding="utf-8")


def kill(*files: str) -> None:
    """Print the lane whose tests fail with each patch."""
    for file in files:
        apply = ("git", "apply", "--recount", file)
        is_applied = subprocess.run(apply, capture_output=True).returncode == 0
        try:
            lane = _killing_lane() if is_applied else "changed"
            sys.stdout.write(f"{file} {lane}\n")
            sys.stdout.flush()
        finally:
            if is_applied:
                subprocess.run((*apply, "--reverse"), check=True)


def _killing_lane() -> str:
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *IGNORED)
    for lane, options in LANES.items():
        variables = {**os.environ, **({"TESTS_DEEP": "1"} if options else {})}
        run = subprocess.run((*command, *options), env=variables, capture_output=True)
        if run.returncode:
            return lane
    return "survived"


if __name__ == "__main__":
    {"draw": draw, "patches": patches, "kill": kill}[sys.argv[1]](*sys.argv[2:])
