from pathlib import Path

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import DEFAULT_METHODS, Reason, Status
from emulator.scenarios.library import load_paths
from emulator.scenarios.rules import Subject, choose_outcome
from emulator.scenarios.values import Scenario

DIRECTORY = Path(__file__).parents[2] / "scenarios"

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


def test_each_shipped_file_is_named_for_its_scenario_and_on(
    shipped: tuple[Scenario, ...],
) -> None:
    for file in DIRECTORY.glob("*.yaml"):
        (scenario,) = load_paths([file])
        assert scenario.name == file.stem
        assert scenario.description
        assert scenario.enabled
    assert {"telebirr-test-numbers", "mpesa-test-numbers", "banks"} <= {
        scenario.name for scenario in shipped
    }


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
