"""How long the emulator takes from nothing to its first answer, and the memory it then holds."""

import statistics
import subprocess
import sys
import time

from tests.benchmarks.pairs import Plan
from tests.benchmarks.report import Gate, Row
from tests.benchmarks.servers import emulator, environment

START_GATE = Gate(at_most=1.6)
MEMORY_GATE = Gate(at_most=50.0)
_IMPORTS = "import starlette, uvicorn"


def measure(plan: Plan) -> list[Row]:
    """Start the emulator and import its two largest dependencies, in turns, A B B A.

    The first of each is not counted: it writes the compiled modules that every later start reads.
    """
    emulator_ms: list[float] = []
    imports_ms: list[float] = []
    rss_mib: list[float] = []
    for run in range(plan.starts + 1):
        imports = [] if run % 2 else [_import_ms(plan)]
        with emulator(plan.tree) as server:
            started, rss = server.ready_after_ms, server.rss_mib()
        imports = imports or [_import_ms(plan)]
        if run:
            emulator_ms.append(started)
            imports_ms += imports
            rss_mib.append(rss)
    a, b = statistics.median(imports_ms), statistics.median(emulator_ms)
    return [
        Row(
            measure="start to first answer",
            values=tuple(s / i for s, i in zip(emulator_ms, imports_ms, strict=True)),
            gate=START_GATE,
            absolute=f"{a:.0f} → {b:.0f} ms; 1.00 is python -c '{_IMPORTS}'",
            numbers={"limit_ms": a, "subject_ms": b},
        ),
        Row(measure="memory, when ready", values=tuple(rss_mib), gate=MEMORY_GATE, unit=" MiB"),
    ]


def _import_ms(plan: Plan) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-c", _IMPORTS]
    subprocess.run(command, check=True, cwd=plan.tree, env=environment())
    return (time.perf_counter() - begun) * 1000
