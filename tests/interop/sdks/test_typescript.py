"""openapi-typescript and openapi-fetch: their types hold what a shop writes, and it runs."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.processes import serving
from tests.interop.node import node_modules
from tests.interop.sdks.programs import HERE, copied, generate, is_as_expected, need, point, ran

PACKAGES = ("openapi-fetch@0", "openapi-typescript@7", "typescript@5")
PROGRAMS = ("usage.ts", "usage_control.ts")
COMPILER_OPTIONS = {
    "strict": True,
    "noUncheckedIndexedAccess": True,
    "target": "es2022",
    "module": "esnext",
    "moduleResolution": "bundler",
    # The libraries' own; what was generated is no declaration file, and so is checked.
    "skipLibCheck": True,
    "types": [],
}
MISTAKES = (
    ("amount: 15000,", 'amount: "150.00",'),
    ('currency: "ETB",', 'currency: "USD",'),
    ('status: "completed"', 'status: "paid"'),
    ("error?.error.param", "error?.error.field"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, documents: dict[str, str]) -> Path:
    """A directory with the generated types, and what npm would have put there."""
    need("node", "npx")
    directory = tmp_path_factory.mktemp("typescript")
    for name, text in documents.items():
        (directory / name).write_text(text, encoding="utf-8")
    (directory / "node_modules").symlink_to(node_modules(tmp_path_factory, *PACKAGES))
    (directory / "package.json").write_text(json.dumps({"type": "module"}))
    for program in PROGRAMS:
        generate(program, directory)
    return directory


@pytest.fixture(scope="module")
def compiled(project: Path) -> Path:
    for program in PROGRAMS:
        copied(program, project)
    compile_programs(project, *PROGRAMS)
    return project


def compile_programs(project: Path, *names: str, **options: bool) -> None:
    settings = {"compilerOptions": {**COMPILER_OPTIONS, **options}, "files": names}
    (project / "tsconfig.json").write_text(json.dumps(settings))
    ran(project, "npx", "tsc")


def test_the_classes_of_openapi_generator_compile_and_have_no_calls_for_webhooks(
    project: Path, shop: Path
) -> None:
    need("java")
    generate("typescript-fetch", shop)
    client = shop / "payments-fetch"
    assert [path.name for path in sorted((client / "apis").iterdir())] == [
        "PaymentsApi.ts",
        "index.ts",
    ]
    (client / "node_modules").symlink_to(project / "node_modules")
    # The `runtime.ts` of every client indexes without a check.
    compile_programs(client, "index.ts", noUncheckedIndexedAccess=False)
    assert "class PaymentsApi" in (client / "apis/PaymentsApi.js").read_text(encoding="utf-8")


def test_types_for_typescript_hold_what_a_shop_needs(compiled: Path) -> None:
    is_as_expected(compiled / "usage.js", "node")


def test_the_control_api_has_types_too(compiled: Path) -> None:
    program = compiled / "usage_control.js"
    with serving("--clock=frozen", logs=compiled) as server:
        point(program, server)
        played = ran(compiled, "node", program.name)
    assert played.stdout.splitlines() == ["completed", "payment.expired", "404 payment_not_found"]


def test_the_types_refuse_what_the_service_would_refuse(project: Path) -> None:
    lines = (HERE / "usage.ts").read_text(encoding="utf-8").splitlines()
    wrong = {
        number: line.replace(*mistake)
        for number, line in enumerate(lines, 1)
        for mistake in MISTAKES
        if mistake[0] in line
    }
    assert len(wrong) == len(MISTAKES)
    text = "\n".join(wrong.get(number, line) for number, line in enumerate(lines, 1))
    (project / "wrong.ts").write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError) as refused:
        compile_programs(project, "wrong.ts")
    refused_lines = re.findall(r"wrong\.ts\((\d+),\d+\): error", str(refused.value))
    assert {int(number) for number in refused_lines} == set(wrong)
