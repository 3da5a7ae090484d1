"""The test numbers beside a phone form."""

from pathlib import Path

import pytest

from emulator.domain.effects import Handset, Outcome, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.server.checkout.rendering import labelled, minutes
from tests.server.checkout.test_texts import catalogue
from tests.server.checkout.visiting import customer
from tests.world import World, world

NUMBERS = "1 Completes|2 Insufficient balance|3 Times out · 0:30|4 Cancelled on the phone"


async def test_the_test_numbers_of_the_method_are_offered(emulator: World) -> None:
    for method, prefix in (("telebirr", "09"), ("mpesa", "07")):
        page = await (await customer(emulator)).open(f"?method={method}")
        texts = {link.text for link in page.all("a") if "number-" in link.attributes["data-testid"]}
        assert texts == {f"{prefix}00 000 00{number}" for number in NUMBERS.split("|")}


@pytest.mark.parametrize("lang", ["", "&lang=am"])
async def test_one_click_fills_the_form_and_changes_nothing(emulator: World, lang: str) -> None:
    visitor = await customer(emulator)
    page = await visitor.open(f"?method=telebirr{lang}")
    filled = await visitor.click(page, "number-0900000001")
    assert filled.get("phone").attributes["value"] == "0900000001"
    assert filled.find("phone-error") is None
    assert "autofocus" in filled.get("pay").attributes
    assert filled.all("html")[0].attributes["lang"] == ("am" if lang else "en")
    assert await visitor.statuses() == ["pending"]
    other = await visitor.click(filled, "language-en" if lang else "language-am")
    assert other.get("phone").attributes["value"] == "0900000001"
    page = await visitor.submit(filled.form("pay-form"), filled)
    assert await visitor.statuses() == ["pending", "processing", "completed"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ("after: 90s, status: failed, reason: wrong_pin", "Wrong PIN · 1:30"),
        ("after: 10s, status: failed", "Not available · 0:10"),
    ],
)
async def test_a_number_of_a_scenario_of_the_user_is_offered_first(
    step: str, text: str, tmp_path: Path
) -> None:
    scenario = tmp_path / "own.yaml"
    scenario.write_text(
        "version: 1\nname: own\noutcomes:\n"
        f'  - when: {{phone: "+251911111111"}}\n    then: [{{{step}}}]\n',
        encoding="utf-8",
    )
    async with world(scenarios=(str(scenario),)) as emulator:
        page = await (await customer(emulator)).open("?method=telebirr")
    links = [link for link in page.all("a") if "number-" in link.attributes["data-testid"]]
    assert links[0].text == f"0911 111 111 {text}"
    assert len(links) == 5


def scripted(*steps: Step) -> Outcome:
    return Scripted(steps=steps)


def failing(reason: Reason | None) -> Outcome:
    return scripted(Step(status=Status.FAILED, reason=reason))


COMPLETED = Step(status=Status.COMPLETED)
# The outcome of a number, its label, and the time after which its last status applies.
LABELS: list[tuple[Outcome, str, str | None]] = [
    (Handset(), "number_asks", None),
    (scripted(), "number_stays", None),
    (scripted(COMPLETED), "number_completes", None),
    (
        scripted(
            Step(status=Status.FAILED, reason=Reason.TIMEOUT, after_ms=30_000),
            Step(status=Status.COMPLETED, after_ms=61_000, unusual=True),
        ),
        "number_completes",
        "1:01",
    ),
    (scripted(COMPLETED, Step(status=Status.REFUNDED, after_ms=1_000)), "number_refunded", "0:01"),
    (failing(Reason.INSUFFICIENT_BALANCE), "insufficient_answer", None),
    (failing(Reason.USER_CANCELLED), "number_cancels", None),
    (failing(Reason.TIMEOUT), "number_times_out", None),
    (failing(Reason.WRONG_PIN), "wrong_pin_answer", None),
    (failing(Reason.BANK_DECLINED), "number_declined", None),
    (failing(Reason.LIMIT_EXCEEDED), "number_over_limit", None),
    (failing(Reason.PROVIDER_ERROR), "number_unavailable", None),
    (failing(None), "number_unavailable", None),
]


def test_a_number_is_labelled_by_its_last_status() -> None:
    for outcome, label, after in LABELS:
        assert labelled(outcome) == (label, after), outcome
        assert label in catalogue("en")


def test_a_duration_is_rounded_up_to_seconds() -> None:
    durations = {-1: "0:00", 0: "0:00", 1: "0:01", 1000: "0:01", 30_000: "0:30", 3_600_001: "60:01"}
    assert {duration_ms: minutes(duration_ms) for duration_ms in durations} == durations
