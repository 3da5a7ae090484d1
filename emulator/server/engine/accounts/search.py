"""Finds payments, deliveries, events, requests, endpoints and accounts by a part of what they have.

Ids, their beginnings and their ends are found in all accounts, the rest in one account and mode.
Each search is bounded: it reads indexes, ids that memory has, and a limited number of the newest
rows.
"""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from emulator import ids
from emulator.domain.accounts import Mode
from emulator.server.engine.accounts.account_registry import AccountRegistry
from emulator.server.engine.payments.scheduler import EngineContext, EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.storage import payments
from emulator.server.storage.batch import ORDINAL_BITS, Transaction, first_position
from emulator.server.storage.database import reads
from emulator.summaries import PaymentSummary

MAX_MATCHES = 10
MAX_SEARCHED_OWNERS = 2_000
MAX_COMPARED_IDS = 20_000
# A shorter text is compared with whole values.
MIN_PART_LENGTH = 3
# A shorter text would be the end of other ids by chance.
MIN_END_LENGTH = 6
_NAMED = {"dlv": ("deliveries", ids.delivery_id), "evt": ("events", ids.event_id)}

_ETB = r"(?a)(?:ETB\s*)?([0-9]{1,13})(?:\.([0-9]{1,2}))?"
_NO_DIGIT = r"[^0-9]"


class Match(Struct, frozen=True):
    """An item by its id, its account and mode, and words about it; or the summary of a payment."""

    owner: Owner
    id: str
    about: str = ""
    payment: PaymentSummary | None = None


class Search(EngineService):
    """Finds items of all kinds."""

    def __init__(self, context: EngineContext, accounts: AccountRegistry) -> None:
        super().__init__(context)
        self._accounts = accounts

    async def matches(self, owner: Owner, text: str) -> tuple[list[Match], int]:
        """At most `MAX_MATCHES` items, of the account and mode first, and how many were found."""
        # The token of a checkout URL, which may have a query.
        token = text.rpartition("/c/")[2].partition("?")[0] if "://" in text else ""
        if token.isascii() and token.isalnum():
            text = ids.payment_id(token)
        prefix, separator, _ = text.partition("_")
        if separator and prefix in ("pay", "dlv", "evt"):
            return await self._with_id(owner, text)
        if separator and prefix in ("req", "we", "acct"):
            found = list(self._in_memory(owner, text))
            return found[:MAX_MATCHES], len(found)
        return await self._containing(owner, text) if text else ([], 0)

    def _owners(self, first: Owner) -> Iterator[Owner]:
        """An owner, then the owners of the newest accounts."""
        accounts = sorted(self._accounts.all(), key=lambda each: -each.number)
        others = (owner for account in accounts for owner in account.owners if owner is not first)
        yield first
        yield from islice(others, MAX_SEARCHED_OWNERS)

    @reads(is_long=True)
    def _with_id(self, tx: Transaction, owner: Owner, text: str) -> tuple[list[Match], int]:
        if text.startswith("pay_"):
            found = payments.with_prefix(tx, text, limit=MAX_COMPARED_IDS)
            found.sort(key=lambda position: position >> ORDINAL_BITS != owner.number)
            return self._summarised(tx, found), len(found)
        matches = self._named(tx, owner, text)
        return matches[:MAX_MATCHES], len(matches)

    def _named(self, tx: Transaction, owner: Owner, text: str) -> list[Match]:
        """The newest deliveries and events with such an id."""
        prefix = text.partition("_")[0]
        matches: list[Match] = []
        for table, name_of in [_NAMED[prefix]] if prefix in _NAMED else _NAMED.values():
            left = MAX_COMPARED_IDS
            for each in self._owners(owner):
                end = tx.next_position(table, each.number, count=0) - first_position(each.number)
                newest = range(end - 1, max(0, end - 1 - left), -1)
                names = (name_of(each.stream, ordinal) for ordinal in newest)
                matches += [Match(each, name) for name in names if _has(name, text)]
                left -= len(newest)
                if left <= 0:
                    break
        return matches

    def _summarised(self, tx: Transaction, positions: list[int]) -> list[Match]:
        shown = positions[:MAX_MATCHES]
        owners = [self._accounts.owner_numbered(position >> ORDINAL_BITS) for position in shown]
        by_position = payments.summaries(tx, shown)
        return [
            Match(owner, by_position[position].id, payment=by_position[position])
            for owner, position in zip(owners, shown, strict=True)
            if owner is not None
        ]

    def _in_memory(self, owner: Owner, text: str) -> Iterator[Match]:
        """The accounts, endpoints and newest requests with such an id."""
        left = MAX_COMPARED_IDS
        for each in self._owners(owner):
            profile = each.account.profile
            if each.mode is Mode.TEST and _has(profile.id, text):
                yield Match(each, profile.id, profile.name)
            for endpoint in each.endpoints.values():
                if _has(endpoint.id, text):
                    yield Match(each, endpoint.id, endpoint.url)
            for entry in islice(each.journal.newest_first(), left):
                left -= 1
                if _has(entry.id.decode(), text):
                    yield Match(each, entry.id.decode(), f"{entry.method}, {entry.status}")

    @reads(is_long=True)
    def _containing(self, tx: Transaction, owner: Owner, text: str) -> tuple[list[Match], int]:
        etb = re.fullmatch(_ETB, text.replace(",", ""))
        # A whole number may also be an amount of the API, in cents.
        in_etb = int(etb[1] + (etb[2] or "").ljust(2, "0")) if etb else None
        in_cents = int(text) if text.isascii() and text.isdecimal() and etb else None
        # A phone is stored as +251…, and written with or without that, and with spaces.
        digits = re.sub(_NO_DIGIT, "", text).removeprefix("251").lstrip("0")
        is_phone = len(digits) >= MIN_PART_LENGTH and not set(text) - set("0123456789+- ")
        found = payments.containing(
            tx,
            owner.number,
            text,
            amounts_minor=(in_etb, in_cents),
            phone_digits=digits if is_phone else None,
            part=text if len(text) >= MIN_PART_LENGTH else None,
        )
        endpoints = [
            Match(owner, each.id, each.url)
            for each in owner.endpoints.values()
            if len(text) >= MIN_PART_LENGTH and text.lower() in each.url.lower()
        ]
        others: list[Match] = []
        if len(text) >= MIN_END_LENGTH and text.isascii() and text.isalnum():
            found += [each for each in payments.with_end(tx, text) if each not in found]
            others = [*self._in_memory(owner, text), *self._named(tx, owner, text)]
        matches = [*self._summarised(tx, found), *endpoints, *others]
        return matches[:MAX_MATCHES], len(found) + len(endpoints) + len(others)


def _has(name: str, text: str) -> bool:
    """Whether an id begins with a text that has a prefix, or ends with a text in any case."""
    return name.startswith(text) if "_" in text else name.lower().endswith(text.lower())
