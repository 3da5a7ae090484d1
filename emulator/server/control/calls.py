"""Decodes the requests of declared operations, calls their handlers and encodes the results."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.message_text import WrittenNumber, nearest_word_hint
from emulator.server.api.bodies import read_optional_object, read_source
from emulator.server.api.exchange import bearer_key
from emulator.server.api.parameter_types import query_values
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import OWNER_OF_REQUEST, Account, Owner
from emulator.server.openapi.declarations import JSON, NoParameters, Operation, doc
from emulator.server.openapi.members import decode, members_of

MAX_SHOWN_NAME_CHARACTERS = 64
# Stands for the identifier of the newest payment, delivery or request.
LATEST = "latest"

StructT = TypeVar("StructT", bound=Struct)
Handler = Callable[..., Awaitable[Any]]
"""Takes the call, the parameters of the path in their order, and `query` and `body` by name."""


class Call(Struct, frozen=True, kw_only=True):
    """A call on an account and mode."""

    engine: Engine
    request: Request
    owner: Owner

    @property
    def account(self) -> Account:
        return self.owner.account

    async def latest_id(self, parameter: str) -> str:
        """The identifier that `latest` stands for as a parameter. Raises UnknownObject."""
        match parameter:
            case "payment_id" | "payment":
                return await self.engine.history.latest_id(self.owner)
            case "delivery_id":
                return await self.engine.webhooks.deliveries.latest_id(self.owner)
            case "request_id":
                return self.owner.journal.latest_id()
        return LATEST


class AccountQuery(Struct, frozen=True):
    """The query parameters of every call on an account."""

    account: Annotated[
        str | None,
        doc(
            "The identifier of the account that the call acts on; by default the first account."
            " A key takes precedence.",
            "acct_demo",
        ),
    ] = None
    mode: Annotated[Mode, doc("The mode that the call acts on. A key takes precedence.")] = (
        Mode.TEST
    )


def owner_of_subject(engine: Engine, subject: AccountQuery) -> Owner:
    """The account and mode; by default the first account. Raises UnknownAccount."""
    name, accounts = subject.account, engine.accounts
    return (accounts.first if name is None else accounts.get(name)).owner(subject.mode)


class CallEndpoint:
    """An operation with a handler as an ASGI application."""

    def __init__(self, operation: Operation, handler: Handler, engine: Engine) -> None:
        self._operation = operation
        self._handler = handler
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises Unauthenticated, UnknownAccount, InvalidRequest and what the handler raises."""
        operation, request = self._operation, Request(scope, receive)
        call, arguments = await _arguments(self._engine, operation, request)
        names: Iterable[Any] = ()
        if operation.path_type is not NoParameters:
            parameters = await _with_latest(call, request.path_params)
            names = astuple(decode(parameters, operation.path_type, max_length=None))
        result = await self._handler(call, *names, **arguments)
        status = next(iter(operation.responses))
        if isinstance(result, tuple):
            status, result = result
        if result is None:
            result = Response(status_code=status)
        elif not isinstance(result, Response):
            result = Response(msgspec.json.encode(result), status, media_type=JSON)
        await result(scope, receive, send)


async def _arguments(
    engine: Engine, operation: Operation, request: Request
) -> tuple[Call, dict[str, Any]]:
    """The call, its query and its body. A key takes precedence over the query."""
    headers: dict[bytes, bytes] = dict(request.scope["headers"])
    owner: Owner | None = None
    if b"authorization" in headers:
        owner = await engine.accounts.owner_of(bearer_key(request.scope["headers"]))
    values, repeated = query_values(request.scope["query_string"])
    known = (*members_of(AccountQuery), *members_of(operation.query_type))
    check_names(values, repeated, [member.name for member in known])
    # Beside a key as well: an unknown mode is a mistake in any request.
    subject = decode(values, AccountQuery, max_length=None)
    owner = owner or owner_of_subject(engine, subject)
    request.scope[OWNER_OF_REQUEST] = owner
    call = Call(engine=engine, request=request, owner=owner)
    arguments: dict[str, Any] = {}
    if operation.method != "GET":
        arguments |= await _body(operation, headers, request.receive)
    if operation.takes_query_texts:
        arguments["query"] = values
    elif operation.query_type is not NoParameters:
        values = await _with_latest(call, values)
        arguments["query"] = decode(values, operation.query_type, max_length=None)
    return call, arguments


async def _body(
    operation: Operation, headers: Mapping[bytes, bytes], receive: Receive
) -> dict[str, Any]:
    struct = operation.body_struct
    if operation.body is not None and struct is None:
        takes_yaml = operation.body.media_types != (JSON,)
        source = await read_source(headers, receive, takes_yaml=takes_yaml)
        return {"body": source}
    known = [member.name for member in members_of(struct)] if struct else []
    members, repeated = await read_optional_object(headers, receive)
    check_names(members, repeated, known)
    values = {
        name: value.exact() if isinstance(value, WrittenNumber) else value
        for name, value in members.items()
        if value is not None
    }
    return {"body": decode(values, struct)} if struct else {}


async def _with_latest(call: Call, values: Mapping[str, str]) -> Mapping[str, str]:
    """The parameters with the identifiers that `latest` stands for. Raises UnknownObject."""
    if LATEST not in values.values():
        return values
    return {
        name: await call.latest_id(name) if value == LATEST else value
        for name, value in values.items()
    }


def query_of(values: Mapping[str, str], struct: type[StructT]) -> StructT:
    """The query of a list as a struct. Raises UnknownParameter, InvalidField."""
    check_names(values, [], [member.name for member in members_of(struct)])
    return decode(values, struct, max_length=None)


def check_names(members: Iterable[str], repeated: Sequence[str], known: Iterable[str]) -> None:
    """Raises UnknownParameter, DuplicateParameter."""
    for name in members:
        if name not in known:
            shown = name[:MAX_SHOWN_NAME_CHARACTERS]
            hint = nearest_word_hint(shown, known)
            raise errors.UnknownParameter(f"There is no parameter '{shown}'.{hint}", param=shown)
    if repeated:
        raise errors.DuplicateParameter(repeated[0][:MAX_SHOWN_NAME_CHARACTERS])
