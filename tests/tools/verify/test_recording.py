"""A recording is judged by the same clauses, from the relations among its exchanges."""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emulator.domain.accounts import mask_key
from emulator.domain.user_error import UserError
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.verify.checks.recorded import _matches
from emulator.tools.verify.comparison import Comparison, compare_recording
from emulator.tools.verify.findings import Verdict
from emulator.tools.verify.session import PAYMENTS
from tests.depth import usually
from tests.tools.recordings import Draws, RandomHistory, Recorder, disguised, tour
from tests.tools.verify.runs import Runs, result_of, verdicts
from tests.tools.verify.servers.listing import ignoring, oldest_first, with_cursor_on_its_page
from tests.tools.verify.wrong import (
    Change,
    Object,
    Reply,
    Request,
    Serve,
    created,
    errors,
    fields,
    filtered,
    headers,
    listed,
    members,
    of_code,
    payments,
    requests,
    retrieved,
    statuses,
    unchanged,
)
from tests.world import ORDER, OTHER_TEST_KEY

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass(frozen=True)
class Drift:
    """A change of the service, and a clause that drifts in a recording of it."""

    name: str
    change: Change
    clause: str


def without_last_pair(payment: Object) -> Object:
    return {**payment, "metadata": dict([*payment["metadata"].items()][:-1])}


async def one_answer_by_key(request: Request, serve: Serve) -> Reply:
    """A repeated key has the first answer, whatever else the request has."""
    earlier = request.earlier_with_key(201) if request.is_create else []
    return earlier[0][1] if earlier else await serve(request)


def named_field(error: Object) -> Object:
    return {**error, "param": "reference"} if error["code"] == "invalid_amount" else error


def of_a_later_create(request: Request, reply: Reply) -> bool:
    return created(request, reply) and request.body.get("metadata") == {"n": "0"}


IN_A_SCHEMA = (
    Drift("an amount is a text", fields(amount=str), "2.1.3"),
    Drift("a status is unknown", fields(status="paid"), "2.1.5"),
    Drift("the metadata is absent", fields(metadata=...), "2.1.15"),
    Drift("a value of metadata is a number", fields(metadata={"order": 7}), "2.1.11"),
    Drift("an instant is a number", fields(created_at=1), "2.1.12"),
    Drift("an id has no prefix", fields(id=lambda id_: id_[4:]), "2.1.1"),
    Drift("a list does not tell whether it ends", members(has_more=...), "2.2.2"),
    Drift("an error has no code", errors(lambda error: {"message": error["message"]}), "7.2"),
    Drift("the media type is HTML", headers(content_type="text/html"), "1.2"),
)
IN_A_RELATION = (
    Drift("create answers another amount", fields(created, amount=101), "2.1.3"),
    Drift("create loses a pair of metadata", payments(without_last_pair, created), "2.1.11"),
    Drift("a URL gets a slash", fields(success_url="https://shop.example/ok/?order=1"), "2.1.9"),
    Drift(
        "expires_in is ignored", requests(lambda one: one.with_members(expires_in=...)), "4.1.11"
    ),
    Drift(
        "a checkout is open for an hour by default",
        requests(
            lambda one: one.with_members(expires_in=3_600),
            lambda one: one.is_create and "expires_in" not in one.body,
        ),
        "8.3",
    ),
    Drift("retrieve answers another amount", fields(retrieved, amount=101), "4.2.3"),
    Drift("a list has other metadata", fields(listed, metadata={"a": "b"}), "2.2.1"),
    Drift("create returns no payment", payments(lambda _: {}, of_a_later_create), "4.1.15"),
    Drift("retrieve returns an empty object", payments(lambda _: {}, retrieved), "4.2.3"),
    Drift("an unknown payment is a 200", statuses(200, of_code("payment_not_found")), "4.2.3"),
    Drift("a created payment is not found", statuses(404, retrieved), "4.2.1"),
    Drift(
        "a retry creates a second payment",
        requests(lambda one: one.with_members(idempotency_key=...), lambda one: one.is_create),
        "4.1.10",
    ),
    Drift("a used key is not compared", one_answer_by_key, "4.1.19"),
    Drift("an error names another field", errors(named_field), "4.1.17"),
    Drift("an unknown payment is a 400", statuses(400, of_code("payment_not_found")), "4.2.6"),
    Drift("a page begins with its cursor", with_cursor_on_its_page, "4.3.4"),
    Drift("the oldest payment is listed first", oldest_first, "4.3.11"),
    Drift("a filter by status is ignored", ignoring("status"), "4.3.5"),
    Drift("a filter by creation is ignored", ignoring("created_gte"), "4.3.7"),
    Drift(
        "a list lacks a payment",
        filtered(lambda request, payment: payment["id"] not in list(request.created)[:1]),
        "4.3.1",
    ),
)
DRIFTS = (*IN_A_SCHEMA, *IN_A_RELATION)


async def recorded(runs: Runs, change: Change = unchanged) -> dict[str, Any]:
    async with runs.accounts() as (key, _):
        recorder = Recorder(runs.emulator, key, change)
        await tour(recorder)
        return recorder.har()


async def compared(har: dict[str, Any], path: Path, key: str | None = None) -> Comparison:
    path.write_text(json.dumps(har), encoding="utf-8")  # noqa: ASYNC240 - a small file
    traffic = read_traffic([path])
    return await compare_recording(traffic, base_url=None, key=key, accepted=frozenset())


def drifts(comparison: Comparison) -> dict[str, str]:
    return {each.clause.number: each.seen for each in comparison.drifts}


@pytest.mark.sampled
@pytest.mark.parametrize("drift", usually(DRIFTS[::10], deep=DRIFTS), ids=lambda drift: drift.name)
async def test_a_planted_drift_is_found(runs: Runs, drift: Drift, tmp_path: Path) -> None:
    comparison = await compared(await recorded(runs, drift.change), tmp_path / "recording.har")
    assert drift.clause in drifts(comparison)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", usually(range(1), deep=range(20)))
async def test_a_true_recording_has_no_drift(runs: Runs, seed: int, tmp_path: Path) -> None:
    async with runs.accounts() as (key, _):
        recorder = Recorder(runs.emulator, key)
        await RandomHistory(recorder, seed).run(40)
    har = recorder.har() if seed % 2 else disguised(recorder.har(), Draws(seed))
    assert drifts(await compared(har, tmp_path / "recording.har")) == {}


async def test_a_clause_that_the_recording_does_not_exercise_is_unseen(
    runs: Runs, tmp_path: Path
) -> None:
    async with runs.accounts() as (key, _):
        recorder = Recorder(runs.emulator, key)
        await recorder.send()
    few = await compared(recorder.har(), tmp_path / "few.har")
    assert drifts(few) == {}
    assert result_of(few, "4.1.10").seen == "the recording does not exercise the clause"
    many = await compared(await recorded(runs), tmp_path / "many.har")
    assert drifts(many) == {}
    assert len(verdicts(few, Verdict.HOLDS)) < 20 < 80 < len(verdicts(many, Verdict.HOLDS))


async def test_a_page_by_method_may_only_have_other_payments_without_a_method() -> None:
    assert _matches({"method": None}, "method", "telebirr")
    assert not _matches({"method": "mpesa"}, "method", "telebirr")


async def test_nothing_holds_without_a_response(runs: Runs, tmp_path: Path) -> None:
    async with runs.accounts() as (key, _):
        recorder = Recorder(runs.emulator, key)
        await recorder.send(path="/v1/payments")
    har, path = recorder.har(), tmp_path / "recording.har"
    [entry] = har["log"]["entries"]
    sent = entry["request"]["headers"]
    entry["request"]["headers"] = [each for each in sent if each["name"] != "authorization"]
    without_key = await compared(har, path)
    assert not verdicts(without_key, Verdict.HOLDS) & {"2.3.1", "5.1", "7.1"}
    entry["response"]["content"] = {"text": "<html>"}
    assert not verdicts(await compared(har, path), Verdict.HOLDS) & {"1.9", "9.1"}
    entry["response"]["headers"] = []
    with pytest.raises(UserError, match="no response has headers and a body"):
        await compared(har, path)


async def test_a_browser_may_leave_out_the_keys(runs: Runs, tmp_path: Path) -> None:
    har = await recorded(runs)
    for entry in har["log"]["entries"]:
        sent = entry["request"]["headers"]
        entry["request"]["headers"] = [each for each in sent if each["name"] != "authorization"]
    comparison = await compared(har, tmp_path / "recording.har")
    assert (comparison.key, drifts(comparison)) == ("not recorded", {})


async def test_a_key_selects_the_account(runs: Runs, tmp_path: Path) -> None:
    async with runs.accounts() as (key, other_key):
        recorder = Recorder(runs.emulator, key)
        await recorder.send()
        await recorder.send(key=other_key)
        await recorder.send()
    path = tmp_path / "recording.har"
    for wanted, given in ((key, None), (other_key, other_key)):
        assert (await compared(recorder.har(), path, given)).key == mask_key(wanted)
    with pytest.raises(UserError, match="no successful request with this key"):
        await compared(recorder.har(), path, OTHER_TEST_KEY)


async def test_requests_that_overlap_are_not_put_in_an_order(runs: Runs, tmp_path: Path) -> None:
    """A client polls twice at once; the slower response shows the earlier status."""
    async with runs.accounts() as (key, _):
        recorder = Recorder(runs.emulator, key)
        payment = (await recorder.send("POST", body={**ORDER})).json
        path = f"/v1/payments/{payment['id']}"
        await recorder.send(path=path)
        await runs.emulator.pay(payment, "0900000001", key=key)
        await recorder.send(path=path)
    _, earlier, later = recorder.entries
    earlier["response"], later["response"] = later["response"], earlier["response"]
    assert "3.2" in drifts(await compared(recorder.har(), tmp_path / "recording.har"))
    earlier["time"] = 50
    assert drifts(await compared(recorder.har(), tmp_path / "recording.har")) == {}


def exchange(
    body: Any = None,
    *,
    path: str = PAYMENTS,
    status: int = 200,
    authorization: str | None = "Bearer test_a_key",
    sent: Any = None,
    content: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """An entry of a HAR."""
    request: dict[str, Any] = {"method": "GET" if sent is None else "POST"}
    request["url"] = f"https://sandbox.service.example{path}"
    request["headers"] = (
        [] if authorization is None else [{"name": "authorization", "value": authorization}]
    )
    if sent is not None:
        request["postData"] = {"mimeType": "application/json", "text": json.dumps(sent)}
    headers = [{"name": "content-type", "value": "application/json"}]
    text = {"text": json.dumps(body)} if content is None else content
    return {"request": request, "response": {"status": status, "headers": headers, "content": text}}


def har(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"log": {"entries": entries}}


PAYMENT = {**ORDER, "id": "pay_1", "object": "payment", "status": "pending"}
EMPTY_PAGE = {"data": [], "has_more": False, "next_cursor": None}
NO_KEY = {"error": {"code": "missing_api_key", "message": "No API key was given."}}


async def test_a_retrieve_that_returns_another_payment_is_a_drift(tmp_path: Path) -> None:
    other = {**PAYMENT, "id": "pay_2"}
    for returned, path, drifts_of_id in (
        (PAYMENT, "pay_1", None),
        (PAYMENT, "pay%5F1", None),
        (other, "pay_1", '`id`: `"pay_2"` in the response to `"pay_1"`'),
    ):
        comparison = await compared(
            har(exchange(returned, path=f"{PAYMENTS}/{path}")), tmp_path / "one.har"
        )
        assert drifts(comparison).get("4.2.3") == drifts_of_id


@pytest.mark.parametrize(
    ("entry", "holding"),
    [
        (
            exchange(NO_KEY, status=401, authorization=None),
            {"1.2", "1.3", "1.9", "2.3.1", "7.1", "7.2", "7.3", "7.4", "9.1"},
        ),
        (
            exchange({"error": {**NO_KEY["error"], "code": "invalid_json"}}, status=400),
            {"1.2", "1.3", "1.9", "2.3.1", "7.1", "7.2", "7.3", "9.1"},
        ),
        (exchange(content={"text": "<html>"}, status=502, authorization=None), set[str]()),
    ],
)
async def test_no_clause_holds_without_evidence(
    entry: dict[str, Any], holding: set[str], tmp_path: Path
) -> None:
    comparison = await compared(har(entry), tmp_path / "one.har")
    results = [each for each in comparison.results if each.verdict is Verdict.HOLDS]
    assert {each.clause.number for each in results} == holding
    assert not [each.seen for each in results if " 0 " in each.seen]


MASKS = ("[REDACTED]", "***", "", "<hidden>", "Bearer [REDACTED]", "Bearer ***", "Bearer ", "xxxxx")


@pytest.mark.parametrize("mask", MASKS)
async def test_masked_keys_are_one_account(mask: str, tmp_path: Path) -> None:
    sent = {**ORDER, "amount": 15_000}
    entries = (
        exchange(PAYMENT, status=201, sent=sent, authorization=mask),
        exchange({**PAYMENT, "amount": 1}, path=f"{PAYMENTS}/pay_1", authorization=MASKS[0]),
        exchange(NO_KEY, status=401, authorization=None),
    )
    comparison = await compared(har(*entries), tmp_path / "masked.har")
    assert (comparison.key, comparison.payments) == ("not recorded", 1)
    assert "4.2.3" in drifts(comparison)
    assert "5.4" not in {each for each in drifts(comparison) if "401" in drifts(comparison)[each]}


BODY = json.dumps(EMPTY_PAGE)
CUT: tuple[dict[str, Any], ...] = (
    {"text": BODY[:20], "size": len(BODY)},
    {"text": BODY[:20] + "..."},
    {"text": BODY[:20] + "\u2026"},
    {"text": BODY[:20] + " [truncated]"},
    {"text": "[REDACTED]", "size": -1},
    {"text": b64encode(BODY[:20].encode()).decode(), "encoding": "base64", "size": len(BODY)},
)


@pytest.mark.parametrize("content", CUT)
async def test_a_body_that_was_cut_is_no_evidence(content: dict[str, Any], tmp_path: Path) -> None:
    whole = await compared(har(exchange(EMPTY_PAGE)), tmp_path / "whole.har")
    cut = await compared(har(exchange(content=content), exchange(EMPTY_PAGE)), tmp_path / "cut.har")
    assert [each.verdict for each in cut.results] == [each.verdict for each in whole.results]


async def test_bodies_in_files_of_their_own_get_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "playwright.har"
    file.write_text(json.dumps(har(exchange(content={"_file": "1.json", "size": 9}))))
    with pytest.raises(UserError, match="record it again with `content: 'embed'`") as raised:
        read_traffic([file])
    assert str(raised.value).startswith(f"{file}: ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_a_file_in_utf_16_is_named(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "recording.har"
    file.write_bytes(json.dumps(har()).encode(encoding))
    with pytest.raises(UserError, match="the file is UTF-16; save it as UTF-8"):
        read_traffic([file])
