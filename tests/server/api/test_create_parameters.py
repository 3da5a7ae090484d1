"""The parameters of a create call (contract, section 4.1)."""

import json
from typing import Any

import pytest

from tests.server.api.calls import CREATE_PARAMS, WARNING, order_with, post, refused
from tests.world import METHODS, World, order, world

REQUIRED = CREATE_PARAMS[:5]
# One value each that is surely wrong.
WRONG = {
    "amount": "x",
    "currency": "USD",
    "methods": [],
    "success_url": "x",
    "cancel_url": "x",
    "metadata": "x",
    "idempotency_key": "",
    "expires_in": "x",
}


def texts_of(values: list[Any]) -> list[str]:
    return [json.dumps(value) for value in values]


# JSON texts that each parameter refuses.
INVALID: dict[str, list[str]] = {
    "amount": [
        *("99", "1", "0", "-0", "-100", "-9007199254740991"),
        *("100.0", "100.5", "1e3", "1E3", "1e+3", "1e999", "-1e999", "1e-999", "1.5e-400"),
        "0." + "9" * 5000,
        *(str(number) for number in (2**53, 2**63, 2**64, -(2**63) - 1)),
        *("9" * 400, "9" * 401, "9" * 5000, "-" + "9" * 5000, "1" + "0" * 100_000),
        *("true", "false", '"100"', '""', "[]", "[100]", "{}", '{"value":100}'),
    ],
    "currency": texts_of(
        ["", "etb", "Etb", "USD", "ETB ", " ETB", "ETB\0", "ብር", 1, True, ["ETB"], {}]
    ),
    "methods": texts_of(
        [
            *([], "telebirr", "", {}, {"telebirr": True}, 1, True),
            *([""], ["Telebirr"], ["telebirr "], ["telebirr", "paypal"], ["paypal", "telebirr"]),
            *([None], ["telebirr", None], [["telebirr"]], [{"method": "telebirr"}]),
            *([1], [1.5], [True]),
        ]
    ),
    "metadata": texts_of(
        [
            {f"key{number}": "" for number in range(21)},
            *({"a": value} for value in (1, 1.5, True, None, [], {})),
            *({"a": "1", "b": 2}, [], [["a", "1"]], "a=1", "", 1, True),
        ]
    ),
    "idempotency_key": texts_of(["", 1, 0, 1.5, True, False, [], ["a"], {}, {"a": "b"}]),
    "expires_in": [
        *("0", "-0", "-1", "315360001", "60.0", "6e1", "1e999", "9" * 5000),
        *("true", '"1800"', '""', "[]", "{}"),
    ],
}


@pytest.mark.clause("2.1.17", "4.1.2", "4.1.3", "4.1.4", "4.1.5", "4.1.8", "4.1.9", "4.1.10")
@pytest.mark.clause("4.1.11", "4.1.17", "4.1.18", "7.7", "8.1", "8.2", "8.9", "9.2")
@pytest.mark.parametrize("param", INVALID)
async def test_an_invalid_value_is_refused(emulator: World, param: str) -> None:
    for text in INVALID[param]:
        refusal = await refused(emulator, order_with(param, text))
        assert refusal == (f"invalid_{param}", param), text[:16]


@pytest.mark.clause("4.1.13")
@pytest.mark.parametrize("param", REQUIRED)
@pytest.mark.parametrize("absent", [..., None], ids=["absent", "null"])
async def test_a_required_parameter_may_not_be_missing(
    emulator: World, param: str, absent: Any
) -> None:
    assert await refused(emulator, order(**{param: absent})) == ("missing_parameter", param)


@pytest.mark.clause("4.1.17")
@pytest.mark.parametrize("param", list(WRONG))
async def test_only_the_first_invalid_parameter_is_reported(emulator: World, param: str) -> None:
    names = list(WRONG)
    later = names[names.index(param) :]
    wrong = {name: WRONG[name] for name in reversed(later)}
    assert await refused(emulator, {**wrong, **order(**wrong)}) == (f"invalid_{param}", param)


@pytest.mark.parametrize("param", REQUIRED[1:])
async def test_missing_parameters_are_reported_in_order(emulator: World, param: str) -> None:
    earlier = REQUIRED[REQUIRED.index(param) - 1]
    body = order(**{param: ..., earlier: WRONG[earlier]})
    assert await refused(emulator, body) == (f"invalid_{earlier}", earlier)
    body = order(**{param: ..., "expires_in": "x"})
    assert await refused(emulator, body) == ("missing_parameter", param)


@pytest.mark.clause("4.1.2", "4.1.3", "8.1")
@pytest.mark.parametrize("token", ["100", "101", "15000", str(2**53 - 1)])
async def test_a_valid_amount_is_accepted(emulator: World, token: str) -> None:
    response = await post(emulator, order_with("amount", token))
    assert response.json()["amount"] == int(token)
    assert f'"amount":{token},' in response.text


@pytest.mark.clause("4.1.4")
async def test_an_escaped_letter_of_the_currency_is_a_letter(emulator: World) -> None:
    assert (await post(emulator, order_with("currency", '"\\u0045TB"'))).json()["currency"] == "ETB"


class TestMethods:
    """4.1: methods to offer, at least one; 2.1 names three and states that there may be more."""

    @pytest.mark.clause("2.1.16", "4.1.5")
    @pytest.mark.parametrize(
        "value", [[*METHODS], *([method] for method in METHODS), [*reversed(METHODS[:2])]]
    )
    async def test_a_valid_value_is_accepted(self, emulator: World, value: list[str]) -> None:
        created = await emulator.create(methods=value)
        assert created["method"] is None

    @pytest.mark.clause("2.1.17")
    async def test_the_list_of_methods_is_configuration(self) -> None:
        async with world(methods=("telebirr", "cbe_birr")) as emulator:
            await emulator.create(methods=["cbe_birr", "telebirr"])
            refusal = await refused(emulator, order(methods=["mpesa"]))
            assert refusal == ("invalid_methods", "methods")


class TestMetadata:
    """4.1 and 8: up to 20 pairs, values must be strings."""

    @pytest.mark.clause("2.1.11", "4.1.8", "8.2")
    @pytest.mark.parametrize(
        "value",
        [
            {},
            {"order": "1"},
            {"": ""},
            {"z": "1", "a": "2", "m": "3"},
            {"ቁልፍ": "ዋጋ \U0001f600", "quote": '"\\/\b\f\n\r\t'},
            {"nul": "a\0b", "controls": "\x01\x1f\x7f\x85"},
            {"amount": "1", "id": "pay_x", "__proto__": "x"},
            {f"key{number}": str(number) for number in range(20)},
            {"k" * 40: "v" * 500},
        ],
        ids=lambda value: f"{len(value)} pairs",
    )
    async def test_valid_metadata_is_returned_unchanged_in_order(
        self, emulator: World, value: dict[str, str]
    ) -> None:
        response = await post(emulator, order(metadata=value))
        assert response.status_code == 201, response.text
        assert WARNING not in response.headers
        assert list(response.json()["metadata"].items()) == list(value.items())
        retrieved = await emulator.retrieve(response.json()["id"])
        assert list(retrieved["metadata"].items()) == list(value.items())


@pytest.mark.clause("4.1.13")
@pytest.mark.parametrize(
    "member",
    [
        *({param: None} for param in CREATE_PARAMS[5:]),
        *(
            {"idempotency_key": value}
            for value in ("a", " ", "\0", "ቁልፍ", "x" * 255, "a/b?c", "null", "0")
        ),
    ],
    ids=ascii,
)
async def test_an_optional_parameter_may_be_null_and_a_key_any_text(
    emulator: World, member: dict[str, Any]
) -> None:
    response = await post(emulator, order(**member))
    assert response.status_code == 201
    assert WARNING not in response.headers
    assert "idempotency_key" not in response.json()


class TestExpiresIn:
    """4.1: seconds until the checkout expires, default 1800; 8 names no minimum and maximum."""

    @pytest.mark.clause("2.1.8", "4.1.11", "4.1.12", "8.3", "8.4", "8.9")
    @pytest.mark.parametrize(
        ("token", "expires_at", "warning"),
        [
            ("60", "2026-01-01T00:01:00.000Z", None),
            ("1800", "2026-01-01T00:30:00.000Z", None),
            ("86400", "2026-01-02T00:00:00.000Z", None),
            ("null", "2026-01-01T00:30:00.000Z", None),
            ("1", "2026-01-01T00:00:01.000Z", "unusual-expires-in"),
            ("315360000", "2035-12-30T00:00:00.000Z", "unusual-expires-in"),
        ],
    )
    async def test_a_valid_value_is_accepted(
        self, emulator: World, token: str, expires_at: str, warning: str | None
    ) -> None:
        response = await post(emulator, order_with("expires_in", token))
        assert response.json()["expires_at"] == expires_at
        assert response.headers.get(WARNING) == warning

    async def test_the_longest_is_written_at_the_latest_instant_of_a_clock(
        self, emulator: World
    ) -> None:
        last = {"now": "9988-12-31T23:59:59.999Z"}
        assert (await emulator.control("PUT", "/clock", last)).status_code == 200
        created = await emulator.create(expires_in=315_360_000)
        assert created["created_at"] == "9988-12-31T23:59:59.999Z"
        assert created["expires_at"] == "9998-12-29T23:59:59.999Z"
