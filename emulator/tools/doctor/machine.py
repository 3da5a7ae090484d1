"""Probes the emulator from this machine: its base URL, its name, its key, its checkout pages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from emulator.domain.accounts import DEMO_TEST_KEY, mask_key
from emulator.domain.hosts import is_ip_literal
from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import CHECKOUT_URL, CREATE_PAYMENT, EmulatorCall, any_json
from emulator.http.response import HttpResponse
from emulator.settings import Settings
from emulator.tools.doctor.report import DoctorFinding, good, note, problem
from emulator.tools.doctor.search import (
    LocalNetwork,
    NetworkInterface,
    ProbeResult,
    Timeouts,
    lookup,
    server_at,
)

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


# On each checkout page.
_PAGE_MARKER = b'data-testid="simulation"'
# The page of an unknown payment.
_NO_PAYMENT = "/c/x"


async def probe_pages(
    control: EmulatorClient,
    account: EmulatorClient,
    network: LocalNetwork,
    reached: Sequence[NetworkInterface],
) -> list[DoctorFinding]:
    """Create a payment in the temporary account, and request its page."""
    response = await control.try_to_send(CHECKOUT_URL)
    url = response.member("url")
    if not isinstance(url, str):
        text = f"The emulator does not return its checkout address: {response.description}"
        return [problem(text, "Does it have the version of this program?")]
    page = _Page(control=control, checkout_url=url, path=await _create_page(account, url))
    return await page.findings(network, reached)


async def _create_page(account: EmulatorClient, checkout_url: str) -> str:
    """The path of a new payment's page, or an unknown payment's path if none can be created."""
    for method in DEFAULT_METHODS:
        order = {**DEFAULT_ORDER, "methods": [method]}
        created = await account.try_to_send(CREATE_PAYMENT(body=order))
        url = created.member("checkout_url")
        if created.status == 201 and isinstance(url, str) and url.startswith(f"{checkout_url}/"):
            return url.removeprefix(checkout_url)
        if created.error.get("code") != "invalid_methods":
            break
    return _NO_PAYMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One page, requested at the address of the checkout pages and at others."""

    control: EmulatorClient
    checkout_url: str
    path: str

    async def findings(
        self, network: LocalNetwork, reached: Sequence[NetworkInterface]
    ) -> list[DoctorFinding]:
        base_url = BaseUrl.parse(self.checkout_url)
        failure = await self._failure_at(base_url)
        if failure is None:
            text = "/c/… opens: the page of a payment created for this test"
            if self.path == _NO_PAYMENT:
                text = f"{_NO_PAYMENT} opens: a page of this emulator"
            findings = await self._for_other_machines(base_url, reached)
            return [good(self.checkout_url + text), *findings]
        text = f"checkout_url begins with {self.checkout_url}, which does not open: {failure}"
        if failure.endswith(FORBIDDEN):
            return [problem(text, f"Start the emulator with --allowed-hosts {base_url.host}.")]
        fix = await self._fix(base_url)
        if network.is_in_container and is_loopback(base_url.host):
            # A browser may run outside this container.
            fix = f"A browser on the host may open it. For a browser in a container: {fix}"
            return [note(f"{text} (in this container)", fix)]
        return [problem(text, fix)]

    async def _failure_at(self, base_url: BaseUrl) -> str | None:
        """Why an address does not serve the pages; None where it does."""
        call = EmulatorCall("GET", self.path, any_json)
        response = await replace(self.control, base_url=base_url).try_to_send(call)
        if _PAGE_MARKER in response.body:
            if response.status == (404 if self.path == _NO_PAYMENT else 200):
                return None
            if response.status == 404:
                return "these are the pages of another emulator"
        if response.error.get("code") == "route_not_found":
            return "this is the API of an emulator, not its checkout pages"
        if response.failure is not None or response.error:
            return response.description
        return f"another program responds ({response.description})"

    async def _for_other_machines(
        self, base_url: BaseUrl, reached: Sequence[NetworkInterface]
    ) -> list[DoctorFinding]:
        """Another address for browsers on other machines, if the pages open there."""
        if not reached or not is_loopback(base_url.host):
            return []
        other = replace(base_url, host=reached[0].address)
        if await self._failure_at(other) is not None:
            return []
        text = f"{other} also opens, for a browser in a container or on another machine"
        return [note(text, f"For such a browser: --checkout-url {other}")]

    async def _fix(self, base_url: BaseUrl) -> str:
        alternative = await self._alternative(base_url)
        url, opens, meaning = "URL", "", ", the address of its pages for a browser"
        if alternative is not None:
            url, opens, meaning = str(alternative), f"{alternative} opens. ", ""
        return (
            f"{opens}Start the emulator with --checkout-url {url} (EMULATOR_CHECKOUT_URL){meaning},"
            f" or set it now: PUT {self.control.base_url}{CHECKOUT_URL.path} "
            f'{{"url": "{url}"}}'
        )

    async def _alternative(self, base_url: BaseUrl) -> BaseUrl | None:
        """Where the page opens: at the default port, or at the port after the API's port."""
        api = self.control.base_url
        for port in dict.fromkeys((Settings().checkout_port, api.port + 1)):
            other = replace(api, port=port, path="")
            if other != base_url and await self._failure_at(other) is None:
                return other
        return None
