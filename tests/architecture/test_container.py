"""The image as its users were promised it, and as any builder can build it."""

import re
import tomllib

import pytest

from emulator.settings import OPTIONS
from tests.architecture.dockerfile import DOCKERFILE, of_image, stages
from tests.architecture.tools import REPOSITORY

TEXT = DOCKERFILE.read_text(encoding="utf-8")


def test_the_image_runs_the_emulator_without_a_shell_and_not_as_root() -> None:
    command, user = of_image("CMD"), of_image("USER")
    assert command is not None
    assert user is not None
    assert command.command == ["payments-emulator", "serve"]
    assert user.text == "10001:10001"
    assert of_image("ENTRYPOINT") is None


def test_the_health_check_of_the_image_needs_no_shell_and_is_asked_often() -> None:
    check = of_image("HEALTHCHECK")
    assert check is not None
    assert check.command == ["payments-emulator", "health"]
    assert "--interval=1s" in check.text.split()


def test_the_image_exposes_the_ports_that_are_listened_on() -> None:
    exposed = of_image("EXPOSE")
    assert exposed is not None
    defaults = {option.name: option.default_text for option in OPTIONS}
    assert exposed.text.split() == [defaults["port"], defaults["checkout-port"]]


def test_nothing_but_what_was_built_is_in_the_image() -> None:
    build, image = stages()
    assert {one.text for one in image if one.name == "FROM"} == {"${PYTHON_IMAGE}"}
    assert build[0].text == "${PYTHON_IMAGE} AS build"
    copied = [one.text for one in image if one.name == "COPY"]
    assert copied
    assert all(text.startswith("--from=build ") for text in copied)
    assert [one for one in image if one.name in {"RUN", "ADD"}] == []


def test_the_base_image_can_be_another() -> None:
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.\d+-slim$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("feature", [r"^#\s*syntax\s*=", "<<", "--link"])
def test_every_builder_can_build_it(feature: str) -> None:
    assert re.search(feature, TEXT, re.IGNORECASE | re.MULTILINE) is None


def test_all_that_the_wheel_is_made_of_reaches_the_build() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", project["project"]["readme"], "LICENSE"}
    needed |= {path.split("/")[0] for path in [*wheel["packages"], *wheel["force-include"]]}
    build, _ = stages()
    copied = {path for one in build if one.name == "COPY" for path in one.text.split()[:-1]}
    ignored = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    admitted = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert needed == copied == admitted
    assert "*" in ignored
