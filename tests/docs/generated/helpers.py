"""The generated tables of the members of the test helpers, and the texts of their payment."""

import re
from collections.abc import Callable
from functools import partial
from typing import get_type_hints

from emulator.domain.payment import OrderTerms
from emulator.http.emulator_calls import CONTROL
from tests.docs.helper_members import CONVENTIONS, MEMBERS, HelperMember
from tests.docs.markdown import table

PAGE = "docs/reference/test-helpers.md"
_NONE = "–"


def members_table(owner: str) -> str:
    """The members of an object: the names in each helper, the call, what it does."""
    members = MEMBERS[owner]
    has_calls = any(member.call for member in members)
    head = (
        "Node.js, PHP, Java",
        "Go",
        "pytest",
        *(["call"] if has_calls else []),
        "value or effect",
    )
    rows = []
    for member in members:
        calls = [_call(member)] if has_calls else []
        rows.append((*_names(member), *calls, member.meaning))
    return table(head, rows)


def _names(member: HelperMember) -> tuple[str, ...]:
    """The names that the first languages share are one cell, or two where one differs."""
    names = {helper: member.name_in(helper) for helper in CONVENTIONS}
    shared = dict.fromkeys(name for name in (names["node"], names["php"], names["java"]) if name)
    cells = [", ".join(map(_code, shared)), _code(names["go"]), _code(names["pytest"])]
    return tuple(cell or _NONE for cell in cells)


def _code(name: str | None) -> str:
    return f"`{name}`" if name else ""


def _call(member: HelperMember) -> str:
    if member.call is None:
        return _NONE
    path = member.call.path.removeprefix(CONTROL).replace("{}", "{id}")
    return f"`{member.call.method} {path}`"


TABLES: dict[tuple[str, str], Callable[[], str]] = {
    (PAGE, f"members of {owner}"): partial(members_table, owner) for owner in MEMBERS
}

# In the type of the payment: what stands before its texts and after them.
HELPERS = {
    "emulator/cli/helper/payments-emulator.ts": (" checkout_url: string;\n", "  metadata"),
    "emulator/cli/helper/paymentsemulator.go": ("CheckoutURL .*\n", "\tCreatedAt"),
}


def with_texts(page: str, text: str) -> str:
    """The source of a helper, whose payment has each text that a create call sets."""
    before, after = HELPERS[page]
    lines = []
    for name, kind in get_type_hints(OrderTerms).items():
        if page.endswith(".go"):
            field = name.title().replace("_", "").replace("Url", "URL")
            line = f'\t{field:28} string `json:"{name}"`'
        else:
            line = f"  {name}: {'string' if kind is str else 'string | null'};"
        lines += [] if name == "metadata" else [f"{line}\n"]
    head, start, rest = re.split(f"({before})", text, maxsplit=1)
    _, end, tail = re.split(f"^({after})", rest, maxsplit=1, flags=re.MULTILINE)
    return "".join((head, start, *lines, end, tail))
