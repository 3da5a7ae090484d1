"""The recipes for Testcontainers, run with the libraries they name, on a stand-in for Docker."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.processes import run_program
from tests.docs.document import shown_file
from tests.interop.engine import Engine, engine
from tests.interop.node import node_modules

PYTHON_RECIPE = "test_container.py"
NODE_RECIPE = "container.test.mjs"
NEWEST = 12
# The major version of Testcontainers by the oldest Node.js that it runs on, the newest first.
NEEDS_NODE = {12: 22, 11: 20, 10: 18}
COMPILER_OPTIONS = (
    *("--noEmit", "--allowJs", "--checkJs", "--skipLibCheck", "--types", "node"),
    *("--target", "es2022", "--module", "nodenext"),
)
MAX_RUN_S = 120


@pytest.fixture
def docker(tmp_path: Path) -> Iterator[Engine]:
    with engine(tmp_path) as listening:
        yield listening


def run(directory: Path, *command: str, docker: Engine) -> subprocess.CompletedProcess[str]:
    """A recipe's program, whose Docker is the stand-in."""
    variables = {
        "DOCKER_HOST": docker.url,
        # Where this machine is itself a container, its ports would be looked for elsewhere.
        "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
        # That one is a container of its own, which removes others.
        "TESTCONTAINERS_RYUK_DISABLED": "true",
    }
    return run_program(*command, directory=directory, variables=variables, timeout_s=MAX_RUN_S)


def link(directory: Path, factory: pytest.TempPathFactory, *packages: str) -> None:
    (directory / "node_modules").symlink_to(node_modules(factory, *packages))


def write(name: str, directory: Path) -> Path:
    path = directory / name
    path.write_text(shown_file(name).text, encoding="utf-8")
    return path


def is_as_asked(docker: Engine) -> bool:
    """Whether there was one container of the image that the document builds, which is gone."""
    created = [call for call in docker.calls if call == "POST /containers/create"]
    return len(created) == 1 and docker.images == ["etb-payments-emulator"] and not docker.container


def test_the_recipe_for_python_pays_in_a_container(docker: Engine, tmp_path: Path) -> None:
    assert find_spec("testcontainers"), "there is no testcontainers (the extra `interop`)"
    write(PYTHON_RECIPE, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", PYTHON_RECIPE]
    ended = run(tmp_path, *command, docker=docker)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert is_as_asked(docker)


def test_the_recipe_for_node_lets_a_payment_expire_in_a_container(
    docker: Engine, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    node = subprocess.run(["node", "--version"], capture_output=True, encoding="utf-8", check=True)
    installed = int(node.stdout.lstrip("v").partition(".")[0])
    fitting = [version for version, needed in NEEDS_NODE.items() if needed <= installed]
    assert fitting, f"Node.js {installed} is too old for Testcontainers"
    link(tmp_path, tmp_path_factory, f"testcontainers@{fitting[0]}")
    write(NODE_RECIPE, tmp_path)
    ended = run(tmp_path, "node", "--test", NODE_RECIPE, docker=docker)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert is_as_asked(docker)


def test_the_newest_version_for_node_has_every_call_of_the_recipe(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By its types, which can be read where Node.js is too old for it."""
    packages = (f"testcontainers@{NEWEST}", "typescript@5", "@types/node@22")
    link(tmp_path, tmp_path_factory, *packages)
    recipe = write(NODE_RECIPE, tmp_path).read_text(encoding="utf-8")
    assert ".forHealthCheck()" in recipe
    wrong = tmp_path / "wrong.mjs"
    wrong.write_text(recipe.replace(".forHealthCheck()", ".forHealth()"), encoding="utf-8")
    compiler = tmp_path / "node_modules" / "typescript" / "lib" / "tsc.js"
    command = ("node", str(compiler), *COMPILER_OPTIONS, NODE_RECIPE, wrong.name)
    ended = run_program(*command, directory=tmp_path, timeout_s=MAX_RUN_S)
    [found] = ended.stdout.splitlines()
    assert found.startswith(f"{wrong.name}(")
    assert "'forHealth' does not exist" in found
