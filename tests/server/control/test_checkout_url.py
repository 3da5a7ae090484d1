"""The base of `checkout_url` can be set while the emulator runs."""

from tests.world import LIVE_KEY, OTHER_TEST_KEY, World, headers, order

MAPPED = "http://localhost:49153"


async def test_payments_created_from_now_on_have_the_new_base(emulator: World) -> None:
    before = await emulator.create()
    response = await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    assert (response.status_code, response.json()) == (200, {"url": MAPPED})
    after = [await emulator.create(key) for key in (OTHER_TEST_KEY, LIVE_KEY)]
    assert before["checkout_url"].startswith("http://127.0.0.1:8081/c/")
    assert all(payment["checkout_url"].startswith(f"{MAPPED}/c/") for payment in after)
    assert (await emulator.retrieve(before["id"]))["checkout_url"] == before["checkout_url"]


async def test_it_can_be_read(emulator: World) -> None:
    response = await emulator.control("GET", "/checkout_url")
    assert response.json() == {"url": "http://127.0.0.1:8081"}
    await emulator.control("PUT", "/checkout_url", {"url": f"{MAPPED}/shop/"})
    assert (await emulator.shown("/checkout_url")) == {"url": f"{MAPPED}/shop"}


async def test_the_pages_answer_under_the_host_of_the_new_base(emulator: World) -> None:
    await emulator.control("PUT", "/checkout_url", {"url": "https://pay.example"})
    payment = await emulator.create()
    path = payment["checkout_url"].removeprefix("https://pay.example")
    assert (await emulator.pages.get(path, headers={"Host": "pay.example"})).status_code == 200


async def test_a_replay_of_an_idempotency_key_is_the_first_body_still(emulator: World) -> None:
    first = await emulator.api.post(
        "/v1/payments", json=order(idempotency_key="a"), headers=headers()
    )
    await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    again = await emulator.api.post(
        "/v1/payments", json=order(idempotency_key="a"), headers=headers()
    )
    assert again.content == first.content


async def test_a_reset_of_everything_leaves_it(emulator: World) -> None:
    await emulator.control("PUT", "/checkout_url", {"url": MAPPED})
    await emulator.control("POST", "/reset", {"all": True})
    assert (await emulator.create())["checkout_url"].startswith(MAPPED)


async def test_a_base_with_signs_of_json_is_written_as_it_is(emulator: World) -> None:
    odd = 'https://pay.example/"\\ብር'
    assert (await emulator.control("PUT", "/checkout_url", {"url": odd})).status_code == 200
    assert (await emulator.create())["checkout_url"].startswith(f"{odd}/c/")
