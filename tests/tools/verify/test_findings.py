"""A finding prints the received value, or that it is absent."""

from typing import Any

import pytest

from emulator.domain.clauses import Basis
from emulator.tools.verify.checks.objects import FIELDS
from tests.tools.verify.runs import Run, Runs
from tests.tools.verify.servers import SERVERS
from tests.tools.verify.wrong import Change, Request, errors, fields, members, pages

pytestmark = pytest.mark.asyncio(loop_scope="session")


def without(name: str) -> Any:
    """Edits an object so that one member is absent."""
    return lambda edited: {key: value for key, value in edited.items() if key != name}


def first_of_each_page_twice(_: Request, page: dict[str, Any]) -> dict[str, Any]:
    return {**page, "data": [*page["data"][:1], *page["data"]]}


def server_named(name: str) -> Change:
    [server] = [one for one in SERVERS if one.name == name]
    return server.change


def drifts(run: Run) -> dict[str, str]:
    """The printed text of each drifting clause."""
    numbers = run.drifts(Basis.STATED) | run.drifts(Basis.ASSUMED)
    return {number: run.seen(number) for number in numbers}


@pytest.mark.parametrize("field", FIELDS)
async def test_an_absent_field_of_a_payment_is_printed_as_absent(runs: Runs, field: str) -> None:
    printed = drifts(await runs.run(fields(**{field: ...})))
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
        (members(data=...), "2.2.1", "`data`: absent"),
        (members(has_more=...), "2.2.2", "absent before a further page"),
        (members(next_cursor=...), "2.2.3", "`next_cursor`: absent"),
        (errors(without("code")), "7.2", "code absent in a 401"),
        (errors(without("message")), "7.3", "message absent in a 401"),
        (errors(without("param"), 400), "7.7", "`amount` 99: param absent"),
        (errors(without("param"), 409), "7.10", "param absent"),
        (errors(lambda one: one, of="fault"), "7.1", "401 of GET: `error` is absent"),
        *(
            (errors(lambda _, error=error: error), number, f"401 of GET: `error` is `{printed}`, ")
            for error, printed in (("no", '"no"'), (None, "null"), ([], "[]"))
            for number in ("2.3.1", "7.1")
        ),
        *(
            (server_named(name), "1.2", printed)
            for name, printed in (
                ("answers everything in text", '200 of GET: `Content-Type` `"text/plain"`'),
                ("has no media types", "200 of GET: `Content-Type` absent"),
                ("cuts an error", "404 of GET: the body is not JSON in UTF-8"),
            )
        ),
        (pages(first_of_each_page_twice), "4.3.10", "of 10 payments on pages of 5, 2 twice"),
        (server_named("loses one a page"), "4.3.10", "of 11 payments on pages of 5, 1 missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_drift_is_printed(runs: Runs, change: Change, number: str, printed: str) -> None:
    assert drifts(await runs.run(change))[number].startswith(printed)


async def test_an_empty_error_lacks_its_members(runs: Runs) -> None:
    run = await runs.run(errors(lambda _: {}))
    assert run.seen("7.2") == "code absent in a 401"
    assert {"7.1", "2.3.1"} & run.drifts(Basis.STATED) == set()
    assert {"7.2", "7.3"} <= run.drifts(Basis.STATED)
