"""The ports that Node.js and a real Chromium refuse."""

import json
import shutil

import pytest
from playwright.async_api import Error as BrowserError

from emulator.server.api.redirect_urls import BLOCKED_PORTS
from tests.cli.processes import run_program
from tests.server.checkout.browsing import CHROMIUM, running_chromium

BLOCKED_PORTS_IN_NODE = """
const dispatcher = {dispatch() { throw new Error("reached") }};
const blocked = async port => {
  try { await fetch(`http://127.0.0.1:${port}/`, {dispatcher}) }
  catch (error) { return error.cause?.message === "bad port" }
};
(async () => {
  const ports = [];
  for (let port = 0; port < 65536; port++) if (await blocked(port)) ports.push(port);
  console.log(JSON.stringify(ports));
})();
"""
# Chromium opens them, although the Fetch standard says that it should not.
OPENED_BY_CHROMIUM = {4190, 6679}


def test_the_blocked_ports_are_those_of_the_fetch_standard() -> None:
    assert shutil.which("node") is not None, "not on this machine: node"
    ended = run_program("node", "-e", BLOCKED_PORTS_IN_NODE)
    assert ended.returncode == 0, ended.stderr
    blocked = set(json.loads(ended.stdout))
    assert blocked - OPENED_BY_CHROMIUM == BLOCKED_PORTS - {0}


async def test_chromium_opens_every_other_port_and_none_of_these() -> None:
    assert CHROMIUM is not None, "chromium is missing"
    async with running_chromium() as browser:
        page = await browser.new_page()
        for port in (*sorted(BLOCKED_PORTS | OPENED_BY_CHROMIUM), 3001):
            with pytest.raises(BrowserError) as refusal:
                await page.goto(f"https://127.0.0.1:{port}/")
            assert ("ERR_UNSAFE_PORT" in str(refusal.value)) is (port in BLOCKED_PORTS), port
