"""What the faults of requests and of deliveries share.

A fault type is its keys, its effect as a value, and the rules about its keys: a FaultType and an
entry in TYPES. Reading, writing, the JSON Schema and the coverage follow from it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

from msgspec import Struct

from emulator.scenarios.entries import listed
from emulator.scenarios.kinds import Boolean, Kind, Word
from emulator.scenarios.mappings import (
    DeclaredRule,
    Key,
    KeyRule,
    MappingOf,
    Members,
    exclusions,
    is_given,
)
from emulator.scenarios.values import Fault, Json

E = TypeVar("E")
Settings = Mapping[str, Any]
"""The keys of a fault that are given, without those that are false, and their values."""


class FaultType(Struct, frozen=True):
    """A type of fault; it applies where its key is given.

    The second to the fifth attribute are those of its Key, and `more` are other keys. `effect`
    returns the fields of the effect that the settings change; without it, the key changes its own
    field. `excludes` are the keys that make no sense beside the key, and why; `excludes_all` is the
    reason if these are all other keys. `rules` are about the effect, and `rule_rules` about the
    rule that it is in.
    """

    name: str
    kind: Kind[Any]
    description: str
    default_text: str = ""
    field: str = ""
    more: Mapping[str, Key] = {}
    effect: Callable[[Settings], Mapping[str, object]] | None = None
    excludes: Mapping[str, str] = {}
    excludes_all: str = ""
    rules: Sequence[KeyRule] = ()
    rule_rules: Sequence[KeyRule] = ()

    @property
    def keys(self) -> Mapping[str, Key]:
        own = Key(self.kind, self.description, default_text=self.default_text, field=self.field)
        return {self.name: own, **self.more}

    @property
    def coverage_names(self) -> tuple[str, ...]:
        """What a run can exercise of it: each of its words, if it takes words."""
        words = self.kind.offered if isinstance(self.kind, Word) else [True]
        return tuple(self.coverage_name(word) for word in words)

    def coverage_name(self, setting: Json) -> str:
        return f"{self.name} {setting}" if isinstance(self.kind, Word) else self.name


class FaultMapping(MappingOf[Fault[E]]):
    """The effect of a rule: the keys of all fault types, and keys that they share.

    A shared key is also the name of its field in the effect.
    """

    def __init__(
        self,
        types: Sequence[FaultType],
        make_effect: Callable[..., E],
        shared: Mapping[str, Key] | None = None,
    ) -> None:
        self._types = types
        self._make_effect = make_effect
        self._shared = dict(shared or {})
        keys = {name: key for type_ in types for name, key in type_.keys.items()} | self._shared
        parameters = signature(make_effect).parameters
        for name, key in keys.items():
            default = False if isinstance(key.kind, Boolean) else None
            keys[name] = replace(key.made_into(name, parameters), default=default)
        excluded = {type_.name: _excluded(type_, keys) for type_ in types}
        rules = (rule for type_ in types for rule in type_.rules)
        given = {"anyOf": [is_given(type_.name) for type_ in types]}
        check_given = DeclaredRule(self._check_given, given)
        super().__init__(Fault, keys, check_given, exclusions(excluded), *rules)

    def _check_given(self, members: Members) -> None:
        """Keys that are false, or shared, are no effects."""
        if self._shared.keys() >= members.given.keys() and not members.has_stray_keys:
            names = listed([type_.name for type_ in self._types], "or")
            members.entry.note(f"{members.entry.label} must have {names}")

    def build(self, members: Members) -> Fault[E]:
        given, values = members.given, members.values
        return self.fault(
            {name: values[name] for name in self.keys if name in given and values[name] is not None}
        )

    def fault(self, settings: Settings) -> Fault[E]:
        return Fault(effect=self._effect(settings), settings=tuple(settings.items()))

    def _effect(self, settings: Settings) -> E:
        fields: dict[str, object] = {}
        for type_ in self._types:
            name = type_.name
            if name in settings and type_.effect is not None:
                fields |= type_.effect(settings)
            elif name in settings:
                fields[self.keys[name].field or name] = settings[name]
        fields |= {key: settings[key] for key in self._shared if key in settings}
        return self._make_effect(**fields)

    def write(self, value: Fault[E]) -> Json:
        """The settings, without those that make no difference; one at least."""
        settings = dict(value.settings)
        for name in dict(settings):
            others = {other: setting for other, setting in settings.items() if other != name}
            if others and self._effect(others) == value.effect:
                settings = others
        return {name: self.keys[name].kind.write(setting) for name, setting in settings.items()}

    @property
    def coverage_names(self) -> tuple[str, ...]:
        """What a run can exercise."""
        return tuple(name for type_ in self._types for name in type_.coverage_names)

    def exercised(self, written: Mapping[str, Json]) -> Iterator[str]:
        """What a fault that is written as JSON exercises."""
        for type_ in self._types:
            if setting := written.get(type_.name):
                yield type_.coverage_name(setting)


def _excluded(type_: FaultType, keys: Mapping[str, Key]) -> Mapping[str, str]:
    if not type_.excludes_all:
        return type_.excludes
    return {key: type_.excludes_all for key in keys if key not in type_.keys}
