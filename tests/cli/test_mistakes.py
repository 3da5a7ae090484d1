"""Whatever the user gets wrong at start ends in one clear line on stderr and exit code 2."""

import os
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.processes import AS_NOBODY, COMMAND, FREE_PORTS, REPOSITORY, free_port, run, serving

PRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
SCENARIO = "version: 1\nname: mine\n"


def complaint(
    *arguments: str,
    variables: dict[str, str] | None = None,
    command: Sequence[str] = COMMAND,
) -> str:
    """The one line of a command that cannot be run, without the name of the program."""
    [line] = complaints(*arguments, variables=variables, command=command)
    return line


def complaints(
    *arguments: str,
    variables: dict[str, str] | None = None,
    command: Sequence[str] = COMMAND,
) -> list[str]:
    ended = run(*arguments, variables=variables, command=command)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert all(line.startswith("payments-emulator: ") for line in lines), ended.stderr
    return [line.removeprefix("payments-emulator: ") for line in lines]


def serve_complaint(*options: str, command: Sequence[str] = COMMAND) -> str:
    return complaint("serve", *FREE_PORTS, *options, command=command)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nope"], "No such command 'nope'; see payments-emulator --help"),
        (["--nope"], "No such option '--nope'; see payments-emulator --help"),
        (["serve", "--nope"], "No such option '--nope'; see payments-emulator serve --help"),
        (
            ["serve", "more"],
            "Got unexpected extra argument (more); see payments-emulator serve --help",
        ),
        (["serve", "--port"], "Option '--port' requires an argument"),
        (["serve", "--strict=yes"], "Option '--strict' does not take a value"),
        (["check"], "Missing argument 'PATH...'; see payments-emulator check --help"),
        (["schema", "more"], "Got unexpected extra argument (more); see payments-emulator schema"),
        (
            ["serve", "--port", "http"],
            "flag --port: found 'http', expected an integer from 0 to 65535",
        ),
        (
            ["serve", "--clock", "slow"],
            "flag --clock: found 'slow', expected real, frozen, or frozen@ and an instant"
            " from 1970 to 9988, such as frozen@2026-01-01T00:00:00Z",
        ),
        (
            ["serve", "--clock", "frozen@1969-12-31T00:00:00Z"],
            "flag --clock: found 'frozen@1969-12-31T00:00:00Z', expected real, frozen, or"
            " frozen@ and an instant from 1970 to 9988",
        ),
        (
            ["serve", "--port", "8081"],
            "flag --port: found the same port for the API and the checkout pages,"
            " expected two ports",
        ),
        (
            ["serve", "--config", "/nowhere/config.yaml"],
            "flag --config: cannot read '/nowhere/config.yaml': No such file or directory",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(arguments: list[str], expected: str) -> None:
    assert complaint(*arguments).startswith(expected)


def test_a_wrong_variable_is_named() -> None:
    line = complaint("serve", variables={"EMULATOR_SEED": "lucky"})
    assert line.startswith("variable EMULATOR_SEED: found 'lucky', expected an integer")


def test_a_wrong_config_key_is_named_with_file_and_line(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("port: 0\n\nprot: 0\n")
    assert serve_complaint("--config", str(config)) == (
        f"{config}:3:1: unknown option 'prot', the nearest is 'port'"
    )


def test_a_secret_in_a_mistake_is_masked() -> None:
    assert "a secret of mine" not in serve_complaint("--test-key", "live_a secret of mine")


@pytest.mark.parametrize("option", ["--port", "--checkout-port"])
def test_a_port_in_use_is_named_with_its_option(option: str, tmp_path: Path) -> None:
    with serving(logs=tmp_path) as server:
        assert serve_complaint(option, str(server.api_port)) == (
            f"cannot listen on 127.0.0.1 port {server.api_port}: Address already in use;"
            f" name another port with {option}, or 0 for any free one"
        )


@pytest.mark.skipif(
    not PRIVILEGED.exists() or int(PRIVILEGED.read_text()) <= 80,
    reason="everybody may listen on every port here",
)
@pytest.mark.parametrize("option", ["--port", "--checkout-port"])
def test_a_privileged_port_is_told(option: str) -> None:
    assert serve_complaint(option, "80", command=AS_NOBODY) == (
        "cannot listen on 127.0.0.1 port 80: Permission denied;"
        f" name another port with {option}, or 0 for any free one"
    )


def test_a_host_that_does_not_exist_is_told() -> None:
    line = serve_complaint("--host", "nowhere.invalid")
    assert line.startswith("cannot listen on nowhere.invalid: ")


def test_an_address_of_another_machine_is_told() -> None:
    line = serve_complaint("--host", "192.0.2.1")
    assert line.startswith("cannot listen on 192.0.2.1 port 0: ")


def a_directory(path: Path) -> None:
    path.mkdir()


def a_text(path: Path) -> None:
    path.write_text("This is not a database, and longer than the head of one. " * 4)


def a_stranger(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def a_logging_stranger(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (a_directory, "cannot open the database {}: Is a directory"),
        (a_text, "cannot open the database {}: it is not an SQLite file"),
        (a_stranger, "the database {} belongs to another program"),
        (a_logging_stranger, "the database {} belongs to another program"),
    ],
)
def test_a_database_that_is_none_is_told(
    make: Callable[[Path], None], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "database"
    make(path)
    assert serve_complaint("--database", str(path)) == expected.format(path)


@pytest.mark.parametrize("make", [a_text, a_stranger, a_logging_stranger])
def test_a_file_of_another_program_is_left_as_it_is(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "database"
    make(path)
    before = path.read_bytes()
    serve_complaint("--database", str(path))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["database"]


def test_a_missing_directory_of_the_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "database"
    assert serve_complaint("--database", str(path)) == (
        f"cannot open the database {path}: No such file or directory"
    )


def test_a_database_of_a_newer_schema_is_told(tmp_path: Path) -> None:
    path = kept_database(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    line = serve_complaint("--database", str(path))
    assert line.startswith(f"the database {path} has schema 99, and this version knows up to ")
    assert line.endswith("; use the emulator that wrote it, or a new file")


@pytest.mark.parametrize("damaged_from", [2048, 4096])
def test_a_damaged_database_is_told(damaged_from: int, tmp_path: Path) -> None:
    path = kept_database(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:damaged_from] + b"\x99" * (len(content) - damaged_from))
    assert serve_complaint("--database", str(path)).endswith("database disk image is malformed")


def test_a_database_that_another_emulator_uses_is_told(tmp_path: Path) -> None:
    path = tmp_path / "database"
    with serving("--database", str(path), logs=tmp_path) as server:
        assert serve_complaint("--database", str(path)) == (
            f"the database {path} is in use by another emulator"
        )
        assert server.request("GET", "/v1/payments").status == 200


def test_a_database_that_another_program_has_locked_is_told(tmp_path: Path) -> None:
    path = kept_database(tmp_path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert serve_complaint("--database", str(path)) == (
            f"cannot use the database {path}: database is locked"
        )
    finally:
        other.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="it has other rights")
def test_a_database_that_may_not_be_read_is_told() -> None:
    path = "/root/database" if os.geteuid() == 0 else "/etc/shadow"
    assert serve_complaint("--database", path, command=AS_NOBODY) == (
        f"cannot open the database {path}: Permission denied"
    )


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="it has other rights")
def test_a_database_in_a_directory_that_may_not_be_written_is_told() -> None:
    line = serve_complaint("--database", "/etc/database", command=AS_NOBODY)
    assert line == "cannot open the database /etc/database: Permission denied"


def kept_database(directory: Path) -> Path:
    path = directory / "kept.sqlite3"
    with serving("--database", str(path), logs=directory) as server:
        assert server.stop() == 0
    return path


def test_a_scenario_file_that_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "missing.yaml"
    line = serve_complaint("--scenarios", str(path))
    assert line == f"{path}:1:1: cannot be read: No such file or directory"


def test_each_mistake_in_scenario_files_has_its_line(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text(f"{SCENARIO}outcome: []\n")
    second.write_text("version: 2\nname: UPPER\n")
    lines = complaints("serve", *FREE_PORTS, "--scenarios", str(tmp_path))
    assert [line.split(": ")[0] for line in lines] == [
        f"{first}:3:1",
        f"{second}:1:10",
        f"{second}:2:7",
    ]
    assert "outcomes" in lines[0]


def test_a_mistake_leaves_the_ports_free(tmp_path: Path) -> None:
    port = str(free_port())
    serve_complaint("--port", port, "--database", str(tmp_path))
    with serving("--port", port, logs=tmp_path) as server:
        assert server.api_port == int(port)


def test_the_command_alone_prints_its_help() -> None:
    ended = run()
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert ended.stdout.startswith("Usage: payments-emulator [OPTIONS] COMMAND [ARGS]...")
    assert {"serve", "health", "check", "schema"} <= set(ended.stdout.split())


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("command", [[], ["serve"], ["health"], ["check"], ["schema"]])
def test_every_command_has_help(command: list[str], flag: str) -> None:
    ended = run(*command, flag)
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: payments-emulator")


def test_the_version_is_printed() -> None:
    text = (REPOSITORY / "emulator" / "__init__.py").read_text()
    ended = run("--version")
    assert ended.returncode == 0
    assert f'__version__ = "{ended.stdout.split()[-1]}"' in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("openapi",),
        ("schema",),
        ("check", "scenarios"),
        ("replay", "scenarios/refund.yaml"),
        ("serve", "--help"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_printed_is_a_mistake(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=REPOSITORY
        )
    assert ended.returncode == 2
    assert ended.stderr == b"payments-emulator: cannot print: No space left on device\n"
