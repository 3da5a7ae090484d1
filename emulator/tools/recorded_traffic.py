"""Reads recorded traffic: HTTP exchanges from HAR files (1.2), and webhooks from JSON lines.

What a recorder left out is None, empty or skipped; members that the format does not have are
ignored.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.domain.instants import Instant, parse_instant
from emulator.domain.payment import STATUS_OF_EVENT, Status
from emulator.domain.transitions import DueKey
from emulator.domain.user_error import UserError
from emulator.files import open_regular
from emulator.http.received_webhooks import ReceivedRequest

MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 100_000
# The base URL of the payments API, which precedes the first `/v1/payments`.
_PAYMENTS_URL = re.compile(r"(https?://[^?#]+?)/v1/payments(?:[/?#].*)?", re.ASCII | re.DOTALL)
_WEBHOOK_FORM = 'a webhook has "at" (an ISO 8601 timestamp), "headers" and "body"'


# What privacy tools write in place of a value: `[REDACTED]`, `***`, `<hidden>`, nothing.
_MASK = re.compile(
    r"[\[<({*]{0,3}(?:redacted|masked|hidden|removed|filtered|sanitized)[\]>)}*]{0,3}"
    r"|[*x\u2022]{3,99}|",
    re.IGNORECASE,
)
# How recorders end a body that they have cut.
_CUT = re.compile(r"(?:\.{3}|\u2026|truncated\W{0,3})\s*\Z", re.IGNORECASE)


class _SeveralValues(UserError):
    """Something follows the first value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedExchange:
    """A request with its response. Header names are in lower case; a body that is None was not
    recorded; `began_at` is None if the recorder noted no time."""

    method: str
    url: str
    request_headers: Mapping[str, str]
    request_body: bytes | None
    status: int
    headers: Mapping[str, str]
    body: bytes | None
    began_at: Instant | None
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedWebhook:
    """A webhook, and when it arrived."""

    at: Instant
    request: ReceivedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTraffic:
    """Recorded exchanges and webhooks, in the order of their times."""

    exchanges: list[RecordedExchange] = field(default_factory=list)
    webhooks: list[ArrivedWebhook] = field(default_factory=list)


def is_masked(text: str) -> bool:
    """Whether a privacy tool has replaced a text."""
    return _MASK.fullmatch(text.strip()) is not None


def read_traffic(paths: Iterable[Path]) -> RecordedTraffic:
    """Read files of either kind. Raises UserError."""
    traffic = RecordedTraffic()
    for path in paths:
        for place, document in _documents(path):
            log = _member(document, "log")
            if log is None:
                traffic.webhooks.append(_webhook(document, place))
            elif isinstance(entries := _member(log, "entries"), list):
                _check_number(path, len(entries), "entries")
                try:
                    traffic.exchanges.extend(filter(None, map(_exchange, entries)))
                except UserError as error:
                    raise UserError(f"{place}: {error}") from None
            else:
                raise UserError(f"{place}: the HAR has no list of log.entries")
    traffic.exchanges.sort(key=lambda each: each.began_at or 0)
    traffic.webhooks.sort(key=lambda each: each.at)
    return traffic


def _check_number(path: Path, number: int, what: str) -> None:
    if number > MAX_ENTRIES:
        limit = f"expected at most {MAX_ENTRIES:,}"
        raise UserError(f"{path}: found {number:,} {what}, {limit}")


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON values of a file with their places: of the whole file, or of each line."""
    text = _text(path)
    try:
        yield str(path), _json(path, text, 1)
    except _SeveralValues:
        lines = text.split("\n")
        _check_number(path, len(lines) - 1, "lines")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"{path}:{number}", _json(path, line, number)


def _text(path: Path) -> str:
    """The text of a file. Raises UserError."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UserError(f"{path}: the file is larger than {MAX_BYTES // 2**20} MiB")
        if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:2]:
            raise UserError(f"{path}: the file is UTF-16; save it as UTF-8")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: the file is not UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _json(path: Path, text: str, line: int) -> Any:
    """The value of a text that begins at a line. Raises UserError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}:{error.colno}"
        is_cut_off = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        reason = "the JSON breaks off" if is_cut_off else f"not JSON: {error.msg}"
        kind = _SeveralValues if error.msg == "Extra data" else UserError
        raise kind(f"{place}: {reason}") from None
    except (ValueError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        reason = "its values are nested too deeply" if is_deep else "it has a number of many digits"
        raise UserError(f"{path}:{line}: cannot read the JSON: {reason}") from None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _exchange(entry: Any) -> RecordedExchange | None:
    """None where the entry has no response."""
    request, response = _member(entry, "request"), _member(entry, "response")
    method, url = _member(request, "method"), _member(request, "url")
    status, duration_ms = _member(response, "status"), _member(entry, "time")
    if not (
        isinstance(method, str) and isinstance(url, str) and isinstance(status, int) and status
    ):
        return None
    content, sent = _member(response, "content"), _member(request, "postData")
    if _PAYMENTS_URL.fullmatch(url) and any(_member(each, "_file") for each in (content, sent)):
        raise UserError(
            "the bodies of the recording are in files of their own (`_file`): record it again with"
            " `content: 'embed'`"
        )
    request_headers, headers = (_headers(_member(each, "headers")) for each in (request, response))
    if media_type := _member(sent, "mimeType"):
        request_headers.setdefault("content-type", str(media_type))
    is_number = isinstance(duration_ms, int | float) and duration_ms > 0
    return RecordedExchange(
        method=method.upper(),
        url=url,
        request_headers=request_headers,
        request_body=_body(sent, _member(request, "bodySize")),
        status=status,
        headers=headers,
        body=_body(content, _member(content, "size")),
        began_at=instant_of(_member(entry, "startedDateTime")),
        duration_ms=int(min(duration_ms, 2**53)) if is_number else 0,
    )


def _headers(given: Any) -> dict[str, str]:
    """Headers of a HAR or of an object; the pseudo-headers of HTTP/2 are no headers."""
    pairs = given.items() if isinstance(given, dict) else []
    if isinstance(given, list):
        pairs = [(_member(each, "name"), _member(each, "value")) for each in given]
    headers: dict[str, str] = {}
    for name, value in pairs:
        if isinstance(name, str) and isinstance(value, str) and not name.startswith(":"):
            earlier = headers.get(name.lower())
            headers[name.lower()] = value if earlier is None else f"{earlier}, {value}"
    return headers


def _body(content: Any, size: Any) -> bytes | None:
    """The recorded bytes; without a text, none if the recorder noted that there were none.

    A body that was cut or masked was not recorded.
    """
    text = _member(content, "text")
    if not isinstance(text, str):
        return b"" if size == 0 else None
    if str(_member(content, "encoding")).lower() != "base64":
        body = text.encode(errors="surrogatepass")
        is_gone = bool(text) and (is_masked(text) or _CUT.search(text) is not None)
    else:
        try:
            body, is_gone = b64decode(text), False
        except ValueError:
            return None
    is_short = isinstance(size, int) and size > len(body)
    return None if is_gone or is_short else body


def _webhook(document: Any, place: str) -> ArrivedWebhook:
    """Raises UserError."""
    at, body = instant_of(_member(document, "at")), _member(document, "body")
    given = _member(document, "headers")
    if at is None or not (isinstance(body, str | dict) and isinstance(given, dict | list | None)):
        raise UserError(f"{place}: expected a HAR, or a webhook: {_WEBHOOK_FORM}")
    content = body if isinstance(body, str) else json.dumps(body)
    request = ReceivedRequest(headers=_headers(given), body=content.encode(errors="surrogatepass"))
    return ArrivedWebhook(at=at, request=request)


def api_of(exchanges: Iterable[RecordedExchange], base_url: str | None = None) -> str:
    """The base URL of the payments API in a recording. Raises UserError."""
    found = {match[1] for each in exchanges if (match := _PAYMENTS_URL.fullmatch(each.url))}
    if base_url is not None and base_url not in found:
        raise UserError(f"the recording has no exchange of {base_url}/v1/payments")
    if not found:
        raise UserError("the recording has no exchange with an address of /v1/payments")
    if base_url is None and len(found) > 1:
        listed = " and ".join(sorted(found)[:2])
        raise UserError(f"the recording has several APIs, such as {listed}: add --base-url")
    return base_url or found.pop()


@dataclass(slots=True)
class RecordedPayment:
    """What was recorded of a payment: the body of its create call, its fields, and by status when
    it began, when it was seen first, and when its webhooks arrived."""

    order: Mapping[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    began: dict[Status, Instant] = field(default_factory=dict)
    seen: dict[Status, Instant] = field(default_factory=dict)
    arrivals: dict[Status, list[DueKey]] = field(default_factory=dict)

    def add(self, fields: Mapping[str, Any], at: Instant, began_at: Instant | None = None) -> None:
        known = {name: value for name, value in fields.items() if value is not None}
        self.fields = {**fields, **self.fields, **known}
        status = Status(fields["status"]) if fields.get("status") in list(Status) else None
        if status is not None:
            self.seen.setdefault(status, at)
        for each, instant in (
            (status, began_at),
            (Status.PENDING, instant_of(fields.get("created_at"))),
            (Status.COMPLETED, instant_of(fields.get("completed_at"))),
        ):
            if each is not None and instant is not None:
                self.began.setdefault(each, instant)

    @property
    def created_at(self) -> Instant:
        return self.began.get(Status.PENDING, min(self.seen.values(), default=0))


def instant_of(text: object) -> Instant | None:
    try:
        return parse_instant(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _parsed(body: bytes | None) -> Any:
    """The JSON value of a body, or None."""
    try:
        return json.loads(body or b"null")
    except (ValueError, RecursionError):
        return None


def _add_responses(
    payments: dict[str, RecordedPayment], traffic: RecordedTraffic, base_url: str
) -> None:
    """Add the payments that were created or retrieved, as all responses show them.

    Instants of the recorder become instants of the service, whose clock a new payment shows.
    """
    calls = [
        (each, value)
        for each in traffic.exchanges
        if each.url.startswith(f"{base_url}/v1/payments") and 200 <= each.status < 300
        if isinstance(value := _parsed(each.body), dict)
    ]
    wanted = {str(value["id"]) for _, value in calls if "id" in value}
    created = [each for each in calls if each[0].method == "POST"]
    offset, at = _offset(*created[0]) if created else 0, 0
    for each, value in calls:
        is_new = each.method == "POST" and str(value.get("id")) not in payments
        offset = _offset(each, value) if is_new else offset
        at = at if each.began_at is None else each.began_at + offset
        data = value.get("data")
        for fields in data if isinstance(data, list) else [value]:
            id_ = str(fields.get("id")) if isinstance(fields, dict) else ""
            # A repeated create call shows the payment as it was.
            if id_ in wanted and (is_new or each.method != "POST"):
                payments.setdefault(id_, RecordedPayment()).add(fields, at)
        order, payment = _parsed(each.request_body), payments.get(str(value.get("id")))
        if is_new and payment and isinstance(order, dict):
            payment.order = order


def _offset(each: RecordedExchange, value: Mapping[str, Any]) -> int:
    """How far the service's clock is ahead of the recorder's."""
    created_at = instant_of(value.get("created_at"))
    return 0 if created_at is None or each.began_at is None else created_at - each.began_at


def _add_webhooks(
    payments: dict[str, RecordedPayment], traffic: RecordedTraffic, form: Mapping[str, Any]
) -> int:
    """Add the payments of webhooks; returns the number of webhooks without a payment."""
    ignored = 0
    for number, arrived in enumerate(traffic.webhooks):
        webhook = arrived.request.read(form)
        status = STATUS_OF_EVENT.get(webhook.type)
        if webhook.payment is None or status is None:
            ignored += 1
            continue
        payment = payments.setdefault(webhook.payment, RecordedPayment())
        payment.add({**webhook.data, "status": status}, arrived.at, instant_of(webhook.occurred_at))
        payment.arrivals.setdefault(status, []).append((arrived.at, number))
    return ignored


def payments_in(
    traffic: RecordedTraffic, form: Mapping[str, Any], base_url: str | None = None
) -> tuple[list[RecordedPayment], int]:
    """The payments in the order of their creation, and the number of webhooks without a payment.

    Raises UserError.
    """
    payments: dict[str, RecordedPayment] = {}
    if traffic.exchanges:
        _add_responses(payments, traffic, api_of(traffic.exchanges, base_url))
    ignored = _add_webhooks(payments, traffic, form)
    if not payments:
        raise UserError("the files have no payment that was created, retrieved or notified")
    return sorted(payments.values(), key=lambda each: each.created_at), ignored
