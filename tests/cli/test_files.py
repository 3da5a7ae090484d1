"""The commands `check` and `schema`, for authors of scenario files."""

from pathlib import Path

from tests.cli.processes import run, serving, wait_for

GOOD = "version: 1\nname: {}\n"


def test_good_files_are_counted(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(GOOD.format("one"))
    two.write_text(GOOD.format("two"))
    assert run("check", str(one)).stdout == "1 file: no problems\n"
    ended = run("check", str(tmp_path))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "2 files: no problems\n", "")


def test_every_problem_is_a_line_with_its_place(tmp_path: Path) -> None:
    good, bad, missing = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "none.yaml"
    good.write_text(GOOD.format("good"))
    bad.write_text(
        GOOD.format("bad") + "outcomes:\n  - when: {phone: '12'}\n    then: [{status: paid}]\n"
    )
    ended = run("check", str(good), str(bad), str(missing))
    assert ended.returncode == 2
    assert ended.stderr == ""
    lines = ended.stdout.splitlines()
    assert lines[0].startswith(f"{bad}:4:19: ")
    assert lines[1].startswith(f"{bad}:5:21: ")
    assert lines[2] == f"{missing}:1:1: cannot be read: No such file or directory"
    assert len(lines) == 3


def test_a_method_that_is_unknown_is_a_warning_of_check_and_at_start(tmp_path: Path) -> None:
    file = tmp_path / "methods.yaml"
    rules = "outcomes:\n" + "".join(
        f"  - {{when: {{method: {method}}}, then: []}}\n" for method in ("telebir", "mpesa")
    )
    file.write_text(GOOD.format("methods") + rules)
    known = "telebirr, mpesa and bank_transfer; did you mean 'telebirr'?"
    warning = f"scenario 'methods': the method 'telebir' is not among {known}\n"
    ended = run("check", str(file))
    assert (ended.returncode, ended.stdout) == (1, f"warning: {warning}1 file: no mistakes\n")
    ended = run("check", "--methods", "telebir,mpesa", str(file))
    assert (ended.returncode, ended.stdout) == (0, "1 file: no problems\n")
    ended = run("check", "--methods", "A", str(file))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("payments-emulator: flag --methods: found 'A', expected ")
    with serving("--scenarios", str(file), logs=tmp_path) as server:
        wait_for(server.process, lambda: server.stderr.endswith("\n"))
        assert server.stderr_path.read_text() == f"WARNING {warning}"


def test_an_unknown_method_of_a_request_in_a_script_is_a_warning_of_check(tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    steps = {
        "create: {methods: [telebirr, first]}": "first",
        "list: {method: second}": "second",
        "create: {as: order, methods: [third, 3]}": "third",
        "transition: {payment: order, status: completed, method: fourth}": "fourth",
        # Their refusals are expected.
        "create: {methods: [fifth]}": "",
        "expect: {http_status: 400}": "",
        "list: {method: sixth}": "",
        "expect: {code: invalid_method}": "",
    }
    script = "".join(f"  - {step}\n" for step in steps)
    file.write_text(f"{GOOD.format('script')}script:\n{script}")
    ended = run("check", str(file))
    *warnings, summary = ended.stdout.splitlines()
    words = "warning: scenario 'script': the method '"
    named = [line.removeprefix(words).partition("'")[0] for line in warnings]
    assert (ended.returncode, named) == (1, [*filter(None, steps.values())])
    assert summary == "1 file: no mistakes"


def test_the_schema_beside_the_shipped_scenarios_is_no_scenario() -> None:
    ended = run("check", "scenarios/schema.json")
    [line] = ended.stdout.splitlines()
    assert line.startswith("scenarios/schema.json:1:1: this is a JSON Schema, not a scenario; ")
