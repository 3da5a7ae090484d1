"""On which account and mode a call acts, and what it brings along: the decoding of every call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import Request

from emulator.control.bodies import ReadObject, ReadSource, Source, read_fields, unknown_parameter
from emulator.control.fields import Fields, word_of
from emulator.domain.accounts import Mode
from emulator.domain.errors import DuplicateParameter
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.state.account import Account, Owner

_SUBJECT = ("account", "mode")

BearerKey = Callable[[bytes | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A decoded call: whose it is, its query parameters, the members of its body."""

    owner: Owner
    query: Mapping[str, str]
    fields: Fields

    @property
    def account(self) -> Account:
        return self.owner.account


class Calls:
    """Decodes calls; every room of the control API begins with it."""

    def __init__(
        self,
        accounts: AccountRegistry,
        bearer_key: BearerKey,
        read_object: ReadObject,
        read_source: ReadSource,
    ) -> None:
        self._accounts = accounts
        self._bearer_key = bearer_key
        self._read_object = read_object
        self._read_source = read_source

    async def decode(
        self,
        request: Request,
        *,
        query: tuple[str, ...] = (),
        body: tuple[str, ...] | None = None,
    ) -> Call:
        """Decode a call with these query parameters and, where it is a write, these members.

        A key decides before `?account=` and `?mode=` do. Raises Unauthenticated,
        UnknownAccount, and InvalidRequest in one of its kinds.
        """
        headers: dict[bytes, bytes] = dict(request.scope["headers"])
        authorization = headers.get(b"authorization")
        owner: Owner | None = None
        if authorization is not None:
            owner = await self._accounts.owner_of(self._bearer_key(authorization))
        values = _query(request, _SUBJECT + query)
        # Looked at beside a key as well: a word that is none is a mistake wherever it is said.
        mode = word_of(values.get("mode", Mode.TEST.value), Mode, "mode")
        if owner is None:
            owner = self._named(values.get("account")).owner(mode)
        fields = Fields({})
        if body is not None:
            fields = await read_fields(request, body, self._read_object)
        return Call(owner=owner, query=values, fields=fields)

    async def decode_source(self, request: Request, *, takes_yaml: bool) -> tuple[Call, Source]:
        """As `decode`, of a write whose body is a text in JSON or, where it is taken, YAML."""
        call = await self.decode(request)
        headers = dict(request.scope["headers"])
        return call, await self._read_source(headers, request.receive, takes_yaml=takes_yaml)

    def _named(self, account_id: str | None) -> Account:
        return self._accounts.first if account_id is None else self._accounts.get(account_id)


def _query(request: Request, known: tuple[str, ...]) -> dict[str, str]:
    """The parameters of the query string; an empty value is a value."""
    text = request.scope["query_string"].decode("latin-1")
    values: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name not in known:
            raise unknown_parameter(name, known)
        if name in values:
            raise DuplicateParameter(name)
        values[name] = value
    return values
