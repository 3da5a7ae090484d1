"""What a rule asks for and how often it applies: read alike in every section."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TypeVar

from emulator.domain.accounts import Mode
from emulator.domain.payment import MAX_AMOUNT_MINOR
from emulator.domain.payment_methods import (
    BANK_TRANSFER,
    BANKS,
    DEFAULT_METHODS,
    PHONE_METHODS,
    method_of_phone,
    normalise_phone,
)
from emulator.scenarios.entries import (
    Entry,
    Members,
    listed,
    read_items,
    read_listed,
    read_members,
    read_pairs,
    read_text,
    read_whole_number,
    read_word,
    whole_number,
)
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.values import AmountRange, When
from emulator.scenarios.vocabulary import AMOUNT_KEYS, MAX_TIMES, METHOD_PATTERN, WHEN_KEYS

WHEN_ADVICE = "what must match; {} matches everything"

Rule = TypeVar("Rule")

read_mode = partial(read_word, words=Mode)
read_times = partial(read_whole_number, at_most=MAX_TIMES)
read_bank = partial(read_listed, words=BANKS)
_read_amount_minor = partial(read_whole_number, at_most=MAX_AMOUNT_MINOR)


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
        method=members.get("method", read_method),
        phone=members.get("phone", read_phone),
        bank=members.get("bank", read_bank),
        amount=members.get("amount", _read_amount),
        metadata=members.get("metadata", _read_metadata) or (),
    )
    # A rule that can never match is a mistake that nobody would notice otherwise.
    note_misfits(
        members,
        method=when.method,
        phone=when.phone,
        bank=when.bank,
        so=", so this never matches",
    )
    return when


def note_misfits(
    members: Members, *, method: str | None, phone: str | None, bank: str | None, so: str = ""
) -> None:
    """Note where method, phone and bank cannot be those of one payment; `so` is what follows."""
    if phone is not None:
        owner = method_of_phone(phone)
        if method in PHONE_METHODS - {owner}:
            members.known["phone"].note(
                f"{phone} is a number of {owner}, so it never pays by {method}"
            )
        elif method == BANK_TRANSFER:
            members.known["phone"].note(f"a {BANK_TRANSFER} has a bank and no phone{so}")
    if bank is not None:
        if method in PHONE_METHODS:
            members.known["bank"].note(f"{method} has a phone and no bank{so}")
        elif phone is not None:
            members.known["bank"].note(f"no payment has both a phone and a bank{so}")


def note_exclusions(
    said: Mapping[str, Entry], on: Collection[str], exclusions: Mapping[str, Mapping[str, str]]
) -> None:
    """Note each key that makes no sense beside another, once; `on` are the keys that are true."""
    for key, member in said.items():
        for other, excluded in exclusions.items():
            if other in on and key in excluded:
                member.note(f"'{key}' makes no sense beside '{other}: true': {excluded[key]}")
                break


def read_method(entry: Entry) -> str | None:
    method = read_text(entry)
    if method is None or METHOD_PATTERN.fullmatch(method):
        return method
    known = f"a word such as {listed(DEFAULT_METHODS, 'or')}"
    entry.refuse(known, hint_nearest(method, DEFAULT_METHODS))
    return None


def read_phone(entry: Entry) -> str | None:
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
