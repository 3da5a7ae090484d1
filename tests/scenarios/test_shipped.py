import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Point
from emulator.domain.outcomes import (
    Handset,
    Outcome,
    Redirect,
    RedirectMoment,
    Scripted,
    Step,
)
from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.domain.webhooks import DeliveryEffect, Tamper
from emulator.scenarios.loader import in_force, load_paths
from emulator.scenarios.rules import DEFAULT_OUTCOME, PaymentFacts, choose_outcome
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
    "concurrent-webhooks": {"payment.completed": delivery_fault(copies=2, concurrent=True)},
    "delayed-webhooks": {"payment.completed": delivery_fault(delay=10_000)},
    "duplicate-webhooks": {"payment.completed": delivery_fault(copies=2)},
    "early-webhooks": {"payment.created": delivery_fault(before_response=True)},
    "forged-webhooks": {
        "payment.processing": delivery_fault(tamper=Tamper.BODY),
        "payment.completed": delivery_fault(tamper=Tamper.SIGNATURE),
        "payment.failed": delivery_fault(tamper=Tamper.TIMESTAMP),
        "payment.expired": delivery_fault(tamper=Tamper.STALE),
        "payment.refunded": delivery_fault(tamper=Tamper.UNSIGNED),
    },
    "lost-webhooks": {"payment.completed": delivery_fault(drop=True)},
    "out-of-order-webhooks": {"payment.processing": delivery_fault(hold=True)},
    "slow-handler": {"payment.completed": delivery_fault(timeout=500)},
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
    "poll-races-webhook": {FaultRule(when=RETRIEVE, then=request_fault(hold="delivery"), times=1)},
    "slow-answer": {
        FaultRule(when=CREATE, then=request_fault(latency=10_000), times=1),
        FaultRule(
            when=replace(RETRIEVE, every=3),
            then=request_fault(latency=10_000, point=Point.AFTER_COMMIT),
        ),
    },
}

COMPLETED = Scripted(steps=(Step(status=Status.COMPLETED),))
LACKS_BALANCE = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.INSUFFICIENT_BALANCE),))
TIMES_OUT = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.TIMEOUT, after_ms=30_000),))
CANCELLED = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.USER_CANCELLED),))
UNAVAILABLE = Scripted(steps=(Step(status=Status.FAILED, reason=Reason.PROVIDER_ERROR),))
OVER_THE_LIMIT = Step(status=Status.FAILED, reason=Reason.LIMIT_EXCEEDED, after_ms=5_000)
LATE = Step(status=Status.COMPLETED, after_ms=120_000, unusual=True)
REFUNDED = Step(status=Status.REFUNDED, after_ms=3_600_000)

# ... or with every payment, after the submit.
OUTCOMES: dict[str, tuple[OutcomeRule, ...]] = {
    "fail-twice-then-succeed": (
        OutcomeRule(then=LACKS_BALANCE, times=1),
        OutcomeRule(then=Scripted(steps=(OVER_THE_LIMIT,)), times=1),
        OutcomeRule(then=COMPLETED),
    ),
    "late-success": (OutcomeRule(then=Scripted(steps=(*TIMES_OUT.steps, LATE))),),
    "refund": (OutcomeRule(then=Scripted(steps=(*COMPLETED.steps, REFUNDED))),),
    "stuck-in-processing": (OutcomeRule(then=Scripted(steps=())),),
}
# ... or with the redirect of a completed payment.
CHECKOUT = {
    "redirect-before-webhook": Redirect(moment=RedirectMoment.BEFORE_WEBHOOK),
    "redirect-after-webhook": Redirect(moment=RedirectMoment.AFTER_WEBHOOK),
    "customer-closes-tab": Redirect(moment=RedirectMoment.NEVER),
}
TEACHING = sorted([*WEBHOOKS, *FAULTS, *OUTCOMES, *CHECKOUT])


@pytest.fixture(scope="module")
def shipped() -> tuple[Scenario, ...]:
    return load_paths([DIRECTORY])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_shipped_file_has_a_description_and_a_script(file: Path) -> None:
    (scenario,) = load_paths([file])
    assert scenario.name == file.stem
    assert scenario.description
    assert scenario.script
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 100


def test_all_scripts_pass_and_exercise_everything_together() -> None:
    played = run("replay", str(DIRECTORY), "--fail-under", "100")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert f"{len(FILES)} cases: {len(FILES)} passed, 0 failed" in played.stdout
    assert "without a script" not in played.stdout
    assert re.search(r"^Coverage: (\d+) of \1, 100\.0 %$", played.stdout, re.MULTILINE)


def test_the_test_numbers_the_banks_and_the_expiry_are_on_at_start(
    shipped: tuple[Scenario, ...],
) -> None:
    on = [scenario for scenario in shipped if scenario.enabled]
    names = {"telebirr-test-numbers", "mpesa-test-numbers", "banks", "expiry-after-30-minutes"}
    assert {scenario.name for scenario in on} == names
    assert not any(scenario.webhooks or scenario.faults for scenario in on)
    # A rule that matches everything would override `expires_in`.
    assert not any(scenario.expiry for scenario in on)
    assert [scenario.name for scenario in shipped if not scenario.enabled] == TEACHING


@pytest.mark.parametrize("name", TEACHING)
def test_a_teaching_file_shows_one_kind_of_fault_or_outcome(name: str) -> None:
    (scenario,) = load_paths([DIRECTORY / f"{name}.yaml"])
    assert {rule.when.event: rule.then for rule in scenario.webhooks} == WEBHOOKS.get(name, {})
    assert all(rule.times is None and rule.when.mode is None for rule in scenario.webhooks)
    assert set(scenario.faults) == FAULTS.get(name, set())
    assert scenario.outcomes == OUTCOMES.get(name, ())
    redirects = [CHECKOUT[name]] if name in CHECKOUT else []
    assert [rule.then for rule in scenario.checkout] == redirects
    assert not scenario.expiry


@pytest.mark.parametrize("name", TEACHING)
def test_the_comment_of_a_teaching_file_has_four_parts(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
    comment = text.partition("version: 1")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    for part in (
        "# In real life ",
        "# This file ",
        "# What your ",
        "# This scenario is off at start. ",
    ):
        assert f"\n{part}" in comment


async def test_disabled_files_precede_enabled_ones_in_order_of_name(
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


@pytest.mark.parametrize(
    ("method", "payer", "test", "live"),
    [
        *(
            (method, {"phone": f"+251{digit}0000000{last_digit}"}, expected, Handset())
            for method, digit in (("telebirr", 9), ("mpesa", 7))
            for last_digit, expected in enumerate(
                (COMPLETED, LACKS_BALANCE, TIMES_OUT, CANCELLED), 1
            )
        ),
        ("telebirr", {"phone": "+251900000005"}, Handset(), Handset()),
        ("mpesa", {"phone": "+251711223344"}, Handset(), Handset()),
        ("bank_transfer", {"bank": "fidel_test"}, UNAVAILABLE, UNAVAILABLE),
        ("bank_transfer", {"bank": "walia_test"}, Handset(), Handset()),
        ("bank_transfer", {"bank": "gelada_test"}, Handset(), Handset()),
        ("bank_transfer", {"bank": "semien_test"}, Handset(), Handset()),
    ],
)
def test_a_phone_or_a_bank_has_its_outcome_at_start(
    shipped: tuple[Scenario, ...], method: str, payer: dict[str, str], test: Outcome, live: Outcome
) -> None:
    on = [scenario for scenario in shipped if scenario.enabled]
    for mode, expected in ((Mode.TEST, test), (Mode.LIVE, live)):
        facts = PaymentFacts(
            mode=mode, methods=DEFAULT_METHODS, amount_minor=100, method=method, **payer
        )
        chosen = choose_outcome(on, facts, lambda _: 0)
        assert (DEFAULT_OUTCOME if chosen is None else chosen.rule.then) == expected
