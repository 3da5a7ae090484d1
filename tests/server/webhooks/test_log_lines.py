"""The lines of the log about webhooks that failed."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.processes import HANGS_AFTER_S, free_port, serving, wait_for


def test_a_failed_webhook_is_logged_with_its_likely_cause(tmp_path: Path) -> None:
    port = free_port()
    with serving("--webhook-url", f"http://127.0.0.1:{port}/hook", logs=tmp_path) as server:
        server.create()
        start = f"WARNING webhook payment.created to 127.0.0.1:{port} failed: connection refused. "
        wait_for(server.process, lambda: start in server.stderr)


def test_the_json_of_a_failed_webhook_has_its_facts_as_members(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/hook"
    with serving("--webhook-url", url, "--log-format", "json", logs=tmp_path) as server:
        server.create()
        wait_for(server.process, lambda: "webhook failed" in server.stderr)
        lines = [json.loads(line) for line in server.stderr.splitlines()]
    assert all(line["at"].endswith("Z") for line in lines)
    [line] = [line for line in lines if line.get("message") == "webhook failed"]
    assert line["cause"].startswith(f"Nothing listens on 127.0.0.1:{port}")
    assert {name: line[name] for name in line.keys() - {"at", "cause"}} == {
        "level": "warning",
        "message": "webhook failed",
        "event": "payment.created",
        "host": f"127.0.0.1:{port}",
        "error": "connection refused",
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_log_and_banner_show_no_secrets_of_a_webhook_url(form: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as endpoint, ThreadPoolExecutor() as thread:
        endpoint.settimeout(HANGS_AFTER_S)
        port = endpoint.getsockname()[1]
        url = f"http://name:word@127.0.0.1:{port}/hook/path?token=1"
        with serving("--webhook-url", url, "--log-format", form, logs=tmp_path) as server:
            # After the end of a connection without a response, the likely cause proposes https.
            accepted = thread.submit(endpoint.accept)
            server.create()
            accepted.result()[0].close()
            wait_for(server.process, lambda: "register https://" in server.stderr)
            texts = "".join(server.printed) + server.stderr
    secret = '", "secret": "whsec_' if form == "json" else ", secret whsec_"
    assert f"http://127.0.0.1:{port}/…{secret}" in texts
    for secret in ("name:", "word", "/hook", "token=1"):
        assert secret not in texts
