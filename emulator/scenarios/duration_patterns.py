"""Regular expressions of the durations up to a limit, for JSON Schemas.

A schema cannot compare the texts of durations, so the expression has the digits of the limit.
"""

from collections.abc import Mapping
from typing import NamedTuple

MAX_ZEROS = 10


class _Form(NamedTuple):
    """A unit in milliseconds, and the decimal places that leave no fraction of what is counted."""

    unit_ms: int
    places: int
    has_point: bool = True


# By what follows the number; to the millisecond.
_MILLISECONDS: Mapping[str, _Form] = {
    "ms": _Form(1, 0),
    "s": _Form(1_000, 3),
    "m": _Form(60_000, 4),
    "h": _Form(3_600_000, 5),
    "d": _Form(86_400_000, 5),
}
# To the second.
_SECONDS: Mapping[str, _Form] = {
    "000ms": _Form(1_000, 0, has_point=False),
    "s": _Form(1_000, 0),
    "m": _Form(60_000, 1),
    "h": _Form(3_600_000, 2),
    "d": _Form(86_400_000, 2),
}


def durations_up_to(limit_ms: int, *, in_seconds: bool = False) -> str:
    """The durations from zero to a limit, both included; `in_seconds`, only whole seconds."""
    forms = _SECONDS if in_seconds else _MILLISECONDS
    numbers = (f"{_numbers(limit_ms, form)}{suffix}" for suffix, form in forms.items())
    return f"^({'|'.join(numbers)})$"


def _numbers(limit_ms: int, form: _Form) -> str:
    """The numbers up to a limit in a unit, with zeros before and after the digits."""
    limit, places = limit_ms * 10**form.places // form.unit_ms, form.places
    whole, fraction = divmod(limit, 10**places)
    zeros = f"(\\.0{{1,{MAX_ZEROS}}})?" if form.has_point else ""
    any_fraction = f"(\\.[0-9]{{1,{places}}}0{{0,{MAX_ZEROS}}})?" if places else zeros
    last_fraction = f"(\\.{_digits(f'{fraction:0{places}}')})?" if places else zeros
    last = f"0{{0,3}}{whole}{last_fraction}"
    return f"({last}|0{{0,3}}({'|'.join(_below(str(whole)))}){any_fraction})" if whole else last


def _below(number: str) -> list[str]:
    """The whole numbers below a number."""
    longer = len(number) - 1
    found = [f"[0-9]{{1,{longer}}}"] if longer else []
    for place, digit in enumerate(number):
        if int(digit) > (place == 0 and longer > 0):
            found.append(f"{number[:place]}[0-{int(digit) - 1}]{_any(longer - place)}")
    return found


def _digits(limit: str) -> str:
    """The decimal places up to a limit, at least one."""
    if not limit.strip("0"):
        return f"0{{1,{len(limit) + MAX_ZEROS}}}"
    digit, rest = int(limit[0]), limit[1:]
    found = f"{digit}({_digits(rest)})?" if rest else f"{digit}0{{0,{MAX_ZEROS}}}"
    smaller = f"[0-{digit - 1}][0-9]{{0,{len(rest)}}}0{{0,{MAX_ZEROS}}}|" if digit else ""
    return f"({smaller}{found})"


def _any(count: int) -> str:
    return f"[0-9]{{{count}}}" if count else ""
