"""Declares the calls of the control API; of what kinds of objects have in common, each once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from inspect import cleandoc, isawaitable
from itertools import islice
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct, defstruct
from msgspec.inspect import Metadata, Type, UnionType, type_info
from msgspec.structs import replace

from emulator.domain import errors
from emulator.domain.instants import format_instant
from emulator.server.control.calls import AccountQuery, Call, Handler
from emulator.server.control.types import HasMore
from emulator.server.openapi.declarations import (
    NoParameters,
    Operation,
    RequestBody,
    SchemaSource,
    SuccessResponse,
)

StructT = TypeVar("StructT", bound=Struct)

RefusalType = type[errors.Refusal]

_REFUSALS_OF_ACCOUNTS: tuple[RefusalType, ...] = (
    errors.UnknownParameter,
    errors.DuplicateParameter,
    errors.UnknownAccount,
    errors.MissingApiKey,
    errors.InvalidApiKey,
    errors.NotReady,
)
_REFUSALS_OF_BODIES: tuple[RefusalType, ...] = (
    errors.InvalidJson,
    errors.UnsupportedContentType,
    errors.RequestTooLarge,
)


def operation(
    request_line: str,
    responses: str | Mapping[int, SuccessResponse],
    *refusals: RefusalType,
    status: int | None = None,
    content: SchemaSource | None = None,
    description: str | None = None,
    body: RequestBody | None = None,
    query: type[Struct] | None = None,
    path: type[Struct] = NoParameters,
) -> Callable[[Handler], Operation]:
    """Declares the call that a function handles: its method and path, and its responses.

    The name of the handler is the operation id, and its docstring the summary and, unless it is
    given, the description. Its annotations are the types of `query`, `body` and the result; the
    first entry of a tuple is the status. `path` is the type of the parameters of the path.
    For one response its description is enough; `status` and `content` belong to it.
    With `query`, a handler gets the values of these parameters as they were sent.
    """
    method, address = request_line.split(" ")

    def declare(handler: Handler) -> Operation:
        types = handler.__annotations__
        summary, _, text = cleandoc(handler.__doc__ or "").partition("\n\n")
        result = (get_args(types["return"]) or [types["return"]])[-1]
        successes = responses
        if isinstance(successes, str):
            usual = 204 if result is None else 200
            successes = {status or usual: SuccessResponse(successes)}
        is_struct = isinstance(result, type) and issubclass(result, Struct)
        returned = content or (result if is_struct else None)
        return Operation(
            method=method,
            path=f"/_emulator{address}",
            id=handler.__name__,
            summary=summary.removesuffix("."),
            description=description or " ".join(text.split()),
            responses={
                code: replace(response, content=response.content or returned)
                for code, response in successes.items()
            },
            path_type=path,
            query_type=query or types.get("query", NoParameters),
            takes_query_texts=query is not None,
            shared_query_type=AccountQuery,
            body=body or (RequestBody(types["body"]) if "body" in types else None),
            refusals=(
                *refusals,
                errors.ForbiddenOrigin,
                errors.InvalidRequestBody,
                *_REFUSALS_OF_ACCOUNTS,
                *(_REFUSALS_OF_BODIES if method != "GET" else ()),
            ),
            handler=handler,
        )

    return declare


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of objects, and the calls on it.

    `path` ends with the parameter that identifies an object: `id` is its type, and `unknown` the
    refusal of its other values. `show` returns an object as an `item`, on any thread.
    """

    noun: str
    path: str
    id: Any
    item: Any
    show: Callable[[Call, Any], Any] = lambda _, value: value
    # Every call can refuse an unknown account.
    unknown: RefusalType = errors.UnknownAccount
    order: str = "newest first"

    @cached_property
    def _path_type(self) -> type[Struct]:
        name = self.path.rpartition("{")[2].removesuffix("}")
        return defstruct(f"{self._title}Path", [(name, self.id)])

    @property
    def _title(self) -> str:
        return self.noun.title().replace(" ", "")

    @property
    def _all(self) -> str:
        return f"{self.noun[:-1]}ies" if self.noun.endswith("y") else f"{self.noun}s"

    def operation(
        self, request_line: str, *refusals: RefusalType, response: str = "", **more: Any
    ) -> Callable[[Handler], Operation]:
        """As `operation`; without a `response`, the handler returns an object of this kind.

        The parameter of the path and the refusal of its values are of this kind. A PUT of an object
        creates or replaces it: its handler returns the status, too.
        """
        responses: Any = response or f"The {self.noun}."
        if request_line == f"PUT {self.path}":
            responses = {
                200: SuccessResponse(f"The {self.noun}, which replaced an earlier one."),
                201: SuccessResponse(f"The new {self.noun}."),
            }
        elif "{" in request_line:
            refusals = (self.unknown, *refusals)
        if "{" in request_line:
            more["path"] = self._path_type
        if response:
            return operation(request_line, responses, *refusals, **more)

        def declare(handler: Handler) -> Operation:
            @wraps(handler)
            async def handle(*arguments: Any, **named: Any) -> Any:
                call, result = arguments[0], await handler(*arguments, **named)
                if type(result) is tuple:  # not an object that is a named tuple
                    return result[0], self.show(call, result[1])
                return self.show(call, result)

            return operation(request_line, responses, *refusals, content=self.item, **more)(handle)

        return declare

    def list(
        self,
        find: Callable[..., Any],
        description: str,
        *refusals: RefusalType,
        query: type[Struct] | None = None,
        page: Any = None,
        more: Callable[[Call], Mapping[str, Any]] = lambda _: {},
    ) -> Operation:
        """The call that lists all objects, or the newest ones that match a query with `limit`.

        For a query, `find` also gets the query and the number of objects to find. `more` returns
        the other members of a `page`.
        """
        text = f"The {self._all}, {self.order}."
        page = page or _page_type(f"{self._title}List", self.item, text, is_paged=query is not None)

        def encoded(call: Call, found: Sequence[Any]) -> Any:
            # One by one, because encoding stops all other threads.
            return [msgspec.Raw(msgspec.json.encode(self.show(call, each))) for each in found]

        async def handle(call: Call, query: Any = None) -> Any:
            if query is None:
                return page(encoded(call, await _result(find(call))))
            limit = query.limit
            found = [*islice(await _result(find(call, query, limit + 1)), limit + 1)]
            # On another thread, because to encode a page can take a second.
            data = await asyncio.to_thread(encoded, call, found[:limit])
            return page(data, has_more=len(found) > limit, **more(call))

        types = {"query": query} if query else {}
        declare = operation(f"GET {self.path.rpartition('/')[0]}", f"The {self._all}.", *refusals)
        return declare(self._handler("list", handle, description, page, **types))

    def get(
        self, find: Callable[[Call, str], Any], description: str, item: type[Struct] | None = None
    ) -> Operation:
        """The call that returns one object; with `item`, `find` returns that."""
        response = f"The {self.noun}." if item else ""
        declare = self.operation(f"GET {self.path}", response=response)
        return declare(self._handler("get", find, description, item or object))

    def delete(
        self, find: Callable[[Call, str], Any], description: str, *refusals: RefusalType
    ) -> Operation:
        """The call that deletes one object."""
        declare = self.operation(f"DELETE {self.path}", *refusals, response="Deleted.")
        return declare(self._handler("delete", find, description, None))

    def act(
        self, verb: str, find: Callable[[Call, str], Any], description: str, *refusals: RefusalType
    ) -> Operation:
        """The call `POST …/{id}/verb`, which returns the object after it."""
        declare = self.operation(f"POST {self.path}/{verb}", *refusals)
        return declare(self._handler(verb, find, description))

    def _handler(
        self, verb: str, find: Callable[..., Any], text: str, returns: Any = object, **types: Any
    ) -> Handler:
        """A handler with the attributes from which `operation` derives a declaration."""

        async def handle(*arguments: Any, **named: Any) -> Any:
            return await _result(find(*arguments, **named))

        thing = self._all if verb == "list" else self.noun
        article = "" if verb == "list" else "an " if thing[0] in "aeiou" else "a "
        summary = f"{'Retrieve' if verb == 'get' else verb.title()} {article}{thing}"
        handle.__name__ = f"{verb} {thing}".replace(" ", "_")
        handle.__doc__ = f"{summary}.\n\n{text}"
        handle.__annotations__ = {"call": Call, "return": returns, **types}
        return handle


def _page_type(name: str, item: Any, text: str, *, is_paged: bool) -> Any:
    """The struct of a collection, or of one of its pages."""
    members: list[Any] = [("data", list[item]), *([("has_more", HasMore)] if is_paged else [])]
    return defstruct(name, members, frozen=True, namespace={"__doc__": text})


def shown(kind: type[StructT], source: object, /, **others: object) -> StructT:
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
