"""Mutated files and texts for the parsers of the program.

With atheris, which `pip install atheris` installs for Python 3.11, the mutations follow the
coverage of the code; without it, they are random.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from random import Random  # noqa: TID251 - what is drawn follows from a seed
from time import thread_time  # noqa: TID251 - processor time, whatever else runs
from typing import Any

from emulator.clock import RealClock
from tests.cli.processes import REPOSITORY
from tests.long_runs.parser_targets import TARGETS, words
from tests.long_runs.spoiled_requests import spoil

UNIT = "inputs"
COUNT = 2_000_000
MAX_BYTES = 16_384
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0.5, 1e400, 10**30, 2**63, "", "x", "\ud800", "\x1b[2J", [], {}, [[]], [{}]),
    *({"id": []}, {"id": {}}, {"data": None}, [None], "2026-01-01T00:00:00Z", "9999-12-31T00:00Z"),
    *("pay_1", "ETB", 100, 200, 404, "Bearer x", "https://a.example/v1/payments", [1] * 50),
)
# Of the processor, for a short input, and in addition for each byte.
MAX_S, MAX_S_A_BYTE = 2.0, 0.000_1


def check(name: str, data: bytes) -> None:
    """Parse an input. Raises for an exception that is not the parser's own, and for a slow one."""
    begun = thread_time()
    TARGETS[name][0](data)
    took = thread_time() - begun
    assert took < MAX_S + MAX_S_A_BYTE * len(data), f"{took:.1f} s for {len(data)} bytes"


def mutations(name: str, draws: Random, count: int) -> Iterator[bytes]:
    """The valid inputs, and random changes of them; some changes are changed further."""
    seeds = list(TARGETS[name][1]())
    yield from seeds
    tokens = words(seeds)
    data = seeds[0]
    for _ in range(count - len(seeds)):
        if draws.random() < 0.8 or len(data) > MAX_BYTES:
            data = draws.choice(seeds)
        if data[:1] == b"{" and draws.random() < 0.5:
            data = spoiled_json(draws, data)
        else:
            data = spoil(draws, data)
        for _ in range(draws.randint(0, 2)):
            start = draws.randint(0, len(data))
            end = draws.choice([start, start + draws.randint(0, 30)])
            data = data[:start] + draws.choice(tokens) + data[end:]
        yield data


def spoiled_json(draws: Random, data: bytes) -> bytes:
    """A text of JSON with hostile values at random places, also in the JSON within its texts."""
    try:
        value = json.loads(data)
    except ValueError:
        return spoil(draws, data)
    for _ in range(draws.randint(1, 3)):
        value = spoiled_value(value, draws)
    return json.dumps(value, ensure_ascii=draws.random() < 0.5).encode(errors="surrogatepass")


def spoiled_value(value: Any, draws: Random) -> Any:
    """The value with something hostile at a random place, or without a member."""
    if isinstance(value, str) and value[:1] == "{" and draws.random() < 0.9:
        return spoiled_json(draws, value.encode(errors="surrogatepass")).decode(errors="replace")
    if not isinstance(value, dict | list) or not value or draws.random() < 0.1:
        return draws.choice(HOSTILE)
    if isinstance(value, list):
        place = draws.randrange(len(value))
        return [*value[:place], spoiled_value(value[place], draws), *value[place + 1 :]]
    name = draws.choice(list(value))
    if draws.random() < 0.1:
        return {key: item for key, item in value.items() if key != name}
    return {**value, name: spoiled_value(value[name], draws)}


def check_randomly(name: str, seed: int, count: int) -> None:
    for data in mutations(name, Random(f"{seed} {name}"), count):  # noqa: S311
        try:
            check(name, data)
        except Exception as error:
            error.add_note(f"{name}: {data!r}")
            raise


def check_by_coverage(name: str, seed: int, count: int, directory: Path) -> int:
    """Check in a process of its own, which libFuzzer ends; the number of covered edges."""
    corpus = directory / name
    corpus.mkdir()
    for number, data in enumerate(TARGETS[name][1]()):
        (corpus / str(number)).write_bytes(data)
    dictionary = directory / f"{name}.words"
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words(TARGETS[name][1]()))
    dictionary.write_text("".join(f'"{word}"\n' for word in escaped))
    options = [f"-seed={seed}", f"-runs={count}", f"-max_len={MAX_BYTES}", f"-dict={dictionary}"]
    command = [sys.executable, "-m", "tests.long_runs.fuzzer", name, *options, str(corpus)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path[1:]])}
    run = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    output = run.stdout + run.stderr
    if run.returncode:
        found = [path.read_bytes() for path in directory.glob("crash-*")]
        raise AssertionError(f"{name}: {found}\n{output[-6_000:]}")
    return int(re.findall(r" cov: (\d+)", output)[-1])


def run(seed: int, count: int) -> dict[str, str]:
    wall = RealClock()
    began_ms = wall.monotonic_ms()
    each = count // len(TARGETS)
    is_guided = find_spec("atheris") is not None
    measured = {"Inputs": f"{each:,} for each of {', '.join(TARGETS)}"}
    with tempfile.TemporaryDirectory() as directory:
        for name in TARGETS:
            if is_guided:
                edges = check_by_coverage(name, seed, each, Path(directory))
                measured["Covered"] = f"{measured.get('Covered', '')} {name} {edges:,}".strip()
            else:
                check_randomly(name, seed, each)
    version = f"atheris {metadata.version('atheris')}" if is_guided else "none; random changes"
    minutes = (wall.monotonic_ms() - began_ms) / 60_000
    return {**measured, "Guided by": version, "Duration": f"{minutes:.0f} minutes"}
