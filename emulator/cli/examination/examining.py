"""In what order an emulator is examined, and what is left out where something is closed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from emulator.cli.examination.asking import ACCOUNTS, Patience
from emulator.cli.examination.containers import examine_containers, tried_finding
from emulator.cli.examination.findings import Report, Section, View, note, problem
from emulator.cli.examination.guest import Guest, NoGuest
from emulator.cli.examination.handlers import examine_handlers
from emulator.cli.examination.locating import Search, advice, look_for
from emulator.cli.examination.machine import Emulator, examine_machine
from emulator.cli.examination.own_handler import ways
from emulator.cli.examination.pages import examine_pages
from emulator.cli.examination.surroundings import Interface, Surroundings
from emulator.replay.client import Address

Tell = Callable[[Section], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions:
    """What is to be examined, and where from; without a key it is the first account."""

    address: Address
    key: str | None
    webhook_url: str | None
    surroundings: Surroundings


class NoEmulator(Exception):
    """No emulator is at the address, nor around this machine; `lines` tell it to the user."""

    def __init__(self, search: Search, surroundings: Surroundings) -> None:
        given = search.given
        self.lines = [f"no emulator at {given.address}: {given.told}"]
        if search.others:
            tried = "; ".join(f"{one.address}: {one.told}" for one in search.others)
            self.lines.append(f"nor elsewhere around this machine: {tried}")
        self.lines.append(advice(search, surroundings))
        super().__init__(self.lines[0])
        findings = (
            (View.MACHINE, (problem(self.lines[0], self.lines[-1]),)),
            (View.CONTAINER, tuple(tried_finding(one) for one in search.others)),
        )
        self.report = Report(
            url=str(given.address),
            version=None,
            sections=tuple(Section(view=view, findings=found) for view, found in findings if found),
        )


async def examine(wanted: DoctorOptions, patience: Patience, tell: Tell) -> Report:
    """Examine; `tell` is called with each view as soon as it is known. Raises NoEmulator."""
    search = await look_for(wanted.address, wanted.surroundings, patience)
    found = search.emulator
    if found is None:
        raise NoEmulator(search, wanted.surroundings)
    machine, emulator = await examine_machine(search, found, wanted.key, patience)
    tell(machine)
    containers, reached = await examine_containers(search, found, wanted.surroundings, patience)
    tell(containers)
    rest = await _as_guest(wanted, emulator, reached, tell)
    return Report(
        url=str(wanted.address),
        version=found.told,
        sections=(machine, containers, *rest),
    )


async def _as_guest(
    wanted: DoctorOptions, emulator: Emulator | None, reached: Sequence[Interface], tell: Tell
) -> Sequence[Section]:
    """The views for which an account is needed that is nobody's."""
    if emulator is None:
        return _untried("the control API is closed", tell)
    guest = Guest(emulator.control)
    around = wanted.surroundings
    try:
        async with guest:
            pages = await examine_pages(emulator.control, guest.server, around, reached)
            tell(pages)
            handlers = await examine_handlers(
                emulator, guest.server, wanted.webhook_url, ways(around)
            )
    except NoGuest as refusal:
        return _untried(f"it needs an account of its own, and got none: {refusal}", tell)
    if guest.left_behind is not None:
        finding = problem(
            f"The account '{guest.left_behind}', made for this, could not be removed",
            f"GET {ACCOUNTS} tells its id for DELETE {ACCOUNTS}/{{id}}.",
        )
        handlers = replace(handlers, findings=(*handlers.findings, finding))
    tell(handlers)
    return pages, handlers


def _untried(why: str, tell: Tell) -> Sequence[Section]:
    sections = [
        Section(view=view, findings=(note(f"Not tried: {why}"),))
        for view in (View.BROWSER, View.WEBHOOK)
    ]
    for section in sections:
        tell(section)
    return sections
