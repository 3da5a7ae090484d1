"""Runs the probes in order, and leaves out those that need a control API or an account."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from emulator.domain.user_error import UserError
from emulator.http.addresses import BaseUrl
from emulator.http.client import AccountNotCreated, EmulatorClient
from emulator.http.emulator_calls import ACCOUNTS
from emulator.tools.doctor.handlers import PingAccount, handler_routes, probe_handlers
from emulator.tools.doctor.machine import probe_machine, probe_pages
from emulator.tools.doctor.report import DoctorFinding, DoctorReport, Perspective, note, problem
from emulator.tools.doctor.search import (
    LocalNetwork,
    ProbeResult,
    Timeouts,
    advice,
    probe_containers,
    search,
)

OnSection = Callable[[Perspective, Sequence[DoctorFinding]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """What to examine, and from where; without a key the first account."""

    base_url: BaseUrl
    key: str | None
    webhook_url: str | None
    network: LocalNetwork


class NoEmulator(UserError):
    """No emulator is at the address, nor around this machine; `report` has the findings."""

    def __init__(
        self, given: ProbeResult, others: Sequence[ProbeResult], network: LocalNetwork
    ) -> None:
        fix = advice(given, network)
        lines = [f"no emulator at {given.base_url}: {given.description}", fix]
        sections = {Perspective.MACHINE: [problem(lines[0], fix)]}
        if others:
            tried = "; ".join(f"{other.base_url}: {other.description}" for other in others)
            lines.insert(1, f"no emulator at the other addresses: {tried}")
            sections[Perspective.CONTAINER] = [other.finding for other in others]
        super().__init__(*lines)
        self.report = DoctorReport(url=str(given.base_url), version=None, sections=sections)


async def run_probes(
    options: DoctorOptions, timeouts: Timeouts, on_section: OnSection
) -> DoctorReport:
    """Run all probes; `on_section` is called with each section when complete. Raises NoEmulator."""
    network = options.network
    given, others = await search(options.base_url, network, timeouts)
    found = next((result for result in (given, *others) if result.is_emulator), None)
    if found is None:
        raise NoEmulator(given, others, network)
    sections: dict[Perspective, Sequence[DoctorFinding]] = {}

    def add(perspective: Perspective, findings: Sequence[DoctorFinding]) -> None:
        sections[perspective] = findings
        on_section(perspective, findings)

    findings, emulator = await probe_machine(given, found, options.key, timeouts)
    add(Perspective.MACHINE, findings)
    add(
        Perspective.CONTAINER,
        await probe_containers(found.base_url, others, network, timeouts),
    )
    skipped = "the control API is closed"
    if emulator is not None:
        try:
            await _run_account_probes(options, emulator, add)
        except AccountNotCreated as error:
            skipped = f"no temporary account could be created: {error.response.description}"
    for perspective in Perspective:
        if perspective not in sections:
            add(perspective, [note(f"Not tried: {skipped}")])
    return DoctorReport(url=str(options.base_url), version=found.description, sections=sections)


async def _run_account_probes(
    options: DoctorOptions, emulator: EmulatorClient, add: OnSection
) -> None:
    """Run the probes that need a temporary account. Raises AccountNotCreated."""
    control = replace(emulator, key=None)
    async with PingAccount(control) as account:
        pages = await probe_pages(control, account.server, options.network)
        add(Perspective.BROWSER, pages)
        routes = handler_routes(options.network)
        handlers = await probe_handlers(emulator, account, options.webhook_url, routes)
    if account.undeleted is not None:
        finding = problem(
            f"The temporary account '{account.undeleted}' could not be deleted",
            f"Find its id with GET {ACCOUNTS.path}, then use DELETE {ACCOUNTS.path}/{{id}}.",
        )
        handlers.append(finding)
    add(Perspective.WEBHOOK, handlers)
