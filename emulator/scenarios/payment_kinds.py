"""Declares the kinds of payment data: methods, phones, banks, reasons, names in a script."""

import re

from emulator.domain.accounts import Mode
from emulator.domain.payment import MAX_AMOUNT_MINOR, Reason, Status
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    BANKS,
    DEFAULT_METHODS,
    PHONE_DIGITS,
    PHONE_METHODS,
    method_of_phone,
    normalise_phone,
)
from emulator.scenarios.entries import Entry, listed, read_text
from emulator.scenarios.kinds import JsonSchema, Kind, Text, WholeNumber, Word
from emulator.scenarios.mappings import KeyRule, Members

# Any identifier: which methods exist is configuration, so an unknown one is no mistake here.
METHOD_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
PAYMENT_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)

MODE = Word(Mode)
METHOD = Text(
    METHOD_PATTERN,
    expected=f"a word such as {listed(DEFAULT_METHODS, 'or')}",
    examples=DEFAULT_METHODS,
)
BANK = Word(BANKS)
REASON = Word(Reason)
AMOUNT_MINOR = WholeNumber(at_most=MAX_AMOUNT_MINOR)


class Phone(Kind[str]):
    """A phone number in any form; the value is normalised."""

    def read(self, entry: Entry) -> str | None:
        text = read_text(entry)
        if text is None:
            return None
        try:
            return normalise_phone(text)
        except ValueError as error:
            entry.note(str(error))
            return None

    def schema(self) -> JsonSchema:
        return {
            "type": "string",
            # As `normalise_phone`: blanks and dashes may stand anywhere.
            "pattern": r"^[- ]*((\+[- ]*|0[- ]*0[- ]*)?2[- ]*5[- ]*1|0)?"
            f"[- ]*[{PHONE_DIGITS}]([- ]*[0-9]){{8}}[- ]*$",
            "examples": ["+251900000001", "0700000001"],
        }


PHONE = Phone()


class PaymentName(Kind[str]):
    """The name of a payment that a step before has created."""

    def read(self, entry: Entry) -> str | None:
        name = read_text(entry)
        problem = None if name is None else entry.context.names.problem_with(name)
        if problem is not None:
            entry.note(problem)
            return None
        return name

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^{PAYMENT_NAME_PATTERN.pattern}$"}


class NewPaymentName(PaymentName):
    """The name that later steps use for a payment."""

    def read(self, entry: Entry) -> str | None:
        name = read_text(entry)
        if name is None:
            return None
        # A malformed name too, so that the steps that use it are not noted as well.
        entry.context.names.add(name)
        if PAYMENT_NAME_PATTERN.fullmatch(name):
            return name
        entry.refuse("1 to 64 small letters, digits, - and _, a letter first")
        return None


PAYMENT_NAME = PaymentName()


def payer_rule(consequence: str = "") -> KeyRule:
    """Method, phone and bank must be able to belong to one payment."""

    def check(members: Members) -> None:
        method, phone, bank = (members.values[key] for key in ("method", "phone", "bank"))
        if phone is not None:
            owner = method_of_phone(phone)
            if method in PHONE_METHODS - {owner}:
                members.known["phone"].note(
                    f"{phone} is a number of {owner}, so it never pays by {method}"
                )
            elif method == BANK_TRANSFER:
                members.known["phone"].note(
                    f"a {BANK_TRANSFER} has a bank and no phone{consequence}"
                )
        if bank is not None:
            if method in PHONE_METHODS:
                members.known["bank"].note(f"{method} has a phone and no bank{consequence}")
            elif phone is not None:
                members.known["bank"].note(f"no payment has both a phone and a bank{consequence}")

    return KeyRule(check=check)


def _check_reason(members: Members) -> None:
    if members.values["status"] not in (None, Status.FAILED) and "reason" in members.known:
        members.known["reason"].note(f"reason belongs to 'status: {Status.FAILED}' alone")


REASON_RULE = KeyRule(
    check=_check_reason,
    schema={
        "dependentSchemas": {"reason": {"properties": {"status": {"const": Status.FAILED.value}}}}
    },
)
