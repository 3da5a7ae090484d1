"""A finding prints the received value, or that it is absent."""

from typing import Any

import pytest

from emulator.domain.clauses import Basis
from emulator.verify.checks.objects import FIELDS
from tests.verify.runs import Run, Runs
from tests.verify.servers import SERVERS
from tests.verify.wrong import Change, Request, errors, fields, pages, payments

pytestmark = pytest.mark.asyncio(loop_scope="session")


def without(name: str) -> Any:
    """Edits an object so that one member is absent."""
    return lambda *edited: {key: value for key, value in edited[-1].items() if key != name}


def first_of_each_page_twice(_: Request, page: dict[str, Any]) -> dict[str, Any]:
    return {**page, "data": [*page["data"][:1], *page["data"]]}


def drifts(run: Run) -> dict[str, str]:
    """The printed text of each drifting clause."""
    numbers = run.drifts(Basis.STATED) | run.drifts(Basis.ASSUMED)
    return {number: run.seen(number) for number in numbers}


@pytest.mark.parametrize("field", FIELDS)
async def test_an_absent_field_of_a_payment_is_printed_as_absent(runs: Runs, field: str) -> None:
    printed = drifts(await runs.run(payments(without(field))))
    assert printed["2.1.15"] == f"without `{field}`"
    assert not [text for text in printed.values() if "null" in text]
    assert any("absent" in text for text in printed.values())


@pytest.mark.parametrize(
    ("change", "number", "printed"),
    [
        (fields(method=...), "2.1.6", "absent in a new payment; `method`: absent"),
        (fields(method="telebirr"), "2.1.6", '`"telebirr"` in a new payment'),
        (fields(completed_at=...), "2.1.14", "absent in a new payment; `completed_at`: absent"),
        (fields(status=...), "2.1.5", "`status`: absent"),
        (fields(metadata=...), "2.1.11", "`metadata`: absent"),
        (pages(without("data")), "2.2.1", "`data`: absent"),
        (pages(without("has_more")), "2.2.2", "absent before a further page"),
        (pages(without("next_cursor")), "2.2.3", "`next_cursor`: absent"),
        (errors(without("code")), "7.2", "code absent in a 401"),
        (errors(without("message")), "7.3", "message absent in a 401"),
        (errors(without("param"), 400), "7.7", "`amount` 99: param absent"),
        (errors(without("param"), 409), "7.10", "param absent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_absent_member_is_printed_as_absent(
    runs: Runs, change: Change, number: str, printed: str
) -> None:
    assert drifts(await runs.run(change))[number].startswith(printed)


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        ("no", '401 of GET: `error` is `"no"`, not an object'),
        (None, "401 of GET: `error` is `null`, not an object"),
        ([], "401 of GET: `error` is `[]`, not an object"),
    ],
    ids=["text", "null", "array"],
)
async def test_an_error_that_is_not_an_object_is_printed(
    runs: Runs, error: object, printed: str
) -> None:
    run = await runs.run(errors(lambda _: error))
    assert (run.seen("2.3.1"), run.seen("7.1")) == (printed, printed)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("answers everything in text", '200 of GET: `Content-Type` `"text/plain"`'),
        ("has no media types", "200 of GET: `Content-Type` absent"),
        ("cuts an error", "404 of GET: the body is not JSON in UTF-8"),
    ],
)
async def test_a_response_that_is_not_json_is_explained(
    runs: Runs, name: str, printed: str
) -> None:
    [server] = [one for one in SERVERS if one.name == name]
    assert (await runs.run(server.change)).seen("1.2") == printed


async def test_missing_and_repeated_payments_are_counted(runs: Runs) -> None:
    run = await runs.run(pages(first_of_each_page_twice))
    assert run.seen("4.3.10") == "of 10 payments on pages of 5, 2 twice"
    [server] = [one for one in SERVERS if one.name == "loses one a page"]
    run = await runs.run(server.change)
    assert run.seen("4.3.10") == "of 11 payments on pages of 5, 1 missing"


async def test_an_absent_error_is_printed_as_absent(runs: Runs) -> None:
    run = await runs.run(errors(lambda one: one, of="fault"))
    assert run.seen("7.1") == "401 of GET: `error` is absent"


async def test_an_empty_error_lacks_its_members(runs: Runs) -> None:
    run = await runs.run(errors(lambda _: {}))
    assert run.seen("7.2") == "code absent in a 401"
    assert {"7.1", "2.3.1"} & run.drifts(Basis.STATED) == set()
    assert {"7.2", "7.3"} <= run.drifts(Basis.STATED)
