"""Probes the emulator from this machine: the base URL, its host name, the API key."""

from dataclasses import dataclass, replace
from typing import Any

from emulator.domain.accounts import DEMO_TEST_KEY, mask_key
from emulator.domain.hosts import is_ip_literal
from emulator.http import emulator_calls as calls
from emulator.http.client import EmulatorClient
from emulator.http.response import HttpResponse
from emulator.tools.doctor.report import DoctorFinding, good, note, problem
from emulator.tools.doctor.search import ProbeResult, Timeouts, lookup, server_at

FIRST_PAGE = calls.LIST_PAYMENTS(limit=1)
FORBIDDEN = "forbidden_origin"

_NOT_FORWARDED = (
    f"Configure the proxy before the emulator to forward {{}}/… as it forwards {calls.HEALTH.path}."
)
_FAULTY = "A fault, a scenario or --rate-limit may cause this: see the journal."
_KEYS = (
    "`serve` prints the first account's keys, POST /_emulator/accounts creates another account, "
    "and --auto-provision accepts any test_ key."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedEmulator:
    """An emulator whose control API is open, and the account whose endpoints are probed.

    Without a key it is the first account. A key that is unknown or new `has_account` false.
    """

    control: EmulatorClient
    key: str | None
    has_account: bool


async def probe_machine(
    given: ProbeResult, found: ProbeResult, key: str | None, timeouts: Timeouts
) -> tuple[list[DoctorFinding], ExaminedEmulator | None]:
    """The findings, and the emulator for the next probes if its control API is open."""
    version = f"payments emulator {found.description}"
    findings = [good(f"{found.base_url} responds in {found.duration_ms:.0f} ms: {version}")]
    if found is not given:
        wrong = problem(f"{given.base_url}: {given.description}", f"Use {found.base_url}.")
        findings.insert(0, wrong)
    api = server_at(found.base_url, timeouts.response_s)
    control, accounts, finding = await _probe_control(api)
    findings.append(finding)
    has_account, finding = await _probe_key(api, control, key, accounts)
    findings.append(finding)
    if control is None:
        return findings, None
    return findings, ExaminedEmulator(control=control, key=key, has_account=has_account)


async def _probe_control(
    server: EmulatorClient,
) -> tuple[EmulatorClient | None, list[dict[str, Any]], DoctorFinding]:
    """The control API by the host of the base URL or by an IP address of it, and the accounts."""
    base_url, host = server.base_url, server.base_url.host
    response = await server.try_to_send(calls.ACCOUNTS)
    if response.status == 200:
        accounts = response_items(response) or []
        return server, accounts, good(f"The control API accepts requests for the host {host}")
    if response.error.get("code") != FORBIDDEN:
        finding = problem(
            f"The control API does not list the accounts: {response.description}",
            _NOT_FORWARDED.format(calls.CONTROL),
        )
        return None, [], finding
    finding = problem(
        f"The control API refuses requests for the host {host}: {response.description}",
        f"Start the emulator with --allowed-hosts {host} (EMULATOR_ALLOWED_HOSTS).",
    )
    if base_url.scheme == "http" and not is_ip_literal(host):
        for address in await lookup(host):
            server = replace(server, base_url=replace(base_url, host=address))
            response = await server.try_to_send(calls.ACCOUNTS)
            if response.status == 200:
                return server, response_items(response) or [], finding
    return None, [], finding


async def _probe_key(
    api: EmulatorClient,
    control: EmulatorClient | None,
    given: str | None,
    accounts: list[dict[str, Any]],
) -> tuple[bool, DoctorFinding]:
    """Whether there is an account to examine, and whether the key works."""
    key = given or DEMO_TEST_KEY
    masked = mask_key(key)
    response = await replace(api, key=key).try_to_send(FIRST_PAGE)
    if response.status == 401:
        if given is None:
            text = f"The demo key {masked} is unknown to the emulator, so no key was tested"
            return True, note(text, "Give your key with --key.")
        return False, problem(f"The key {masked} is unknown: {response.description}", _KEYS)
    is_new = control is not None and await _remove_created(control, masked, accounts)
    has_account = given is None or not is_new
    if response.status != 200:
        fix = _NOT_FORWARDED.format("/v1") if response.status == 404 else _FAULTY
        text = f"The key {masked} could not be tested with GET {FIRST_PAGE.path}"
        return has_account, problem(f"{text}: {response.description}", fix)
    if is_new:
        text = f"The key {masked} is new: its first use creates an account"
        return has_account, good(text)
    return has_account, good(f"The key {masked} works: GET {FIRST_PAGE.path} returns 200")


async def _remove_created(
    control: EmulatorClient, masked: str, before: list[dict[str, Any]]
) -> bool:
    """Remove the account that trying the key has created; whether there is one.

    When another key looks the same the account cannot be identified, and stays.
    """
    if any(masked in (account.get("test_key"), account.get("live_key")) for account in before):
        return False
    known = {account.get("id") for account in before}
    created = [
        account
        for account in response_items(await control.try_to_send(calls.ACCOUNTS)) or ()
        if account.get("test_key") == masked and account.get("id") not in known
    ]
    if len(created) != 1:
        return False
    await control.try_to_send(calls.DELETE_ACCOUNT(str(created[0].get("id"))))
    return True


def response_items(response: HttpResponse) -> list[dict[str, Any]] | None:
    """The objects of a list; None when the response contains no list."""
    data = response.member("data") if response.status == 200 else None
    if not isinstance(data, list):
        return None
    return [entry for entry in data if isinstance(entry, dict)]
