"""Probes the emulator from this machine: its base URL, its name, its key, its checkout pages."""

from dataclasses import replace
from typing import Any

from emulator.domain.accounts import DEMO_TEST_KEY, mask_key
from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER
from emulator.http import emulator_calls as calls
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import CHECKOUT_URL, CREATE_PAYMENT, EmulatorCall, any_json
from emulator.http.response import HttpResponse
from emulator.tools.doctor.report import DoctorFinding, good, note, problem
from emulator.tools.doctor.search import (
    LocalNetwork,
    ProbeResult,
    Timeouts,
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


async def probe_machine(
    given: ProbeResult, found: ProbeResult, key: str | None, timeouts: Timeouts
) -> tuple[list[DoctorFinding], EmulatorClient | None]:
    """The findings, and the emulator for the next probes if its control API is open.

    The next probes are of the key's endpoints, or without a key of the first account's.
    """
    version = f"payments emulator {found.description}"
    findings = [good(f"{found.base_url} responds in {found.duration_ms:.0f} ms: {version}")]
    if found is not given:
        wrong = problem(f"{given.base_url}: {given.description}", f"Use {found.base_url}.")
        findings.insert(0, wrong)
    api = server_at(found.base_url, timeouts.response_s)
    is_open, finding = await _probe_control(api)
    findings += [finding, await _probe_key(api, key)]
    return findings, replace(api, key=key) if is_open else None


async def _probe_control(server: EmulatorClient) -> tuple[bool, DoctorFinding]:
    """Whether the control API accepts requests for the host of the base URL."""
    host = server.base_url.host
    response = await server.try_to_send(calls.ACCOUNTS)
    if response.status == 200:
        return True, good(f"The control API accepts requests for the host {host}")
    if response.error.get("code") == FORBIDDEN:
        return False, problem(
            f"The control API refuses requests for the host {host}: {response.description}",
            f"Start the emulator with --allowed-hosts {host} (EMULATOR_ALLOWED_HOSTS).",
        )
    return False, problem(
        f"The control API does not list the accounts: {response.description}",
        _NOT_FORWARDED.format(calls.CONTROL),
    )


async def _probe_key(api: EmulatorClient, given: str | None) -> DoctorFinding:
    """Whether the key works."""
    key = given or DEMO_TEST_KEY
    masked = mask_key(key)
    response = await replace(api, key=key).try_to_send(FIRST_PAGE)
    if response.status == 401:
        if given is None:
            text = f"The demo key {masked} is unknown to the emulator, so no key was tested"
            return note(text, "Give your key with --key.")
        return problem(f"The key {masked} is unknown: {response.description}", _KEYS)
    if response.status != 200:
        fix = _NOT_FORWARDED.format("/v1") if response.status == 404 else _FAULTY
        text = f"The key {masked} could not be tested with GET {FIRST_PAGE.path}"
        return problem(f"{text}: {response.description}", fix)
    return good(f"The key {masked} works: GET {FIRST_PAGE.path} returns 200")


def response_items(response: HttpResponse) -> list[dict[str, Any]] | None:
    """The objects of a list; None when the response contains no list."""
    data = response.member("data") if response.status == 200 else None
    if not isinstance(data, list):
        return None
    return [entry for entry in data if isinstance(entry, dict)]


# On each checkout page.
_PAGE_MARKER = b'data-testid="simulation"'


async def probe_pages(
    control: EmulatorClient, account: EmulatorClient, network: LocalNetwork
) -> list[DoctorFinding]:
    """Create a payment in the temporary account, and request its page."""
    response = await control.try_to_send(CHECKOUT_URL)
    url = response.member("url")
    if not isinstance(url, str):
        text = f"The emulator does not return its checkout address: {response.description}"
        return [problem(text, "Does it have the version of this program?")]
    for method in DEFAULT_METHODS:
        order = {**DEFAULT_ORDER, "methods": [method]}
        created = await account.try_to_send(CREATE_PAYMENT(body=order))
        if created.error.get("code") != "invalid_methods":
            break
    page = created.member("checkout_url")
    if created.status != 201 or not (isinstance(page, str) and page.startswith(f"{url}/")):
        return [note(f"No payment could be created for a page: {created.description}")]
    failure = await _page_failure(control, BaseUrl.parse(url), page.removeprefix(url))
    if failure is None:
        return [good(f"{url}/c/… opens: the page of a payment created for this test")]
    return [_closed_page(control, url, failure, network)]


def _closed_page(
    control: EmulatorClient, checkout_url: str, failure: str, network: LocalNetwork
) -> DoctorFinding:
    host = BaseUrl.parse(checkout_url).host
    text = f"checkout_url begins with {checkout_url}, which does not open: {failure}"
    if failure.endswith(FORBIDDEN):
        return problem(text, f"Start the emulator with --allowed-hosts {host}.")
    fix = (
        "Start the emulator with --checkout-url URL (EMULATOR_CHECKOUT_URL), the address of its"
        f" pages for a browser, or set it now: PUT {control.base_url}{CHECKOUT_URL.path} "
        '{"url": "URL"}'
    )
    if network.is_in_container and is_loopback(host):
        # A browser may run outside this container.
        fix = f"A browser on the host may open it. For a browser in a container: {fix}"
        return note(f"{text} (in this container)", fix)
    return problem(text, fix)


async def _page_failure(control: EmulatorClient, base_url: BaseUrl, path: str) -> str | None:
    """Why an address does not serve the page; None where it does."""
    call = EmulatorCall("GET", path, any_json)
    response = await replace(control, base_url=base_url).try_to_send(call)
    if _PAGE_MARKER in response.body:
        return None if response.status == 200 else "these are the pages of another emulator"
    if response.error.get("code") == "route_not_found":
        return "this is the API of an emulator, not its checkout pages"
    if response.failure is not None or response.error:
        return response.description
    return f"another program responds ({response.description})"
