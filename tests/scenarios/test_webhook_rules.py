"""What a scenario file says of webhooks, and each way to say it wrong."""

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.payment import EVENT_TYPES, Status
from emulator.domain.webhooks import EVENT_TYPES_IN_ORDER, DeliveryFault, Tamper
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.values import WebhookRule, WebhookWhen
from emulator.scenarios.vocabulary import WEBHOOK_EXCLUSIONS, WEBHOOK_THEN_KEYS

HEAD = "version: 1\nname: case\nwebhooks:\n"
# A value for each key that says something, where all others are absent.
SAYING = {
    "copies": "2",
    "delay": "1s",
    "drop": "true",
    "hold": "true",
    "before_response": "true",
    "tamper": "body",
}


def rules_of(text: str) -> tuple[WebhookRule, ...]:
    return parse_scenario(HEAD + text, "case.yaml").webhooks


def oddity_of(then: str) -> DeliveryFault:
    (rule,) = rules_of(f"  - when: {{}}\n    then: {then}\n")
    return rule.then


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as raised:
        rules_of(text)
    return raised.value.problems


def assert_one_problem(text: str, line: int, column: int, message: str) -> None:
    (problem,) = problems_of(text)
    assert (problem.line, problem.column) == (line, column), problem
    assert problem.message == message


def test_a_rule_says_when_what_and_how_often() -> None:
    assert rules_of(
        """
  - when: {mode: test, event: payment.completed}
    then: {copies: 2, delay: 10s}
    times: 1
  - when: {mode: live}
    then: {drop: true}
  - when: {event: payment.created}
    then: {before_response: true, copies: 3, tamper: timestamp}
  - when: {}
    then: {hold: true, copies: 100, tamper: signature}
"""
    ) == (
        WebhookRule(
            when=WebhookWhen(mode=Mode.TEST, event="payment.completed"),
            then=DeliveryFault(copies=2, delay_ms=10_000),
            times=1,
        ),
        WebhookRule(when=WebhookWhen(mode=Mode.LIVE), then=DeliveryFault(drop=True)),
        WebhookRule(
            when=WebhookWhen(event="payment.created"),
            then=DeliveryFault(before_response=True, copies=3, tamper=Tamper.TIMESTAMP),
        ),
        WebhookRule(then=DeliveryFault(hold=True, copies=100, tamper=Tamper.SIGNATURE)),
    )


@pytest.mark.parametrize("event", EVENT_TYPES_IN_ORDER)
def test_a_rule_may_ask_for_any_event(event: str) -> None:
    (rule,) = rules_of(f"  - when: {{event: {event}}}\n    then: {{copies: 2}}\n")
    assert rule.when == WebhookWhen(event=event)


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{copies: 1}", DeliveryFault()),  # the usual one delivery: it keeps later rules away
        ("{copies: 100}", DeliveryFault(copies=100)),
        ("{delay: 1ms}", DeliveryFault(delay_ms=1)),
        ("{delay: 1.5h, tamper: body}", DeliveryFault(delay_ms=5_400_000, tamper=Tamper.BODY)),
        ("{drop: true}", DeliveryFault(drop=True)),
        ("{hold: true}", DeliveryFault(hold=True)),
        ("{before_response: true}", DeliveryFault(before_response=True)),
        ("{tamper: signature}", DeliveryFault(tamper=Tamper.SIGNATURE)),
    ],
)
def test_each_key_becomes_its_oddity(then: str, expected: DeliveryFault) -> None:
    assert oddity_of(then) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{copies: 2, drop: false}", DeliveryFault(copies=2)),
        ("{drop: true, hold: false, before_response: false}", DeliveryFault(drop=True)),
        ("{hold: false, delay: 1s}", DeliveryFault(delay_ms=1_000)),
        ("{before_response: false, hold: true}", DeliveryFault(hold=True)),
        ("{before_response: true, hold: false}", DeliveryFault(before_response=True)),
    ],
)
def test_a_key_that_is_false_is_as_good_as_absent(then: str, expected: DeliveryFault) -> None:
    assert oddity_of(then) == expected


@pytest.mark.parametrize(
    ("rule", "line", "column", "message"),
    [
        ("  - later\n", 4, 5, "a webhook rule must be a mapping, not 'later'"),
        (
            "  - then: {copies: 2}\n",
            4,
            5,
            "a webhook rule must have 'when': what must match; {} matches everything",
        ),
        (
            "  - when: {}\n",
            4,
            5,
            "a webhook rule must have 'then': what goes wrong, such as {copies: 2}",
        ),
        (
            "  - {when: {}, then: {copies: 2}, time: 1}\n",
            4,
            35,
            "a webhook rule has no key 'time'; did you mean 'times'?",
        ),
        (
            "  - {when: {}, then: {copies: 2}, times: 0}\n",
            4,
            42,
            "times must be a whole number from 1 to 1,000,000, not 0",
        ),
        ("  - {when: {}, then: twice}\n", 4, 22, "then must be a mapping, not 'twice'"),
        ("  - {when: {}, then: [drop]}\n", 4, 22, "then must be a mapping, not a list"),
    ],
)
def test_a_mistake_in_a_rule_names_its_place(
    rule: str, line: int, column: int, message: str
) -> None:
    assert_one_problem(rule, line, column, message)


@pytest.mark.parametrize(
    ("when", "column", "message"),
    [
        ("", 10, "when must be a mapping, not empty"),
        ("payment.completed", 11, "when must be a mapping, not 'payment.completed'"),
        ("{evnt: payment.failed}", 12, "when has no key 'evnt'; did you mean 'event'?"),
        ("{phone: '0900000001'}", 12, "when has no key 'phone'; it can have mode and event"),
        ("{mode: tset}", 18, "mode must be test or live, not 'tset'; did you mean 'test'?"),
        (
            "{event: []}",
            19,
            "event must be payment.created, payment.processing, payment.completed, "
            "payment.failed, payment.expired or payment.refunded, not a list",
        ),
        (
            "{event: ping}",
            19,
            "event must be payment.created, payment.processing, payment.completed, "
            "payment.failed, payment.expired or payment.refunded, not 'ping'",
        ),
        (
            "{event: payment_completed}",
            19,
            "event must be payment.created, payment.processing, payment.completed, "
            "payment.failed, payment.expired or payment.refunded, not 'payment_completed'; "
            "did you mean 'payment.completed'?",
        ),
    ],
)
def test_a_mistake_in_when_names_its_place(when: str, column: int, message: str) -> None:
    assert_one_problem(f"  - when: {when}\n    then: {{copies: 2}}\n", 4, column, message)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PENDING])
def test_a_bare_status_is_told_the_event_that_is_meant(status: Status) -> None:
    (problem,) = problems_of(f"  - when: {{event: {status}}}\n    then: {{copies: 2}}\n")
    assert problem.message.endswith(
        f", not '{status}'; did you mean '{EVENT_TYPES[status]}'?",
    )


NOTHING = "then must say what goes wrong: copies, delay, drop, hold, before_response or tamper"


@pytest.mark.parametrize(
    ("then", "column", "message"),
    [
        ("{}", 11, NOTHING),
        ("{drop: false}", 11, NOTHING),
        ("{drop: false, hold: false, before_response: false}", 11, NOTHING),
        ("{copys: 2}", 12, "then has no key 'copys'; did you mean 'copies'?"),
        ("{drop: true, drop: true}", 24, "'drop' must be given once in then"),
        ("{copies: 0}", 20, "copies must be a whole number from 1 to 100, not 0"),
        ("{copies: 101}", 20, "copies must be a whole number from 1 to 100, not 101"),
        ("{copies: two}", 20, "copies must be a whole number from 1 to 100, not 'two'"),
        ("{copies: 1.5}", 20, "copies must be a whole number from 1 to 100, not 1.5"),
        ("{copies: false}", 20, "copies must be a whole number from 1 to 100, not false"),
        ("{delay: 0s}", 19, "delay must be longer than nothing"),
        ("{delay: 10}", 19, "delay must be a duration such as 30s or 500ms, not 10"),
        (
            "{delay: 10 s}",
            19,
            "delay must be a duration: '10 s' is not a number and one of ms, s, m, h, d, "
            "such as 30s",
        ),
        ("{delay: false}", 19, "delay must be a duration such as 30s or 500ms, not false"),
        ("{drop: yes}", 18, "drop must be true or false, not yes"),
        ("{hold: 30s}", 18, "hold must be true or false, not '30s'"),
        ("{before_response: 1}", 29, "before_response must be true or false, not 1"),
        (
            "{tamper: bdy}",
            20,
            "tamper must be body, signature or timestamp, not 'bdy'; did you mean 'body'?",
        ),
        ("{tamper: true}", 20, "tamper must be body, signature or timestamp, not true"),
        ("{tamper: false}", 20, "tamper must be body, signature or timestamp, not false"),
    ],
)
def test_a_mistake_in_then_names_its_place(then: str, column: int, message: str) -> None:
    assert_one_problem(f"  - when: {{}}\n    then: {then}\n", 5, column, message)


DROPPED = "makes no sense beside 'drop: true': what is dropped is never sent"
HELD = "makes no sense beside 'hold: true': what is held goes out after the payment's next event"
EARLY = "makes no sense beside 'before_response: true': what comes before the response"


@pytest.mark.parametrize(
    ("then", "column", "message"),
    [
        ("{drop: true, copies: 2}", 32, f"'copies' {DROPPED}"),
        ("{copies: 1, drop: true}", 20, f"'copies' {DROPPED}"),
        ("{drop: true, delay: 1s}", 31, f"'delay' {DROPPED}"),
        ("{drop: true, hold: true}", 30, f"'hold' {DROPPED}"),
        ("{drop: true, before_response: true}", 41, f"'before_response' {DROPPED}"),
        ("{drop: true, tamper: body}", 32, f"'tamper' {DROPPED}"),
        ("{hold: true, delay: 1s}", 31, f"'delay' {HELD}"),
        ("{delay: 1s, hold: true, copies: 2}", 19, f"'delay' {HELD}"),
        ("{before_response: true, delay: 1s}", 42, f"'delay' {EARLY} is sent at once"),
        (
            "{before_response: true, hold: true}",
            41,
            f"'hold' {EARLY} cannot wait for the next event",
        ),
    ],
)
def test_what_makes_no_sense_together_is_refused_at_the_key_too_many(
    then: str, column: int, message: str
) -> None:
    assert_one_problem(f"  - when: {{}}\n    then: {then}\n", 5, column, message)


def test_every_two_keys_go_together_or_are_refused() -> None:
    refused = {
        frozenset({key, other}) for key, others in WEBHOOK_EXCLUSIONS.items() for other in others
    }
    assert set(SAYING) == set(WEBHOOK_THEN_KEYS)
    for key, value in SAYING.items():
        for other, other_value in SAYING.items():
            if key != other:
                rule = f"  - when: {{}}\n    then: {{{key}: {value}, {other}: {other_value}}}\n"
                if {key, other} in refused:
                    assert len(problems_of(rule)) == 1
                else:
                    assert rules_of(rule)


def test_each_key_too_many_is_refused_once() -> None:
    everything = ", ".join(f"{key}: {value}" for key, value in SAYING.items())
    problems = problems_of(f"  - when: {{}}\n    then: {{{everything}}}\n")
    assert [problem.message for problem in problems] == [
        f"'{key}' {DROPPED}" for key in SAYING if key != "drop"
    ]


@pytest.mark.parametrize("event", EVENT_TYPES_IN_ORDER[1:])
def test_only_the_event_of_creation_can_come_before_a_response(event: str) -> None:
    assert_one_problem(
        f"  - when: {{event: {event}}}\n    then: {{before_response: true}}\n",
        5,
        29,
        "only payment.created can come before a response, that of the create call, "
        f"and this rule is for {event}",
    )


@pytest.mark.parametrize("when", ["{}", "{mode: live}", "{event: payment.created}"])
def test_an_event_may_come_before_the_response_that_tells_of_it(when: str) -> None:
    (rule,) = rules_of(f"  - when: {when}\n    then: {{before_response: true}}\n")
    assert rule.then.before_response


def test_before_which_response_an_unknown_event_comes_nobody_knows() -> None:
    (problem,) = problems_of(
        "  - when: {event: payment.complete}\n    then: {before_response: true}\n"
    )
    assert problem.message.startswith("event must be ")


def test_every_mistake_is_reported_in_the_order_of_the_file() -> None:
    problems = problems_of(
        """  - when: {mode: tset, event: created}
    then: {copies: 0, delay: 0s, tamper: head}
    times: 0
  - when: {event: payment.failed}
    then: {before_response: true, hold: true}
  - then: {}
"""
    )
    assert [(problem.line, problem.column) for problem in problems] == [
        (4, 18), (4, 31), (5, 20), (5, 30), (5, 42), (6, 12),
        (8, 29), (8, 41),
        (9, 5), (9, 11),
    ]  # fmt: skip
