"""Recorded traffic is read as recorders write it; what cannot be read is named with its place."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.instants import parse_instant
from emulator.domain.user_error import UserError
from emulator.tools.recorded_traffic import (
    MAX_BYTES,
    MAX_ENTRIES,
    RecordedExchange,
    api_of,
    read_traffic,
)

URL = "https://api.example/v1/payments"
WEBHOOK = {"at": "2026-01-01T00:00:00Z", "headers": {"Webhook-Id": "evt_1"}, "body": {"a": 1}}


def entry(url: str = URL, **changes: Any) -> dict[str, Any]:
    request = {"method": "GET", "url": url, **changes.pop("request", {})}
    response = {"status": 200, "content": {"text": "{}"}, **changes.pop("response", {})}
    return {"request": request, "response": response, **changes}


def written(tmp_path: Path, text: str | bytes, name: str = "recording.har") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def exchanges(tmp_path: Path, *entries: Any) -> list[RecordedExchange]:
    path = written(tmp_path, json.dumps({"log": {"entries": entries}}))
    return read_traffic([path]).exchanges


def error(*paths: Path) -> str:
    with pytest.raises(UserError) as raised:
        read_traffic(paths)
    return str(raised.value).replace(f"{paths[0].parent}/", "")


def test_an_exchange_is_read_with_lower_case_headers_and_its_instants(tmp_path: Path) -> None:
    headers = [
        {"name": "Content-TYPE", "value": "application/json"},
        {"name": "X", "value": "1"},
        {"name": "x", "value": "2"},
        {"name": ":status", "value": "200"},
    ]
    sent = {"headers": [], "postData": {"mimeType": "application/json", "text": "{}"}}
    [found] = exchanges(
        tmp_path,
        entry(
            request={"method": "post", **sent},
            response={"headers": headers},
            startedDateTime="2026-01-01T03:00:00.25+03:00",
            time=12.9,
            _initiator={"type": "script"},
        ),
    )
    assert (found.method, found.request_body, found.body) == ("POST", b"{}", b"{}")
    assert found.request_headers == {"content-type": "application/json"}
    assert found.headers == {"content-type": "application/json", "x": "1, 2"}
    assert found.began_at == parse_instant("2026-01-01T00:00:00.250Z")
    assert found.duration_ms == 12


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ({"text": b64encode(b"\xff{}").decode(), "encoding": "base64"}, b"\xff{}"),
        ({"text": "{}", "encoding": "Base64"}, b""),
        ({"text": "=", "encoding": "base64"}, b""),
        ({"text": "a", "encoding": "base64"}, None),
        ({"size": 12}, None),
        ({"size": 0}, b""),
        ({}, None),
        (None, None),
        ({"text": None, "size": -1}, None),
        ({"text": "\ud800"}, b"\xed\xa0\x80"),
    ],
)
def test_a_body_may_be_encoded_or_left_out(
    tmp_path: Path, content: Any, body: bytes | None
) -> None:
    [found] = exchanges(tmp_path, entry(response={"content": content}))
    assert found.body == body


@pytest.mark.parametrize(
    "wrong",
    [None, 1, "", [], {}, {"request": 1, "response": []}, entry(response={"status": 0})],
    ids=str,
)
def test_an_entry_without_a_response_is_skipped(tmp_path: Path, wrong: Any) -> None:
    assert len(exchanges(tmp_path, wrong, entry())) == 1


def test_entries_are_put_in_the_order_of_their_times(tmp_path: Path) -> None:
    times = ("2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z")
    found = exchanges(tmp_path, *(entry(f"{URL}?at={at}", startedDateTime=at) for at in times))
    assert [each.url[-3:] for each in found] == ["01Z", "02Z"]


def test_webhooks_are_read_line_by_line(tmp_path: Path) -> None:
    text = {**WEBHOOK, "at": "2026-01-01T00:00:01+00:00", "body": '{"a":  1}', "more": 1}
    path = written(tmp_path, f"{json.dumps(text)}\n\n{json.dumps(WEBHOOK)}\r\n")
    first, second = read_traffic([path]).webhooks
    assert (first.request.body, second.request.body) == (b'{"a": 1}', b'{"a":  1}')
    assert first.request.headers == {"webhook-id": "evt_1"}
    single = read_traffic([written(tmp_path, json.dumps(WEBHOOK))])
    assert len(single.webhooks) == 1


HAR = '{"log": {"entries": []}}'
FORM = 'a webhook: a webhook has "at" (an ISO 8601 timestamp), "headers" and "body"'
LINE = json.dumps(WEBHOOK)
MISTAKES: dict[str | bytes, str] = {
    "": "recording.har:1:1: the JSON breaks off",
    "no": "recording.har:1:1: not JSON: Expecting value",
    HAR[:-1]: "recording.har:1:24: the JSON breaks off",
    '{\n"log": {"entries": [{"a': "recording.har:2:22: the JSON breaks off",
    '{\n"log": nothing}': "recording.har:2:8: not JSON: Expecting value",
    "{}": f"recording.har: expected a HAR, or {FORM}",
    "[]": f"recording.har: expected a HAR, or {FORM}",
    '{"log": {}}': "recording.har: the HAR has no list of log.entries",
    '{"log": {"entries": {}}}': "recording.har: the HAR has no list of log.entries",
    f"{LINE}\n{LINE[:-9]}": "recording.har:2:76: the JSON breaks off",
    f"{LINE}{LINE}": "recording.har:1:85: not JSON: Extra data",
    f"{LINE}\n{{}}": f"recording.har:2: expected a HAR, or {FORM}",
    LINE.replace("2026", "26"): f"recording.har: expected a HAR, or {FORM}",
    LINE.replace('"headers": {', '"headers": 5, "x": {'): (
        f"recording.har: expected a HAR, or {FORM}"
    ),
    b"\xff": "recording.har:1: the file is not UTF-8",
    b'{"a":\n"\xff"}': "recording.har:2: the file is not UTF-8",
    "[" * 100_000: "recording.har:1: cannot read the JSON: its values are nested too deeply",
    "9" * 5_000: "recording.har:1: cannot read the JSON: it has a number of many digits",
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.items(), ids=lambda each: str(each)[:30])
def test_a_mistake_is_named_with_its_place(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    assert error(written(tmp_path, content)) == message


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    assert error(tmp_path / "none.har") == "none.har: No such file or directory"
    assert error(tmp_path).endswith("Is a directory")


def test_a_file_has_a_maximum_size(tmp_path: Path) -> None:
    path = tmp_path / "recording.har"
    with path.open("wb") as file:
        file.truncate(2 * MAX_BYTES)
    assert error(path) == "recording.har: the file is larger than 64 MiB"


def test_there_is_a_maximum_number_of_entries_and_of_webhooks(tmp_path: Path) -> None:
    entries = ",".join(["1"] * 2 * MAX_ENTRIES)
    path = written(tmp_path, f'{{"log": {{"entries": [{entries}]}}}}')
    found = f"found {2 * MAX_ENTRIES:,} entries, expected at most {MAX_ENTRIES:,}"
    assert error(path) == f"recording.har: {found}"
    lines = written(tmp_path, f"{LINE}\n" * 2 * MAX_ENTRIES)
    assert error(lines) == f"recording.har: {found.replace('entries', 'lines')}"


def test_the_api_is_found_below_any_prefix_and_chosen_among_several(tmp_path: Path) -> None:
    one = exchanges(tmp_path, entry("https://a.example/x/v1/payments/pay_1?a=b"), entry("ftp://b"))
    assert api_of(one) == "https://a.example/x"
    two = [*one, *exchanges(tmp_path, entry(f"{URL}?a"), entry("https://c.example/v1/paymentsx"))]
    with pytest.raises(UserError, match=r"several APIs, .*: add --base-url"):
        api_of(two)
    assert api_of(two, "https://api.example") == "https://api.example"
    with pytest.raises(UserError, match="no exchange of https://c"):
        api_of(two, "https://c.example")
    with pytest.raises(UserError, match="no exchange with an address of /v1/payments"):
        api_of([])
