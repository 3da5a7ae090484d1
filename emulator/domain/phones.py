"""Which phone numbers exist, whose they are, and how they are written."""

import re

# The ways in which a customer writes an Ethiopian mobile number.
_WRITTEN = re.compile(r"(?:\+251|00251|251|0)?([79][0-9]{8})", re.ASCII)
_DROPPED = str.maketrans("", "", " -")

METHOD_OF_FIRST_DIGIT = {"9": "telebirr", "7": "mpesa"}


def normalise_phone(written: str) -> str:
    """Write a number as `+251…`. Raises ValueError when it is no Ethiopian mobile number."""
    match = _WRITTEN.fullmatch(written.translate(_DROPPED))
    if match is None:
        raise ValueError(f"{written!r} is not an Ethiopian mobile number, such as 0900000001")
    return f"+251{match[1]}"


def method_of_phone(normalised: str) -> str:
    """The payment method whose operator owns a normalised number."""
    return METHOD_OF_FIRST_DIGIT[normalised[4]]


def mask_phone(normalised: str) -> str:
    """A number as a page may show it: `+251 9•• ••• •01`."""
    return f"{normalised[:4]} {normalised[4]}•• ••• •{normalised[-2:]}"


def local_phone(normalised: str) -> str:
    """A number as people dial it: `0900000001`."""
    return f"0{normalised[4:]}"
