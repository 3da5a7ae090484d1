"""What a scenario file says of faults, and each way to say it wrong."""

import pytest

from emulator.domain.accounts import Mode
from emulator.domain.faults import ApiRequest, Fault, Point
from emulator.scenarios.faults import read_fault_rule_text
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.problems import Problem, ScenarioError
from emulator.scenarios.values import FaultRule, FaultWhen
from emulator.scenarios.vocabulary import FAULT_COUNTS, FAULT_EXCLUSIONS, FAULT_THEN_KEYS

HEAD = "version: 1\nname: case\nfaults:\n"
# A value for each key that says something, where all others are absent.
SAYING = {
    "status": "500",
    "latency": "1s",
    "drop": "true",
    "truncate": "true",
}


def rules_of(text: str) -> tuple[FaultRule, ...]:
    return parse_scenario(HEAD + text, "case.yaml").faults


def fault_of(then: str) -> Fault:
    (rule,) = rules_of(f"  - when: {{}}\n    then: {then}\n")
    return rule.then


def when_of(when: str) -> FaultWhen:
    (rule,) = rules_of(f"  - when: {when}\n    then: {{drop: true}}\n")
    return rule.when


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
  - when: {mode: test, request: create_payment, nth: 2}
    then: {status: 500, point: after_commit}
    times: 1
  - when: {mode: live, request: any, every: 3}
    then: {status: 429, retry_after: 30s, latency: 1.5s}
  - when: {request: list_payments, chance: 0.3}
    then: {drop: true, latency: 250ms}
  - when: {}
    then: {truncate: true}
"""
    ) == (
        FaultRule(
            when=FaultWhen(mode=Mode.TEST, request=ApiRequest.CREATE_PAYMENT, nth=2),
            then=Fault(status=500, point=Point.AFTER_COMMIT),
            times=1,
        ),
        FaultRule(
            when=FaultWhen(mode=Mode.LIVE, every=3),
            then=Fault(status=429, retry_after_s=30, latency_ms=1_500),
        ),
        FaultRule(
            when=FaultWhen(request=ApiRequest.LIST_PAYMENTS, chance=0.3),
            then=Fault(drop=True, latency_ms=250),
        ),
        FaultRule(then=Fault(truncate=True, point=Point.AFTER_COMMIT)),
    )


@pytest.mark.parametrize("request_name", ApiRequest)
def test_a_rule_may_ask_for_any_request(request_name: ApiRequest) -> None:
    assert when_of(f"{{request: {request_name}}}") == FaultWhen(request=request_name)
    assert when_of("{request: any}") == FaultWhen()


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("{nth: 1}", FaultWhen(nth=1)),
        ("{nth: 1000000}", FaultWhen(nth=1_000_000)),
        ("{every: 1}", FaultWhen(every=1)),
        ("{chance: 1}", FaultWhen(chance=1.0)),
        ("{chance: 1.0}", FaultWhen(chance=1.0)),
        ("{chance: .5}", FaultWhen(chance=0.5)),
        ("{chance: 0.00001}", FaultWhen(chance=0.00001)),
        ("{chance: 1.0e-05}", FaultWhen(chance=0.00001)),
    ],
)
def test_requests_are_counted_in_one_of_three_ways(when: str, expected: FaultWhen) -> None:
    assert when_of(when) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{status: 400}", Fault(status=400)),
        ("{status: 599, retry_after: 1}", Fault(status=599, retry_after_s=1)),
        ("{status: 503, retry_after: 1.5m}", Fault(status=503, retry_after_s=90)),
        ("{status: 503, retry_after: 1000ms}", Fault(status=503, retry_after_s=1)),
        ("{status: 503, retry_after: 1d}", Fault(status=503, retry_after_s=86_400)),
        ("{latency: 1ms}", Fault(latency_ms=1)),
        ("{latency: 5m}", Fault(latency_ms=300_000)),
        ("{latency: 1s, point: after_commit}", Fault(latency_ms=1_000, point=Point.AFTER_COMMIT)),
        ("{drop: true}", Fault(drop=True)),
        ("{drop: true, point: after_commit}", Fault(drop=True, point=Point.AFTER_COMMIT)),
        ("{status: 500, point: before_commit}", Fault(status=500)),
    ],
)
def test_each_key_becomes_its_fault(then: str, expected: Fault) -> None:
    assert fault_of(then) == expected


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("{status: 500, drop: false, truncate: false}", Fault(status=500)),
        ("{drop: true, truncate: false}", Fault(drop=True)),
        (
            "{drop: false, truncate: true}",
            Fault(truncate=True, point=Point.AFTER_COMMIT),
        ),
        (
            "{truncate: false, latency: 1s, point: before_commit}",
            Fault(latency_ms=1_000),
        ),
    ],
)
def test_a_key_that_is_false_is_as_good_as_absent(then: str, expected: Fault) -> None:
    assert fault_of(then) == expected


def test_too_many_requests_always_tells_how_long_to_wait() -> None:
    assert fault_of("{status: 429}") == Fault(status=429, retry_after_s=1)
    assert fault_of("{status: 429, retry_after: 7}") == Fault(status=429, retry_after_s=7)
    assert fault_of("{status: 500}").retry_after_s is None


def test_half_a_true_answer_is_there_after_the_commit_only() -> None:
    after = Fault(truncate=True, point=Point.AFTER_COMMIT)
    assert fault_of("{truncate: true}") == after
    assert fault_of("{truncate: true, point: after_commit}") == after
    assert fault_of("{truncate: true, latency: 1s}").point is Point.AFTER_COMMIT


def test_half_an_error_may_come_before_the_commit() -> None:
    assert fault_of("{truncate: true, status: 500}") == Fault(truncate=True, status=500)
    assert fault_of("{truncate: true, status: 500, point: before_commit}") == Fault(
        truncate=True, status=500
    )


@pytest.mark.parametrize(
    ("rule", "line", "column", "message"),
    [
        ("  - later\n", 4, 5, "a fault rule must be a mapping, not 'later'"),
        (
            "  - then: {status: 500}\n",
            4,
            5,
            "a fault rule must have 'when': what must match; {} matches everything",
        ),
        (
            "  - when: {}\n",
            4,
            5,
            "a fault rule must have 'then': what goes wrong, such as {status: 500}",
        ),
        (
            "  - {when: {}, then: {status: 500}, time: 1}\n",
            4,
            37,
            "a fault rule has no key 'time'; did you mean 'times'?",
        ),
        (
            "  - {when: {}, then: {status: 500}, times: 0}\n",
            4,
            44,
            "times must be a whole number from 1 to 1,000,000, not 0",
        ),
        ("  - {when: {}, then: 500}\n", 4, 22, "then must be a mapping, not 500"),
        ("  - {when: {}, then: [drop]}\n", 4, 22, "then must be a mapping, not a list"),
    ],
)
def test_a_mistake_in_a_rule_names_its_place(
    rule: str, line: int, column: int, message: str
) -> None:
    assert_one_problem(rule, line, column, message)


REQUESTS = "request must be create_payment, retrieve_payment, list_payments or any"
COUNT = "must be a whole number from 1 to 1,000,000"
CHANCE = "chance must be a number above 0 and at most 1, such as 0.3"


@pytest.mark.parametrize(
    ("when", "column", "message"),
    [
        ("", 10, "when must be a mapping, not empty"),
        ("any", 11, "when must be a mapping, not 'any'"),
        ("{requst: any}", 12, "when has no key 'requst'; did you mean 'request'?"),
        (
            "{phone: '0900000001'}",
            12,
            "when has no key 'phone'; it can have mode, request, nth, every and chance",
        ),
        ("{mode: tset}", 18, "mode must be test or live, not 'tset'; did you mean 'test'?"),
        ("{request: 7}", 21, f"{REQUESTS}, not 7"),
        ("{request: POST}", 21, f"{REQUESTS}, not 'POST'"),
        (
            "{request: create_paymnt}",
            21,
            f"{REQUESTS}, not 'create_paymnt'; did you mean 'create_payment'?",
        ),
        ("{nth: 0}", 17, f"nth {COUNT}, not 0"),
        ("{nth: 1000001}", 17, f"nth {COUNT}, not 1000001"),
        ("{nth: second}", 17, f"nth {COUNT}, not 'second'"),
        ("{every: 1.5}", 19, f"every {COUNT}, not 1.5"),
        ("{every: true}", 19, f"every {COUNT}, not true"),
        ("{chance: 0}", 20, f"{CHANCE}, not 0"),
        ("{chance: 0.0}", 20, f"{CHANCE}, not 0.0"),
        ("{chance: 1.01}", 20, f"{CHANCE}, not 1.01"),
        ("{chance: 2}", 20, f"{CHANCE}, not 2"),
        ("{chance: -0.5}", 20, f"{CHANCE}, not -0.5"),
        ("{chance: '0.5'}", 20, f"{CHANCE}, not '0.5'"),
        ("{chance: 30%}", 20, f"{CHANCE}, not '30%'"),
        ("{chance: 0_0.5}", 20, f"{CHANCE}, not 0_0.5"),
        ("{chance: 0:00.5}", 20, f"{CHANCE}, not 0:00.5"),
        ("{chance: .inf}", 20, f"{CHANCE}, not .inf"),
        ("{chance: .nan}", 20, f"{CHANCE}, not .nan"),
        ("{chance: true}", 20, f"{CHANCE}, not true"),
        ("{chance: }", 20, f"{CHANCE}, not empty"),
    ],
)
def test_a_mistake_in_when_names_its_place(when: str, column: int, message: str) -> None:
    assert_one_problem(f"  - when: {when}\n    then: {{drop: true}}\n", 4, column, message)


COUNTED_TWICE = "each of them alone says which requests are struck"


@pytest.mark.parametrize(
    ("when", "column", "message"),
    [
        ("{nth: 1, every: 2}", 27, f"'every' makes no sense beside 'nth': {COUNTED_TWICE}"),
        ("{every: 2, nth: 1}", 27, f"'nth' makes no sense beside 'every': {COUNTED_TWICE}"),
        ("{nth: 1, chance: 0.5}", 28, f"'chance' makes no sense beside 'nth': {COUNTED_TWICE}"),
        ("{chance: 1, every: 2}", 30, f"'every' makes no sense beside 'chance': {COUNTED_TWICE}"),
    ],
)
def test_requests_cannot_be_counted_in_two_ways(when: str, column: int, message: str) -> None:
    assert_one_problem(f"  - when: {when}\n    then: {{drop: true}}\n", 4, column, message)


def test_each_way_of_counting_too_many_is_refused() -> None:
    when = ", ".join(f"{key}: 1" for key in FAULT_COUNTS)
    assert len(problems_of(f"  - when: {{{when}}}\n    then: {{drop: true}}\n")) == 2


NOTHING = "then must say what goes wrong: status, latency, drop or truncate"
STATUS = "status must be a whole number from 400 to 599"
RETRY_AFTER = "retry_after must be whole seconds from 1 to 86,400, such as 30 or 30s"
HALF = (
    "'truncate' without 'status' needs 'point: after_commit', "
    "since half a body needs a true answer to be half of"
)


@pytest.mark.parametrize(
    ("then", "column", "message"),
    [
        ("{}", 11, NOTHING),
        ("{drop: false}", 11, NOTHING),
        ("{drop: false, truncate: false}", 11, NOTHING),
        ("{point: after_commit}", 11, NOTHING),
        ("{truncate: false, point: before_commit}", 11, NOTHING),
        ("{staus: 500}", 12, "then has no key 'staus'; did you mean 'status'?"),
        ("{drop: true, drop: true}", 24, "'drop' must be given once in then"),
        ("{status: 399}", 20, f"{STATUS}, not 399"),
        ("{status: 600}", 20, f"{STATUS}, not 600"),
        ("{status: 200}", 20, f"{STATUS}, not 200"),
        ("{status: '500'}", 20, f"{STATUS}, not '500'"),
        ("{status: failed}", 20, f"{STATUS}, not 'failed'"),
        ("{status: 429, retry_after: 0}", 38, f"{RETRY_AFTER}, not 0"),
        ("{status: 429, retry_after: 0s}", 38, f"{RETRY_AFTER}, not '0s'"),
        ("{status: 429, retry_after: 86401}", 38, f"{RETRY_AFTER}, not 86401"),
        ("{status: 429, retry_after: 2d}", 38, f"{RETRY_AFTER}, not '2d'"),
        ("{status: 429, retry_after: 1500ms}", 38, f"{RETRY_AFTER}, not '1500ms'"),
        ("{status: 429, retry_after: 1.5}", 38, f"{RETRY_AFTER}, not 1.5"),
        ("{status: 429, retry_after: soon}", 38, f"{RETRY_AFTER}, not 'soon'"),
        ("{status: 429, retry_after: [1]}", 38, f"{RETRY_AFTER}, not a list"),
        (
            "{retry_after: 30}",
            25,
            "'retry_after' is a header of an answer, so it needs 'status' beside it",
        ),
        (
            "{latency: 1s, retry_after: 30}",
            38,
            "'retry_after' is a header of an answer, so it needs 'status' beside it",
        ),
        ("{latency: 0s}", 21, "latency must be longer than nothing"),
        ("{latency: 5}", 21, "latency must be a duration such as 30s or 500ms, not 5"),
        ("{latency: 301s}", 21, "latency must not be longer than 5m, since it is real time"),
        ("{latency: 1h}", 21, "latency must not be longer than 5m, since it is real time"),
        ("{drop: yes}", 18, "drop must be true or false, not yes"),
        ("{truncate: 1}", 22, "truncate must be true or false, not 1"),
        (
            "{drop: true, point: after}",
            31,
            "point must be before_commit or after_commit, not 'after'",
        ),
        (
            "{drop: true, point: aftr_commit}",
            31,
            "point must be before_commit or after_commit, not 'aftr_commit'; "
            "did you mean 'after_commit'?",
        ),
        ("{truncate: true, point: before_commit}", 35, HALF),
        ("{point: before_commit, truncate: true, latency: 1s}", 19, HALF),
    ],
)
def test_a_mistake_in_then_names_its_place(then: str, column: int, message: str) -> None:
    assert_one_problem(f"  - when: {{}}\n    then: {then}\n", 5, column, message)


CUT = "makes no sense beside 'drop: true': what is cut off has no answer"


@pytest.mark.parametrize(
    ("then", "column", "message"),
    [
        ("{drop: true, status: 500}", 32, f"'status' {CUT}"),
        ("{status: 500, drop: true}", 20, f"'status' {CUT}"),
        ("{drop: true, retry_after: 1}", 37, f"'retry_after' {CUT}"),
        ("{drop: true, truncate: true}", 34, f"'truncate' {CUT}"),
        ("{drop: true, truncate: true, point: before_commit}", 34, f"'truncate' {CUT}"),
    ],
)
def test_what_makes_no_sense_together_is_refused_at_the_key_too_many(
    then: str, column: int, message: str
) -> None:
    assert_one_problem(f"  - when: {{}}\n    then: {then}\n", 5, column, message)


def test_every_two_keys_go_together_or_are_refused() -> None:
    refused = {
        frozenset({key, other}) for key, others in FAULT_EXCLUSIONS.items() for other in others
    }
    assert set(SAYING) == set(FAULT_THEN_KEYS) - {"retry_after", "point"}
    for key, value in SAYING.items():
        for other, other_value in SAYING.items():
            if key != other:
                rule = f"  - when: {{}}\n    then: {{{key}: {value}, {other}: {other_value}}}\n"
                if {key, other} in refused:
                    assert len(problems_of(rule)) == 1
                else:
                    assert rules_of(rule)


def test_a_wrong_status_is_not_missed_by_what_needs_one() -> None:
    (problem,) = problems_of("  - when: {}\n    then: {status: 20, retry_after: 1, point: x}\n")[:1]
    assert problem.message == f"{STATUS}, not 20"
    messages = [
        problem.message
        for problem in problems_of(
            "  - when: {}\n    then: {status: 20, truncate: true, point: before_commit}\n"
        )
    ]
    assert messages == [f"{STATUS}, not 20"]


def test_every_mistake_is_reported_in_the_order_of_the_file() -> None:
    problems = problems_of(
        """  - when: {mode: tset, request: create, nth: 0}
    then: {status: 200, latency: 0s, point: never}
    times: 0
  - when: {}
    then: {drop: true, status: 500, truncate: true}
  - then: {}
"""
    )
    assert [(problem.line, problem.column) for problem in problems] == [
        (4, 18), (4, 33), (4, 46), (5, 20), (5, 34), (5, 45), (6, 12),
        (8, 32), (8, 47),
        (9, 5), (9, 11),
    ]  # fmt: skip
    assert {problem.key for problem in problems} == {"faults"}


def test_a_rule_that_stands_alone_may_be_json_or_yaml() -> None:
    rule = FaultRule(
        when=FaultWhen(request=ApiRequest.CREATE_PAYMENT, nth=2),
        then=Fault(status=500, point=Point.AFTER_COMMIT),
        times=3,
    )
    json = (
        '{"when":{"request":"create_payment","nth":2},'
        '"then":{"status":500,"point":"after_commit"},"times":3}'
    )
    yaml = """
when: {request: create_payment, nth: 2}
then:
  status: 500
  point: after_commit
times: 3
"""
    assert read_fault_rule_text(json, "body") == rule
    assert read_fault_rule_text(yaml, "body") == rule


def test_a_rule_that_stands_alone_strikes_every_request_without_when() -> None:
    assert read_fault_rule_text('{"then": {"drop": true}}', "body") == FaultRule(
        then=Fault(drop=True)
    )


def test_a_chance_may_be_written_as_json_writes_small_numbers() -> None:
    rule = read_fault_rule_text('{"when": {"chance": 1e-05}, "then": {"drop": true}}', "body")
    assert rule.when.chance == 0.00001


@pytest.mark.parametrize(
    ("text", "line", "column", "key", "message"),
    [
        ("", 1, 1, None, "the file must hold a fault rule, but it is empty"),
        ("[]", 1, 1, None, "a fault rule must be a mapping, not a list"),
        ("{", 2, 1, None, "the file must be YAML: "),
        ("{}", 1, 1, None, "a fault rule must have 'then': what goes wrong, such as {status"),
        ('{"when": {}}', 1, 1, None, "a fault rule must have 'then': what goes wrong"),
        ('{"then": {}}', 1, 10, "then", NOTHING),
        ('{"when": [], "then": {"drop": true}}', 1, 10, "when", "when must be a mapping"),
        ('{"when": {"nth": 0}, "then": {"drop": true}}', 1, 18, "when", f"nth {COUNT}, not 0"),
        ('{"then": {"drop": true}, "times": 0}', 1, 35, "times", "times must be a whole"),
        ('{"thn": {"drop": true}, "then": {"drop": true}}', 1, 2, None, "a fault rule has no"),
        ("then: !!python/name:os.system x", 1, 7, "then", "tags are not understood here"),
    ],
)
def test_a_mistake_in_a_rule_that_stands_alone_names_its_place_and_its_key(
    text: str, line: int, column: int, key: str | None, message: str
) -> None:
    with pytest.raises(ScenarioError) as raised:
        read_fault_rule_text(text, "body")
    problem = raised.value.problems[0]
    assert problem.message.startswith(message), problem
    assert (problem.line, problem.column, problem.key) == (line, column, key), problem
    assert problem.source == "body"
