"""Keeps the received bytes of a connection until the requests before them have their responses."""

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

END_OF_HEAD = b"\r\n\r\n"


class ReceivedBytes(bytearray):
    """Bytes that the parser has not got: further requests, or a head whose body has not arrived."""

    def __init__(self) -> None:
        super().__init__()
        # Of the body in progress, where its length is known.
        self.body_left = 0
        # The last bytes that were taken, possibly a part of an `END_OF_HEAD`.
        self._tail = b""

    def take(self, *, is_between: bool) -> bytes:
        """Take the next bytes, up to where the head or the message that they belong to may end.

        Neither line breaks before a message nor a body with a length end like this, but they are
        recognized as well; chunks that contain an `END_OF_HEAD` are taken in parts.
        """
        if is_between and self[0] in b"\r\n":
            end = len(self) - len(self.lstrip(b"\r\n"))
        elif self.body_left > 0:
            end = min(self.body_left, len(self))
            self.body_left -= end
        else:
            tail = self._tail
            found = (tail + self if tail else self).find(END_OF_HEAD)
            end = len(self) if found < 0 else found + len(END_OF_HEAD) - len(tail)
            self._tail = (tail + self[-3:])[-3:] if found < 0 else b""
        taken = bytes(self[:end])
        del self[:end]
        return taken


class Flow(FlowControl):
    """Reads on only when the parser has got all received bytes."""

    def __init__(self, transport: asyncio.Transport, received: ReceivedBytes) -> None:
        super().__init__(transport)
        self._received = received

    def resume_reading(self) -> None:
        if not self._received:
            super().resume_reading()
