"""Probes whether the `checkout_url` of new payments opens their pages in a browser."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from emulator.domain.payment_methods import DEFAULT_METHODS, DEFAULT_ORDER
from emulator.http.addresses import BaseUrl, is_loopback
from emulator.http.client import EmulatorClient
from emulator.http.emulator_calls import CHECKOUT_URL, CREATE_PAYMENT, EmulatorCall, any_json
from emulator.settings import Settings
from emulator.tools.doctor.machine import FORBIDDEN
from emulator.tools.doctor.network import LocalNetwork, NetworkInterface
from emulator.tools.doctor.report import DoctorFinding, good, note, problem

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
