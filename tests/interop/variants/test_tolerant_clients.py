"""Correct, tolerant clients in Node.js and PHP, with the helpers, pass with each seed."""

import shutil
from pathlib import Path

import pytest

from tests.cli.processes import run, serving
from tests.depth import DEPTH
from tests.interop.sdks.programs import need, ran

HERE = Path(__file__).parent
SEEDS = 100 * DEPTH
SEEDS_A_RUN = 100
# The program, its client, the helper, and the command that prints the helper.
CLIENTS = {
    "node": ("client.mjs", "payments-emulator.mjs", ("node", "--js")),
    "php": ("client.php", "PaymentsEmulator.php", ("php",)),
}


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_A_RUN))
@pytest.mark.parametrize("program", CLIENTS)
def test_a_tolerant_client_passes_with_each_seed(program: str, first: int, tmp_path: Path) -> None:
    need(program)
    seeds = (str(first), str(first + SEEDS_A_RUN))
    client, helper, options = CLIENTS[program]
    shutil.copy(HERE / client, tmp_path)
    (tmp_path / helper).write_text(run("helper", *options).stdout)
    with serving("--port=0", "--checkout-port=0", logs=tmp_path, hangs_after_s=600) as server:
        url = f"http://127.0.0.1:{server.api_port}"
        ended = ran(tmp_path, program, client, *seeds, PAYMENTS_EMULATOR_URL=url)
    assert ended.stdout == "0 failures\n"
