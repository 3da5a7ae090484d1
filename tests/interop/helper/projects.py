"""Builds a project of a merchant in each language: a helper, a shop, its tests, and a program."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.docs.document import shown_file
from tests.interop.node import node_modules
from tests.interop.sdks.programs import need, ran

HERE = Path(__file__).parent
PACKAGES = (
    *("@babel/plugin-transform-modules-commonjs@7", "@babel/preset-typescript@7"),
    *("@jest/globals@30", "@types/node@20", "jest@30", "standardwebhooks@1", "typescript@5"),
    "vitest@4",
)
# It contains what runs tests, and JUnit's API.
JUNIT = Path("/usr/share/java/junit-platform-console-standalone.jar")
# A short program ends before a better compiler of the JVM is of use.
JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# Go does not load modules, and keeps what it has compiled for other tests.
GO = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GO111MODULE": "on", "GOTOOLCHAIN": "local"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How a project is built, and the command that runs its program."""

    build: Callable[[Path, pytest.TempPathFactory], None]
    program: tuple[str, ...]


def printed(*arguments: str) -> str:
    ended = run("helper", *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def write_shown(directory: Path, *names: str) -> None:
    """Write files that the documents show."""
    for name in names:
        (directory / name).write_text(shown_file(name).text)


def _copy(directory: Path, *endings: str) -> None:
    for path in [path for ending in endings for path in sorted(HERE.glob(f"*.{ending}"))]:
        shutil.copy(path, directory)


def _build_node(directory: Path, factory: pytest.TempPathFactory) -> None:
    """The options of `tsconfig.json` are the strictest that a merchant's project can have."""
    need("node", "npx")
    _copy(directory, "ts", "json")
    (directory / "payments-emulator.ts").write_text(printed("node"))
    (directory / "node_modules").symlink_to(node_modules(factory, *PACKAGES))
    ran(directory, "npx", "tsc")
    compiled = directory / "compiled"
    for name in ("payments-emulator.js", "payments-emulator.mjs"):
        (compiled / name).write_text(printed("node", "--js"))
    shutil.copy(HERE / "program.js", compiled)
    write_shown(compiled, "payment.test.mjs")


def _build_php(directory: Path, _factory: pytest.TempPathFactory) -> None:
    need("php", "phpunit")
    _copy(directory, "php")
    (directory / "PaymentsEmulator.php").write_text(printed("php"))
    write_shown(directory, "PaymentTest.php")


def _build_java(directory: Path, _factory: pytest.TempPathFactory) -> None:
    need("java", "javac")
    assert JUNIT.exists(), f"not on this machine: {JUNIT}; Debian's package junit5"
    _copy(directory, "java")
    (directory / "PaymentsEmulator.java").write_text(printed("java"))
    write_shown(directory, "PaymentTest.java")
    sources = sorted(path.name for path in directory.glob("*.java"))
    options = ("-Xlint:all", "-Werror", "-cp", str(JUNIT), "-d", "classes", "--release", "17")
    ran(directory, "javac", *(f"-J{option}" for option in JVM), *options, *sources)


def _build_go(directory: Path, _factory: pytest.TempPathFactory) -> None:
    need("go")
    (directory / "go.mod").write_text("module shop\n\ngo 1.19\n")
    _copy(directory, "go")
    for package in ("paymentsemulator", "program"):
        (directory / package).mkdir()
    (directory / "program.go").rename(directory / "program" / "main.go")
    (directory / "paymentsemulator" / "paymentsemulator.go").write_text(printed("go"))
    write_shown(directory, "payment_test.go")
    ran(directory, "go", "build", "-o", "shop-program", "./program", **GO)


LANGUAGES: Mapping[str, Language] = {
    "node": Language(build=_build_node, program=("node", "compiled/program.js")),
    "php": Language(build=_build_php, program=("php", "program.php")),
    "java": Language(build=_build_java, program=("java", *JVM, "-cp", "classes", "Program")),
    "go": Language(build=_build_go, program=("./shop-program",)),
}
