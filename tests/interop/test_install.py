"""The ways to get the emulator that the guides show, with a local repository as their address."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator

from emulator import __version__
from tests.cli.processes import run_program
from tests.docs.document import part, shown_file
from tests.interop.jobs import copy_source
from tests.interop.node import node_modules

PAGE = "docs/guides/install.md"
PROGRAMS = Path(sys.executable).parent
INSTALLED = {"PATH": os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", os.defpath)])}
FREE_PORTS = {"EMULATOR_PORT": "0", "EMULATOR_CHECKOUT_PORT": "0"}
# What pip needs is in this environment; `tests/interop/test_action.py` installs into an empty one.
OFFLINE = "--no-deps --no-build-isolation --disable-pip-version-check"
SCHEMA = Path(__file__).parent / "devcontainer.schema.json"
SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a repository that has the files of this one."""
    source = tmp_path_factory.mktemp("source") / "emulator.git"
    copy_source(source)
    name = ("-c", "user.name=Shop", "-c", "user.email=shop@example.com")
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *name, *arguments], cwd=source, check=True)
    return f"file://{source}"


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that keep uv and pipx out of the home directory."""
    directory = tmp_path_factory.mktemp("caches")
    names = ("PIPX_HOME", "PIPX_BIN_DIR", "UV_CACHE_DIR", "UV_TOOL_DIR")
    variables = {name: str(directory / name) for name in names}
    python = {"UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable}
    return INSTALLED | variables | python | {"UV_PYTHON_DOWNLOADS": "never"}


def command_with(word: str) -> str:
    """The command of the guide that begins with a word."""
    [found] = re.findall(rf"^{word} .*\n", part(PAGE, "From an address"), re.MULTILINE)
    return str(found).strip()


def run(command: str, directory: Path, variables: dict[str, str]) -> str:
    """Run a command in a shell; return what it prints."""
    bash = ("bash", "-euo", "pipefail", "-c", command)
    ended = run_program(*bash, directory=directory, variables=variables)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("word", ["uvx", "pipx run"])
def test_a_command_runs_the_emulator_from_an_address(
    word: str, address: str, caches: dict[str, str], tmp_path: Path
) -> None:
    command = command_with(word).replace("REPOSITORY", address)
    assert command.endswith(" payments-emulator serve")
    version = run(f"{command.removesuffix('serve')} --version", tmp_path, caches)
    assert version == f"payments-emulator, version {__version__}\n"


def test_pip_installs_the_emulator_from_an_address(address: str, tmp_path: Path) -> None:
    command = command_with("pip install").replace("REPOSITORY", address)
    run(f"{command} {OFFLINE} --quiet --target packages", tmp_path, INSTALLED)
    program = f"{sys.executable} packages/bin/payments-emulator --version"
    printed = run(program, tmp_path, {"PYTHONPATH": str(tmp_path / "packages")})
    assert printed == f"payments-emulator, version {__version__}\n"


def test_the_helper_of_another_language_starts_it_from_an_address(
    address: str, caches: dict[str, str], tmp_path: Path
) -> None:
    [setting] = re.findall(r'`PAYMENTS_EMULATOR_COMMAND="(.*)"`', part(PAGE, "From an address"))
    (tmp_path / "start.mjs").write_text(
        'import { startEmulator } from "./payments-emulator.mjs";\n'
        "const emulator = await startEmulator();\n"
        "console.log((await fetch(`${emulator.baseUrl}/_emulator/health`)).status);\n"
        "await emulator.stop();\n",
        encoding="utf-8",
    )
    run(
        f"{sys.executable} -m emulator helper node --js > payments-emulator.mjs",
        tmp_path,
        INSTALLED,
    )
    command = {"PAYMENTS_EMULATOR_COMMAND": setting.replace("REPOSITORY", address)}
    assert run("node start.mjs", tmp_path, caches | command) == "200\n"


def test_the_dev_container_has_valid_members(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By a schema of the members that it has, and by the reference implementation."""
    text = shown_file("devcontainer.json").text
    valid = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in valid.iter_errors(json.loads(text))] == []
    for right, wrong in (("forwardPorts", "forwardPort"), ("[8080", '["8080"'), ("&1 &", "&1")):
        assert not valid.is_valid(json.loads(text.replace(right, wrong, 1)))
    file = tmp_path / ".devcontainer" / "devcontainer.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    program = node_modules(tmp_path_factory, "@devcontainers/cli@0") / ".bin" / "devcontainer"
    # No container is necessary to read a file; `true` is a Docker that has none.
    read = f"{program} read-configuration --workspace-folder . --docker-path true"
    assert json.loads(run(read, tmp_path, {}))["configuration"]["image"]


def test_the_commands_of_the_dev_container_install_and_start_the_emulator(
    tmp_path: Path,
) -> None:
    commands = json.loads(shown_file("devcontainer.json").text)
    assert commands["postCreateCommand"] == command_with("pip install")
    variables = INSTALLED | FREE_PORTS | {"EMULATOR_READY_FILE": "ready.json"}
    end = "until [ -s ready.json ]; do kill -0 $!; sleep 0.1; done\nkill $!\nwait $!"
    run(f"{commands['postStartCommand']}\n{end}", tmp_path, variables)
    assert "Checkout" in (tmp_path / "emulator.log").read_text(encoding="utf-8")


# Lines that complete the last of some words, and print each completion.
COMPLETE = {
    "bash": """
        complete -p payments-emulator > /dev/null
        complete_words() {
          COMPREPLY=() COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
          _payments_emulator_completion payments-emulator
          printf '%s\\n' "${COMPREPLY[@]}"
        }
        """,
    "zsh": """
        _describe() { print -l -- ${completions_with_descriptions%%:*} }
        complete_words() { words=("$@") CURRENT=$#; $_comps[payments-emulator] }
        """,
    "fish": """
        function complete_words; complete --do-complete "$argv" | string split --fields 1 \\t; end
        """,
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    shown = re.findall(r"```sh\n(.*?)```", part(PAGE, "Shell completion"), re.DOTALL)
    [lines] = [text for text in shown if f"{shell}_source" in text]
    save, *load = [line for line in lines.splitlines() if not line.startswith("mkdir")]
    (tmp_path / ".config" / "fish" / "completions").mkdir(parents=True)
    run(save, tmp_path, INSTALLED | {"HOME": str(tmp_path)})
    start = ["autoload -U compinit && compinit -u"] if shell == "zsh" else []
    script = [*start, *load, COMPLETE[shell], "complete_words payments-emulator re"]
    script += ["complete_words payments-emulator serve --webhook-f"]
    home = INSTALLED | {"HOME": str(tmp_path)}
    ended = run_program(shell, "-c", "\n".join(script), directory=tmp_path, variables=home)
    assert ended.stdout.split() == ["record", "rehearse", "replay", "--webhook-format"]
