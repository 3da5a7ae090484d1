"""The error that a user can correct: any layer raises it, and a command prints it."""

from typing import ClassVar


class UserError(Exception):
    """Ends a command; each message becomes one line on standard error.

    With `has_places`, each begins with its place in a file, which an editor can open.
    """

    exit_code: ClassVar[int] = 2
    has_places: ClassVar[bool] = False

    def __init__(self, *messages: str) -> None:
        self.lines = messages
        super().__init__("\n".join(messages))
