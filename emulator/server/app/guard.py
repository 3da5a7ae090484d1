"""Protects everything outside of `/v1` from foreign hosts and from web pages."""

from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.domain.errors import ForbiddenOrigin
from emulator.domain.hosts import authority, is_ip_literal, is_local_name, split_host
from emulator.server.engine.payments.payments import CheckoutAddress
from emulator.settings import Settings

MAX_SHOWN_HOST_CHARACTERS = 253

_PAGES = frozenset({"/", "/_emulator", "/_emulator/", "/_emulator/view", "/favicon.ico"})
_GUARDED = frozenset({b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"})


def is_page(path: str) -> bool:
    """Whether people open the path, or their browsers do for a page."""
    return path in _PAGES or path.startswith("/_emulator/view/")


class HostGuard:
    """Refuses a `Host` that an attacker's DNS could resolve to this machine."""

    def __init__(self, settings: Settings, checkout: CheckoutAddress) -> None:
        self._allowed = frozenset(settings.allowed_hosts)
        self._checkout = checkout

    def check(self, scope: Scope) -> dict[bytes, bytes]:
        """Check a request; returns its checked headers. Raises ForbiddenOrigin."""
        headers = _guarded(scope)
        host = split_host(headers.get(b"host", b"").decode("latin-1"))
        if not (
            is_ip_literal(host)
            or is_local_name(host)
            or host in self._allowed
            or host == self._checkout_host()
        ):
            if not host:
                raise ForbiddenOrigin("The header 'Host' is empty or missing.")
            shown = host[:MAX_SHOWN_HOST_CHARACTERS]
            raise ForbiddenOrigin(
                f"The host '{shown}' is not an accepted name of this machine."
                f" Accept it with --allowed-hosts {shown}."
            )
        return headers

    def _checkout_host(self) -> str:
        # The address may change while the program runs.
        return split_host(authority(self._checkout.base))


class Guard:
    """Refuses web pages of other origins as well."""

    def __init__(self, app: ASGIApp, *, hosts: HostGuard) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ForbiddenOrigin."""
        headers = self._hosts.check(scope)
        origin = headers.get(b"origin")
        # Without the scheme, which a proxy in front changes; `null` has no host at all.
        if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            raise ForbiddenOrigin("A web page of another origin may not call the control API.")
        if headers.get(b"sec-fetch-site") == b"cross-site" and not _is_navigation(headers, scope):
            raise ForbiddenOrigin("A web page of another site may not call the control API.")
        await self._app(scope, receive, send)


def _guarded(scope: Scope) -> dict[bytes, bytes]:
    """The headers to check. Raises ForbiddenOrigin for a repeated one, which is ambiguous."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _GUARDED:
            if name in headers:
                raise ForbiddenOrigin(f"The header '{name.decode()}' is given more than once.")
            headers[name] = value
    return headers


def _is_navigation(headers: dict[bytes, bytes], scope: Scope) -> bool:
    """Whether a person opens a page by a link."""
    return (
        is_page(scope["path"])
        and scope["method"] == "GET"
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest") == b"document"
    )
