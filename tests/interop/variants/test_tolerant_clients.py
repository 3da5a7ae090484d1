"""Correct, tolerant clients in Node.js and PHP, with the helpers, notice no variant."""

import shutil
from pathlib import Path

import pytest

from emulator.domain.variants import NAMES
from tests.cli.processes import run, serving
from tests.depth import DEPTH
from tests.interop.sdks.programs import need, ran

HERE = Path(__file__).parent
SEEDS_A_RUN = 100
# Each variant, all at once, and seeds.
VARY = ["off", *NAMES, ",".join(NAMES), *map(str, range(SEEDS_A_RUN * DEPTH))]
# The program, its client, the helper, and the command that prints the helper.
CLIENTS = {
    "node": ("client.mjs", "payments-emulator.mjs", ("node", "--js")),
    "php": ("client.php", "PaymentsEmulator.php", ("php",)),
}


@pytest.mark.parametrize("first", range(0, len(VARY), SEEDS_A_RUN))
@pytest.mark.parametrize("program", CLIENTS)
def test_a_tolerant_client_notices_no_variant(program: str, first: int, tmp_path: Path) -> None:
    need(program)
    client, helper, options = CLIENTS[program]
    shutil.copy(HERE / client, tmp_path)
    (tmp_path / helper).write_text(run("helper", *options).stdout)
    with serving("--port=0", "--checkout-port=0", logs=tmp_path, hangs_after_s=600) as server:
        url = f"http://127.0.0.1:{server.api_port}"
        vary = VARY[first : first + SEEDS_A_RUN]
        ended = ran(tmp_path, program, client, *vary, PAYMENTS_EMULATOR_URL=url)
    assert ended.stdout == "0 failures\n"
