"""What counts as the body of a control call: one JSON object, strictly, or nothing at all."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Protocol

from starlette.requests import Request
from starlette.types import Receive

from emulator.control.fields import Fields
from emulator.domain.errors import DuplicateParameter, UnknownParameter
from emulator.domain.received_values import WrittenNumber

MAX_SHOWN_NAME_CHARACTERS = 64


class Source(Protocol):
    """A body that is read as a text of YAML; of JSON the members, and those given twice."""

    @property
    def text(self) -> str: ...
    @property
    def members(self) -> Mapping[str, Any]: ...
    @property
    def repeated(self) -> list[str]: ...


ReadSource = Callable[..., Awaitable[Source]]
"""How such a body is read: `(headers, receive, *, takes_yaml)`."""

ReadObject = Callable[[Mapping[bytes, bytes], Receive], Awaitable[tuple[dict[str, Any], list[str]]]]
"""How a body is read: its members, and the names of those given twice."""


async def read_fields(request: Request, known: tuple[str, ...], read: ReadObject) -> Fields:
    """The members of the body; without a body there are none, and null counts as absent.

    Raises InvalidRequest in one of its kinds.
    """
    members, repeated = await read(dict(request.scope["headers"]), request.receive)
    if repeated:
        raise DuplicateParameter(repeated[0][:MAX_SHOWN_NAME_CHARACTERS])
    for name in members:
        if name not in known:
            raise unknown_parameter(name, known)
    return Fields(
        {
            name: value.exact() if isinstance(value, WrittenNumber) else value
            for name, value in members.items()
            if value is not None
        }
    )


def unknown_parameter(name: str, known: Iterable[str]) -> UnknownParameter:
    shown = name[:MAX_SHOWN_NAME_CHARACTERS]
    nearest = get_close_matches(shown, known, n=1)
    hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
    return UnknownParameter(f"There is no parameter '{shown}' here.{hint}", param=shown)
