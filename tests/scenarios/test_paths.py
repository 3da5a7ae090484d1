"""Reads the scenario files of files and directories."""

from pathlib import Path

import pytest

from emulator.scenarios.entries import ScenarioError
from emulator.scenarios.loader import in_force, load_paths, read_files
from emulator.scenarios.values import Scenario


def write(path: Path, name: str, more: str = "") -> Path:
    path.write_text(f"version: 1\nname: {name}\n{more}", encoding="utf-8")
    return path


def test_a_directory_contains_scenarios_in_order_of_name(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", "second")
    write(tmp_path / "a.yml", "first")
    write(tmp_path / "c.txt", "no-scenario")
    (tmp_path / "deeper").mkdir()
    write(tmp_path / "deeper" / "d.yaml", "not-read")
    assert [scenario.name for scenario in load_paths([tmp_path])] == ["first", "second"]
    assert counts([tmp_path]) == (2, 0)


def test_scenarios_come_in_the_order_of_the_paths(tmp_path: Path) -> None:
    last = write(tmp_path / "z.yaml", "zebra")
    first = write(tmp_path / "a.conf", "antelope")
    assert [scenario.name for scenario in load_paths([last, first])] == ["zebra", "antelope"]


def test_without_paths_no_scenarios_are_read() -> None:
    assert load_paths([]) == ()
    assert counts([]) == (0, 0)


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", "first")
    assert len(load_paths([tmp_path, file])) == 1
    assert counts([file, tmp_path, file]) == (1, 0)


def test_the_problems_of_all_files_are_collected(tmp_path: Path) -> None:
    good = write(tmp_path / "a.yaml", "good")
    bad = write(tmp_path / "b.yaml", "Bad", "outcoms: []\n")
    worse = tmp_path / "c.yaml"
    worse.write_text("- x", encoding="utf-8")
    missing = tmp_path / "missing.yaml"
    with pytest.raises(ScenarioError) as raised:
        load_paths([good, bad, worse, missing])
    assert [(problem.source, problem.line) for problem in raised.value.problems] == [
        (str(bad), 2),
        (str(bad), 3),
        (str(worse), 1),
        (str(missing), 1),
    ]
    by_file, problems = read_files([good, bad, worse, missing])
    assert problems == list(raised.value.problems)
    assert [*by_file] == [good, bad, worse, missing]


NOT_UTF_8 = "the byte 0xe9 here is not UTF-8; save the file as UTF-8"
LATIN_1 = "version: 1\nname: é\n".encode() + b"description: ab\xe9\n"
# The content of a file, or None where the path is a directory.
UNREADABLE: dict[str, tuple[bytes | None, str]] = {
    "a directory named like a file": (None, "1:1: cannot be read: Is a directory"),
    "a byte that is not UTF-8": (LATIN_1, f"3:16: {NOT_UTF_8}"),
    "a line break at the start": (b"\nname: \xe9\n", f"2:7: {NOT_UTF_8}"),
    "UTF-16": ("version: 1\n".encode("utf-16"), "1:1: the file is UTF-16; save it as UTF-8"),
    "a file that is not read whole": (
        b"#" * (256 * 1024 - 1) + "ሀ".encode() * 100_000,
        "1:1: the file must not be larger than 256 KiB",
    ),
}


@pytest.mark.parametrize(("content", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file = tmp_path / "file.yaml"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    assert problem_lines([tmp_path]) == [f"{file}:{problem}"]


def test_a_path_without_scenario_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing here", encoding="utf-8")
    missing = tmp_path / "missing"
    assert problem_lines([missing, tmp_path, Path("a\0b")]) == [
        f"{missing}:1:1: cannot be read: No such file or directory",
        f"{tmp_path}:1:1: the directory must contain scenario files: *.yaml or *.yml",
        "a\0b:1:1: cannot be read: embedded null byte",
    ]


def test_two_files_of_the_same_name_are_a_problem_of_the_later_one(tmp_path: Path) -> None:
    first = write(tmp_path / "a.yaml", "twin")
    second = write(tmp_path / "b.yaml", "twin")
    assert problem_lines([tmp_path]) == [
        f"{second}:2:7: the name 'twin' is taken by {first}; give this file another name"
    ]


def test_given_scenarios_come_before_the_shipped_ones_and_replace_those_of_their_names() -> None:
    given = (Scenario(name="newer"), Scenario(name="older", enabled=False))
    shipped = (Scenario(name="first"), Scenario(name="second"))
    assert in_force(given, shipped) == given + shipped
    assert in_force((), shipped) == shipped
    assert in_force(given, ()) == given
    assert in_force(given, (Scenario(name="older"), *shipped)) == given + shipped


def counts(paths: list[Path]) -> tuple[int, int]:
    """The number of the files, and of their problems."""
    by_file, problems = read_files(paths)
    return len(by_file), len(problems)


def problem_lines(paths: list[Path]) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        load_paths(paths)
    _, problems = read_files(paths)
    assert problems == list(raised.value.problems)
    return [str(problem) for problem in problems]
