"""The cases of a run, and the problems of files that cannot be played."""

from pathlib import Path

import pytest

from emulator.tools.replay.cases import read_cases

SCRIPT = "script:\n  - create: {as: order}\n"


def write(directory: Path, name: str, content: str | bytes) -> Path:
    file = directory / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def scenario(name: str, rest: str = SCRIPT) -> str:
    return f"version: 1\nname: {name}\n{rest}"


def problems(*paths: Path) -> list[str]:
    return [str(problem) for problem in read_cases(paths).problems]


def test_cases_have_the_given_order_and_those_of_a_directory_the_order_of_names(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "more"
    directory.mkdir()
    write(directory, "b.yml", scenario("second"))
    write(directory, "a.yaml", scenario("third"))
    write(directory, "notes.txt", "no scenario")
    first = write(tmp_path, "z.yaml", scenario("first"))
    found = read_cases([first, directory])
    assert [case.name for case in found.cases] == ["first", "third", "second"]
    assert found.cases[0].source == str(first)
    assert found.cases[0].text == first.read_text(encoding="utf-8")


def test_a_file_that_is_given_twice_is_played_once(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", scenario("mine"))
    assert len(read_cases([file, tmp_path, file]).cases) == 1


def test_only_a_named_file_must_have_a_script(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", scenario("mine"))
    file = write(tmp_path, "b.yaml", scenario("rules", ""))
    found = read_cases([tmp_path])
    assert (len(found.cases), found.skipped, found.problems) == (1, 1, ())
    assert problems(tmp_path, file) == [f"{file}:1:1: the file has no script"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"b.yaml": scenario("rules", "")}, ["{0}:1:1: no file has a script"]),
        ({}, ["{0}:1:1: the directory must contain scenario files: *.yaml or *.yml"]),
        (
            {"a.yaml": b"version: 1\nname: \xff\n"},
            ["{0}/a.yaml:2:7: the byte 0xff here is not UTF-8; save the file as UTF-8"],
        ),
        (
            {"a.yaml": scenario("mine"), "b.yaml": scenario("mine")},
            ["{0}/b.yaml:2:7: the name 'mine' is taken by {0}/a.yaml; give this file another name"],
        ),
        (
            {"a.yaml": scenario("late-success"), "b.yaml": scenario("late_success")},
            [
                "{0}/b.yaml:2:7: the name 'late_success' is taken by {0}/a.yaml,"
                " whose 'late-success' counts as the same;"
                " give this file another name"
            ],
        ),
    ],
    ids=["no script", "empty directory", "no text", "same name", "same key"],
)
def test_a_problem_is_reported(
    tmp_path: Path, files: dict[str, str | bytes], expected: list[str]
) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    assert problems(tmp_path) == [line.format(tmp_path) for line in expected]


def test_the_problems_of_all_files_are_reported_together(tmp_path: Path) -> None:
    one = write(tmp_path, "a.yaml", scenario("mine", "script:\n  - creat: {}\n"))
    other = write(tmp_path, "b.yaml", "version: 2\nname: Other\n" + SCRIPT)
    missing = tmp_path / "missing.yaml"
    lines = problems(one, other, missing, Path("a\0b"))
    assert len(lines) == 5
    assert lines[0].startswith(f"{one}:4:5: ")
    assert lines[1].startswith(f"{other}:1:")
    assert lines[3] == f"{missing}:1:1: cannot be read: No such file or directory"
    assert "cannot be read" in lines[4]


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    [line] = problems(write(tmp_path, "a.yaml", "# " + "አ" * 200_000))
    assert "larger than 256 KiB" in line
