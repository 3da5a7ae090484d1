"""The recipes for containers and CI, by the schemas of who reads them; and what they start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.dockerfile import of_image
from tests.cli.processes import SHARED_HANGS_AFTER_S, serving
from tests.docs.document import REPOSITORY, Kind
from tests.docs.recipes import OWN_WORKFLOW, Recipe, own_workflow, recipes
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
    "recipe", [pytest.param(one, id=one.title) for one in [*recipes(), own_workflow()]]
)
each_that_starts_one = pytest.mark.parametrize(
    "recipe", [pytest.param(one, id=one.title) for one in recipes() if one.variables is not None]
)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = PROGRAMS / program
    assert path.exists(), f"there is no {program} in this environment (the extra `interop`)"
    return subprocess.run(
        [str(path), *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


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


def test_the_workflow_of_this_repository_is_a_safe_one() -> None:
    ended = run("zizmor", "--offline", "--no-progress", str(OWN_WORKFLOW))
    assert ended.returncode == 0, ended.stdout + ended.stderr


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
