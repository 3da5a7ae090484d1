"""Declares mappings: their keys, and the rules about keys that are given together."""

import json
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from inspect import Parameter, signature
from typing import Any, TypeVar

from msgspec import Struct

from emulator.files import MapNode
from emulator.scenarios.entries import Entry, is_empty, listed, note_unknown_key, read_pairs
from emulator.scenarios.kinds import Boolean, JsonSchema, Kind
from emulator.scenarios.values import Json

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a mapping.

    `required` is the advice where a required key is missing. `default` is the value of an absent
    key, and `default_text` describes it in the reference, if the value itself does not. `field` is
    the attribute of the value, by default the name of the key, also with `_ms`; a key with None is
    read and not written. Without `default`, the attribute has the default.
    """

    kind: Kind[Any]
    description: str
    _: KW_ONLY
    required: str | None = None
    default: Any = None
    default_text: str = ""
    field: str | None = ""

    def schema(self) -> JsonSchema:
        text = self.default_text
        if isinstance(self.kind, Boolean) and self.default is not None:
            return {"description": self.description, **self.kind.schema(), "default": self.default}
        if not text and self.default is not None and self.required is None:
            written = self.kind.write(self.default)
            shown = written if isinstance(written, str) else json.dumps(written)
            text = f"`{shown}`" if written else "empty"
        default = f" Default: {text}." if text else ""
        return {"description": f"{self.description}{default}", **self.kind.schema()}

    def made_into(self, name: str, parameters: Mapping[str, Parameter]) -> "Key":
        """The key with its field and its default, if values are made of these parameters."""
        if self.field is None:
            return self
        names = (self.field, name, f"{name}_ms")
        field = next((each for each in names if each in parameters), self.field or name)
        default = self.default
        if default is None and self.required is None and field in parameters:
            default = parameters[field].default
        return replace(self, field=field, default=None if default is Parameter.empty else default)


class Members(Struct, kw_only=True):
    """The known keys of a mapping, in the order of the file; unknown keys are noted already."""

    entry: Entry
    keys: dict[str, Entry]
    known: dict[str, Entry]
    values: dict[str, Any]
    """Of each key that is declared: the value, None where it is wrong, the default if absent."""

    @property
    def has_stray_keys(self) -> bool:
        """Whether there are keys beside the known ones."""
        node = self.entry.node
        return isinstance(node, MapNode) and len(node.pairs) > len(self.known)

    @property
    def given(self) -> dict[str, Entry]:
        """The known keys without those that are false: `drop: false` is as good as no `drop`."""
        return {key: entry for key, entry in self.known.items() if self.values[key] is not False}

    def is_on(self, key: str) -> bool:
        return self.values[key] is True


KeyRule = Callable[[Members], None]
"""Notes what breaks a rule about several keys of a mapping, whose values are read already."""


class DeclaredRule:
    """A rule about several keys, and the JSON Schemas of the mappings that keep it."""

    def __init__(self, check: KeyRule, *schemas: JsonSchema) -> None:
        self._check = check
        self.schemas = schemas

    def __call__(self, members: Members) -> None:
        self._check(members)


class MappingOf(Kind[T]):
    """A mapping of declared keys, from which `make` makes the value; or nothing, if optional."""

    def __init__(
        self,
        make: Callable[..., T],
        keys: Mapping[str, Key],
        *rules: KeyRule,
        is_optional: bool = False,
    ) -> None:
        self._make = make
        parameters = {} if make is dict else signature(make).parameters
        self.keys = {name: key.made_into(name, parameters) for name, key in keys.items()}
        self._rules = rules
        self._is_optional = is_optional
        given = self.keys.items()
        self._required = {n: key.required for n, key in given if key.required is not None}
        self._defaults = {name: key.default for name, key in given}
        self._fields = {name: key.field for name, key in given if key.field is not None}

    def read(self, entry: Entry) -> T | None:
        members = self.members(entry)
        return None if members is None else self.build(members)

    def members(self, entry: Entry) -> Members | None:
        """The members with their values, after all that is wrong with them is noted."""
        pairs = {} if self._is_optional and is_empty(entry) else read_pairs(entry)
        if pairs is None:
            return None
        members = Members(entry=entry, keys={}, known={}, values=dict(self._defaults))
        for name, (key_entry, value) in pairs.items():
            if name in self.keys:
                members.keys[name] = key_entry
                members.known[name] = value
            else:
                note_unknown_key(entry, key_entry, name, self.keys)
        for name, advice in self._required.items():
            if name not in members.known:
                entry.note(f"{entry.label} must have '{name}': {advice}")
        for name, key in self.keys.items():
            if name in members.known:
                members.values[name] = key.kind.read(members.known[name])
        for rule in self._rules:
            rule(members)
        return members

    def build(self, members: Members) -> T | None:
        """The value, or None where a required key has none."""
        values = members.values
        if any(values[name] is None for name in self._required):
            return None
        fields = {}
        for name, attribute in self._fields.items():
            value = values[name]
            fields[attribute] = self._defaults[name] if value is None else value
        return self._make(**fields)

    def schema(self) -> JsonSchema:
        rules = [rule for rule in self._rules if isinstance(rule, DeclaredRule)]
        schemas = [schema for rule in rules for schema in rule.schemas]
        return {
            "type": ["object", "null"] if self._is_optional else "object",
            "properties": {name: key.schema() for name, key in self.keys.items()},
            "required": list(self._required),
            "additionalProperties": False,
            **({"allOf": schemas} if schemas else {}),
        }

    def write(self, value: T) -> Json:
        """The keys in the order of their declaration, without those that have the default."""
        written = {}
        for name, attribute in self._fields.items():
            member = getattr(value, attribute)
            if name in self._required or member != self._defaults[name]:
                written[name] = self.keys[name].kind.write(member)
        return written


class OrMapping(Kind[T]):
    """A mapping, or its short form.

    `make` is the value of a short form, and `shorten` the short form of a value, if it has one.
    """

    def __init__(
        self,
        mapping: MappingOf[T],
        short: Kind[S],
        make: Callable[[S], T],
        shorten: Callable[[T], S | None],
    ) -> None:
        self._mapping = mapping
        self._short = short
        self._make = make
        self._shorten = shorten

    def read(self, entry: Entry) -> T | None:
        if isinstance(entry.node, MapNode):
            return self._mapping.read(entry)
        short = self._short.read(entry)
        return None if short is None else self._make(short)

    def schema(self) -> JsonSchema:
        return {"anyOf": [self._short.schema(), self._mapping.schema()]}

    def write(self, value: T) -> Json:
        short = self._shorten(value)
        return self._mapping.write(value) if short is None else self._short.write(short)


def is_given(key: str) -> JsonSchema:
    """The JSON Schema of a mapping in which a key is given, and neither false nor null."""
    return {"properties": {key: {"not": {"enum": [False, None]}}}, "required": [key]}


def is_one_of(key: str, *values: Json) -> JsonSchema:
    """The JSON Schema of a mapping in which a key is given with one of the values."""
    return {"properties": {key: {"enum": [*values]}}, "required": [key]}


def implies(condition: JsonSchema, consequence: JsonSchema) -> JsonSchema:
    return {"if": condition, "then": consequence}


def needs_one(*keys: str) -> DeclaredRule:
    """One of the keys, or several, must be given."""

    def check(members: Members) -> None:
        if not any(key in members.known for key in keys) and not members.has_stray_keys:
            words = listed(map(repr, keys), "or")
            members.entry.note(f"{members.entry.label} must have {words}")

    return DeclaredRule(check, {"anyOf": [{"required": [key]} for key in keys]})


def needs(key: str, other: str) -> DeclaredRule:
    """A key makes sense beside another one alone."""

    def check(members: Members) -> None:
        if key in members.given and other not in members.known:
            members.known[key].note(f"'{key}' needs '{other}'")

    return DeclaredRule(check, implies(is_given(key), {"required": [other]}))


def excludes(key: str, *others: str, reason: str = "") -> DeclaredRule:
    """The other keys make no sense beside a key."""
    because = f": {reason}" if reason else ""

    def check(members: Members) -> None:
        for other in others if key in members.known else ():
            if other in members.known:
                members.keys[other].note(f"'{other}' is not allowed beside '{key}'{because}")

    return DeclaredRule(check, *({"not": {"required": [key, other]}} for other in others))


def exclusions(table: Mapping[str, Mapping[str, str]]) -> DeclaredRule:
    """What makes no sense beside a key that is given and not false, and why.

    A key is noted once, and later rules ignore it.
    """

    def check(members: Members) -> None:
        given = members.given
        for key, entry in given.items():
            other = next((other for other in table if other in given and key in table[other]), None)
            if other is not None:
                beside = f"{other}: true" if members.is_on(other) else other
                entry.note(f"'{key}' is not allowed beside '{beside}': {table[other][key]}")
                del members.known[key]

    # `false` is as good as absent, and what is no Boolean has to be absent.
    absent = {
        other: {key: {"const": False} for key in keys} for other, keys in table.items() if keys
    }
    return DeclaredRule(
        check, *(implies(is_given(key), {"properties": others}) for key, others in absent.items())
    )
