"""Maps rows to named tuples by name: a statement selects the fields of the type as columns."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

Value = TypeVar("Value", bound=NamedTuple)
Convert = Callable[[Any], Any]


class RowMapper(Generic[Value]):
    """The columns of a type, the value of a row, and the row of a value.

    `expressions` are the columns that are not named as their field. `decode` and `encode` are the
    fields that a column stores in another form. Unless `is_decoded`, msgspec checks and converts
    the rest (SQLite has no type for a bool or a word) and raises ValidationError; this takes twice
    as long.
    """

    def __init__(
        self,
        kind: type[Value],
        *,
        expressions: Mapping[str, str] | None = None,
        decode: Mapping[str, Convert] | None = None,
        encode: Mapping[str, Convert] | None = None,
        is_decoded: bool = False,
    ) -> None:
        self._kind = kind
        self._expressions = expressions or {}
        self._make: Callable[[Any], Value] = kind._make if is_decoded else self._converted
        # The value of a row with exactly these columns.
        self.value: Callable[[Iterable[Any]], Value] = self._decoded if decode else self._make
        self._decode = [(kind._fields.index(name), each) for name, each in (decode or {}).items()]
        self._encode = [(kind._fields.index(name), each) for name, each in (encode or {}).items()]
        self.columns = self.select()
        self.width = len(kind._fields)
        self.marks = ", ".join("?" * self.width)

    def select(self, **expressions: str) -> str:
        """The columns, in the order of the fields, some of them as other expressions."""
        columns = {**self._expressions, **expressions}
        return ", ".join(columns.get(name, name) for name in self._kind._fields)

    def select_from(self, table: str) -> str:
        """The columns of a table in a join."""
        return self.select(**{name: f"{table}.{name}" for name in self._kind._fields})

    def _decoded(self, row: Iterable[Any]) -> Value:
        values = list(row)
        for index, decode in self._decode:
            values[index] = decode(values[index])
        return self._make(values)

    def row(self, value: Value) -> list[Any]:
        """The columns of a value."""
        values: list[Any] = list(value)
        for index, encode in self._encode:
            values[index] = encode(values[index])
        return values

    def _converted(self, values: Iterable[Any]) -> Value:
        return msgspec.convert(values, self._kind, strict=False)
