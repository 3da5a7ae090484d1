"""A user's mistake is one line on standard error and exit code 2."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import click
import pytest

from emulator.cli.commands import cli
from tests.cli.processes import AS_NOBODY, COMMAND, FREE_PORTS, REPOSITORY, free_port, run, serving
from tests.depth import usually
from tests.tables import rows

PRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
SCENARIO = "version: 1\nname: mine\n"

has_users = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="it has other rights")


def mistake(
    *arguments: str, variables: dict[str, str] | None = None, command: Sequence[str] | None = None
) -> str:
    """The line that a command prints instead of running, without the name of the program."""
    [line] = mistakes(*arguments, variables=variables, command=command)
    return line


def mistakes(
    *arguments: str, variables: dict[str, str] | None = None, command: Sequence[str] | None = None
) -> list[str]:
    ended = run(*arguments, variables=variables, command=command)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert all(line.startswith("payments-emulator: ") for line in lines), ended.stderr
    return [line.removeprefix("payments-emulator: ") for line in lines]


def serve_mistake(*options: str, command: Sequence[str] | None = None) -> str:
    return mistake("serve", *FREE_PORTS, *options, command=command)


def database_mistake(path: Path | str, command: Sequence[str] | None = None) -> str:
    return serve_mistake("--database", str(path), command=command)


# The start of the line that is printed.
@pytest.mark.parametrize(("arguments", "expected"), rows(__file__, "command lines"))
def test_a_mistake_on_the_command_line_is_one_line(arguments: str, expected: str) -> None:
    # Early versions of click write the option without quotation marks.
    line = mistake(*arguments.split()).replace("option: --nope", "option '--nope'")
    assert line.startswith(expected)


def test_a_wrong_variable_is_named() -> None:
    line = mistake("serve", variables={"EMULATOR_SEED": "lucky"})
    assert line.startswith("variable EMULATOR_SEED: found 'lucky', expected an integer")


def test_every_mistake_of_a_config_file_is_a_line_in_the_order_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "port: 70000\nprot: 1\nseed: x\nmethods: [A, mpesa, 3]\nport: 1\nclock: slow\n"
    )
    lines = mistakes("serve", "--config", str(config), "--clock", "real")
    assert [line.removeprefix(f"{config}:").split(", expected")[0] for line in lines] == [
        *("1:7: port: found '70000'", "2:1: unknown option 'prot', the nearest is 'port'"),
        *("3:7: seed: found the text 'x'", "4:10: methods: found 3 in the list"),
        *("4:10: methods: found 'A'", "5:1: port is given twice, first on line 1"),
    ]
    config.write_text("port: 8081\nmethods: [mpesa, mpesa]\n")
    places = [line.split(": found")[0] for line in mistakes("serve", "--config", str(config))]
    assert places == [f"{config}:1:7: port", f"{config}:2:10: methods"]


def port_mistake(reason: str, option: str, port: int) -> str:
    return (
        f"cannot listen on 127.0.0.1 port {port}: {reason};"
        f" name another port with {option}, or 0 for any free one"
    )


def test_a_port_in_use_is_named_with_its_option(tmp_path: Path) -> None:
    with serving(logs=tmp_path) as server:
        port = server.api_port
        for option in ("--port", "--checkout-port"):
            line = serve_mistake(option, str(port))
            assert line == port_mistake("Address already in use", option, port)


@pytest.mark.skipif(
    not PRIVILEGED.exists() or int(PRIVILEGED.read_text()) <= 80,
    reason="every user may listen on every port here",
)
@pytest.mark.parametrize("option", ["--port", "--checkout-port"])
@pytest.mark.deep
def test_a_privileged_port_is_named_with_its_option(option: str) -> None:
    line = serve_mistake(option, "80", command=AS_NOBODY)
    assert line == port_mistake("Permission denied", option, 80)


def a_text(path: Path) -> None:
    path.write_text("This is not a database, and longer than the head of one. " * 4)


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def a_foreign_database(path: Path) -> None:
    changed(path, "CREATE TABLE theirs (x)")


def a_foreign_database_with_a_log(path: Path) -> None:
    changed(path, "PRAGMA journal_mode = WAL", "CREATE TABLE theirs (x)")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Path.mkdir, "cannot open the database {}: Is a directory"),
        (a_text, "cannot open the database {}: it is not an SQLite file"),
        (a_foreign_database, "the database {} belongs to another program"),
        (a_foreign_database_with_a_log, "the database {} belongs to another program"),
    ],
)
def test_a_file_that_is_no_database_of_ours_is_refused_and_unchanged(
    make: Callable[[Path], None], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "database"
    make(path)
    before = path.is_file() and path.read_bytes()
    assert database_mistake(path) == expected.format(path)
    assert (path.is_file() and path.read_bytes()) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["database"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The database of a server that has ended."""
    path = tmp_path / "kept.sqlite3"
    with serving("--database", str(path), logs=tmp_path) as server:
        assert server.stop() == 0
    return path


@pytest.mark.parametrize(
    ("statement", "found"),
    rows(__file__, "foreign objects"),
)
def test_a_database_with_more_than_our_schema_is_refused(
    database: Path, statement: str, found: str
) -> None:
    changed(database, statement)
    assert database_mistake(database) == (
        f"the database {database} contains the {found} 'spy' of another program; drop the"
        f" {found}, or use a new file"
    )


def test_the_statistics_of_sqlite_are_no_foreign_table(database: Path) -> None:
    changed(database, "ANALYZE")
    with serving("--database", str(database), logs=database.parent) as server:
        assert server.request("GET", "/v1/payments").status == 200


def test_a_damaged_database_is_refused(database: Path) -> None:
    content = database.read_bytes()
    for damaged_from in (2048, 4096):
        database.write_bytes(content[:damaged_from] + b"\x99" * (len(content) - damaged_from))
        assert database_mistake(database) == (
            f"the database {database} is damaged: database disk image is malformed;"
            " use a copy or a new file"
        ), damaged_from


def test_a_database_that_another_emulator_uses_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "database"
    with serving("--database", str(path), logs=tmp_path) as server:
        assert database_mistake(path) == f"the database {path} is in use by another emulator"
        assert server.request("GET", "/v1/payments").status == 200


def test_a_database_that_another_program_has_locked_is_refused(database: Path) -> None:
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        line = database_mistake(database)
    finally:
        other.close()
    assert line == f"cannot use the database {database}: database is locked"


# No file can grow beyond a size, as on a full disk.
LIMITED = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}));"
    " from emulator.cli import main; main()"
)


@pytest.mark.deep
def test_a_full_disk_is_one_line_at_the_start_too(tmp_path: Path) -> None:
    path = tmp_path / "database"
    with serving("--database", str(path), logs=tmp_path) as server:
        for _ in range(50):
            server.create()
        server.kill()
    assert tmp_path.joinpath("database-wal").stat().st_size > 70_000
    for size_bytes in (20_000, 70_000):  # The first is too small for the index of the log.
        line = database_mistake(path, (sys.executable, "-c", LIMITED.format(size_bytes)))
        assert line.endswith(f" the database {path}: database or disk is full"), size_bytes


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of this kind")
@pytest.mark.parametrize("limit", [6, 8, 10, 11, 13, 14, 20])
def test_too_low_a_limit_of_open_files_is_one_line(limit: int) -> None:
    limited = ("sh", "-c", f'ulimit -n {limit}; exec "$0" "$@"', *COMMAND)
    assert serve_mistake(command=limited) == (
        "cannot open 32 files at once: Too many open files; "
        "increase the limit of open files (ulimit -n)"
    )


@has_users
@pytest.mark.sampled
@pytest.mark.parametrize("path", usually(["unreadable"], deep=["unreadable", "/etc/database"]))
def test_a_database_without_permission_is_refused(path: str) -> None:
    if path == "unreadable":
        path = "/root/database" if os.geteuid() == 0 else "/etc/shadow"
    line = database_mistake(path, command=AS_NOBODY)
    assert line == f"cannot open the database {path}: Permission denied"


def test_each_mistake_in_scenario_files_has_its_line(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(f"{SCENARIO}outcome: []\n")
    second.write_text("version: 2\nname: UPPER\n")
    lines = mistakes("serve", *FREE_PORTS, "--scenarios", str(tmp_path))
    places = [f"{first}:3:1", f"{second}:1:10", f"{second}:2:7"]
    assert [line.split(": ")[0] for line in lines] == places
    assert "outcomes" in lines[0]


def test_a_failed_start_with_the_log_as_json_is_an_object_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 2\nname: UPPER\n")
    for options in (("--database", str(tmp_path)), ("--scenarios", str(tmp_path))):
        failed = run("serve", *FREE_PORTS, "--log-format", "json", *options)
        assert (failed.returncode, failed.stdout) == (2, "")
        for line in map(json.loads, failed.stderr.splitlines()):
            assert line["level"] == "error"
            assert line["at"].endswith("Z")
            assert str(tmp_path) in line["message"]


def test_mistakes_of_options_and_of_scenario_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 2\nname: UPPER\n")
    failed = run("serve", "--scenarios", str(tmp_path), "--seed", "x", "--clock", "y")
    places = ["flag --seed", "flag --clock", f"{tmp_path}/a.yaml:1:10", f"{tmp_path}/a.yaml:2:7"]
    assert [line.split(": ")[1] for line in failed.stderr.splitlines()] == places
    assert failed.returncode == 2


@pytest.mark.parametrize(
    "words", ["serve --scenarios", "serve --seed x --scenarios", "replay", "rehearse --variants"]
)
def test_mistakes_of_a_webhook_form_and_of_a_scenario_are_reported_at_once(
    tmp_path: Path, words: str
) -> None:
    form, scenario, config = (tmp_path / f"{name}.yaml" for name in ("form", "a", "config"))
    form.write_text("version: 2\nname: UPPER\n")
    scenario.write_text("version: 2\nname: UPPER\n")
    config.write_text(f"webhook-format: {form}\n")
    option = ["--webhook-format", str(form)]
    if words.startswith("rehearse"):
        option = ["--config", str(config), "--", "true"]
    failed = run(*words.split(), str(scenario), *option)
    for file in (form, scenario):
        assert f"{file}:1:10: " in failed.stderr
        assert f"{file}:2:7: " in failed.stderr
    assert (failed.returncode, failed.stdout) == (2, "")


def test_a_mistake_leaves_the_ports_free(tmp_path: Path) -> None:
    port = str(free_port())
    serve_mistake("--port", port, "--database", str(tmp_path))
    with serving("--port", port, logs=tmp_path) as server:
        assert server.api_port == int(port)


COMMANDS = cli.list_commands(click.Context(cli))


def test_the_command_alone_prints_its_help() -> None:
    ended = run()
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: payments-emulator [OPTIONS] COMMAND [ARGS]...")
    assert set(COMMANDS) <= set(ended.stdout.split())


CALLS = [(), *((name,) for name in COMMANDS)]


@pytest.mark.sampled
def test_every_command_prints_its_help_in_a_new_interpreter_too() -> None:
    printed = {}
    for call in CALLS:
        ended = run(*call, "-h")
        assert (ended.returncode, ended.stderr) == (0, ""), call
        assert ended.stdout.startswith("Usage: payments-emulator"), call
        printed[call] = ended.stdout
    for call in usually(CALLS[:1], deep=CALLS):
        ended = run(*call, "--help", command=COMMAND)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, printed[call], ""), call


def test_the_version_is_printed() -> None:
    text = (REPOSITORY / "emulator" / "__init__.py").read_text()
    ended = run("--version")
    assert ended.returncode == 0
    assert f'__version__ = "{ended.stdout.split()[-1]}"' in text


PRINTING = ["openapi", "replay scenarios/refund.yaml", "schema", "check scenarios", "serve --help"]


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", usually(PRINTING[:1], deep=PRINTING))
@pytest.mark.deep
def test_output_that_cannot_be_printed_is_a_mistake(arguments: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, *arguments.split()], stdout=full, stderr=subprocess.PIPE, cwd=REPOSITORY
        )
    assert ended.returncode == 2
    assert ended.stderr == b"payments-emulator: cannot print: No space left on device\n"
