"""Other forms of responses and webhooks that the contract allows (`--vary`).

`VARIANTS` has the effects, with the clauses that allow each, or that leave its subject open.

UnknownVariant    a setting of `--vary`, or one of its names, that is unknown
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from emulator.domain import variant_effects as effects
from emulator.domain.accounts import SEEDS, VARY_OFF
from emulator.domain.message_text import nearest_word_hint
from emulator.domain.variant_effects import VariedMessage

_SEED = r"0|-?[1-9][0-9]{0,18}"
# Of the variants, in a seeded choice.
SHARE = 0.25
# Of the token that a longer id is derived from.
_ADDED_LENGTH = 16


class ContractVariant(NamedTuple):
    """A row: the effect, what a client should do, and the clauses.

    `is_of_account` is whether a seeded choice is one for the account. Of an event, the variants
    that are `of_body` change the finished body, and the others what its form is filled with.
    """

    apply: Callable[[VariedMessage], bool]
    advice: str
    clauses: tuple[str, ...]
    is_of_account: bool = False
    is_stored: bool = False
    of_body: bool = False

    @property
    def name(self) -> str:
        return self.apply.__name__.replace("_", "-")

    @property
    def effect(self) -> str:
        """In one sentence."""
        return str(self.apply.__doc__).partition("\n")[0]


VARIANTS = (
    ContractVariant(
        effects.member_order,
        "Read members by name, never by position.",
        ("2.1.11", "2.1.15", "4.3.9", "6.3", "7.1"),
        of_body=True,
    ),
    ContractVariant(
        effects.member_in_payment,
        'Ignore members that you do not know: no `extra="forbid"`, no `Payment(**body)`.',
        ("2.1.15",),
    ),
    ContractVariant(
        effects.member_in_list,
        "Read `data`, `has_more` and `next_cursor`, and ignore the rest.",
        ("4.3.9",),
    ),
    ContractVariant(
        effects.member_in_error, "Read `code` and `param`, and ignore the rest.", ("7.1",)
    ),
    ContractVariant(
        effects.member_in_event,
        "Read `id`, `type` and `data`, and ignore the rest.",
        ("6.3",),
        of_body=True,
    ),
    ContractVariant(
        effects.pretty_json,
        "Parse a body, and neither search nor compare its text.",
        ("1.2",),
        of_body=True,
    ),
    ContractVariant(
        effects.escaped_json,
        "Parse a body, and verify the bytes that you have received.",
        ("1.2",),
        of_body=True,
    ),
    ContractVariant(
        effects.charset, "Compare the media type up to the semicolon.", ("1.2",), of_body=True
    ),
    ContractVariant(
        effects.tie_order, "Sort by what you need, and follow `next_cursor` as it is.", ("4.3.11",)
    ),
    # Of the account: two responses with other fractions would be two instants.
    ContractVariant(
        effects.timestamps_seconds,
        "Use a parser of ISO 8601, such as `datetime.fromisoformat` or `new Date`.",
        ("2.1.12", "2.1.13", "2.1.14"),
        is_of_account=True,
    ),
    ContractVariant(
        effects.timestamps_microseconds,
        "Compare instants, never texts, and expect any number of digits.",
        ("2.1.12", "2.1.13", "2.1.14"),
    ),
    ContractVariant(
        effects.timestamps_offset,
        "Keep the offset while you parse, and compare instants.",
        ("2.1.12", "2.1.13", "2.1.14"),
    ),
    ContractVariant(
        effects.next_cursor_omitted,
        'Read an absent member as null: `page.get("next_cursor")`, `page.next_cursor ?? null`.',
        ("2.2.4",),
    ),
    ContractVariant(
        effects.event_nulls_omitted,
        "Read an absent member as null, or retrieve the payment.",
        ("6.3",),
    ),
    ContractVariant(effects.param_null, "Read null as an absent `param`.", ("7.4",)),
    ContractVariant(
        effects.param_omitted,
        "Decide by the status and `code`, and use `param` only where there is one.",
        ("7.10",),
    ),
    ContractVariant(
        effects.message_text,
        "Decide by the status and `code`; the message is for people.",
        ("7.3",),
    ),
    ContractVariant(
        effects.unknown_error_code,
        "Decide by the status where you do not know the `code`.",
        ("7.13",),
    ),
    ContractVariant(effects.replay_200, "Accept any 2xx.", ("4.1.20",)),
    ContractVariant(effects.retry_after_date, "Accept seconds and a date.", ("4.1.23", "7.12")),
    ContractVariant(
        effects.connection_close, "Use an HTTP library that opens another connection.", ("1.3",)
    ),
    ContractVariant(
        effects.long_ids,
        "Store an id as a text of any length, and check no more than the prefix.",
        ("2.1.1",),
        is_stored=True,
    ),
    ContractVariant(
        effects.unknown_method,
        "Show a method that you do not know by its name, and skip payments that are not yours.",
        ("2.1.17",),
        is_stored=True,
    ),
    ContractVariant(
        effects.unknown_event,
        "Acknowledge an event of a type that you do not know with 2xx.",
        ("6.2",),
        is_stored=True,
    ),
)
NAMES = tuple(variant.name for variant in VARIANTS)
_LISTED = f" *(?:{'|'.join(NAMES)}) *"
SETTING_PATTERN = f"^(?:{VARY_OFF}|{_SEED}|{_LISTED}(?:,{_LISTED})*)$"


class UnknownVariant(ValueError):
    """The setting, or one of the names in it, is unknown.

    `found` is what is unknown, `accepted` what is accepted, and `advice` names the nearest variant.
    """

    def __init__(self, found: str, *, is_in_list: bool) -> None:
        super().__init__(found)
        names = f"names of {', '.join(NAMES)}"
        others = f"{VARY_OFF}, a seed (an integer of at most 64 bits), or "
        self.found = found
        self.accepted = names if is_in_list else others + names
        self.advice = nearest_word_hint(found, NAMES).strip()

    @property
    def expected(self) -> str:
        """What is accepted, with the nearest name."""
        return f"{self.accepted}. {self.advice}" if self.advice else self.accepted


def vary_setting(text: str) -> str:
    """The setting in its usual form. Raises UnknownVariant."""
    if text == VARY_OFF or (re.fullmatch(_SEED, text) and int(text) in SEEDS):
        return text
    names = [name.strip(" ") for name in text.split(",")]
    for name in names:
        if name not in NAMES:
            raise UnknownVariant(name, is_in_list=len(names) > 1)
    return ",".join(name for name in NAMES if name in names)


class EventVariants:
    """The variants of an event; `names` are those that have changed it, in the form of its webhook.

    `render` returns the body of an event in the form, which are fields if it `has_fields`.
    """

    def __init__(
        self,
        chosen: Sequence[ContractVariant],
        render: Callable[[bytes], bytes] = bytes,
        *,
        has_fields: bool = False,
    ) -> None:
        self.names: list[str] = []
        self.charset = ""
        self._chosen = chosen
        self._render = render
        self._has_fields = has_fields

    def event(self, event: bytes) -> bytes:
        """Change the event, in our own form, from which the body follows."""
        for variant in self._chosen:
            if variant.of_body or variant.is_stored:
                continue
            message = VariedMessage(value=json.loads(event))
            if variant.apply(message):
                changed = message.body().encode()
                self._add(variant, is_shown=self._render(changed) != self._render(event))
                event = changed
        return event

    def body(self, body: bytes) -> bytes:
        """Change the finished body."""
        if not self._chosen:
            return body
        has_fields = self._has_fields
        value = dict(parse_qsl(body.decode(), True)) if has_fields else json.loads(body)
        message = VariedMessage(value=value, has_fields=has_fields)
        for variant in self._chosen:
            if variant.of_body or variant.is_stored:
                self._add(variant, is_shown=variant.apply(message))
        self.charset = message.charset
        return message.body().encode()

    def _add(self, variant: ContractVariant, *, is_shown: bool) -> None:
        if is_shown and variant.name not in self.names:
            self.names = sorted([*self.names, variant.name], key=NAMES.index)


class Variants:
    """The variants of an account: those that are named, or a seeded choice for each message."""

    def __init__(
        self,
        setting: str,
        draw_of: Callable[[int], Callable[[str, int], float]],
        applied: set[str],
    ) -> None:
        """`draw_of` returns, for a seed, the random number of a place and an ordinal.

        The names of the variants that messages have are added to `applied`.
        """
        self.setting = setting
        self.applied = applied
        self._names = setting.split(",")
        self._draw = draw_of(int(setting)) if re.fullmatch(_SEED, setting) else None

    def chosen(self, name: str, place: str, ordinal: int = 0) -> bool:
        """Whether a variant is chosen at a place, such as a response, with an ordinal."""
        if self._draw is None:
            return name in self._names
        return self._draw(f"{name} {place}", ordinal) < SHARE

    def _all_chosen(self, place: str, ordinal: int) -> list[ContractVariant]:
        """The variants at a place, and those that are stored."""
        return [
            variant
            for variant in VARIANTS
            if variant.is_stored
            or self.chosen(
                variant.name, *(("account", 0) if variant.is_of_account else (place, ordinal))
            )
        ]

    def vary(self, message: VariedMessage, place: str, ordinal: int = 0) -> tuple[str, ...]:
        """Change a response; returns the names of the variants that it has."""
        chosen = self._all_chosen(place, ordinal)
        names = tuple(variant.name for variant in chosen if variant.apply(message))
        self.applied.update(names)
        return names

    def of_event(
        self, ordinal: int, render: Callable[[bytes], bytes], *, has_fields: bool
    ) -> EventVariants:
        """The variants of an event; the same ordinal has the same variants."""
        return EventVariants(self._all_chosen("event", ordinal), render, has_fields=has_fields)

    def token(self, token: str, ordinal: int) -> str:
        """The token of a payment's checkout, from which the id is derived; longer for a long id."""
        return token + token[-_ADDED_LENGTH:] * self.chosen("long-ids", "payment", ordinal)
