from pathlib import Path

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import DEFAULT_METHODS, Reason, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, Oddity, Tamper
from emulator.scenarios.library import in_force, load_paths
from emulator.scenarios.rules import Subject, choose_outcome, choose_webhook
from emulator.scenarios.values import Scenario

DIRECTORY = Path(__file__).parents[2] / "scenarios"
FILES = sorted(DIRECTORY.glob("*.yaml"))

# The files that are off at start, each with what it makes go wrong with which events.
TEACHING: dict[str, dict[str | None, Oddity]] = {
    "delayed-webhooks": {"payment.completed": Oddity(delay_ms=10_000)},
    "duplicate-webhooks": {"payment.completed": Oddity(copies=2)},
    "early-webhooks": {"payment.created": Oddity(before_response=True)},
    "forged-webhooks": {
        "payment.processing": Oddity(tamper=Tamper.BODY),
        "payment.completed": Oddity(tamper=Tamper.SIGNATURE),
        "payment.failed": Oddity(tamper=Tamper.TIMESTAMP),
    },
    "lost-webhooks": {"payment.completed": Oddity(drop=True)},
    "out-of-order-webhooks": {"payment.processing": Oddity(hold=True)},
}

COMPLETED = Scripted(steps=(Step(status=Status.COMPLETED),))
TOO_POOR = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.INSUFFICIENT_BALANCE),))
TIMES_OUT = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.TIMEOUT, after_ms=30_000),))
CANCELLED = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.USER_CANCELLED),))
UNAVAILABLE = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.PROVIDER_ERROR),))


@pytest.fixture(scope="module")
def shipped() -> tuple[Scenario, ...]:
    return load_paths([DIRECTORY])


def outcome(
    shipped: tuple[Scenario, ...],
    mode: Mode,
    method: str,
    *,
    phone: str | None = None,
    bank: str | None = None,
) -> Outcome:
    subject = Subject(
        mode=mode,
        methods=DEFAULT_METHODS,
        amount_minor=100,
        method=method,
        phone=phone,
        bank=bank,
    )
    return choose_outcome(shipped, subject, lambda _: 0).outcome


def test_each_shipped_file_is_named_for_its_scenario_and_says_what_it_is_for() -> None:
    for file in FILES:
        (scenario,) = load_paths([file])
        assert scenario.name == file.stem
        assert scenario.description


def test_what_is_on_at_start_are_the_test_numbers_and_the_banks(
    shipped: tuple[Scenario, ...],
) -> None:
    assert {scenario.name for scenario in shipped if scenario.enabled} == {
        "telebirr-test-numbers",
        "mpesa-test-numbers",
        "banks",
    }


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_shows_one_oddity_and_tells_what_to_do_about_it(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    (scenario,) = load_paths([DIRECTORY / f"{name}.yaml"])
    assert {rule.when.event: rule.then for rule in scenario.webhooks} == TEACHING[name]
    assert all(rule.times is None and rule.when.mode is None for rule in scenario.webhooks)
    assert not scenario.outcomes
    assert not scenario.expiry
    comment = text.partition("version: 1")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    for part in ("# In real life ", "# This file ", "# What your ", "# To switch it on, copy"):
        assert f"\n{part}" in comment
    assert max(map(len, text.splitlines())) <= 100


def test_whatever_is_off_at_start_is_a_teaching_file(shipped: tuple[Scenario, ...]) -> None:
    assert {scenario.name for scenario in shipped if not scenario.enabled} == set(TEACHING)


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_is_switched_on_as_its_comment_says(
    shipped: tuple[Scenario, ...], name: str, tmp_path: Path
) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count("\nenabled: false\n") == 1
    copy = tmp_path / "copy.yaml"
    copy.write_text(text.replace("\nenabled: false\n", "\n"), encoding="utf-8")
    given = load_paths([copy])
    scenarios = [scenario for scenario in in_force(given, shipped) if scenario.enabled]
    for event in EVENT_TYPES_IN_ORDER:
        chosen = choose_webhook(scenarios, mode=Mode.TEST, event=event, uses=lambda _: 0)
        assert (chosen and chosen.oddity) == TEACHING[name].get(event)
    assert [scenario.name for scenario in in_force(given, shipped)].count(name) == 1


def test_at_start_nothing_goes_wrong_with_webhooks(shipped: tuple[Scenario, ...]) -> None:
    on = [scenario for scenario in shipped if scenario.enabled]
    assert not any(scenario.webhooks for scenario in on)


@pytest.mark.parametrize(
    ("last_digit", "expected"), [(1, COMPLETED), (2, TOO_POOR), (3, TIMES_OUT), (4, CANCELLED)]
)
@pytest.mark.parametrize(("method", "first_digit"), [("telebirr", 9), ("mpesa", 7)])
def test_the_test_numbers_have_their_outcomes_in_test_mode_only(
    shipped: tuple[Scenario, ...],
    method: str,
    first_digit: int,
    last_digit: int,
    expected: Outcome,
) -> None:
    phone = f"+251{first_digit}0000000{last_digit}"
    assert outcome(shipped, Mode.TEST, method, phone=phone) == expected
    assert outcome(shipped, Mode.LIVE, method, phone=phone) == Handset()


def test_any_other_number_is_answered_at_the_handset(shipped: tuple[Scenario, ...]) -> None:
    assert outcome(shipped, Mode.TEST, "telebirr", phone="+251900000005") == Handset()
    assert outcome(shipped, Mode.TEST, "mpesa", phone="+251711223344") == Handset()


@pytest.mark.parametrize("mode", list(Mode))
def test_one_bank_is_always_unavailable_and_three_ask(
    shipped: tuple[Scenario, ...], mode: Mode
) -> None:
    assert outcome(shipped, mode, "bank_transfer", bank="fidel_test") == UNAVAILABLE
    for bank in ("walia_test", "gelada_test", "semien_test"):
        assert outcome(shipped, mode, "bank_transfer", bank=bank) == Handset()
