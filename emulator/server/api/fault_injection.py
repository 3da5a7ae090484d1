"""Executes the effect of a scripted fault on a request (`faults` of a scenario)."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from emulator.domain.effects import ApiRequest, Cut, GatewayBody, Point, RequestEffect
from emulator.domain.errors import NotReady, RateLimitExceeded
from emulator.server.api.errors import INTERNAL_ERROR_BODY, error_object
from emulator.server.api.exchange import EXCHANGE, JSON, Exchange, Header, Reply, refused
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import OWNER_OF_REQUEST, Owner
from emulator.server.engine.state.rules import PlacedFault

_INTERNAL_ERROR = 500
_TOO_MANY_REQUESTS = 429
_BAD_REQUEST = error_object("invalid_request_body", "The request cannot be processed.")
# What the contract says with these statuses; with any other below 500 the request is just bad.
_BODIES = {
    401: error_object("invalid_api_key", "The API key is unknown."),
    404: error_object("payment_not_found", "There is no such payment."),
    409: error_object(
        "idempotency_key_in_use",
        "A request with this idempotency key is still being processed.",
        "idempotency_key",
    ),
}
_HEADERS: dict[int, Header] = {401: (b"www-authenticate", b"Bearer"), 409: (b"retry-after", b"1")}

_PAGE = "<!doctype html>\n<title>{0}</title>\n<h1>{0}</h1>\n"
_TEXT: tuple[Header, ...] = ((b"content-type", b"text/plain; charset=utf-8"),)
# The media types of the errors of gateways; the body of any other one is a text.
_TYPES: dict[str, tuple[Header, ...]] = {
    GatewayBody.HTML: ((b"content-type", b"text/html"),),
    GatewayBody.EMPTY: (),
}
_PHRASES = {int(status): f"{status.value} {status.phrase}" for status in HTTPStatus}


Operation = Callable[[Exchange, Owner, Mapping[str, str]], Awaitable[Reply]]
"""Returns the reply to a request of an owner with path parameters; it raises refusals."""


class CallWithFaults:
    """A call as an ASGI application, which needs no `Request` and no `Response`.

    It sets the reply of its exchange, which the outermost layer of the contract sends. The fault
    rule that matches the request applies before or after the call.
    """

    def __init__(self, operation: Operation, *, request: ApiRequest, engine: Engine) -> None:
        self._operation = operation
        self._request = request
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        exchange, owner, path = scope[EXCHANGE], scope[OWNER_OF_REQUEST], scope["path_params"]
        chosen = None
        if owner.account.rules.faults:
            chosen = await self._engine.faults.choose(owner, self._request)
        if chosen is None:
            exchange.reply = await self._operation(exchange, owner, path)
        elif chosen.rule.then.effect.point is Point.AFTER_COMMIT:
            await self._fail_after(chosen, exchange, owner, path)
        else:
            await self._fail_before(chosen, exchange, owner, path)

    async def _fail_before(
        self, chosen: PlacedFault, exchange: Exchange, owner: Owner, path: Mapping[str, str]
    ) -> None:
        effect = chosen.rule.then.effect
        exchange.fault = chosen
        if self._request is ApiRequest.CREATE_PAYMENT:
            await exchange.read_for_journal()
        await self._delay(effect)
        if effect.status is not None or effect.cut is not None:
            exchange.cut = effect.cut
            exchange.reply = _scripted(effect, exchange)
        elif exchange.is_outdated:
            # The account was reset while the fault delayed the request.
            exchange.cut = Cut.BEFORE_RESPONSE
            exchange.reply = Reply(_INTERNAL_ERROR)
        else:
            exchange.reply = await self._operation(exchange, owner, path)

    async def _fail_after(
        self, chosen: PlacedFault, exchange: Exchange, owner: Owner, path: Mapping[str, str]
    ) -> None:
        """Apply the fault to the response of a call; a call that is refused has no fault."""
        effect, holds = chosen.rule.then.effect, self._engine.webhooks.holds
        exchange.reply = await self._operation(exchange, owner, path)
        hold = None
        if effect.until_delivery:
            # Before any other task runs: a delivery may be answered while the use is counted.
            hold = holds.begin(owner, path.get("payment_id"))
        if await self._engine.faults.spend(owner, chosen, generation=exchange.generation):
            exchange.fault = chosen
            exchange.instead_of = exchange.reply.status
            if hold is not None:
                await holds.wait(hold)
            await self._delay(effect)
            exchange.cut = effect.cut
            if effect.status is not None:
                exchange.reply = _scripted(effect, exchange)

    async def _delay(self, effect: RequestEffect) -> None:
        """Wait in wire time: a latency tests the client's own time-out. Raises NotReady."""
        if effect.delay_ms:
            wall, closed = self._engine.wall, self._engine.change_notifier.closed
            await wall.wait(closed, until=wall.now_ms() + effect.delay_ms)
            if closed.is_set():
                raise NotReady


def _scripted(effect: RequestEffect, exchange: Exchange) -> Reply:
    """The contract's error of the status, by default 500, or the error of a gateway."""
    status = effect.status or _INTERNAL_ERROR
    if status == _TOO_MANY_REQUESTS and effect.body is None:
        return refused(
            RateLimitExceeded(retry_after_s=effect.retry_after_s or 1, clock_is_frozen=False)
        )
    headers = dict([_HEADERS[status]] if status in _HEADERS else [])
    if effect.retry_after_s is not None:
        headers[b"retry-after"] = b"%d" % effect.retry_after_s
    if effect.body is not None:
        exchange.is_of_gateway = True
        page = _PAGE.format(_PHRASES.get(status, status))
        pages: dict[str, str] = {GatewayBody.HTML: page, GatewayBody.EMPTY: ""}
        text = pages.get(effect.body, effect.body)
        types = _TYPES.get(effect.body, _TEXT)
        return Reply(status, text.encode(), (*types, *headers.items()))
    body = INTERNAL_ERROR_BODY if status >= _INTERNAL_ERROR else _BODIES.get(status, _BAD_REQUEST)
    return Reply(status, body, (JSON, *headers.items()))
