"""One request of the contract and its answer: what is known of them on the way."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from emulator.api.oddities import Oddity

if TYPE_CHECKING:
    from emulator.engine.accounts import Owner
    from emulator.engine.rules import FaultCandidate

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

# Where a server that knows its connection puts it: ASGI takes two messages for an answer, and
# cannot cut one off.
LINE = "emulator.line"


class Line(Protocol):
    """The connection that a request came on."""

    def reply(self, status: int, headers: list[Header], body: bytes) -> None:
        """Write a whole response in one go."""

    def break_off(self, status: int, headers: list[Header], part: bytes) -> None:
        """Write a response up to somewhere in its body, and close the connection."""

    def hang_up(self) -> None:
        """Cut the connection with nothing said."""


@dataclass(slots=True)
class Reply:
    """What is going to be answered: whole, or up to so many bytes of its body, or not at all."""

    status: int
    body: bytes
    headers: list[Header]
    cut_at: int | None = None
    is_dropped: bool = False

    @property
    def sent_body(self) -> bytes:
        """What the client gets of the body."""
        return b"" if self.is_dropped else self.body[: self.cut_at]

    @property
    def sent_status(self) -> int:
        """The status that the client gets; 0 for none."""
        return 0 if self.is_dropped else self.status


class Exchange:
    """A request while it is answered. `odd` is what is tolerated in it, `body` what it carried.

    `fault` is the one that has struck it, and `instead_of` the status of the true answer that it
    spoiled, if there was one.
    """

    __slots__ = (
        "body",
        "fault",
        "headers",
        "instead_of",
        "odd",
        "owner",
        "receive",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.owner: Owner | None = None
        self.odd: list[Oddity] = []
        self.body = b""
        self.fault: FaultCandidate | None = None
        self.instead_of: int | None = None
