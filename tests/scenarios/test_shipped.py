import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Point
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import DeliveryEffect, Tamper
from emulator.scenarios.library import in_force, load_paths
from emulator.scenarios.rules import PaymentFacts, choose_outcome
from emulator.scenarios.values import Fault, FaultRule, FaultWhen, OutcomeRule, Scenario
from tests.cli.processes import run
from tests.scenarios.drawn import delivery_fault, request_fault
from tests.world import World

DIRECTORY = Path(__file__).parents[2] / "scenarios"
FILES = sorted(DIRECTORY.glob("*.yaml"))
CREATE = FaultWhen(request=ApiRequest.CREATE_PAYMENT)
RETRIEVE = FaultWhen(request=ApiRequest.RETRIEVE_PAYMENT)

# The files that are off at start: each shows one thing that goes wrong, with the events...
WEBHOOKS: dict[str, dict[str | None, Fault[DeliveryEffect]]] = {
    "delayed-webhooks": {"payment.completed": delivery_fault(delay=10_000)},
    "duplicate-webhooks": {"payment.completed": delivery_fault(copies=2)},
    "early-webhooks": {"payment.created": delivery_fault(before_response=True)},
    "forged-webhooks": {
        "payment.processing": delivery_fault(tamper=Tamper.BODY),
        "payment.completed": delivery_fault(tamper=Tamper.SIGNATURE),
        "payment.failed": delivery_fault(tamper=Tamper.TIMESTAMP),
    },
    "lost-webhooks": {"payment.completed": delivery_fault(drop=True)},
    "out-of-order-webhooks": {"payment.processing": delivery_fault(hold=True)},
}
# ... or with requests ...
FAULTS: dict[str, set[FaultRule]] = {
    "error-before-commit": {FaultRule(when=CREATE, then=request_fault(status=500), times=1)},
    "error-after-commit": {
        FaultRule(when=CREATE, then=request_fault(status=500, point=Point.AFTER_COMMIT), times=1)
    },
    "too-many-requests": {
        FaultRule(when=CREATE, then=request_fault(status=429, retry_after=3), times=2)
    },
    "lost-answer": {
        FaultRule(when=CREATE, then=request_fault(drop=True, point=Point.AFTER_COMMIT), times=1),
        FaultRule(when=replace(CREATE, nth=3), then=request_fault(drop=True)),
    },
    "half-an-answer": {
        FaultRule(
            when=CREATE, then=request_fault(truncate=True, point=Point.AFTER_COMMIT), times=1
        ),
        FaultRule(when=replace(RETRIEVE, every=2), then=request_fault(status=500, truncate=True)),
    },
    "slow-answer": {
        FaultRule(when=CREATE, then=request_fault(latency=10_000), times=1),
        FaultRule(
            when=replace(RETRIEVE, every=3),
            then=request_fault(latency=10_000, point=Point.AFTER_COMMIT),
        ),
    },
}

COMPLETED = Scripted(steps=(Step(status=Status.COMPLETED),))
TOO_POOR = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.INSUFFICIENT_BALANCE),))
TIMES_OUT = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.TIMEOUT, after_ms=30_000),))
CANCELLED = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.USER_CANCELLED),))
UNAVAILABLE = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.PROVIDER_ERROR),))
OVER_THE_LIMIT = Step(status=Status.FAILED, reason=Reason.LIMIT_EXCEEDED, after_ms=5_000)
LATE = Step(status=Status.COMPLETED, after_ms=120_000, unusual=True)
REFUNDED = Step(status=Status.REFUNDED, after_ms=3_600_000)

# ... or with every payment, after the submit.
OUTCOMES: dict[str, tuple[OutcomeRule, ...]] = {
    "fail-twice-then-succeed": (
        OutcomeRule(then=TOO_POOR, times=1),
        OutcomeRule(then=Scripted(steps=(OVER_THE_LIMIT,)), times=1),
        OutcomeRule(then=COMPLETED),
    ),
    "late-success": (OutcomeRule(then=Scripted(steps=(*TIMES_OUT.steps, LATE))),),
    "refund": (OutcomeRule(then=Scripted(steps=(*COMPLETED.steps, REFUNDED))),),
    "stuck-in-processing": (OutcomeRule(then=Scripted(steps=())),),
}
TEACHING = sorted([*WEBHOOKS, *FAULTS, *OUTCOMES])


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
    subject = PaymentFacts(
        mode=mode,
        methods=DEFAULT_METHODS,
        amount_minor=100,
        method=method,
        phone=phone,
        bank=bank,
    )
    on = [scenario for scenario in shipped if scenario.enabled]
    return choose_outcome(on, subject, lambda _: 0).outcome


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_shipped_file_says_what_it_is_for_and_has_a_script_that_shows_it(file: Path) -> None:
    (scenario,) = load_paths([file])
    assert scenario.name == file.stem
    assert scenario.description
    assert scenario.script
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 100


def test_every_script_is_played_and_together_they_show_all_that_there_is() -> None:
    played = run("replay", str(DIRECTORY), "--fail-under", "100")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert f"{len(FILES)} cases: {len(FILES)} passed, 0 failed" in played.stdout
    assert "without a script" not in played.stdout
    assert re.search(r"^Coverage: (\d+) of \1, 100\.0 %$", played.stdout, re.MULTILINE)


def test_what_is_on_at_start_are_the_test_numbers_the_banks_and_expiry(
    shipped: tuple[Scenario, ...],
) -> None:
    assert {scenario.name for scenario in shipped if scenario.enabled} == {
        "telebirr-test-numbers",
        "mpesa-test-numbers",
        "banks",
        "expiry-after-30-minutes",
    }


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_shows_one_kind_of_mishap(name: str) -> None:
    (scenario,) = load_paths([DIRECTORY / f"{name}.yaml"])
    assert {rule.when.event: rule.then for rule in scenario.webhooks} == WEBHOOKS.get(name, {})
    assert all(rule.times is None and rule.when.mode is None for rule in scenario.webhooks)
    assert set(scenario.faults) == FAULTS.get(name, set())
    assert scenario.outcomes == OUTCOMES.get(name, ())
    assert not scenario.expiry


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_tells_what_to_do_about_it(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    comment = text.partition("version: 1")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    for part in ("# In real life ", "# This file ", "# What your ", "# To switch it on for "):
        assert f"\n{part}" in comment


def test_whatever_is_off_at_start_is_a_teaching_file(shipped: tuple[Scenario, ...]) -> None:
    off = [scenario.name for scenario in shipped if not scenario.enabled]
    assert off == TEACHING


async def test_the_files_that_are_off_come_before_those_that_are_on_each_in_order_of_name(
    emulator: World,
) -> None:
    listed = (await emulator.control("GET", "/scenarios")).json()["data"]
    shown = [(scenario["enabled"], scenario["name"]) for scenario in listed]
    assert shown == sorted(shown)
    assert len(shown) == len(FILES)


@pytest.mark.parametrize("name", TEACHING)
async def test_a_call_switches_a_teaching_file_on_as_its_comment_says(
    name: str, emulator: World
) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    [(path, body)] = re.findall(r"^#   PUT /_emulator(/\S+)  (\{.*\})$", text, re.MULTILINE)
    assert (await emulator.control("PUT", path, json.loads(body))).status_code == 200
    listed = (await emulator.control("GET", "/scenarios")).json()["data"]
    off = [scenario["name"] for scenario in listed if not scenario["enabled"]]
    assert off == [other for other in TEACHING if other != name]


@pytest.mark.parametrize("name", TEACHING)
def test_a_copy_switches_a_teaching_file_on_as_its_comment_says(
    shipped: tuple[Scenario, ...], name: str, tmp_path: Path
) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count("\nenabled: false\n") == 1
    copy = tmp_path / "copy.yaml"
    copy.write_text(text.replace("\nenabled: false\n", "\n"), encoding="utf-8")
    (given,) = load_paths([copy])
    (original,) = [scenario for scenario in shipped if scenario.name == name]
    assert given.enabled
    assert replace(given, enabled=False, script=()) == replace(original, script=())
    assert [scenario for scenario in in_force([given], shipped) if scenario.name == name] == [given]


def test_at_start_nothing_goes_wrong(shipped: tuple[Scenario, ...]) -> None:
    on = [scenario for scenario in shipped if scenario.enabled]
    assert not any(scenario.webhooks or scenario.faults for scenario in on)


def test_that_checkouts_expire_after_30_minutes_needs_no_rule(
    shipped: tuple[Scenario, ...],
) -> None:
    """One that matches everything would beat `expires_in`."""
    on = [scenario for scenario in shipped if scenario.enabled]
    assert not any(scenario.expiry for scenario in on)


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
