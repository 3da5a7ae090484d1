"""Which files make up a run, and what is said of those that cannot be played."""

from pathlib import Path

from emulator.replay.cases import read_cases

SCRIPT = "script:\n  - create: {as: order}\n"


def write(directory: Path, name: str, text: str) -> Path:
    file = directory / name
    file.write_text(text, encoding="utf-8")
    return file


def scenario(name: str, rest: str = SCRIPT) -> str:
    return f"version: 1\nname: {name}\n{rest}"


def problems(*paths: Path) -> list[str]:
    return [str(problem) for problem in read_cases(paths).problems]


def test_cases_come_in_the_order_given_and_of_a_directory_by_name(tmp_path: Path) -> None:
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


def test_a_file_that_is_named_twice_is_played_once(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", scenario("mine"))
    assert len(read_cases([file, tmp_path, file]).cases) == 1


def test_in_a_directory_a_file_without_a_script_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", scenario("mine"))
    write(tmp_path, "b.yaml", scenario("rules", ""))
    found = read_cases([tmp_path])
    assert (len(found.cases), found.skipped, found.problems) == (1, 1, ())


def test_a_file_that_is_named_must_have_a_script(tmp_path: Path) -> None:
    file = write(tmp_path, "b.yaml", scenario("rules", ""))
    write(tmp_path, "a.yaml", scenario("mine"))
    assert problems(tmp_path, file) == [f"{file}:1:1: it has no script to play"]


def test_a_run_without_any_script_is_a_mistake(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", scenario("rules", ""))
    assert problems(tmp_path) == [f"{tmp_path}:1:1: no file has a script to play"]


def test_the_mistakes_of_all_files_are_told_together(tmp_path: Path) -> None:
    one = write(tmp_path, "a.yaml", scenario("mine", "script:\n  - creat: {}\n"))
    other = write(tmp_path, "b.yaml", "version: 2\nname: Other\n" + SCRIPT)
    missing = tmp_path / "missing.yaml"
    told = problems(one, other, missing)
    assert len(told) == 4
    assert told[0].startswith(f"{one}:4:5: ")
    assert told[1].startswith(f"{other}:1:")
    assert told[-1] == f"{missing}:1:1: cannot be read: No such file or directory"


def test_two_cases_of_one_name_are_a_mistake(tmp_path: Path) -> None:
    one = write(tmp_path, "a.yaml", scenario("mine"))
    other = write(tmp_path, "b.yaml", scenario("mine"))
    assert problems(tmp_path) == [f"{other}:2:7: the name 'mine' is taken by {one}"]


def test_names_that_would_have_one_key_are_one_name(tmp_path: Path) -> None:
    one = write(tmp_path, "a.yaml", scenario("late-success"))
    other = write(tmp_path, "b.yaml", scenario("late_success"))
    assert problems(tmp_path) == [
        f"{other}:2:7: the name 'late_success' is taken by {one},"
        " whose 'late-success' counts as the same"
    ]


def test_what_is_no_text_is_told_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"version: 1\nname: \xff\n")
    assert problems(file) == [f"{file}:2:1: the file must be UTF-8"]


def test_what_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = write(tmp_path, "a.yaml", "# " + "አ" * 200_000)
    [told] = problems(file)
    assert "larger than 256 KiB" in told


def test_an_empty_directory_and_an_absurd_path_are_mistakes(tmp_path: Path) -> None:
    told = problems(tmp_path, Path("a\0b"))
    assert told[0].startswith(f"{tmp_path}:1:1: the directory must hold scenario files")
    assert "cannot be read" in told[1]
