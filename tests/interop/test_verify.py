"""`verify` against the emulator behind a reverse proxy: nothing drifts."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from emulator.clock import RealClock
from emulator.domain.accounts import DEMO_TEST_KEY, OTHER_TEST_KEY
from emulator.tools.verify.client import HttpTransport, ServiceClient
from emulator.tools.verify.comparison import Comparison, compare
from emulator.tools.verify.findings import Verdict
from emulator.tools.verify.session import Session
from tests.cli.processes import FREE_PORTS, SHARED_HANGS_AFTER_S, Server, free_port, serving
from tests.interop.jitter import jitter
from tests.interop.replicas import CONFIGURATION, listening, nginx_program
from tests.tools.verify.runs import USUALLY_UNSEEN, verdicts

RUNS_BEHIND_NGINX = 3

_SERVER = """
upstream payments {{
    server 127.0.0.1:{api_port};
    keepalive 8;
}}
server {{
    listen 127.0.0.1:{port};
    add_header X-Frame-Options DENY always;
    location / {{
        proxy_pass http://payments;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $http_host;
    }}
}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        *FREE_PORTS, logs=tmp_path_factory.mktemp("logs"), hangs_after_s=SHARED_HANGS_AFTER_S
    ) as server:
        yield server


async def compared(base_url: str) -> Comparison:
    wall = RealClock()
    async with HttpTransport(base_url) as wire:
        session = Session(
            ServiceClient(wire, wall=wall), key=DEMO_TEST_KEY, other_key=OTHER_TEST_KEY
        )
        return await compare(session, began_at=wall.now_ms())


def check_that_all_holds(comparison: Comparison) -> None:
    assert [(one.clause.number, one.seen) for one in comparison.drifts] == []
    assert verdicts(comparison, Verdict.UNSEEN) == USUALLY_UNSEEN


async def test_behind_nginx_nothing_ever_drifts(tmp_path: Path, server: Server) -> None:
    port = free_port()
    configuration = _SERVER.format(api_port=server.api_port, port=port)
    (tmp_path / CONFIGURATION).write_text(configuration, encoding="utf-8")
    with listening(nginx_program(), tmp_path, port):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.api_port}") as control:
            for _ in range(RUNS_BEHIND_NGINX):
                # Many payments of the minute before hide the end of the list.
                (await control.post("/_emulator/reset")).raise_for_status()
                check_that_all_holds(await compared(f"http://127.0.0.1:{port}"))


async def test_with_varying_delays_and_other_headers_nothing_drifts(server: Server) -> None:
    async with jitter(server.api_port) as base_url:
        check_that_all_holds(await compared(base_url))
