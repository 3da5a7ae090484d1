"""The account and mode on which a call acts."""

from collections import defaultdict

import pytest

from emulator.server.control.app import RESOURCES
from tests.server.control import refusal
from tests.world import LIVE_KEY, OTHER_TEST_KEY, TEST_KEY, World, headers


async def mode_of(emulator: World, payment_id: str, query: str, key: str | None) -> str:
    response = await emulator.api.get(
        f"/_emulator/payments/{payment_id}{query}", headers=headers(key) if key else {}
    )
    return str(response.json()["mode"]) if response.status_code == 200 else "unseen"


OTHER_LIVE = "?account=acct_other&mode=live"
LIVE_OF_OTHER = "live_other_key"


@pytest.mark.parametrize(
    ("owner", "query", "key", "mode"),
    [
        # The key decides, and takes precedence over the query.
        *((LIVE_KEY, "", LIVE_KEY, "live"), (LIVE_KEY, "", OTHER_TEST_KEY, "unseen")),
        *((LIVE_KEY, "", TEST_KEY, "unseen"), (TEST_KEY, OTHER_LIVE, TEST_KEY, "test")),
        # Without a key the query decides; a mode alone is of the first account.
        *((LIVE_OF_OTHER, OTHER_LIVE, None, "live"), (LIVE_KEY, "?mode=live", None, "live")),
        (LIVE_OF_OTHER, "?account=acct_other", None, "unseen"),
        (LIVE_OF_OTHER, "?mode=live", None, "unseen"),
        # Without either it is the first account's test mode.
        (TEST_KEY, "", None, "test"),
    ],
)
async def test_the_key_decides_and_without_one_the_query(
    emulator: World, owner: str, query: str, key: str | None, mode: str
) -> None:
    payment = await emulator.create(owner)
    assert await mode_of(emulator, payment["id"], query, key) == mode


async def test_an_unknown_mode_is_refused_beside_a_key_as_well(emulator: World) -> None:
    response = await emulator.control("GET", "/clock?account=acct_other&mode=sandbox")
    assert refusal(response) == (400, "invalid_mode", "mode")


CALLS = [
    (operation.method, operation.path.format_map(defaultdict(lambda: "x_1")))
    for resource in RESOURCES
    for operation in resource.operations
    if operation.accepts_key
]


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        *(("Bearer test_unknown_key", "invalid_api_key"), ("Bearer nonsense", "invalid_api_key")),
        *(("Bearer ", "missing_api_key"), ("Bearer", "missing_api_key")),
        *(("Basic dGVzdA==", "missing_api_key"), ("", "missing_api_key")),
    ],
)
async def test_every_call_refuses_a_key_that_is_malformed_or_unknown(
    emulator: World, authorization: str, code: str
) -> None:
    for method, path in CALLS:
        response = await emulator.api.request(
            method, path, headers={"Authorization": authorization}
        )
        assert refusal(response) == (401, code, None), path


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("account=acct_unknown", (404, "account_not_found", None)),
        ("account=", (404, "account_not_found", None)),
        ("mode=sandbox", (400, "invalid_mode", "mode")),
        ("mode=", (400, "invalid_mode", "mode")),
        ("acount=acct_demo", (400, "unknown_parameter", "acount")),
        ("mode=test&mode=test", (400, "duplicate_parameter", "mode")),
    ],
)
async def test_every_call_refuses_an_unknown_account_mode_or_parameter(
    emulator: World, query: str, expected: tuple[int, str, str | None]
) -> None:
    for method, path in CALLS:
        assert refusal(await emulator.api.request(method, f"{path}?{query}")) == expected, path


async def test_an_unknown_query_parameter_is_answered_with_the_nearest_known_one(
    emulator: World,
) -> None:
    response = await emulator.api.get("/_emulator/clock?acount=acct_demo")
    assert "'account'" in response.json()["error"]["message"]


@pytest.mark.parametrize("query", ["%00=1", "%ff=%ff", "account=%00", "account=%ed%a0%80", "&&="])
async def test_invalid_bytes_in_the_query_are_refused(emulator: World, query: str) -> None:
    assert (await emulator.api.get(f"/_emulator/clock?{query}")).status_code in (400, 404)


@pytest.mark.parametrize("payment_id", ["pay_%00", "%ff", "%ed%a0%80", "pay_" + "x" * 5000])
async def test_malformed_payment_ids_are_unknown(emulator: World, payment_id: str) -> None:
    response = await emulator.api.get(f"/_emulator/payments/{payment_id}")
    assert refusal(response) == (404, "payment_not_found", None)
