"""How it is from this machine: the base URL, the name it goes by, and the key."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from emulator.cli.examination.asking import ACCOUNTS, CONTROL, Patience, Server, ips_of, told
from emulator.cli.examination.findings import Finding, Section, View, good, note, problem
from emulator.cli.examination.locating import Found, Search
from emulator.domain.accounts import DEMO_TEST_KEY, mask_key
from emulator.domain.hosts import is_ip_literal
from emulator.replay.client import Answer

FIRST_PAGE = "/v1/payments?limit=1"
FORBIDDEN = "forbidden_origin"

_CLOSED = "Let whatever stands between pass /v1/… on as it passes /_emulator/health."
_DISTURBED = "Is there a fault, a scenario or --rate-limit that does that? The journal tells."
_KEYS = (
    "`serve` prints those of the first account, POST /_emulator/accounts makes another one, and "
    "--auto-provision takes any test_ key."
)


class Owner(Enum):
    """Whose endpoints can be looked at."""

    FIRST = "first"
    """Those of the first account: no key was given."""
    KEY = "key"
    NOBODY = "nobody"
    """The key is nobody's, or its account was only just made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulator:
    """The emulator that is examined, where its control API is open, and whose it is looked at."""

    control: Server
    owner: Owner
    key: str | None


async def examine_machine(
    search: Search, found: Found, key: str | None, patience: Patience
) -> tuple[Section, Emulator | None]:
    """The first view, and the emulator for the others to look at if its control API is open."""
    findings = _address_findings(search, found)
    api = patience.emulator(found.address)
    control, answer, named = await _control(api)
    findings.append(named)
    accounts = _accounts(answer)
    owner, finding = await _key_finding(api, control, key, accounts)
    findings.append(finding)
    section = Section(view=View.MACHINE, findings=tuple(findings))
    if control is None:
        return section, None
    return section, Emulator(control=control, owner=owner, key=key)


def _address_findings(search: Search, found: Found) -> list[Finding]:
    answer = f"answers in {found.duration_ms:.0f} ms: payments emulator {found.told}"
    findings = [good(f"{found.address} {answer}")]
    if found is not search.given:
        given = search.given
        findings.insert(0, problem(f"{given.address}: {given.told}", f"Use {found.address}."))
    return findings


async def _control(server: Server) -> tuple[Server | None, Answer, Finding]:
    """The control API by the name in the address, or else by one of the addresses behind it."""
    address, host = server.address, server.address.host
    answer = await server.ask("GET", ACCOUNTS)
    if answer.status == 200:
        return server, answer, good(f"The control API takes calls for the host {host}")
    if answer.error.get("code") != FORBIDDEN:
        finding = problem(
            f"The control API gives no accounts: {told(answer)}",
            f"Let whatever stands between pass {CONTROL}/… on as it passes {CONTROL}/health.",
        )
        return None, answer, finding
    finding = problem(
        f"The control API takes no calls for the host {host}: {told(answer)}",
        f"Start the emulator with --allowed-hosts {host} (EMULATOR_ALLOWED_HOSTS).",
    )
    if address.scheme == "http" and not is_ip_literal(host):
        for ip in await ips_of(host):
            server = replace(server, address=replace(address, host=ip))
            answer = await server.ask("GET", ACCOUNTS)
            if answer.status == 200:
                return server, answer, finding
    return None, answer, finding


def _accounts(answer: Answer) -> list[dict[str, Any]]:
    listed = answer.member("data") if answer.status == 200 else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


async def _key_finding(
    api: Server, control: Server | None, given: str | None, before: list[dict[str, Any]]
) -> tuple[Owner, Finding]:
    key = given or DEMO_TEST_KEY
    owner = Owner.FIRST if given is None else Owner.KEY
    masked = mask_key(key)
    answer = await replace(api, key=key).ask("GET", FIRST_PAGE)
    if answer.status != 401:
        is_new = control is not None and await _was_made(control, masked, before)
        if is_new and given is not None:
            owner = Owner.NOBODY
        if answer.status != 200:
            text = f"The key {masked} could not be tried by GET {FIRST_PAGE}: {told(answer)}"
            return owner, problem(text, _CLOSED if answer.status == 404 else _DISTURBED)
        if is_new:
            return owner, good(f"The key {masked} is new, and becomes an account when it is used")
        return owner, good(f"The key {masked} works: GET {FIRST_PAGE} answers 200")
    if given is None:
        text = f"The demo key {masked} is not known here, so that no key was tried"
        return owner, note(text, "Name yours with --key.")
    return Owner.NOBODY, problem(f"The key {masked} is nobody's: {told(answer)}", _KEYS)


async def _was_made(control: Server, masked: str, before: list[dict[str, Any]]) -> bool:
    """Whether the account of a key was only made because it was asked with; then it is removed.

    Where another key looks the same one cannot tell, and nothing is removed.
    """
    if any(masked in (one.get("test_key"), one.get("live_key")) for one in before):
        return False
    known = {one.get("id") for one in before}
    after = _accounts(await control.ask("GET", ACCOUNTS))
    made = [one for one in after if one.get("test_key") == masked and one.get("id") not in known]
    if len(made) != 1:
        return False
    await control.ask("DELETE", f"{ACCOUNTS}/{made[0].get('id')}")
    return True
