"""Lists the members of the test helpers in all languages, and which helper has which."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emulator.http import emulator_calls as calls
from emulator.http.emulator_calls import EmulatorCall
from tests.tables import rows

_INITIALISMS = frozenset({"id", "url"})


def _snake_case(name: str) -> str:
    return name


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _pascal_case(name: str) -> str:
    words = name.split("_")
    return "".join(word.upper() if word in _INITIALISMS else word.capitalize() for word in words)


# How each helper writes the name of a member.
CONVENTIONS: Mapping[str, Callable[[str], str]] = {
    "node": _camel_case,
    "php": _camel_case,
    "java": _camel_case,
    "go": _pascal_case,
    "pytest": _snake_case,
}


@dataclass(frozen=True, slots=True)
class HelperMember:
    """A member of the helpers, or of some: `names` has other names, and None for no such member.

    `call` is the call of the control API that it makes. `meaning` is a cell of the reference.
    """

    name: str
    meaning: str
    call: EmulatorCall[Any] | None = None
    names: Mapping[str, str | None] = field(default_factory=dict)

    def name_in(self, helper: str) -> str | None:
        """Its name in a helper; None if the helper does not have it."""
        return self.names.get(helper, CONVENTIONS[helper](self.name))


def _member(
    name: str,
    meaning: str,
    call: str | None = None,
    names: Mapping[str, str | None] | None = None,
    only: str | None = None,
) -> HelperMember:
    missing = dict.fromkeys(CONVENTIONS.keys() - {only}) if only else {}
    made = getattr(calls, call) if call else None
    return HelperMember(name, meaning, made, {**(names or {}), **missing})


# By the object that has them.
MEMBERS: Mapping[str, tuple[HelperMember, ...]] = {
    owner: tuple(_member(*row) for row in rows(__file__, owner))
    for owner in ("emulator", "account", "webhook")
}
