"""The recording of an account and mode."""

from tests.world import LIVE_KEY, World


async def test_a_recording_is_yaml(emulator: World) -> None:
    await emulator.create(metadata={"ዕቃ": "ቡና"})
    response = await emulator.control("GET", "/recording")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/yaml"
    assert "metadata: {ዕቃ: ቡና}" in response.content.decode("utf-8")


async def test_a_recording_belongs_to_the_requested_account_and_mode(emulator: World) -> None:
    await emulator.create(LIVE_KEY)
    of_key = await emulator.control("GET", "/recording", key=LIVE_KEY)
    named = await emulator.api.get("/_emulator/recording?account=acct_demo&mode=live")
    assert of_key.content == named.content
    assert "as: order" in named.text
    for query in ("", "?account=acct_other&mode=live", "?mode=test"):
        response = await emulator.api.get(f"/_emulator/recording{query}")
        assert "as: order" not in response.text


async def test_recording_changes_nothing(emulator: World) -> None:
    await emulator.create(expires_in=60)
    await emulator.advance(30)
    first = await emulator.control("GET", "/recording")
    assert (await emulator.control("GET", "/recording")).content == first.content
