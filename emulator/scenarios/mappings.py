"""Declares mappings: their keys, and the rules about keys that stand together."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from emulator.scenarios.entries import Entry, is_empty, note_unknown_key, read_pairs
from emulator.scenarios.kinds import Boolean, JsonSchema, Kind
from emulator.scenarios.nodes import MapNode
from emulator.scenarios.steps import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a mapping.

    `required` is the advice where a required key is missing. `default` is the value of an absent
    key, and `default_text` describes it in the reference. `field` is the attribute of the value,
    by default the name of the key; a key with None is read and not written.
    """

    kind: Kind[Any]
    description: str
    _: KW_ONLY
    required: str | None = None
    default: Any = None
    default_text: str = ""
    field: str | None = ""

    def schema(self) -> JsonSchema:
        default = f" Default: {self.default_text}." if self.default_text else ""
        schema = {"description": f"{self.description}{default}", **self.kind.schema()}
        if isinstance(self.kind, Boolean) and self.default is not None:
            schema["default"] = self.default
        return schema


@dataclass(slots=True, kw_only=True)
class Members:
    """The known keys of a mapping, in the order of the file; unknown keys are noted already."""

    entry: Entry
    keys: dict[str, Entry] = field(default_factory=dict)
    known: dict[str, Entry] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule about several keys of a mapping: it notes what breaks it, and has a JSON Schema.

    `check_keys` precedes the reading of the values, `check` follows it.
    """

    check_keys: Callable[[Members], None] = lambda _: None
    check: Callable[[Members], None] = lambda _: None
    schema: JsonSchema = field(default_factory=dict)


class MappingOf(Kind[T]):
    """A mapping of declared keys, from which `make` makes the value; or nothing, if optional."""

    def __init__(
        self,
        make: Callable[..., T],
        keys: Mapping[str, Key],
        *rules: Rule,
        is_optional: bool = False,
    ) -> None:
        self._make = make
        self.keys = keys
        self._rules = rules
        self._is_optional = is_optional

    def read(self, entry: Entry) -> T | None:
        members = self.members(entry)
        return None if members is None else self.build(members)

    def members(self, entry: Entry) -> Members | None:
        """The members with their values, after all that is wrong with them is noted."""
        members = Members(entry=entry)
        if not (self._is_optional and is_empty(entry)):
            pairs = read_pairs(entry)
            if pairs is None:
                return None
            for name, (key_entry, value) in pairs.items():
                if name in self.keys:
                    members.keys[name] = key_entry
                    members.known[name] = value
                else:
                    self.note_unknown(members, key_entry, name)
        for rule in self._rules:
            rule.check_keys(members)
        for name, key in self.keys.items():
            members.values[name] = self.read_key(members, name, key)
        for rule in self._rules:
            rule.check(members)
        return members

    def note_unknown(self, members: Members, key_entry: Entry, name: str) -> None:
        note_unknown_key(members.entry, key_entry, name, self.keys)

    def read_key(self, members: Members, name: str, key: Key) -> Any:
        if name in members.known:
            return key.kind.read(members.known[name])
        if key.required is not None:
            members.entry.note(f"{members.entry.label} must have '{name}': {key.required}")
        return key.default

    def build(self, members: Members) -> T | None:
        """The value, or None where a required key has none."""
        fields = {}
        for name, key in self.keys.items():
            value = members.values[name]
            if value is None:
                if key.required is not None:
                    return None
                value = key.default
            if key.field is not None:
                fields[key.field or name] = value
        return self._make(**fields)

    def schema(self) -> JsonSchema:
        schema: JsonSchema = {
            "type": ["object", "null"] if self._is_optional else "object",
            "properties": {name: key.schema() for name, key in self.keys.items()},
            "required": [name for name, key in self.keys.items() if key.required is not None],
            "additionalProperties": False,
        }
        all_of = [part for rule in self._rules for part in rule.schema.get("allOf", ())]
        for rule in self._rules:
            schema.update(rule.schema)
        schema.pop("allOf", None)
        return {**schema, "allOf": all_of} if all_of else schema

    def write(self, value: T) -> Json:
        """The keys in the order of their declaration, without those that have the default."""
        written = {}
        for name, key in self.keys.items():
            if key.field is not None:
                member = getattr(value, key.field or name)
                if key.required is not None or member != key.default:
                    written[name] = key.kind.write(member)
        return written


def is_on(key: str) -> JsonSchema:
    """The JSON Schema of a mapping in which `key` is true."""
    return {"type": "object", "properties": {key: {"const": True}}, "required": [key]}


def exclusions(table: Mapping[str, Mapping[str, str]]) -> Rule:
    """What makes no sense beside a key that is true, and why; each key is noted once."""

    def check(members: Members) -> None:
        for key, entry in members.given.items():
            for other, excluded in table.items():
                if members.is_on(other) and key in excluded:
                    entry.note(f"'{key}' makes no sense beside '{other}: true': {excluded[key]}")
                    break

    # `false` is as good as absent, and what is no Boolean has to be absent.
    parts = [
        {"if": is_on(key), "then": {"properties": {other: {"const": False} for other in excluded}}}
        for key, excluded in table.items()
    ]
    return Rule(check=check, schema={"allOf": parts})
