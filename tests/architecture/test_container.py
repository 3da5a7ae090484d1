"""The instructions of the Dockerfile, which any builder can execute."""

import re
import tomllib

import pytest

from emulator.settings import OPTIONS
from tests.architecture.dockerfile import DOCKERFILE, of_image, stages
from tests.architecture.tools import REPOSITORY

TEXT = DOCKERFILE.read_text(encoding="utf-8")


DEFAULTS = {option.name: option.default_text for option in OPTIONS}


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("CMD", '["payments-emulator", "serve"]'),
        ("USER", "10001:0"),
        ("HEALTHCHECK", 'CMD ["payments-emulator", "health"]'),
        ("EXPOSE", f"{DEFAULTS['port']} {DEFAULTS['checkout-port']}"),
    ],
)
def test_the_image_runs_the_emulator_without_a_shell_and_not_as_root(name: str, end: str) -> None:
    instruction = of_image(name)
    assert instruction is not None
    assert instruction.text.endswith(end)
    assert of_image("ENTRYPOINT") is None
    if name == "HEALTHCHECK":
        assert "--interval=1s" in instruction.text.split()


def test_nothing_but_what_was_built_is_in_the_image() -> None:
    build, image = stages()
    assert {one.text for one in image if one.name == "FROM"} == {"${PYTHON_IMAGE}"}
    assert build[0].text == "${PYTHON_IMAGE} AS build"
    assert [one.text for one in image if one.name == "COPY"] == ["--from=build /opt/venv /opt/venv"]
    assert [one for one in image if one.name == "ADD"] == []


def test_the_image_adds_only_compiled_modules_and_a_directory_for_the_database() -> None:
    _, image = stages()
    [command] = [one.text for one in image if one.name == "RUN"]
    compilation, directory = (part.split() for part in command.split("&&"))
    assert compilation[:3] == ["python", "-m", "compileall"]
    # By hash: what copies an image may change times. The last directories have Python's modules.
    assert compilation[-5:-3] == ["--invalidation-mode", "unchecked-hash"]
    assert compilation[-3:] == ["/opt/venv", "/usr/lib", "/usr/local/lib"]
    assert " ".join(directory) == "install -d -o 10001 -g 0 -m 775 /data"


def test_every_builder_can_build_it_from_another_base_image() -> None:
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.\d+-slim$", TEXT, re.MULTILINE)
    for feature in (r"^#\s*syntax\s*=", "<<", "--link"):
        assert re.search(feature, TEXT, re.IGNORECASE | re.MULTILINE) is None, feature


def test_all_that_the_wheel_is_made_of_reaches_the_build() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], "LICENSE"}
    included = {path for path in wheel["force-include"] if not path.startswith("emulator/")}
    needed |= {*wheel["packages"], *included}
    build, _ = stages()
    copied = {path for one in build if one.name == "COPY" for path in one.text.split()[:-1]}
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    admitted = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert needed == copied == admitted
    assert "*" in ignored
