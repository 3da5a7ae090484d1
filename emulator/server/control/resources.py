"""The calls that resources have in common, each in one declaration: list, get and delete."""

from collections.abc import Callable
from functools import cache
from inspect import isawaitable
from typing import Any, TypeVar

from msgspec import Struct, defstruct
from msgspec.inspect import Metadata, Type, UnionType, type_info
from msgspec.structs import astuple

from emulator.domain.errors import Refusal
from emulator.domain.instants import format_instant
from emulator.server.control.calls import Call, Handler, operation
from emulator.server.control.types import HasMore
from emulator.server.openapi.declarations import Operation

StructT = TypeVar("StructT", bound=Struct)


def _same(value: Any) -> Any:
    return value


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of objects, and the calls on it.

    `path` ends with the parameter of `path_type`; `unknown` are the refusals of its other values.
    `show` returns an object as an `item`.
    """

    noun: str
    path: str
    path_type: type[Struct]
    item: type[Struct]
    show: Callable[[Any], Any] = _same
    unknown: tuple[type[Refusal], ...] = ()
    order: str = "newest first"

    @property
    def _one(self) -> str:
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def list(self, find: Callable[[Call], Any], description: str) -> Operation:
        """The call that lists all objects, in this order."""
        name = self.noun.title().replace(" ", "")
        page = page_type(name, self.item, f"The {self.noun}s, {self.order}.")

        async def handle(call: Call) -> Any:
            return page([self.show(each) for each in await _result(find(call))])

        summary = f"List {self.noun}s"
        _describe(handle, summary.lower(), summary, description, {"return": page})
        return operation(f"GET {self.path.rpartition('/')[0]}", f"The {self.noun}s.")(handle)

    def get(
        self, find: Callable[[Call, str], Any], description: str, item: type[Struct] | None = None
    ) -> Operation:
        """The call that returns one object; with `item`, `find` returns that."""

        async def handle(call: Call, path: Struct) -> Any:
            found = await _result(find(call, *astuple(path)))
            return found if item else self.show(found)

        types = {"path": self.path_type, "return": item or self.item}
        _describe(handle, f"get {self.noun}", f"Retrieve {self._one}", description, types)
        return operation(f"GET {self.path}", f"The {self.noun}.", *self.unknown)(handle)

    def delete(
        self, delete: Callable[[Call, str], Any], description: str, *refusals: type[Refusal]
    ) -> Operation:
        """The call that deletes one object."""

        async def handle(call: Call, path: Struct) -> None:
            await delete(call, *astuple(path))

        types = {"path": self.path_type, "return": None}
        _describe(handle, f"delete {self.noun}", f"Delete {self._one}", description, types)
        return operation(f"DELETE {self.path}", "Deleted.", *self.unknown, *refusals)(handle)

    def act(
        self,
        verb: str,
        act: Callable[[Call, str], Any],
        description: str,
        *refusals: type[Refusal],
    ) -> Operation:
        """The call `POST …/{id}/verb`, which returns the object after `act`."""

        async def handle(call: Call, path: Struct) -> Any:
            return self.show(await act(call, *astuple(path)))

        types = {"path": self.path_type, "return": self.item}
        _describe(handle, f"{verb} {self.noun}", f"{verb.title()} {self._one}", description, types)
        return operation(f"POST {self.path}/{verb}", f"The {self.noun}.", *self.unknown, *refusals)(
            handle
        )


def _describe(
    handle: Handler, name: str, summary: str, description: str, types: dict[str, Any]
) -> None:
    """Set what `operation` derives a declaration from."""
    handle.__name__ = name.replace(" ", "_")
    handle.__doc__ = f"{summary}.\n\n{description}"
    handle.__annotations__ = {"call": Call, **types}


def page_type(name: str, item: Any, description: str, *, is_paged: bool = False) -> Any:
    """The struct of a collection, or of one of its pages."""
    members: list[Any] = [("data", list[item]), *([("has_more", HasMore)] if is_paged else [])]
    namespace = {"__doc__": description}
    return defstruct(f"{name}List", members, frozen=True, namespace=namespace)


def shown(kind: type[StructT], source: object, **others: object) -> StructT:
    """A struct of the attributes of a value, except its `others`; instants become texts."""
    for name in kind.__struct_fields__:
        if name not in others:
            others[name] = getattr(source, name)
    for name in _instants(kind):
        instant = others[name]
        if isinstance(instant, int):
            others[name] = format_instant(instant)
    return kind(**others)


@cache
def _instants(kind: type[Struct]) -> frozenset[str]:
    """The members that are instants."""
    info: Any = type_info(kind)
    return frozenset(field.name for field in info.fields if _is_instant(field.type))


def _is_instant(found: Type) -> bool:
    if isinstance(found, UnionType):
        return any(map(_is_instant, found.types))
    if not isinstance(found, Metadata):
        return False
    schema = found.extra_json_schema or {}
    return schema.get("format") == "date-time" or _is_instant(found.type)


async def _result(found: Any) -> Any:
    return await found if isawaitable(found) else found
