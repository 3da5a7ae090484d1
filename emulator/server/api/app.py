"""The contract's three calls, as routes."""

from collections.abc import Mapping

from emulator.domain import errors
from emulator.domain.accounts import Mode
from emulator.domain.effects import ApiRequest
from emulator.domain.payment import REPLAYED_FINAL
from emulator.server.api.bodies import check_content_type, decode_body
from emulator.server.api.exchange import JSON, Exchange, Header, Reply
from emulator.server.api.fault_injection import CallWithFaults, Operation
from emulator.server.api.layers import CallRoute
from emulator.server.api.parameter_types import (
    ParameterRules,
    ParameterTable,
    Warnings,
    parse_query,
)
from emulator.server.api.parameters import LIST, check_order, page_query
from emulator.server.api.request_warnings import (
    RequestWarning,
    duplicate_parameters,
    first_strict_error,
)
from emulator.server.engine.engine import Engine
from emulator.server.engine.state.account import Owner
from emulator.server.storage.payments import PageQuery

COLLECTION = "/v1/payments"
USUAL_READS = 30
MAX_COUNTED_PAYMENTS = 10_000

_REPLAYED: Header = (b"idempotent-replayed", b"true")


class PaymentsApi:
    """`POST /v1/payments`, `GET /v1/payments/{id}` and `GET /v1/payments`."""

    def __init__(self, engine: Engine) -> None:
        settings = engine.settings
        self._engine = engine
        self._rules = ParameterRules(
            methods=settings.methods, allow_http_localhost=settings.allow_http_localhost
        )
        self._is_strict = settings.strict

    @property
    def routes(self) -> list[CallRoute]:
        calls: tuple[tuple[ApiRequest, str, str, Operation], ...] = (
            (ApiRequest.RETRIEVE_PAYMENT, "GET", f"{COLLECTION}/{{payment_id}}", self._retrieve),
            (ApiRequest.LIST_PAYMENTS, "GET", COLLECTION, self._list),
            (ApiRequest.CREATE_PAYMENT, "POST", COLLECTION, self._create),
        )
        return [
            CallRoute(
                path,
                CallWithFaults(operation, request=request, engine=self._engine),
                methods={method},
                name=request,
            )
            for request, method, path, operation in calls
        ]

    async def _create(self, exchange: Exchange, owner: Owner, _: Mapping[str, str]) -> Reply:
        warnings, query = exchange.warnings, exchange.query
        try:
            check_content_type(exchange.headers.get(b"content-type"))
        except errors.UnsupportedContentType:
            await exchange.read_for_journal()
            raise
        body, repeated = decode_body(await exchange.read(), exchange.headers)
        if query:
            parse_query(query, (), warnings)
        order = check_order(body, self._rules, warnings)
        if repeated:
            warnings.extend(duplicate_parameters(repeated))
        created = await self._engine.payments.create(
            owner,
            order,
            objection=self._strict_error(warnings),
            request_id=exchange.id_of(owner).decode(),
        )
        headers = [JSON, (b"location", f"{COLLECTION}/{created.id}".encode())]
        if created.is_replay:
            exchange.is_replay = True
            if created.is_final:
                warnings.append(RequestWarning(REPLAYED_FINAL, None))
            headers.append(_REPLAYED)
        return Reply(201, created.body, headers)

    async def _retrieve(self, exchange: Exchange, owner: Owner, path: Mapping[str, str]) -> Reply:
        warnings, query, payment_id = exchange.warnings, exchange.query, path["payment_id"]
        if query:
            parse_query(query, (), warnings)
        body = await self._engine.payments.retrieve(owner, payment_id)
        if owner.mode is Mode.LIVE:
            _count_read(owner, payment_id, warnings)
        self._check_strict(warnings)
        return Reply(200, body)

    async def _list(self, exchange: Exchange, owner: Owner, _: Mapping[str, str]) -> Reply:
        warnings = exchange.warnings
        values = parse_query(exchange.query, LIST.names, warnings)
        body = await self.page_body(owner, values, warnings)
        self._check_strict(warnings)
        return Reply(200, body)

    async def page_body(
        self,
        owner: Owner,
        values: Mapping[str, str],
        warnings: Warnings,
        table: ParameterTable = LIST,
    ) -> bytes:
        """The page of payments for the parameters of a list call. Raises InvalidField."""
        try:
            query = page_query(values, self._rules, warnings, table)
        except errors.InvalidField as refusal:
            # The cursor is second in the contract's table, but its check reads the payments.
            if refusal.param != "limit" and "after" in values:
                await self._engine.payments.page(owner, PageQuery(limit=1, after=values["after"]))
            raise
        return await self._engine.payments.page(owner, query)

    def _strict_error(self, warnings: Warnings) -> errors.Refusal | None:
        return first_strict_error(warnings) if warnings and self._is_strict else None

    def _check_strict(self, warnings: Warnings) -> None:
        error = self._strict_error(warnings)
        if error is not None:
            raise error


def _count_read(owner: Owner, payment_id: str, warnings: Warnings) -> None:
    """Warn of polling in live mode (contract, 4.2)."""
    reads = owner.reads.pop(payment_id, 0) + 1
    if len(owner.reads) >= MAX_COUNTED_PAYMENTS:
        del owner.reads[next(iter(owner.reads))]
    owner.reads[payment_id] = reads
    if reads > USUAL_READS:
        warnings.append(RequestWarning("frequent-polling", None))
