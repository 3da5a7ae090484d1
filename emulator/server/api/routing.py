"""Routes that name calls: what is no call of them is an unknown route."""

import re
from collections.abc import Collection

from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.domain.errors import UnknownRoute


class CallRoute(Route):
    """A route without Starlette's 405 and without a HEAD that is not named in `methods`."""

    def __init__(self, path: str, app: ASGIApp, *, methods: Collection[str], name: str) -> None:
        super().__init__(path, app, methods=methods, name=name)
        self.methods = self._methods = set(methods)
        # Starlette's expression ends with `$`, which also matches before a line feed at the end.
        self.path_regex = re.compile(self.path_regex.pattern.removesuffix("$") + r"\Z")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """No match for another method: the path is then of an unknown route."""
        if scope["method"] in self._methods:
            found = self.path_regex.match(scope["path"])
            if found is not None:
                return Match.FULL, {"endpoint": self.endpoint, "path_params": found.groupdict()}
        return Match.NONE, {}


async def unknown_route(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    """The application of all other paths. Raises UnknownRoute."""
    raise UnknownRoute(scope["method"], scope["path"])
