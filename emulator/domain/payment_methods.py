"""The payment methods, the phone numbers of those paid by phone, and the simulated banks."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class PaymentMethod(NamedTuple):
    """A payment method of the contract; `--methods` may offer others, without phone and bank.

    Each of `phone_digits` begins national numbers that pay by this method, and may begin numbers of
    other methods; the checkout page has the texts `phone_hint_NAME` and `phone_need_NAME` for such
    a method. A method `at_bank` is confirmed at one of the simulated banks.
    """

    name: str
    title: str
    phone_digits: str = ""
    at_bank: bool = False


METHODS = {
    method.name: method
    for method in (
        PaymentMethod("telebirr", "telebirr", phone_digits="9"),
        PaymentMethod("mpesa", "M-Pesa", phone_digits="7"),
        PaymentMethod("bank_transfer", "Bank transfer", at_bank=True),
    )
}

BANKS = {
    "walia_test": "Walia Test Bank",
    "gelada_test": "Gelada Test Bank",
    "semien_test": "Semien Test Bank",
    "fidel_test": "Fidel Test Bank",
}
"""The fictional banks of the simulated bank transfer."""

DEFAULT_METHODS = tuple(METHODS)
PHONE_METHODS = {name: method for name, method in METHODS.items() if method.phone_digits}
# The only one: a bank names no method, so a `pay` step with a bank alone means this method.
BANK_TRANSFER = next(method.name for method in METHODS.values() if method.at_bank)

PHONE_DIGITS = "".join(sorted({*"".join(each.phone_digits for each in METHODS.values())}))
"""The first digits of national numbers."""


DEFAULT_ORDER: Mapping[str, object] = {
    "amount": 10_000,
    "currency": "ETB",
    "methods": list(DEFAULT_METHODS),
    "success_url": "https://shop.example/success",
    "cancel_url": "https://shop.example/cancel",
}
"""The body of a create call; a client replaces the members that matter to it."""


def customer_submission(method: str) -> dict[str, str]:
    """A submit without a designated outcome, so that the payment waits for an answer."""
    if method == BANK_TRANSFER:
        return {"method": method, "bank": next(iter(BANKS))}
    phone_method = PHONE_METHODS.get(method)
    return {"method": method} | (
        {"phone": f"0{phone_method.phone_digits[0]}11223344"} if phone_method else {}
    )


# The ways in which a customer writes an Ethiopian mobile number.
_WRITTEN = rf"(?:\+251|00251|251|0)?([{PHONE_DIGITS}][0-9]{{8}})"
PHONE_SEPARATOR = (
    r"[- .()\[\]\u00a0\u00ad\u061c\u2000-\u2015\u202a-\u202f\u205f-\u2069\u2212\u3000\ufeff]"
)
"""Blanks, dashes, dots, brackets and direction marks: they may stand anywhere in a number."""


def normalise_phone(written: str) -> str:
    """Write a number as `+251…`. Raises ValueError unless it is an Ethiopian mobile number."""
    match = re.fullmatch(_WRITTEN, re.sub(PHONE_SEPARATOR, "", written))
    if match is None:
        raise ValueError(f"{written!r} is not an Ethiopian mobile number, such as 0900000001")
    return f"+251{match[1]}"


def methods_of_phone(normalised: str, methods: Mapping[str, PaymentMethod] = METHODS) -> list[str]:
    """The methods that accept a normalised number: one at least."""
    return [each.name for each in methods.values() if normalised[4] in each.phone_digits]


def method_of_phone(
    normalised: str, offered: Iterable[str] = (), methods: Mapping[str, PaymentMethod] = METHODS
) -> str:
    """The first offered method that accepts a normalised number, else the first of all."""
    accepting = methods_of_phone(normalised, methods)
    return next((name for name in offered if name in accepting), accepting[0])


def mask_phone(normalised: str) -> str:
    """A number as a page may show it: `+251 9•• ••• •01`."""
    return f"{normalised[:4]} {normalised[4]}•• ••• •{normalised[-2:]}"


def local_phone(normalised: str) -> str:
    """A number as people dial it: `0900000001`."""
    return f"0{normalised[4:]}"
