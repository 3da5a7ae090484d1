"""What a rule asks for and how often it applies: read alike in every section."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.banks import BANKS
from emulator.domain.payment import (
    BANK_TRANSFER,
    DEFAULT_METHODS,
    LARGEST_AMOUNT_MINOR,
    PHONE_METHODS,
)
from emulator.domain.phones import method_of_phone, normalise_phone
from emulator.scenarios.entries import (
    Entry,
    Members,
    listed,
    read_items,
    read_listed,
    read_members,
    read_pairs,
    read_positive_integer,
    read_text,
    read_word,
    whole_number,
)
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.values import AmountRange, When
from emulator.scenarios.vocabulary import AMOUNT_KEYS, METHOD_PATTERN, MOST_TIMES, WHEN_KEYS

WHEN_ADVICE = "what must match; {} matches everything"

Rule = TypeVar("Rule")

read_mode = partial(read_word, words=Mode)
read_times = partial(read_positive_integer, at_most=MOST_TIMES)
_read_amount_minor = partial(read_positive_integer, at_most=LARGEST_AMOUNT_MINOR)


def read_rules(
    section: Entry, label: str, read: Callable[[Entry], Rule | None]
) -> tuple[Rule, ...]:
    """The rules of a section, each as `read` understands it; `label` is what messages call one."""
    entries = read_items(section, "a list of rules", label) or []
    return tuple(rule for entry in entries if (rule := read(entry)) is not None)


def read_when(entry: Entry) -> When | None:
    members = read_members(entry, WHEN_KEYS)
    if members is None:
        return None
    when = When(
        mode=members.get("mode", read_mode),
        method=members.get("method", _read_method),
        phone=members.get("phone", _read_phone),
        bank=members.get("bank", partial(read_listed, words=BANKS)),
        amount=members.get("amount", _read_amount),
        metadata=members.get("metadata", _read_metadata) or (),
    )
    _note_contradictions(when, members)
    return when


def _note_contradictions(when: When, members: Members) -> None:
    """A rule that can never match is a mistake that nobody would notice otherwise."""
    if when.phone is not None:
        phone = members.known["phone"]
        owner = method_of_phone(when.phone)
        if when.method in PHONE_METHODS - {owner}:
            phone.note(f"{when.phone} is a number of {owner}, so it never pays by {when.method}")
        elif when.method == BANK_TRANSFER:
            phone.note(f"a {BANK_TRANSFER} has a bank and no phone, so this never matches")
    if when.bank is not None:
        bank = members.known["bank"]
        if when.method in PHONE_METHODS:
            bank.note(f"{when.method} has a phone and no bank, so this never matches")
        elif when.phone is not None:
            bank.note("no payment has both a phone and a bank, so this never matches")


def _read_method(entry: Entry) -> str | None:
    method = read_text(entry)
    if method is None or METHOD_PATTERN.fullmatch(method):
        return method
    known = f"a word such as {listed(DEFAULT_METHODS, 'or')}"
    entry.refuse(known, hint_nearest(method, DEFAULT_METHODS))
    return None


def _read_phone(entry: Entry) -> str | None:
    text = read_text(entry)
    if text is None:
        return None
    try:
        return normalise_phone(text)
    except ValueError as error:
        entry.note(str(error))
        return None


def _read_amount(entry: Entry) -> AmountRange | None:
    if isinstance(entry.node, MapNode):
        return _read_amount_range(entry)
    # A list or a text gets told of both forms; a number out of bounds, of the bounds.
    if whole_number(entry.node) is None:
        entry.refuse("an amount in ETB cents, or {gte: …, lte: …}")
        return None
    amount_minor = _read_amount_minor(entry)
    return None if amount_minor is None else AmountRange(gte=amount_minor, lte=amount_minor)


def _read_amount_range(entry: Entry) -> AmountRange | None:
    members = read_members(entry, AMOUNT_KEYS)
    if members is None:
        return None
    if not members.known:
        entry.note("amount must have 'gte' or 'lte' or both")
    gte = members.get("gte", _read_amount_minor)
    lte = members.get("lte", _read_amount_minor)
    if gte is not None and lte is not None and gte > lte:
        entry.note(f"gte must not be above lte: no amount is from {gte} to {lte}")
    return AmountRange(gte=gte, lte=lte)


def _read_metadata(entry: Entry) -> tuple[tuple[str, str], ...]:
    pairs = read_pairs(entry) or {}
    return tuple(
        (key, text) for key, (_, value) in pairs.items() if (text := read_text(value)) is not None
    )
