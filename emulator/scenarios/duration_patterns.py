"""Regular expressions of the durations up to a limit, for JSON Schemas.

A schema cannot compare the texts of durations, so the expression has the digits of the limit. It
permits the accepted texts whose number has no zero in front.
"""

from emulator.domain.durations import UNIT_MS

# The decimal places that leave no fraction of a millisecond.
_PLACES = {"ms": 0, "s": 3, "m": 4, "h": 5, "d": 5}


def durations_up_to(limit_ms: int) -> str:
    """The durations from zero to a limit, both included."""
    numbers = (f"{_numbers(limit_ms, unit)}{unit}" for unit in UNIT_MS)
    return f"^({'|'.join(numbers)})$"


def _numbers(limit_ms: int, unit: str) -> str:
    """The numbers up to a limit in a unit."""
    places = _PLACES[unit]
    whole, fraction = divmod(limit_ms * 10**places // UNIT_MS[unit], 10**places)
    last = f"{whole}(\\.{_digits(f'{fraction:0{places}}')})?" if places else str(whole)
    any_fraction = f"(\\.[0-9]{{1,{places}}})?" if places else ""
    return f"({last}|({'|'.join(_below(str(whole)))}){any_fraction})" if whole else last


def _below(number: str) -> list[str]:
    """The whole numbers below a number."""
    longer = len(number) - 1
    found = ["[0-9]"] if longer else []
    found += [f"[1-9][0-9]{{1,{longer - 1}}}"] if longer > 1 else []
    for place, digit in enumerate(number):
        lowest = 1 if longer and place == 0 else 0
        if int(digit) > lowest:
            rest = f"[0-9]{{{longer - place}}}" if place < longer else ""
            found.append(f"{number[:place]}[{lowest}-{int(digit) - 1}]{rest}")
    return found


def _digits(limit: str) -> str:
    """The decimal places up to a limit, at least one."""
    digit, rest = int(limit[0]), limit[1:]
    found = f"{digit}({_digits(rest)})?" if rest else f"{digit}"
    return f"([0-{digit - 1}][0-9]{{0,{len(rest)}}}|{found})" if digit else found
