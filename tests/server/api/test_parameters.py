"""The parameters of `/v1`: one walk over the rows of their tables (contract, 4.1 and 4.3)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from emulator.domain.clauses import CLAUSES, WARNINGS, clauses_of_code, tolerance_of
from emulator.domain.payment import DEFAULT_EXPIRES_IN_S, PAYMENT_MEMBERS
from emulator.server.api.parameter_types import Parameter
from emulator.server.api.parameters import CREATE, LIST
from emulator.tools.verify import contract
from tests.server.api.calls import CODES, PAYMENTS, WARNING, ids, order_with, post, refusal, refused
from tests.server.api.parameter_values import SLUGS, WRONG, values_of
from tests.world import METHODS, World, headers, order, world

REQUIRED = [row.name for row in CREATE.rows if row.is_required]
OPTIONAL = [row.name for row in CREATE.rows if not row.is_required]


def each(rows: tuple[Parameter, ...]) -> pytest.MarkDecorator:
    """A test for each row, which proves its clauses."""
    params = [
        pytest.param(row, marks=pytest.mark.clause(*row.clauses), id=row.name) for row in rows
    ]
    return pytest.mark.parametrize("row", params)


@pytest.fixture
async def strict() -> AsyncIterator[World]:
    async with world(strict=True) as emulator:
        yield emulator


async def listed(emulator: World, **query: str) -> httpx.Response:
    return await emulator.api.get(PAYMENTS, params=query, headers=headers())


@pytest.mark.clause("2.1.8", "2.1.9", "2.1.10", "2.1.16", "4.1.13")
@each(CREATE.rows)
async def test_a_usual_member_is_accepted_and_returned_unchanged(
    emulator: World, row: Parameter
) -> None:
    for token in values_of(row).accepted:
        response = await post(emulator, order_with(row.name, token))
        assert response.status_code == 201, token[:20]
        assert WARNING not in response.headers
        payment = response.json()
        assert payment["method"] is None
        assert await emulator.retrieve(payment["id"]) == payment
        if row.name in payment:
            # The order of metadata, too.
            assert json.dumps(payment[row.name]) == json.dumps(json.loads(token))


@pytest.mark.clause("4.1.17", "7.7")
@each(CREATE.rows)
async def test_a_wrong_member_is_refused_without_a_trace(emulator: World, row: Parameter) -> None:
    for token in values_of(row).refused:
        code = await refused(emulator, order_with(row.name, token))
        assert code == (f"invalid_{row.name}", row.name), token[:20]


@each(CREATE.rows)
async def test_an_unusual_member_gets_a_warning_and_is_refused_by_strict(
    emulator: World, strict: World, row: Parameter
) -> None:
    for token in values_of(row).unusual:
        body = order_with(row.name, token)
        response = await post(emulator, body)
        assert response.status_code == 201, token[:20]
        assert response.headers[WARNING] == SLUGS[row.name]
        assert refusal(await post(strict, body)) == (400, f"invalid_{row.name}", row.name)
    assert await ids(strict) == []


@pytest.mark.clause("4.1.13")
@each(CREATE.rows)
@pytest.mark.parametrize("absent", [..., None], ids=["absent", "null"])
async def test_null_is_absent(emulator: World, row: Parameter, absent: Any) -> None:
    body = order(**{row.name: absent})
    if row.is_required:
        assert await refused(emulator, body) == ("missing_parameter", row.name)
        later = [other for other in WRONG if other in OPTIONAL]
        wrong = order_with(later[-1], WRONG[later[-1]])
        without = {name: value for name, value in json.loads(wrong).items() if name != row.name}
        assert await refused(emulator, without) == ("missing_parameter", row.name)
    else:
        response = await post(emulator, body)
        assert response.status_code == 201
        assert WARNING not in response.headers
        assert "idempotency_key" not in response.json()


@pytest.mark.clause("4.1.17")
@each(CREATE.rows)
async def test_of_several_wrong_members_the_first_is_reported(
    emulator: World, row: Parameter
) -> None:
    later = CREATE.names[CREATE.names.index(row.name) :]
    wrong = {name: json.loads(WRONG[name]) for name in reversed(later)}
    assert await refused(emulator, {**wrong, **order(**wrong)}) == (
        f"invalid_{row.name}",
        row.name,
    )
    # A missing one is reported in the same order.
    for missing in REQUIRED:
        if missing in later[1:]:
            assert (await refused(emulator, order(**{**wrong, missing: ...})))[1] == row.name


@each(CREATE.rows)
async def test_a_repeated_member_gets_a_warning(
    emulator: World, strict: World, row: Parameter
) -> None:
    [token] = values_of(row).accepted[:1]
    body = b'{"%s":%s,' % (row.name.encode(), WRONG[row.name].encode())
    body += order_with(row.name, token)[1:]
    response = await post(emulator, body)
    assert response.status_code == 201
    assert response.headers[WARNING] == f"duplicate-parameter:{row.name}"
    assert refusal(await post(strict, body)) == (400, "duplicate_parameter", row.name)


@pytest.mark.clause("4.3.13", "4.3.14")
@each(LIST.rows)
async def test_a_query_parameter(emulator: World, strict: World, row: Parameter) -> None:
    values = values_of(row)
    for text in values.accepted:
        response = await listed(strict, **{row.name: text})
        assert response.status_code == 200, text
        assert WARNING not in response.headers
    for text in values.unusual:
        response = await listed(emulator, **{row.name: text})
        assert response.status_code == 200, text
        assert response.headers[WARNING] == SLUGS[row.name]
        refused = refusal(await listed(strict, **{row.name: text}))
        assert refused == (400, f"invalid_{row.name}", row.name)
    later = LIST.names[LIST.names.index(row.name) :]
    for text in values.refused:
        # Of several wrong ones the first is reported.
        query = {name: WRONG[name] for name in reversed(later)} | {row.name: text}
        response = await listed(emulator, **query)
        assert refusal(response) == (400, f"invalid_{row.kind}", row.name), text[:20]


@pytest.mark.clause("4.3.18")
@each(LIST.rows)
async def test_a_repeated_query_parameter_gets_a_warning(
    emulator: World, strict: World, row: Parameter
) -> None:
    accepted = [*values_of(row).accepted, (await emulator.create())["id"]][0]
    query = [(row.name, WRONG[row.name]), (row.name, accepted)]
    response = await emulator.api.get(PAYMENTS, params=query, headers=headers())
    assert response.status_code == 200
    assert response.headers[WARNING] == f"duplicate-parameter:{row.name}"
    if row.name != "after":
        response = await strict.api.get(PAYMENTS, params=query, headers=headers())
        assert refusal(response) == (400, "duplicate_parameter", row.name)


@pytest.mark.clause("2.1.8", "4.1.11", "4.1.12", "8.3", "8.4", "8.9")
@pytest.mark.parametrize(
    ("token", "expires_at"),
    [
        *(("null", "2026-01-01T00:30:00.000Z"), ("1800", "2026-01-01T00:30:00.000Z")),
        *(("60", "2026-01-01T00:01:00.000Z"), ("86400", "2026-01-02T00:00:00.000Z")),
        *(("1", "2026-01-01T00:00:01.000Z"), ("315360000", "2035-12-30T00:00:00.000Z")),
    ],
)
async def test_the_payment_expires_in_so_many_seconds(
    emulator: World, token: str, expires_at: str
) -> None:
    response = await post(emulator, order_with("expires_in", token))
    assert response.json()["expires_at"] == expires_at


async def test_the_longest_is_written_at_the_latest_instant_of_a_clock(emulator: World) -> None:
    last = {"now": "9988-12-31T23:59:59.999Z"}
    assert (await emulator.control("PUT", "/clock", last)).status_code == 200
    created = await emulator.create(expires_in=315_360_000)
    assert created["created_at"] == "9988-12-31T23:59:59.999Z"
    assert created["expires_at"] == "9998-12-29T23:59:59.999Z"


@pytest.mark.clause("2.1.17")
async def test_the_list_of_methods_is_configuration() -> None:
    async with world(methods=("telebirr", "cbe_birr")) as emulator:
        await emulator.create(methods=["cbe_birr", "telebirr"])
        assert await refused(emulator, order(methods=["mpesa"])) == ("invalid_methods", "methods")


def test_the_tables_have_the_limits_that_the_contract_states() -> None:
    """`verify` has numbers of its own."""
    types: dict[str, Any] = {row.name: row.type for row in (*CREATE.rows, *LIST.rows)}
    assert types["amount"].minimum == contract.MIN_AMOUNT
    assert types["currency"].value == contract.CURRENCY
    assert types["metadata"].max_pairs == contract.MAX_PAIRS
    assert types["limit"].maximum == contract.MAX_LIMIT
    assert LIST.rows[0].default == contract.DEFAULT_LIMIT
    assert DEFAULT_EXPIRES_IN_S == contract.DEFAULT_EXPIRES_IN_S
    assert contract.METHODS == METHODS
    assert tuple(row.name for row in CREATE.rows if row.is_required) == contract.REQUIRED
    assert tuple(contract.PARAMETERS) == CREATE.names
    assert tuple(PAYMENT_MEMBERS) == contract.FIELDS


def test_the_table_of_warnings_has_each_unusual_value() -> None:
    for param, slug in SLUGS.items():
        assert tolerance_of(slug).strict_code == f"invalid_{param}"
    others = {"unknown-parameter:NAME", "duplicate-parameter:NAME", "idempotency-key-header"}
    others |= {"frequent-polling", "replayed-final-payment"}
    assert {*SLUGS.values(), *others} == {*WARNINGS}


def test_every_row_has_clauses_and_a_code() -> None:
    numbers = {clause.number for clause in CLAUSES}
    for row in (*CREATE.rows, *LIST.rows):
        assert {*row.clauses} <= numbers
        assert CODES[f"invalid_{row.kind}"] == 400
        assert {*row.clauses} & {clause.number for clause in clauses_of_code(f"invalid_{row.kind}")}
