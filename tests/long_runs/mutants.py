"""Changes random places of the program, one at a time, and runs the tests that must notice it.

Each change is made in a private copy of the project. A mutant is killed if a test fails. The tests
that reach its lines run first; the coverage of the default lane says which these are. A mutant that
survives is an error, unless `mutants.txt` lists it with a reason. The coverage and the results stay
in `artifacts/`, so that an interrupted run continues.
"""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from coverage import CoverageData

from emulator import ids
from tests.cli.processes import REPOSITORY
from tests.long_runs.mutations import Mutant, mutants_of
from tests.tables import rows

UNIT = "mutants"
COUNT = 300
WORKERS = 2
# A signal does not end every test.
LIMIT = ("--timeout=120", "--timeout-method=thread")
STAGE_LIMIT_S = 3_600
RESULTS = REPOSITORY / "artifacts"
COVERAGE = RESULTS / "mutants.coverage"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "artifacts")
NOT_RUN = ("tests/architecture/", "tests/benchmarks/", "tests/interop/", "tests/long_runs/")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    mutant: Mutant
    result: str
    """`killed`, `time limit` or `survived`."""
    test: str = ""
    """The test that failed."""


class Tree:
    """A private copy of the project. One mutant at a time is in it."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._passed: set[str] = set()
        self.root = parent / "tree"
        shutil.copytree(REPOSITORY, self.root, ignore=NOT_COPIED)
        (self.root / ".venv").symlink_to(REPOSITORY / ".venv")

    def outcome(self, mutant: Mutant, stages: Iterable[list[str]]) -> Outcome:
        """Run each list of tests with the mutant, until one fails."""
        file = self.root / mutant.path
        text = file.read_text(encoding="utf-8")
        self._write(file, mutant.apply(text))
        try:
            outcome = self._outcome(mutant, stages)
        finally:
            self._write(file, text)
        self._check_without_mutant(outcome.test.partition("[")[0])
        return outcome

    def _outcome(self, mutant: Mutant, stages: Iterable[list[str]]) -> Outcome:
        for tests in filter(None, stages):
            code, output = self.test(tests)
            if code is None:
                return Outcome(mutant=mutant, result="time limit")
            assert code >= 0, f"a signal ended the tests of {mutant}; run it again"
            if code not in (0, 5):  # 5: none of their tests is in the default lane
                # The output of a failed test may be that of another pytest.
                failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
                if not failed and "+ Timeout +" in output:
                    return Outcome(mutant=mutant, result="time limit")
                test = failed[-1] if failed else f"exit code {code}"
                return Outcome(mutant=mutant, result="killed", test=test)
        return Outcome(mutant=mutant, result="survived")

    def _check_without_mutant(self, test: str) -> None:
        """A test that always fails kills nothing."""
        if test.startswith("tests/") and test not in self._passed:
            code, output = self.test([test])
            assert code == 0, f"{test} fails without a mutant:\n{output}"
            self._passed.add(test)

    def test(self, tests: list[str]) -> tuple[int | None, str]:
        """The exit code of pytest, None at the time limit, and what it prints."""
        options = ("-x", "-n", "0", "-q", "-p", "no:cacheprovider", *LIMIT)
        with (self._parent / "output.txt").open("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                (sys.executable, "-m", "pytest", *options, *tests),
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                process.wait(STAGE_LIMIT_S)
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                # The servers that the tests started are in its group.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return process.returncode, output.read()

    def _write(self, file: Path, text: str) -> None:
        # Python uses a compiled module for each file of the same size and second.
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()
        file.write_text(text, encoding="utf-8")


class Selection:
    """Which tests of the default lane can notice a change of a module."""

    def __init__(self, coverage: CoverageData) -> None:
        self._coverage = coverage
        files = [f for part in ("emulator", "tests") for f in (REPOSITORY / part).rglob("*.py")]
        texts = {str(f.relative_to(REPOSITORY)): f.read_text(encoding="utf-8") for f in files}
        self._texts = {path: texts[path] for path in sorted(texts) if "/data/" not in path}
        self.modules = {p: text for p, text in self._texts.items() if p.startswith("emulator/")}
        self._imports = {path: self._imported(text) for path, text in self._texts.items()}
        # It imports the commands by their names.
        self._imports["emulator/cli/commands.py"].update(
            path for path in self.modules if path.startswith("emulator/cli/")
        )

    def stages(self, mutant: Mutant) -> Iterator[list[str]]:
        """The tests that reach the mutant, then the files that can; those of its package first.

        The coverage has nothing of servers that tests start, nor of what is done at an import.
        """
        tests = [
            path
            for path in self._texts
            if Path(path).name.startswith("test_") and not path.startswith(NOT_RUN)
        ]
        directories = {str(Path(path).parent) for path in tests}
        package = Path("tests", *Path(mutant.path).parent.parts[1:])
        while str(package) not in directories:
            package = package.parent
        near = [path for path in tests if Path(path).parent == package]
        far = [t for t in tests if t not in near and mutant.path in self._closure(t)]
        files = [self._by_mentions(mutant, near), self._by_mentions(mutant, far)]
        reaching = self._reaching(mutant)
        for part in files:
            yield [test for path in part for test in reaching.get(path, ())]
        yield from files

    def _reaching(self, mutant: Mutant) -> dict[str, list[str]]:
        """The tests that execute a line of the mutant, by their files."""
        text = self._texts[mutant.path].encode()
        first, last = (text.count(b"\n", 0, end) + 1 for end in (mutant.begin, mutant.end))
        by_line = self._coverage.contexts_by_lineno(str(REPOSITORY / mutant.path))
        contexts = {c for line in range(first, last + 1) for c in by_line.get(line, ())}
        found: dict[str, list[str]] = {}
        for test in sorted({re.split(r"[\[|]", context)[0] for context in contexts - {""}}):
            path, _, name = test.partition("::")
            # The coverage may be older than the tests.
            if f"def {name.rpartition('::')[2]}(" in self._texts.get(path, ""):
                found.setdefault(path, []).append(test)
        return found

    def _by_mentions(self, mutant: Mutant, tests: list[str]) -> list[str]:
        defined = re.findall(
            r"^\s*(?:async )?(?:def|class) (\w+)", self._texts[mutant.path], re.MULTILINE
        )
        names = {Path(mutant.path).stem, *defined, *mutant.scope.split(".")}
        words = re.compile(rf"\b(?:{'|'.join(names)})\b")
        return sorted(tests, key=lambda path: -len(words.findall(self._texts[path])))

    def _closure(self, path: str) -> set[str]:
        seen: set[str] = set()
        left = [path]
        while left:
            imported = self._imports[left.pop()] - seen
            seen |= imported
            left += imported
        return seen

    def _imported(self, text: str) -> set[str]:
        modules: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                modules.update(name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.update((node.module, *(f"{node.module}.{n.name}" for n in node.names)))
        paths = [module.replace(".", "/") for module in modules]
        files = {file for path in paths for file in (f"{path}.py", f"{path}/__init__.py")}
        return files & self._texts.keys()


def drawn(seed: int, count: int, modules: dict[str, str]) -> list[Mutant]:
    """Distinct mutants: a module is drawn by the number of its lines, then a place in it."""
    lines = [path for path, text in modules.items() for _ in text.splitlines()]
    key = ids.stream_key(seed, "mutants")
    places_of: dict[str, list[Mutant]] = {}
    mutants: dict[Mutant, None] = {}
    number = 0
    while len(mutants) < count:
        number += 1
        path = lines[int(ids.chance(key, "line", number) * len(lines))]
        if path not in places_of:
            places_of[path] = mutants_of(path, modules[path])
        if places := places_of[path]:
            mutants[places[int(ids.chance(key, "place", number) * len(places))]] = None
    return list(mutants)


def execute(
    mutants: list[Mutant], selection: Selection, finished: Callable[[Outcome], None]
) -> None:
    with TemporaryDirectory(prefix="mutants-") as directory:
        Path(directory).chmod(0o755)  # one test is another user
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(WORKERS):
            trees.put(Tree(Path(directory, str(number))))

        def execute_one(mutant: Mutant) -> None:
            tree = trees.get()
            try:
                finished(tree.outcome(mutant, selection.stages(mutant)))
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(execute_one, mutants))


def measured_coverage() -> CoverageData:
    """Which test of the default lane executes which line, measured if no file says it."""
    if not COVERAGE.exists():
        options = ("-q", "--cov=emulator", "--cov-context=test", "--cov-report=")
        command = (sys.executable, "-m", "pytest", *options)
        subprocess.run(
            command, cwd=REPOSITORY, env={**os.environ, "COVERAGE_FILE": str(COVERAGE)}, check=True
        )
    coverage = CoverageData(str(COVERAGE))
    coverage.read()
    return coverage


def run(seed: int, count: int) -> dict[str, str]:
    RESULTS.mkdir(exist_ok=True)
    selection = Selection(measured_coverage())
    mutants = drawn(seed, count, selection.modules)
    results = RESULTS / f"mutants-{seed}.jsonl"
    results.touch()
    entries = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    known = {entry["mutant"]: entry["result"] for entry in entries}

    def finished(outcome: Outcome) -> None:
        known[str(outcome.mutant)] = outcome.result
        entry = {"mutant": str(outcome.mutant), "result": outcome.result, "test": outcome.test}
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    reasons = dict(rows(__file__, "equivalent"))
    judged = [mutant for mutant in mutants if str(mutant) not in reasons]
    execute([m for m in judged if str(m) not in known], selection, finished)
    counted = Counter(known[str(m)] for m in judged)
    survivors = [str(m) for m in judged if known[str(m)] == "survived"]
    assert not survivors, "\n".join(("These mutants survive:", *survivors))
    return {
        "Mutants": f"{len(mutants)}, in {len({m.path for m in mutants})} modules",
        "Killed by a test": str(counted["killed"]),
        "Killed by the time limit": str(counted["time limit"]),
        "Equivalent, with a reason": str(len(mutants) - len(judged)),
    }
