"""A correct, tolerant client passes a whole history, whatever the contract leaves open."""

from collections.abc import Iterator

import pytest

from emulator.domain.variants import NAMES
from emulator.http.blocking_client import BlockingEmulator
from emulator.pytest_plugin.account import failure_report
from emulator.pytest_plugin.emulator import PaymentsEmulator
from tests.cli.processes import serving
from tests.depth import DEPTH, usually
from tests.pytest_plugin.tolerant import play

# So that no fraction of a second is zero.
CLOCK = "frozen@2026-01-01T00:00:00.123Z"
SEEDS = usually(5, deep=50 * DEPTH)
# More take longer than a test may.
SEEDS_A_RUN = 50


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaymentsEmulator]:
    logs = tmp_path_factory.mktemp("logs")
    with serving("--port=0", "--checkout-port=0", logs=logs, hangs_after_s=600) as server:
        control = BlockingEmulator(base_url=server.url)
        emulator = PaymentsEmulator(control, is_external=False, webhook_host=None)
        yield emulator
        emulator.close()


@pytest.mark.sampled
@pytest.mark.parametrize("vary", [*usually(["off"], deep=["off", *NAMES]), ",".join(NAMES)])
def test_a_tolerant_client_notices_no_variant(emulator: PaymentsEmulator, vary: str) -> None:
    with emulator.account("tolerant", clock=CLOCK, vary=vary) as account:
        play(account)


@pytest.mark.sampled
@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_A_RUN))
def test_a_tolerant_client_passes_with_each_seed(emulator: PaymentsEmulator, first: int) -> None:
    for seed in range(first, min(first + SEEDS_A_RUN, SEEDS)):
        with emulator.account(f"seed {seed}", clock=CLOCK, vary=seed) as account:
            try:
                play(account)
            except Exception as error:
                error.add_note(f"with the seed {seed}: {failure_report(account)}")
                raise


def test_the_report_of_a_failed_test_names_the_variants(emulator: PaymentsEmulator) -> None:
    with emulator.account(vary="charset,long-ids") as account:
        play(account)
        assert "POST /v1/payments  201  (variants: charset, long-ids)" in failure_report(account)
