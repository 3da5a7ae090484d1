"""The journal over HTTP: which requests the merchant made, and what became of each."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.pages import limit_of
from emulator.control.replies import MEDIA_TYPE, reply
from emulator.domain.accounts import mask_key, mask_keys
from emulator.domain.instants import format_instant
from emulator.domain.received_values import not_accepted
from emulator.engine.accounts.account_registry import AccountRegistry
from emulator.engine.state.account import Owner
from emulator.engine.state.journal import JournalEntry
from emulator.engine.state.rules import FaultCandidate
from emulator.scenarios.writing import fault_rule_json

FILTERS = ("method", "path", "status")

STATUS_PATTERN = re.compile(r"[1-5](?:[0-9]{2}|xx)", re.ASCII)
NOTHING = "none"


class RequestCalls:
    """`/requests` and `/requests/count`."""

    def __init__(self, calls: Calls, accounts: AccountRegistry) -> None:
        self._calls = calls
        self._accounts = accounts

    async def list(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=(*FILTERS, "limit", "before"))
        limit = limit_of(call.query)
        older = _older(call.owner, call.query.get("before"))
        found = filter(_filter(call.query), older)
        shown = [_shown(entry, call.owner) for entry in islice(found, limit)]
        journal = {"data": shown, "overflowed": call.owner.journal.has_overflowed}
        return Response(self._masked(msgspec.json.encode(journal)), media_type=MEDIA_TYPE)

    async def count(self, request: Request) -> Response:
        call = await self._calls.decode(request, query=FILTERS)
        found = filter(_filter(call.query), call.owner.journal.newest_first())
        return reply({"count": sum(1 for _ in found)})

    def _masked(self, text: bytes) -> bytes:
        return mask_keys(text.decode(), self._accounts.is_known).encode()


def _filter(query: Mapping[str, str]) -> Callable[[JournalEntry], bool]:
    """Whether an entry is one that a query asks for. Raises InvalidField."""
    method, path = query.get("method"), query.get("path")
    has_status = _status_filter(query.get("status"))

    def is_asked_for(entry: JournalEntry) -> bool:
        return (
            (method is None or entry.method == method.upper())
            and (path is None or _has_path(entry, path))
            and has_status(entry.status)
        )

    return is_asked_for


def _has_path(entry: JournalEntry, path: str) -> bool:
    """Whether it is the path, or begins like one that ends with a star; escaped or not."""
    written = _text(entry.path)
    shown = (written, unquote(written))
    return any(one.startswith(path[:-1]) for one in shown) if path.endswith("*") else path in shown


def _status_filter(text: str | None) -> Callable[[int], bool]:
    if text is None:
        return lambda _: True
    if text == NOTHING:
        return lambda status: status == 0
    if not STATUS_PATTERN.fullmatch(text):
        raise not_accepted(
            "status", text, f"a status such as 201, a class such as 4xx, or {NOTHING}"
        )
    return lambda status: str(status).startswith(text.rstrip("x"))


def _older(owner: Owner, request_id: str | None) -> Iterator[JournalEntry]:
    """The entries, newest first, or those older than one of them. Raises InvalidField."""
    entries = owner.journal.newest_first()
    if request_id is None:
        return entries
    for entry in entries:
        if entry.id.decode() == request_id:
            return entries
    raise not_accepted("before", request_id, "the id of a request that the journal still has")


def _shown(entry: JournalEntry, owner: Owner) -> dict[str, object]:
    return {
        "id": entry.id.decode(),
        "at": format_instant(entry.at),
        "method": entry.method,
        "path": _text(entry.path),
        "query": _text(entry.query),
        "status": entry.status or None,
        "key": mask_key(owner.account.profile.key(owner.mode)),
        "request_body": _text(entry.request_body),
        "response_body": _text(entry.response_body),
        "cut": entry.is_cut,
        "warnings": entry.warnings,
        "error": json.loads(entry.error)["error"] if entry.error else None,
        "replayed": entry.is_replay,
        "fault": _shown_fault(entry.fault, entry.instead_of),
        "duration_ms": round(entry.duration_ms, 3),
    }


def _shown_fault(fault: FaultCandidate | None, instead_of: int | None) -> dict[str, object] | None:
    """The rule that struck: where it stands, what it did, and the status that it spoiled."""
    if fault is None:
        return None
    return {
        "source": fault.source,
        "rule": fault.index,
        **fault_rule_json(fault.rule),
        "instead_of": instead_of,
    }


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
