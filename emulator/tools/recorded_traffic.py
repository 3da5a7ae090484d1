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
from emulator.files import open_regular
from emulator.http.received_webhooks import ReceivedRequest

MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 100_000
# The base URL of the payments API, which precedes the first `/v1/payments`.
_PAYMENTS_URL = re.compile(r"(https?://[^?#]+?)/v1/payments(?:[/?#].*)?", re.ASCII | re.DOTALL)
_WEBHOOK_FORM = 'a webhook has "at" (an ISO 8601 timestamp), "headers" and "body"'


class UnusableTraffic(Exception):
    """A file cannot be used; the message is one line for the user."""


class _SeveralValues(UnusableTraffic):
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


def read_traffic(paths: Iterable[Path]) -> RecordedTraffic:
    """Read files of either kind. Raises UnusableTraffic."""
    traffic = RecordedTraffic()
    for path in paths:
        for place, document in _documents(path):
            log = _member(document, "log")
            if log is None:
                traffic.webhooks.append(_webhook(document, place))
            elif isinstance(entries := _member(log, "entries"), list):
                _check_number(path, len(entries), "entries")
                traffic.exchanges.extend(filter(None, map(_exchange, entries)))
            else:
                raise UnusableTraffic(f"{place}: the HAR has no list of log.entries")
    traffic.exchanges.sort(key=lambda each: each.began_at or 0)
    traffic.webhooks.sort(key=lambda each: each.at)
    return traffic


def _check_number(path: Path, number: int, what: str) -> None:
    if number > MAX_ENTRIES:
        limit = f"expected at most {MAX_ENTRIES:,}"
        raise UnusableTraffic(f"{path}: found {number:,} {what}, {limit}")


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
    """The text of a file. Raises UnusableTraffic."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UnusableTraffic(f"{path}: the file is larger than {MAX_BYTES // 2**20} MiB")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnusableTraffic(f"{path}:{line}: the file is not UTF-8") from None
    except OSError as error:
        raise UnusableTraffic(f"{path}: {error.strerror}") from None


def _json(path: Path, text: str, line: int) -> Any:
    """The value of a text that begins at a line. Raises UnusableTraffic."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}:{error.colno}"
        is_cut_off = error.msg.startswith("Unterminated") or not text[error.pos :].strip()
        reason = "the JSON breaks off" if is_cut_off else f"not JSON: {error.msg}"
        kind = _SeveralValues if error.msg == "Extra data" else UnusableTraffic
        raise kind(f"{place}: {reason}") from None
    except (ValueError, RecursionError) as error:
        is_deep = isinstance(error, RecursionError)
        reason = "its values are nested too deeply" if is_deep else "it has a number of many digits"
        raise UnusableTraffic(f"{path}:{line}: cannot read the JSON: {reason}") from None


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
        began_at=_instant(_member(entry, "startedDateTime")),
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
    """The recorded bytes; without a text, none if the recorder noted that there were none."""
    text = _member(content, "text")
    if not isinstance(text, str):
        return b"" if size == 0 else None
    if str(_member(content, "encoding")).lower() != "base64":
        return text.encode(errors="surrogatepass")
    try:
        return b64decode(text)
    except ValueError:
        return None


def _instant(text: Any) -> Instant | None:
    try:
        return parse_instant(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _webhook(document: Any, place: str) -> ArrivedWebhook:
    """Raises UnusableTraffic."""
    at, body = _instant(_member(document, "at")), _member(document, "body")
    given = _member(document, "headers")
    if at is None or not (isinstance(body, str | dict) and isinstance(given, dict | list | None)):
        raise UnusableTraffic(f"{place}: expected a HAR, or a webhook: {_WEBHOOK_FORM}")
    content = body if isinstance(body, str) else json.dumps(body)
    request = ReceivedRequest(headers=_headers(given), body=content.encode(errors="surrogatepass"))
    return ArrivedWebhook(at=at, request=request)


def api_of(exchanges: Iterable[RecordedExchange], base_url: str | None = None) -> str:
    """The base URL of the payments API in a recording. Raises UnusableTraffic."""
    found = {match[1] for each in exchanges if (match := _PAYMENTS_URL.fullmatch(each.url))}
    if base_url is not None and base_url not in found:
        raise UnusableTraffic(f"the recording has no exchange of {base_url}/v1/payments")
    if not found:
        raise UnusableTraffic("the recording has no exchange with an address of /v1/payments")
    if base_url is None and len(found) > 1:
        listed = " and ".join(sorted(found)[:2])
        raise UnusableTraffic(f"the recording has several APIs, such as {listed}: add --base-url")
    return base_url or found.pop()
