"""Generates the clients of a shop's programs, runs the programs and checks their output."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.cli.processes import Server, run_program, serving

HERE = Path(__file__).parent
EMULATOR = "http://127.0.0.1:8080"
# README.md shows these commands, and lines of these programs.
GENERATE = {
    "usage.py": "openapi-python-client generate --path payments.json",
    "usage.ts": "npx openapi-typescript payments.json --output payments.ts",
    "usage_control.ts": (
        "npx openapi-typescript control.json --output control.ts --default-non-nullable false"
    ),
    "typescript-fetch": (
        "openapi-generator-cli generate -g typescript-fetch -i calls.json -o payments-fetch"
    ),
    "usage.php": "openapi-generator-cli generate -g php -i payments.json -o payments-php",
    "usage.rb": "openapi-generator-cli generate -g ruby -i payments.json -o payments-ruby",
}
DEBIAN_PACKAGES = {
    "go": "golang-go",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "node": "nodejs",
    "npx": "npm",
    "php": "php-cli",
    "phpunit": "phpunit",
    "ruby": "ruby",
    "gem": "ruby",
}
# Java is slow on a busy machine.
MAX_S = 180

_THANKS = "https://shop.example/አመሰግናለሁ"
_REFUSALS = [
    "400 invalid_amount amount",
    "401 invalid_api_key -",
    "404 payment_not_found -",
    "409 idempotency_key_reused idempotency_key",
]
_OBJECTION = re.compile(r"\bWARN|\bERROR|Warning|⚠|✘")
# openapi-generator says so of any document of this version, and of any that has a header in a
# response.
_ABOUT_ITSELF = (
    "OpenAPI 3.1 support is still in beta",
    "Failed to get the schema name: null",
    # In TypeScript, the class of the schema `Error` is `ModelError`.
    "Error (model name matches existing language type)",
)


def need(*programs: str) -> None:
    missing = {program for program in programs if shutil.which(program) is None}
    packages = sorted({DEBIAN_PACKAGES[program] for program in missing})
    assert not missing, f"not on this machine: {missing}; Debian's packages {packages}"


def ran(directory: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that has ended well. Raises AssertionError with what it said otherwise."""
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    # A zone that is not UTC, so that no client can take one for the other; and npm need not warn of
    # what it finds in the configuration of this machine.
    usual = {"PATH": path, "TZ": "EAT-3", "npm_config_loglevel": "error"}
    ended = run_program(*command, directory=directory, variables=usual | variables, timeout_s=MAX_S)
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended


def generate(name: str, shop: Path) -> None:
    """Make the client of a program. Raises AssertionError where the generator has objections."""
    said = ran(shop, *shlex.split(GENERATE[name]))
    objections = [
        line
        for line in (said.stdout + said.stderr).splitlines()
        if _OBJECTION.search(line) and not any(known in line for known in _ABOUT_ITSELF)
    ]
    assert objections == []


def copied(name: str, shop: Path) -> None:
    shutil.copy(HERE / name, shop)


def is_as_expected(program: Path, *command: str, **variables: str) -> None:
    """Run a program against an emulator in whose account something has happened already.

    Raises AssertionError unless it prints what the emulator knows then.
    """
    with serving("--clock=frozen@2026-01-01T00:00:00Z", logs=program.parent) as server:
        _history(server)
        point(program, server)
        played = ran(program.parent, *command, program.name, **variables)
        assert played.stdout.splitlines() == _expected(server), played.stderr


def point(program: Path, server: Server) -> None:
    """Write the address of this emulator into the one line that has one."""
    text = program.read_text(encoding="utf-8")
    assert text.count(EMULATOR) == 1
    address = f"http://127.0.0.1:{server.api_port}"
    program.write_text(text.replace(EMULATOR, address), encoding="utf-8")


def _history(server: Server) -> None:
    """Payments of each method, one of them older than the rest, and an unpaid one."""
    _pay(server, "telebirr", "0900000001")
    server.request("POST", "/_emulator/clock/advance", {"seconds": 60})
    _pay(server, "telebirr", "0900000001")
    _pay(server, "mpesa", "0700000001")
    server.create()


def _pay(server: Server, method: str, phone: str) -> None:
    payment = server.create()
    body = {"method": method, "phone": phone}
    paid = server.request("POST", f"/_emulator/payments/{payment['id']}/pay", body)
    assert paid.json["status"] == "completed"


def _expected(server: Server) -> list[str]:
    payments = server.request("GET", "/v1/payments?limit=100").json["data"]
    ids = [payment["id"] for payment in payments]
    assert len(ids) == 5, "the program has created one payment"
    own = payments[0]
    [narrowed] = [
        payment["id"]
        for payment in payments
        if payment["method"] == "telebirr" and payment["created_at"] >= own["created_at"]
    ]
    return [
        f"created {own['id']} pending 15000 አበበ",
        f"retried {own['id']}",
        f"retrieved {own['id']} {_THANKS} -",
        *(f"page {' '.join(ids[start : start + 2])}" for start in (0, 2, 4)),
        f"narrowed {narrowed}",
        *_REFUSALS,
    ]
