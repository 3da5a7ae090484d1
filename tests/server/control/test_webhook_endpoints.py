"""Endpoints over the control API: registered, changed, rotated, pinged, removed."""

from typing import Any

import pytest

from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, STANDARD, SecretFormat
from emulator.scenarios.entries import MAX_IN_ONE_LINE
from emulator.scenarios.entries import listed as listed_words
from emulator.scenarios.webhook_form_file import webhook_form_json
from tests.server.control import refusal
from tests.server.engine.webhook_world import register, webhook_world
from tests.server.webhooks.receiver import Reply, receiving
from tests.tables import rows
from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, world

URL = "http://127.0.0.1:9/hook"
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"  # noqa: S105 - of no account
PHRASE = "correct horse"
PATH = "/webhook_endpoints"


async def listed(emulator: World, key: str = "test_demo_key") -> list[dict[str, Any]]:
    return list((await emulator.shown(PATH, key))["data"])


async def test_an_endpoint_has_all_events_a_secret_and_the_default_profile(emulator: World) -> None:
    endpoint = await register(emulator, URL)
    assert list(endpoint) == ["id", "url", "events", "secret", "profile", "enabled", "format"]
    assert endpoint["id"].startswith("we_")
    assert SecretFormat.BASE64.accepts(endpoint.pop("secret"))
    assert endpoint == {
        "id": endpoint["id"],
        "url": URL,
        "events": list(EVENT_TYPES_IN_ORDER),
        "profile": "default",
        "enabled": True,
        "format": webhook_form_json(STANDARD),
    }


async def test_an_endpoint_has_the_requested_properties(emulator: World) -> None:
    terms: dict[str, Any] = {
        "url": "https://shop.example/hook?a=ስ",
        "events": ["payment.failed", "payment.created", "payment.failed"],
        "secret": SECRET,
        "profile": "standard",
    }
    endpoint = await register(emulator, **terms)
    assert endpoint["events"] == ["payment.created", "payment.failed"]
    assert {name: endpoint[name] for name in ("url", "secret", "profile")} == {
        name: terms[name] for name in ("url", "secret", "profile")
    }


async def test_endpoints_are_listed_newest_first(emulator: World) -> None:
    first, second = await register(emulator, URL), await register(emulator, URL)
    assert await listed(emulator) == [second, first]


async def test_an_account_and_mode_has_at_most_sixteen_endpoints(emulator: World) -> None:
    for _ in range(16):
        await register(emulator, URL)
    response = await emulator.control("POST", PATH, {"url": URL})
    assert refusal(response) == (409, "too_many_webhook_endpoints", None)
    await register(emulator, URL, LIVE_KEY)


async def test_an_endpoint_is_changed_member_by_member(emulator: World) -> None:
    endpoint = await register(emulator, URL)
    path = f"{PATH}/{endpoint['id']}"
    for change in (
        {"url": "http://127.0.0.1:10/"},
        {"events": ["payment.completed"]},
        {"profile": "standard"},
        {"secret": SECRET},
        {"enabled": False},
    ):
        response = await emulator.control("PATCH", path, change)
        assert response.status_code == 200
        endpoint |= change
        assert response.json() == endpoint
        assert await listed(emulator) == [endpoint]
    assert refusal(await emulator.control("PATCH", path, {"enabled": 1}))[1] == "invalid_enabled"


async def test_a_deleted_endpoint_receives_no_more_events() -> None:
    async with webhook_world(lambda _: Reply(status=500)) as hooks:
        await hooks.emulator.create()
        await hooks.settle()
        path = f"{PATH}/{hooks.endpoint['id']}"
        assert (await hooks.emulator.control("DELETE", path)).status_code == 204
        await hooks.emulator.create()
        assert await hooks.advance(100) == []
        assert len(hooks.receiver.received) == 1
        [delivery] = await hooks.deliveries()
        assert delivery["endpoint"] == hooks.endpoint["id"]
        assert delivery["status"] == "cancelled"
        resent = await hooks.emulator.control("POST", f"/deliveries/{delivery['id']}/resend")
        assert refusal(resent) == (404, "webhook_endpoint_not_found", None)
        assert (await register(hooks.emulator, hooks.receiver.url))["id"] != hooks.endpoint["id"]


async def test_the_secret_before_a_rotation_signs_for_a_day() -> None:
    async with webhook_world() as hooks:
        path = f"{PATH}/{hooks.endpoint['id']}/rotate"
        rotated = await hooks.emulator.done("POST", path)
        assert SecretFormat.BASE64.accepts(rotated["secret"])
        assert rotated == hooks.endpoint | {"secret": rotated["secret"]}
        await hooks.emulator.create(expires_in=1_000_000)
        await hooks.advance(86_399.999)
        await hooks.emulator.create(expires_in=1_000_000)
        await hooks.advance(0.001)
        await hooks.emulator.create(expires_in=1_000_000)
        await hooks.settle()
        signatures = [each.headers["webhook-signature"] for each in hooks.receiver.received]
        assert [len(each.split(" ")) for each in signatures] == [2, 2, 1]


async def test_a_rotation_may_name_the_new_secret(emulator: World) -> None:
    endpoint = await register(emulator, URL)
    path = f"{PATH}/{endpoint['id']}/rotate"
    assert (await emulator.done("POST", path, {"secret": SECRET}))["secret"] == SECRET
    wrong = await emulator.control("POST", path, {"secret": "x"})
    assert refusal(wrong) == (400, "invalid_secret", "secret")
    assert (await listed(emulator))[0]["secret"] == SECRET


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ("{}\n", "ends with a line end"),
        ("\t{}", "begins with white space"),
        ("'{}'", "is in quotes"),
    ],
)
async def test_a_secret_that_was_copied_with_its_surroundings_is_refused_with_this_reason(
    ends: str, reason: str, emulator: World
) -> None:
    endpoint = await register(emulator, URL, format="hex-header", secret=PHRASE)
    one = f"{PATH}/{endpoint['id']}"
    for method, path in (("POST", PATH), ("PATCH", one), ("POST", f"{one}/rotate")):
        wrong: dict[str, str] = {"secret": ends.format(PHRASE)}
        wrong |= {"url": URL, "format": "hex-header"} if path == PATH else {}
        refused = await emulator.control(method, path, wrong)
        assert refusal(refused) == (400, "invalid_secret", "secret")
        message = refused.json()["error"]["message"]
        assert message == f'"secret" must be 1 to 256 characters; the given text {reason}.'
    key = await emulator.control("POST", "/accounts", {"test_key": ends.format("test_a_key")})
    assert key.json()["error"]["message"].endswith(f"; the given text {reason}.")


async def test_a_ping_is_a_signed_event_without_a_payment() -> None:
    async with webhook_world() as hooks:
        path = f"{PATH}/{hooks.endpoint['id']}/ping"
        response = await hooks.emulator.control("POST", path)
        assert response.status_code == 200
        [received] = hooks.receiver.received
        assert received.json == {
            "id": received.headers["webhook-id"],
            "object": "event",
            "type": "ping",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "mode": "test",
            "data": {},
        }
        delivery = response.json()
        assert delivery["status"] == "succeeded"
        assert delivery["payment"] is None
        assert [attempt["trigger"] for attempt in delivery["attempts"]] == ["ping"]
        assert await hooks.deliveries() == [delivery]
        assert (await hooks.emulator.shown("/events"))["data"] == []


async def test_a_ping_that_fails_is_not_repeated() -> None:
    async with webhook_world(lambda _: Reply(status=500)) as hooks:
        response = await hooks.emulator.control("POST", f"{PATH}/{hooks.endpoint['id']}/ping")
        assert response.json()["status"] == "failed"
        assert response.json()["attempts"][0]["status"] == 500
        assert await hooks.advance(100) == []


async def test_a_reset_leaves_no_endpoint_and_no_delivery() -> None:
    async with webhook_world(lambda _: Reply(status=500)) as hooks:
        await hooks.emulator.create()
        await hooks.settle()
        assert (await hooks.emulator.control("POST", "/reset")).status_code == 204
        assert await listed(hooks.emulator) == []
        assert await hooks.deliveries() == []
        assert await hooks.advance(100) == []
        assert len(hooks.receiver.received) == 1


async def test_the_endpoint_given_at_start_is_there_again_after_a_reset() -> None:
    async with receiving() as receiver, world(webhook_url=receiver.url, seed=None) as emulator:
        before = [await listed(emulator, key) for key in ("test_demo_key", LIVE_KEY)]
        assert [endpoint["url"] for mode in before for endpoint in mode] == [receiver.url] * 2
        assert before[0][0]["secret"] == before[1][0]["secret"]
        await register(emulator, URL)
        await emulator.control("PATCH", f"{PATH}/{before[0][0]['id']}", {"enabled": False})
        await emulator.control("POST", "/reset")
        assert [await listed(emulator, key) for key in ("test_demo_key", LIVE_KEY)] == before
        await emulator.create()
        await emulator.create(LIVE_KEY)
        await receiver.wait_for(2)
        assert {received.json["mode"] for received in receiver.received} == {"test", "live"}
        assert await listed(emulator, OTHER_TEST_KEY) == []


async def test_with_a_seed_ids_and_secrets_are_the_same_in_every_run() -> None:
    runs = []
    for _ in range(2):
        async with world() as emulator:
            endpoint = await register(emulator, URL)
            path = f"{PATH}/{endpoint['id']}/rotate"
            runs.append((endpoint, await emulator.done("POST", path)))
    assert runs[0] == runs[1]


async def test_a_wrong_change_changes_nothing(emulator: World) -> None:
    await register(emulator, URL)
    before = await listed(emulator)
    await emulator.control("PATCH", f"{PATH}/{before[0]['id']}", {"url": "nowhere"})
    assert await listed(emulator) == before


# The members of a format beside `version` and `name`, and each problem with the path of its member.
PROBLEMS = rows(__file__, "problems")


@pytest.mark.parametrize(("members", "problems"), PROBLEMS)
async def test_every_problem_of_a_format_is_named_with_its_member(
    emulator: World, members: dict[str, object], problems: list[str]
) -> None:
    form = {"version": 1, "name": "mine", **members}
    response = await emulator.control("POST", PATH, {"url": URL, "format": form})
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "format")
    expected = "; ".join(problems).replace("EVENT_TYPES", listed_words(EVENT_TYPES_IN_ORDER, "or"))
    assert error["message"] == f'"format" is not a webhook format: {expected}.'


async def test_an_empty_format_is_refused_with_the_members_that_it_needs(emulator: World) -> None:
    response = await emulator.control("POST", PATH, {"url": URL, "format": {}})
    assert response.json()["error"]["message"] == (
        "\"format\" is not a webhook format: a webhook format must have 'version': the number 1; a"
        " webhook format must have 'name': what the form is called; a webhook format must have"
        " 'signature': {algorithm: none} where webhooks are not signed."
    )


async def test_the_message_about_a_format_has_a_limit(emulator: World) -> None:
    body = {f"m{number}": "{foo}" for number in range(2 * MAX_IN_ONE_LINE)}
    form = {"version": 1, "name": "mine", "signature": {"algorithm": "none"}, "body": body}
    response = await emulator.control("POST", PATH, {"url": URL, "format": form})
    message = response.json()["error"]["message"]
    assert message.count("has no placeholder {foo}") == MAX_IN_ONE_LINE
    assert message.endswith(f"; and {MAX_IN_ONE_LINE} more.")
