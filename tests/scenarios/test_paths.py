"""Reads the scenario files of files and directories."""

from pathlib import Path

import pytest

from emulator.scenarios.loader import in_force, load_paths, read_paths
from emulator.scenarios.problems import ScenarioError
from emulator.scenarios.values import Scenario
from emulator.settings import data_directory


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
    assert read_paths([tmp_path])[1:] == ([], 2)


def test_scenarios_come_in_the_order_of_the_paths(tmp_path: Path) -> None:
    last = write(tmp_path / "z.yaml", "zebra")
    first = write(tmp_path / "a.conf", "antelope")
    assert [scenario.name for scenario in load_paths([last, first])] == ["zebra", "antelope"]


def test_without_paths_no_scenarios_are_read() -> None:
    assert load_paths([]) == ()
    assert read_paths([]) == ([], [], 0)


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", "first")
    assert len(load_paths([tmp_path, file])) == 1
    assert read_paths([file, tmp_path, file])[1:] == ([], 1)


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
    _, problems, files_count = read_paths([good, bad, worse, missing])
    assert problems == list(raised.value.problems)
    assert files_count == 4


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert problem_lines([missing]) == [f"{missing}:1:1: cannot be read: No such file or directory"]


def test_a_path_with_a_null_character_is_a_problem() -> None:
    (line,) = problem_lines([Path("a\0b")])
    assert "cannot be read: embedded null" in line


def test_a_directory_without_scenario_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing here", encoding="utf-8")
    assert problem_lines([tmp_path]) == [
        f"{tmp_path}:1:1: the directory must hold scenario files: *.yaml or *.yml"
    ]


def test_a_directory_named_like_a_scenario_file_is_named(tmp_path: Path) -> None:
    odd = tmp_path / "odd.yaml"
    odd.mkdir()
    assert problem_lines([tmp_path]) == [f"{odd}:1:1: cannot be read: Is a directory"]


def test_a_file_that_is_not_utf_8_names_the_byte_and_its_place(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("version: 1\nname: é\n".encode() + b"description: ab\xe9\n")
    assert problem_lines([file]) == [
        f"{file}:3:16: the byte 0xe9 here is not UTF-8; save the file as UTF-8"
    ]


def test_a_file_in_utf_16_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "wide.yaml"
    file.write_text("version: 1\n", encoding="utf-16")
    assert problem_lines([file]) == [f"{file}:1:1: the file is UTF-16; save it as UTF-8"]


def test_a_line_break_at_the_start_of_a_file_counts_as_a_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"\nname: \xe9\n")
    assert problem_lines([file]) == [
        f"{file}:2:7: the byte 0xe9 here is not UTF-8; save the file as UTF-8"
    ]


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text("#" * (256 * 1024 - 1) + "ሀ" * 100_000, encoding="utf-8")
    assert problem_lines([file]) == [f"{file}:1:1: the file must not be larger than 256 KiB"]


def test_two_files_of_the_same_name_are_a_problem_of_the_later_one(tmp_path: Path) -> None:
    first = write(tmp_path / "a.yaml", "twin")
    second = write(tmp_path / "b.yaml", "twin")
    assert problem_lines([tmp_path]) == [
        f"{second}:2:7: the name 'twin' is taken by {first}; "
        "give this file another name, such as 'b'"
    ]


def test_given_scenarios_come_before_the_shipped_ones() -> None:
    given = (Scenario(name="newer"), Scenario(name="older"))
    shipped = (Scenario(name="first"), Scenario(name="second"))
    assert in_force(given, shipped) == given + shipped
    assert in_force((), shipped) == shipped
    assert in_force(given, ()) == given


def test_shipped_scenarios_that_are_on_at_start_have_only_outcomes() -> None:
    # So a create, which needs the other sections, need not wait for their files.
    on = [scenario for scenario in load_paths([data_directory("scenarios")]) if scenario.enabled]
    assert len(on) > 1
    assert not any(scenario.faults or scenario.expiry or scenario.webhooks for scenario in on)


def test_a_given_scenario_replaces_the_shipped_one_of_its_name() -> None:
    given = (Scenario(name="mine"), Scenario(name="banks", description="Given."))
    shipped = (Scenario(name="banks", description="Shipped."), Scenario(name="other"))
    assert in_force(given, shipped) == (*given, Scenario(name="other"))


def test_a_shipped_scenario_is_switched_off_by_one_of_its_name_that_is_off() -> None:
    off = Scenario(name="banks", enabled=False)
    assert in_force([off], [Scenario(name="banks")]) == (off,)


def problem_lines(paths: list[Path]) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        load_paths(paths)
    _, problems, _ = read_paths(paths)
    assert problems == list(raised.value.problems)
    return [str(problem) for problem in problems]
