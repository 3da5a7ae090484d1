"""The calls on the journal of requests to `/v1`, and on the requests without a valid key."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from emulator.domain import errors
from emulator.domain.accounts import mask_key, mask_keys
from emulator.domain.effects import MAX_FAULT_STATUS
from emulator.domain.instants import format_instant
from emulator.domain.message_text import not_accepted
from emulator.scenarios.scenario_file import fault_rule_json
from emulator.server.control import types
from emulator.server.control.calls import Call, query_of
from emulator.server.control.resources import Kind, operation, shown
from emulator.server.engine.state import journal
from emulator.server.engine.state.account import Owner
from emulator.server.engine.state.rules import PlacedFault
from emulator.server.openapi.declarations import JsonObject, Resource, doc, refers_to

STATUS_PATTERN = re.compile(r"[1-5](?:[0-9]{2}|xx)", re.ASCII)
NO_STATUS = "none"

_STORED = f"up to {journal.MAX_STORED_BODY_BYTES // 1024} KiB of it"


class CountQuery(Struct, frozen=True):
    method: Annotated[str | None, doc("Only requests with this method.", "POST")] = None
    path: Annotated[
        str | None, doc("Only requests with this path; with a star at its end, a prefix.", "/v1/*")
    ] = None
    status: Annotated[
        Annotated[str, Meta(pattern=f"^({STATUS_PATTERN.pattern}|{NO_STATUS})$")] | None,
        doc(
            "Only requests with this status: a status (`201`), a class (`4xx`), or"
            f" `{NO_STATUS}` for requests without a response.",
            "4xx",
            kind="status",
        ),
    ] = None
    code: Annotated[str | None, doc("Only requests with this error code.", "invalid_amount")] = None
    warning: Annotated[
        str | None, doc("Only with this warning, with or without its name.", "long-metadata")
    ] = None


class RequestQuery(CountQuery, frozen=True):
    before: Annotated[types.RequestId | None, types.OLDER] = None
    limit: types.Limit = types.DEFAULT_LIMIT


class LoggedError(Struct, frozen=True):
    """The error that was returned, or would have been returned."""

    code: Annotated[str, doc("Machine-readable.", "invalid_amount")]
    message: Annotated[str, doc("Human-readable.", "The amount is invalid.")]
    param: Annotated[str | None, doc("The field at fault.")] | UnsetType = UNSET


class StruckFault(Struct, frozen=True, kw_only=True):
    """The fault rule that was applied to a request."""

    source: Annotated[types.ScenarioName, doc("The scenario, or the identifier of the fault.")]
    rule: Annotated[types.Count, doc("The index of the rule in its source, from 0.")]
    when: Annotated[JsonObject, refers_to("FaultWhen")]
    then: Annotated[JsonObject, refers_to("FaultThen")]
    times: Annotated[int, Meta(ge=1, description="The maximum number of uses.")] | UnsetType = UNSET
    instead_of: Annotated[int | None, doc("The status of the response that the fault replaced.")]


class LoggedRequest(Struct, frozen=True):
    """A request of the merchant and its response."""

    id: Annotated[types.RequestId, doc("Its identifier: the header `Request-Id` of the response.")]
    at: types.At
    method: Annotated[str, doc("Its method.", "GET")]
    path: Annotated[str, doc("Its path, as received.", "/v1/payments")]
    query: Annotated[str, doc("Its query, as received, without the question mark.", "limit=1")]
    status: Annotated[
        Annotated[int, Meta(ge=100, le=MAX_FAULT_STATUS)] | None,
        doc("The status of the response; null without a response."),
    ]
    key: Annotated[str, doc("Its key, masked.", "test_de…key")]
    headers: Annotated[
        dict[str, str],
        doc(
            f"Of its headers {', '.join(f'`{name}`' for name in journal.HEADERS)}; the first"
            f" {journal.MAX_HEADER_BYTES} bytes of each, with a masked key.",
            {"accept": "*/*", "authorization": "Bearer test_de…key"},
        ),
    ]
    request_body: Annotated[str, doc(f"Its body; {_STORED}.", "{}")]
    response_body: Annotated[str, doc(f"The body of the response; {_STORED}.", "{}")]
    cut: Annotated[bool, doc("Whether one of the bodies was truncated.", False)]
    warnings: Annotated[
        tuple[str, ...], doc("As in `Emulator-Warning`.", ["unknown-parameter:metdata"])
    ]
    variants: Annotated[tuple[str, ...], doc("As in `Emulator-Variant`.", ["charset"])]
    error: LoggedError | None
    replayed: Annotated[bool, doc("Whether an idempotency key replayed the response.", False)]
    fault: StruckFault | None
    duration_ms: types.DurationMs


class LoggedRequestList(Struct, frozen=True):
    """A part of the journal."""

    data: Annotated[list[LoggedRequest], doc("The requests, newest first.")]
    has_more: types.HasMore
    overflowed: Annotated[bool, doc("Whether older requests were removed.", False)]


class RequestCount(Struct, frozen=True):
    """The number of requests."""

    count: Annotated[types.Count, doc("The number of matching requests in the journal.")]


class UnauthorizedJson(Struct, frozen=True):
    """A request that was answered with status 401."""

    at: Annotated[str, doc("By the system clock.", "2026-01-01T00:00:00.000Z")]
    method: Annotated[str, doc("Its method.", "GET")]
    path: Annotated[str, doc("Its path, with masked keys.", "/v1/payments")]
    code: Annotated[str, doc("The error code.", "invalid_api_key")]
    key: Annotated[str | None, doc("Its key, masked; null without a Bearer key.", "test_my…key")]


class UnauthorizedList(Struct, frozen=True):
    """The requests without a valid key."""

    data: Annotated[
        list[UnauthorizedJson], doc(f"Newest first, at most {journal.MAX_UNAUTHORIZED}.")
    ]
    count: Annotated[types.Count, doc("All since the start or the last reset of all.")]


def newest_entries(owner: Owner, values: Mapping[str, str]) -> Iterator[journal.JournalEntry]:
    """The entries that match the query of a list, newest first.

    Raises UnknownParameter, InvalidField.
    """
    return _entries(owner, query_of(values, RequestQuery))


@operation("GET /requests/count", "The number of requests.")
async def count_requests(call: Call, query: CountQuery) -> RequestCount:
    """Count requests.

    Returns the number of requests in the journal that match the filters.
    """
    return RequestCount(call.owner.journal.count(_conditions(query)))


@operation("GET /unauthorized", "The requests.")
async def list_unauthorized(call: Call) -> UnauthorizedList:
    """List requests without a valid key.

    Lists requests that got status 401 because they have no valid key, newest first. They belong to
    no account, so the list is the same for all.
    """
    unauthorized = call.engine.accounts.unauthorized
    return UnauthorizedList(
        [
            shown(UnauthorizedJson, each, at=format_instant(each.at))
            for each in reversed(unauthorized.newest)
        ],
        unauthorized.count,
    )


@operation("DELETE /unauthorized", "Deleted.")
async def clear_unauthorized(call: Call) -> None:
    """Delete the list of requests without a valid key."""
    call.engine.accounts.unauthorized.clear()


def _masked(call: Call, entry: journal.JournalEntry) -> msgspec.Raw:
    text = msgspec.json.encode(_json(entry, call.owner)).decode()
    return msgspec.Raw(mask_keys(text, call.engine.accounts.is_known).encode())


def _conditions(query: CountQuery) -> journal.Conditions:
    """The fields of the entries that match the query. Raises InvalidField."""
    conditions: dict[str, Callable[[Any], bool]] = {}
    if query.method is not None:
        conditions["method"] = query.method.upper().__eq__
    if query.status is not None:
        conditions["status"] = _status_filter(query.status)
    if query.path is not None:
        conditions["path"] = _path_filter(query.path.encode())
    if (code := query.code) is not None:
        conditions["error"] = lambda error: bool(error) and _error(error).code == code
    if (warning := query.warning) is not None:
        conditions["warnings"] = lambda slugs: any(
            warning in (journal.warning_kind(s), s) for s in slugs
        )
    return conditions


def _path_filter(path: bytes) -> Callable[[bytes], bool]:
    """Whether a path is equal, or has the prefix before a star; escaped or not."""
    prefix = path.removesuffix(b"*")
    matches: Callable[[bytes, bytes], bool] = bytes.__eq__ if prefix == path else bytes.startswith
    return lambda received: (
        matches(received, prefix)
        or (b"%" in received and matches(unquote_to_bytes(received), prefix))
    )


def _status_filter(text: str) -> Callable[[int], bool]:
    if text == NO_STATUS:
        return (0).__eq__
    if not STATUS_PATTERN.fullmatch(text):
        raise not_accepted(
            "status", text, f"a status such as 201, a class such as 4xx, or {NO_STATUS}"
        )
    prefix = text.rstrip("x")
    return lambda status: str(status).startswith(prefix)


def _entries(owner: Owner, query: RequestQuery) -> Iterator[journal.JournalEntry]:
    """The entries that match the query, newest first. Raises InvalidField."""
    try:
        # The index has unescaped paths; a path in the query may be partly escaped.
        path = None if not query.path or set(query.path) & {*"%*"} else query.path.encode()
        return owner.journal.newest_first(_conditions(query), before=query.before, path=path)
    except errors.UnknownRequest:
        expected = "the id of a request that the journal still has"
        raise not_accepted("before", query.before, expected) from None


def _json(entry: journal.JournalEntry, owner: Owner) -> LoggedRequest:
    return shown(
        LoggedRequest,
        entry,
        id=entry.id.decode(),
        path=_text(entry.path),
        query=_text(entry.query),
        status=entry.status or None,
        key=mask_key(owner.account.profile.key(owner.mode)),
        headers={_text(name): _shown(name, value) for name, value in entry.headers},
        request_body=_text(entry.request_body),
        response_body=_text(entry.response_body),
        cut=entry.is_cut,
        error=_error(entry.error) if entry.error else None,
        replayed=entry.is_replay,
        fault=None if entry.fault is None else _fault(entry.fault, entry.instead_of),
        duration_ms=round(entry.duration_ms, 3),
    )


def _shown(name: bytes, value: bytes) -> str:
    """The value of a header, without the key of `Authorization`."""
    scheme, _, key = value.partition(b" ")
    if name != b"authorization" or not key:
        return _text(value)
    return _text(b"%b %b" % (scheme, mask_key(key.strip().decode("latin-1")).encode()))


def _error(body: bytes) -> LoggedError:
    return msgspec.json.decode(body, type=dict[str, LoggedError])["error"]


def _fault(fault: PlacedFault, instead_of: int | None) -> StruckFault:
    rule = fault_rule_json(fault.rule)
    source, _, place = fault.key
    return StruckFault(source=source, rule=place, **rule, instead_of=instead_of)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_REQUEST = Kind(
    noun="request",
    path="/requests/{request_id}",
    id=Annotated[types.RequestId, types.identifies("a request, or `latest`")],
    item=LoggedRequest,
    show=_masked,
    unknown=errors.UnknownRequest,
)
REQUESTS = Resource(
    tag="Requests",
    description="The journal: the requests of the merchant with their responses, errors, warnings"
    " and applied faults.",
    operations=(
        _REQUEST.list(
            lambda call, query, _: _entries(call.owner, query),
            "Lists the journal of requests to `/v1`, newest first, with masked keys."
            f" The journal contains at most {journal.MAX_ENTRIES:,} requests and"
            f" {journal.MAX_JOURNAL_BYTES // 1024**2} MiB.",
            query=RequestQuery,
            page=LoggedRequestList,
            more=lambda call: {"overflowed": call.owner.journal.has_overflowed},
        ),
        count_requests,
        _REQUEST.get(
            lambda call, name: call.owner.journal.entry(name),
            "Returns one request of the journal.",
        ),
        list_unauthorized,
        clear_unauthorized,
    ),
)
