"""The wheel contains everything that the program needs, and works outside of the repository."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tools import PACKAGE, REPOSITORY
from tests.cli.processes import run_program
from tests.pytest_plugin.runs import PLUGIN, run, write

pytestmark = pytest.mark.deep

DATA = ("scenarios", "templates")
# pytest loads the plugin from a package of its own, as a merchant may have a package `emulator`.
ENTRY = "emulator/pytest_plugin/entry"

FIND_ALL = """
import emulator
from pathlib import Path
from emulator.server.app.settings_files import shipped_scenarios
from emulator.settings import data_directory
from emulator.server.storage import database_file

assert Path(emulator.__file__).is_relative_to({installed!r}), emulator.__file__
for name in ("scenarios", "templates"):
    assert data_directory(name).is_relative_to({installed!r}), name
    assert any(path.is_file() for path in data_directory(name).rglob("*")), name
assert shipped_scenarios()
assert Path(database_file.__file__).with_name("schema.sql").is_file()
"""


def run_python(*arguments: str, cwd: Path, path: Path | None = None) -> str:
    variables = {} if path is None else {"PYTHONPATH": str(path)}
    ended = run_program(sys.executable, *arguments, directory=cwd, variables=variables)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the source without build products."""
    directory = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "artifacts", "build", "dist"
    )
    source = directory / "source"
    shutil.copytree(REPOSITORY, source, ignore=ignored)
    built = directory / "built"
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(source))
    run_python(*build, cwd=directory)
    [wheel] = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")
    run_python(
        "-m", "pip", "install", *options, "--target", str(directory), str(wheel), cwd=directory
    )
    return directory


def test_the_wheel_holds_every_file_of_the_package_and_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(REPOSITORY).as_posix().replace(ENTRY, PLUGIN)
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {
        f"emulator/data/{path.relative_to(REPOSITORY).as_posix()}"
        for directory in DATA
        for path in (REPOSITORY / directory).rglob("*")
        if path.is_file()
    }
    assert any(name.endswith(".sql") for name in package)
    assert {name for name in data if name.startswith("emulator/data/scenarios/")}
    assert {name for name in data if name.startswith("emulator/data/templates/")}
    assert package | data <= names
    packages = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"emulator", PLUGIN}, "nothing of the tests"


def test_what_is_installed_finds_its_data(installed: Path, tmp_path: Path) -> None:
    program = FIND_ALL.format(installed=str(installed))
    run_python("-c", program, cwd=tmp_path, path=installed)


def test_what_is_installed_has_the_guides_of_agents_and_of_verdicts(
    installed: Path, tmp_path: Path
) -> None:
    guide = (REPOSITORY / "docs" / "guides" / "agents.md").read_text(encoding="utf-8")
    command = ("-m", "emulator", "helper", "agent")
    assert run_python(*command, cwd=tmp_path, path=installed) == guide
    program = (
        "from emulator.tools.explore.verdicts import Verdict\n"
        "from emulator.tools.explore.report import what_to_do\n"
        "assert all(map(what_to_do, Verdict))"
    )
    run_python("-c", program, cwd=tmp_path, path=installed)


def test_what_is_installed_checks_its_own_scenarios(installed: Path, tmp_path: Path) -> None:
    shipped = str(installed / "emulator" / "data" / "scenarios")
    printed = run_python("-m", "emulator", "check", shipped, cwd=tmp_path, path=installed)
    assert printed.endswith(" files: no problems\n")


A_TEST = """\
import sys
from pathlib import Path


def test_whose_plugin_it_is(payments_account):
    installed = Path({installed!r})
    assert payments_account.advance("30s") == []
    for name in ("etb_payments_emulator_pytest", "etb_payments_emulator"):
        assert Path(sys.modules[name].__file__).is_relative_to(installed)
"""


def test_the_wheel_brings_the_command_and_the_plugin(installed: Path, tmp_path: Path) -> None:
    [entry_points] = installed.glob("*.dist-info/entry_points.txt")
    text = entry_points.read_text("utf-8")
    assert "payments-emulator = emulator.cli:main" in text
    assert f"[pytest11]\npayments_emulator = {PLUGIN}\n" in text
    assert (installed / PLUGIN / "py.typed").is_file()
    write(tmp_path, {"test_kiosk.py": A_TEST.format(installed=str(installed))})
    ran = run(tmp_path, more={"PYTHONPATH": str(installed)})
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr
