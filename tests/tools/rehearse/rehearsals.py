"""Rehearses suites in this process."""

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from emulator.cli.rehearse import _emulator
from emulator.cli.settings_options import private_settings
from emulator.clock import RealClock
from emulator.scenarios.values import VariantKind
from emulator.server.app.server import silence
from emulator.tools.rehearse.rehearsal import RehearsalRun
from emulator.tools.rehearse.suite import Suite
from emulator.tools.rehearse.variants import Variant, read_variants

SHOP_SUITE = (sys.executable, "-S", "-E", str(Path(__file__).with_name("shop_suite.py")))
# The tests of three suites, from the weakest to the strongest.
HAPPY = ("test_happy_path",)
GOOD = (*HAPPY, "test_order_is_paid")
COMPLETE = (*GOOD, "test_declined_order_is_closed")


def shipped(kind: VariantKind) -> list[Variant]:
    return [variant for variant in read_variants([])[0] if variant.kind is kind]


async def rehearse(
    words: Sequence[str], variants: Iterable[Variant] = (), *, jobs: int = 2
) -> RehearsalRun:
    """A rehearsal that has ended. Raises RehearsalError."""
    flags = {"port": 0, "checkout-port": 0, "allow-http-localhost": True}
    run = RehearsalRun(
        suite=Suite(words, RealClock()),
        variants=[*variants],
        emulator=partial(_emulator, private_settings(flags)),
        wall=RealClock(),
        show=lambda _: None,
    )
    with silence():
        await run.run(jobs)
    return run


def findings(run: RehearsalRun) -> list[str]:
    return [result.variant for result in run.results if result.is_finding]
