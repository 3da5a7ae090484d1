"""How it is from a browser: whether the address of new payments leads to their pages."""

from collections.abc import Sequence
from dataclasses import replace

from emulator.cli.examination.asking import CONTROL, Server, told
from emulator.cli.examination.findings import Finding, Section, View, good, note, problem
from emulator.cli.examination.machine import FORBIDDEN
from emulator.cli.examination.surroundings import Interface, Surroundings
from emulator.http.addresses import is_loopback
from emulator.replay.client import Address, Answer

USUAL_PORT = 8081
CHECKOUT_URL = f"{CONTROL}/checkout_url"

# On each of our pages, whatever it shows.
_OURS = b'data-testid="simulation"'
# The page of a payment that nobody has.
_NO_PAYMENT = "/c/x"
_ORDER = {
    "amount": 100,
    "currency": "ETB",
    "success_url": "https://shop.example/thanks",
    "cancel_url": "https://shop.example/cart",
}
_METHODS = ("telebirr", "mpesa", "bank_transfer")


async def examine_pages(
    control: Server, guest: Server, surroundings: Surroundings, reached: Sequence[Interface]
) -> Section:
    """The third view, by the page of a payment of the guest's."""
    answer = await control.ask("GET", CHECKOUT_URL)
    base = answer.member("url")
    if not isinstance(base, str):
        finding = problem(
            f"The emulator does not say its checkout address: {told(answer)}",
            "Is it of this version?",
        )
        return Section(view=View.BROWSER, findings=(finding,))
    page = await _new_page(guest, base)
    browser = _Browser(control, base, page)
    findings = await browser.look(surroundings, reached)
    return Section(view=View.BROWSER, findings=tuple(findings))


async def _new_page(guest: Server, base: str) -> str:
    """Where below the base the page of a new payment is; of none if it cannot be created."""
    for method in _METHODS:
        created = await guest.ask("POST", "/v1/payments", {**_ORDER, "methods": [method]})
        url = created.member("checkout_url")
        if created.status == 201 and isinstance(url, str) and url.startswith(f"{base}/"):
            return url.removeprefix(base)
        if created.error.get("code") != "invalid_methods":
            break
    return _NO_PAYMENT


class _Browser:
    """Opens one page, at the address it should have and at others."""

    def __init__(self, control: Server, base: str, page: str) -> None:
        self._control = control
        self._api = control.address
        self._base = base
        self._page = page

    async def look(self, surroundings: Surroundings, reached: Sequence[Interface]) -> list[Finding]:
        address = Address.of(self._base)
        wrong = await self._wrong_with(address)
        if wrong is None:
            what = "is the page of a payment made for this" if self._is_of_payment else "is ours"
            findings = [good(f"{self._base}{self._shown_page} opens, and {what}")]
            return findings + await self._for_others(address, reached)
        text = f"checkout_url begins with {self._base}, which does not open: {wrong}"
        if wrong.endswith(FORBIDDEN):
            return [problem(text, f"Start the emulator with --allowed-hosts {address.host}.")]
        fix = _fix(self._api, await self._alternative(address))
        if surroundings.is_in_container and is_loopback(address.host):
            # Of another machine than this container, which a browser may well be on.
            mine = f"A browser on the host may open it. For one in a container: {fix}"
            return [note(f"{text} (in this container)", mine)]
        return [problem(text, fix)]

    @property
    def _is_of_payment(self) -> bool:
        return self._page != _NO_PAYMENT

    @property
    def _shown_page(self) -> str:
        return "/c/…" if self._is_of_payment else self._page

    async def _wrong_with(self, address: Address) -> str | None:
        """Why an address is not that of the pages; None where it is."""
        return self._judge(await replace(self._control, address=address).ask("GET", self._page))

    def _judge(self, answer: Answer) -> str | None:
        expected = 200 if self._is_of_payment else 404
        if _OURS in answer.body and answer.status == expected:
            return None
        if _OURS in answer.body and answer.status == 404:
            return "it shows the pages of another emulator"
        if answer.error.get("code") == "route_not_found":
            return "that is the API of an emulator, not its checkout pages"
        if answer.lost is not None or answer.error:
            return told(answer)
        return f"something else answers ({told(answer)})"

    async def _alternative(self, address: Address) -> str | None:
        """Where the page does open: the usual port, or the one after that of the API."""
        for port in dict.fromkeys((USUAL_PORT, self._api.port + 1)):
            other = Address(scheme="http", host=self._api.host, port=port)
            if other != address and await self._wrong_with(other) is None:
                return str(other)
        return None

    async def _for_others(self, address: Address, reached: Sequence[Interface]) -> list[Finding]:
        """Another address for browsers that are not on this machine, if it is open to them."""
        if not reached or not is_loopback(address.host):
            return []
        other = replace(address, host=reached[0].address)
        if await self._wrong_with(other) is not None:
            return []
        text = f"{other} opens, too, where {address.host} is another machine: a phone, a container"
        return [note(text, f"For a browser there: --checkout-url {other}")]


def _fix(api: Address, alternative: str | None) -> str:
    url, found, what = "URL", "", ", the address at which a browser finds its pages"
    if alternative is not None:
        url, found, what = alternative, f"{alternative} opens. ", ""
    return (
        f"{found}Start the emulator with --checkout-url {url} (EMULATOR_CHECKOUT_URL){what}, or "
        f'tell it now: PUT {api}{CHECKOUT_URL} {{"url": "{url}"}}'
    )
