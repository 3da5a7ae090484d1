"""What each kind of step does, played against a private emulator."""

import json

import pytest

from emulator.replay.step_executor import USUAL_BODY
from tests.replay.stages import Plays

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def outcomes(plays: Plays, script: str, rules: str = "") -> list[str]:
    result = await plays.passes(script, rules)
    return [step.outcome for step in result.steps if step.outcome]


async def test_a_create_fills_in_whatever_it_leaves_out(plays: Plays) -> None:
    result = await plays.passes("- create: {as: order}")
    [request] = result.trace.requests
    assert json.loads(request.request_body) == USUAL_BODY
    assert list(json.loads(request.request_body)) == list(USUAL_BODY)
    assert result.names == {"order": json.loads(request.response_body)["id"]}
    assert result.steps[0].outcome == "201 pending"
    assert result.steps[0].payment == result.names["order"]


async def test_a_create_sends_what_it_says_as_it_is(plays: Plays) -> None:
    result = await plays.passes(
        """
        - create: {amount: 1.5, currency: null, metadata: {a: "1"}, unknown: {colour: [red]}}
        - expect: {http_status: 400, code: invalid_amount, param: amount}
        """
    )
    body = json.loads(result.trace.requests[0].request_body)
    assert body["amount"] == 1.5
    assert body["currency"] is None
    assert list(body) == [*USUAL_BODY, "metadata", "colour"]


async def test_the_usual_create_is_one_without_a_warning(plays: Plays) -> None:
    result = await plays.passes("- create: {}")
    assert result.trace.requests[0].warnings == ()


async def test_a_retrieve_names_a_payment_or_any_id(plays: Plays) -> None:
    assert await outcomes(
        plays,
        """
        - create: {as: order}
        - retrieve: order
        - expect: {http_status: 200, status: pending, amount: 10000}
        - retrieve: {id: "pay_no such?one"}
        - expect: {http_status: 404, code: payment_not_found, param: null}
        """,
    ) == ["201 pending", "200 pending", "404 payment_not_found"]


async def test_a_list_has_its_query_and_its_cursor_by_name(plays: Plays) -> None:
    assert await outcomes(
        plays,
        """
        - create: {as: one}
        - create: {as: two}
        - create: {as: three}
        - list: {limit: 2}
        - expect: {http_status: 200, payments: [three, two], has_more: true}
        - list: {limit: 2, after: two}
        - expect: {payments: [one], has_more: false}
        - list: {}
        - list: {status: expired}
        - expect: {payments: []}
        - list: {limit: many}
        - expect: {http_status: 400, code: invalid_limit}
        """,
    ) == [
        *("201 pending",) * 3,
        "200 2 payments",
        "200 1 payment",
        "200 3 payments",
        "200 0 payments",
        "400 invalid_limit",
    ]


async def test_the_customer_pays_answers_and_cancels(plays: Plays) -> None:
    assert await outcomes(
        plays,
        """
        - create: {as: order}
        - cancel: order
        - expect: {payment: order, status: pending}
        - create: {as: order}
        - pay: {payment: order, phone: "0911223344"}
        - answer: {payment: order, answer: approve}
        - expect: {payment: order, status: completed, method: telebirr}
        - create: {as: other}
        - pay: {payment: other, bank: walia_test}
        - answer: {payment: other, answer: decline}
        - expect: {payment: other, status: failed, reason: bank_declined, method: bank_transfer}
        """,
    ) == [
        "201 pending",
        "200 pending",
        "201 pending",
        "200 processing",
        "200 completed",
        "201 pending",
        "200 processing",
        "200 failed",
    ]


async def test_a_status_is_changed_by_hand(plays: Plays) -> None:
    await plays.passes(
        """
        - create: {as: order}
        - transition: {payment: order, status: processing, method: mpesa}
        - transition: {payment: order, status: failed, reason: limit_exceeded}
        - expect: {payment: order, method: mpesa, reason: limit_exceeded}
        - transition: {payment: order, status: completed}
        - expect: {http_status: 409, code: invalid_state_transition}
        - transition: {payment: order, status: completed, unusual: true}
        - transition: {payment: order, status: refunded}
        - expect: {payment: order, status: refunded, reason: null}
        """
    )


async def test_an_advance_moves_the_clock_to_the_millisecond(plays: Plays) -> None:
    result = await plays.passes(
        """
        - create: {as: order, expires_in: 60}
        - advance: 59999ms
        - expect: {payment: order, status: pending}
        - advance: 1ms
        - expect: {payment: order, status: expired}
        """
    )
    assert [step.at[-13:] for step in result.steps] == [
        "00:00:00.000Z",
        *("00:00:59.999Z",) * 2,
        *("00:01:00.000Z",) * 2,
    ]
    assert [step.outcome for step in result.steps] == [
        "201 pending",
        "0 effects",
        "",
        "1 effect",
        "",
    ]


async def test_an_advance_to_next_goes_to_what_is_due(plays: Plays) -> None:
    result = await plays.passes(
        """
        - create: {as: order}
        - advance: next
        - expect: {payment: order, status: expired}
        - advance: next
        """
    )
    assert [step.outcome for step in result.steps] == ["201 pending", "1 effect", "", "0 effects"]
    assert result.steps[-1].at == "2026-01-01T00:30:00.000Z"


async def test_a_fault_strikes_from_its_step_on(plays: Plays) -> None:
    result = await plays.passes(
        """
        - create: {}
        - fault: {when: {request: create_payment}, then: {status: 429, retry_after: 7}, times: 1}
        - create: {}
        - expect: {http_status: 429, code: rate_limit_exceeded, retry_after: 7, param: null}
        - create: {}
        - expect: {http_status: 201, code: null, retry_after: null}
        """
    )
    assert [request.fault is None for request in result.trace.requests] == [True, False, True]


async def test_a_repeat_plays_its_steps_again_and_again(plays: Plays) -> None:
    result = await plays.passes(
        """
        - repeat:
            times: 2
            steps:
              - create: {as: order}
              - repeat: {times: 3, steps: [{retrieve: order}]}
        - expect: {events: [payment.created, payment.created]}
        """
    )
    assert [step.turns for step in result.steps] == [
        (),
        *((1,), (1,), (1, 1), (1, 2), (1, 3)),
        *((2,), (2,), (2, 1), (2, 2), (2, 3)),
        (),
    ]
    assert [step.number for step in result.steps] == list(range(1, 13))


async def test_a_name_is_that_of_the_latest_payment(plays: Plays) -> None:
    await plays.passes(
        """
        - create: {as: order, amount: 500}
        - create: {as: order, amount: 700}
        - expect: {payment: order, amount: 700}
        """
    )


async def test_rules_of_the_file_are_in_force_even_if_it_is_switched_off(plays: Plays) -> None:
    rules = """
        enabled: false
        outcomes:
          - when: {method: telebirr}
            then: [{status: failed, reason: limit_exceeded}]
        expiry:
          - when: {metadata: {kind: short}}
            after: 5s
        """
    await plays.passes(
        """
        - create: {as: order}
        - pay: {payment: order, phone: "0900000001"}
        - expect: {payment: order, status: failed, reason: limit_exceeded}
        - create: {as: short, metadata: {kind: short}}
        - advance: 5s
        - expect: {payment: short, status: expired}
        """,
        rules,
    )


async def test_without_rules_nothing_is_put(plays: Plays) -> None:
    """And the test numbers of the shipped files are what a phone is answered by."""
    await plays.passes(
        """
        - create: {as: order}
        - pay: {payment: order, phone: "0900000001"}
        - expect: {payment: order, status: completed}
        """
    )


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "- create: {amount: 1}",
            "create was refused: 400 invalid_amount (amount): ",
        ),
        ("- retrieve: {id: pay_nobody}", "retrieve was refused: 404 payment_not_found: "),
        ("- list: {limit: 0}", "list was refused: 400 invalid_limit (limit): "),
        (
            "- create: {as: order}\n- answer: {payment: order, answer: approve}",
            "answer was refused: 409 ",
        ),
        (
            "- create: {as: order}\n- transition: {payment: order, status: refunded}",
            "transition was refused: 409 invalid_state_transition (status): ",
        ),
    ],
)
async def test_a_refusal_that_nobody_expects_fails_the_case(
    plays: Plays, script: str, why: str
) -> None:
    assert (await plays.fails(f"{script}\n- advance: 1s")).startswith(why)
    assert (await plays.fails(f"{script}\n- expect: {{events: []}}")).startswith(why)
    assert (await plays.fails(script)).startswith(why)


async def test_a_refusal_may_be_expected_at_the_begin_of_a_repeat_and_after_its_end(
    plays: Plays,
) -> None:
    await plays.passes(
        """
        - create: {amount: 1}
        - repeat:
            times: 2
            steps:
              - expect: {code: invalid_amount}
              - create: {amount: 1}
        - expect: {param: amount}
        """
    )


async def test_a_case_ends_with_its_first_failure(plays: Plays) -> None:
    result = await plays.play("- create: {amount: 1}\n- create: {}")
    assert [step.failure is None for step in result.steps] == [False]
    assert len(result.trace.requests) == 1


LOST = (
    "- fault: {when: {request: create_payment}, then: {drop: true, point: after_commit}, times: 1}"
)


async def test_what_is_lost_can_be_fetched_with_the_same_key(plays: Plays) -> None:
    await plays.passes(
        f"""
        {LOST}
        - create: {{as: order, idempotency_key: k}}
        - expect: {{lost: true}}
        - create: {{as: order, idempotency_key: k}}
        - expect: {{http_status: 201, lost: false, replayed: true}}
        - expect: {{payment: order, status: pending, events: [payment.created]}}
        - list: {{}}
        - expect: {{payments: [order]}}
        """
    )


async def test_a_lost_answer_that_nobody_expects_fails_the_case(plays: Plays) -> None:
    why = await plays.fails(f"{LOST}\n- create: {{as: order}}")
    assert why == "create got no answer: the connection was cut before an answer came"


async def test_half_an_answer_is_none(plays: Plays) -> None:
    why = await plays.fails(
        """
        - fault: {then: {truncate: true}}
        - create: {as: order}
        """
    )
    assert why == "create got no answer: the connection was cut in the middle of the answer"


NOT_KNOWN = "create got no answer, so order is not known; retry it with the same idempotency_key"


async def test_a_payment_whose_create_was_lost_is_not_known(plays: Plays) -> None:
    before = f"{LOST}\n- create: {{as: order}}\n- expect: {{lost: true}}\n"
    for use in ("retrieve: order", "cancel: order", "list: {after: order}"):
        why = await plays.fails(f"{before}- {use}")
        name = use.partition(":")[0]
        assert why == f"{name} is impossible: {NOT_KNOWN}"
    assert await plays.seen(f"{before}- expect: {{payment: order, status: pending}}") == {
        "status": [f"({NOT_KNOWN})"]
    }


async def test_a_payment_whose_create_was_refused_is_not_known(plays: Plays) -> None:
    why = await plays.fails(
        """
        - create: {as: order, amount: 1}
        - expect: {http_status: 400}
        - retrieve: order
        """
    )
    assert why == (
        "retrieve is impossible: create was refused with 400 invalid_amount, so order is not known"
    )


async def test_a_refusal_leaves_a_name_as_it_was(plays: Plays) -> None:
    await plays.passes(
        """
        - create: {as: order, amount: 500}
        - create: {as: order, amount: 1}
        - expect: {http_status: 400}
        - expect: {payment: order, amount: 500}
        """
    )


async def test_the_clock_may_flow(plays: Plays) -> None:
    script = """
        - create: {as: order, expires_in: 3600}
        - advance: 1h
        - expect: {payment: order, status: expired}
        """
    result = await plays.play(script, clock="real")
    assert result.failure is None
    assert result.began_at > "2026-01-01T00:00:00.000Z"


async def test_an_account_that_cannot_be_made_fails_the_case(plays: Plays) -> None:
    result = await plays.play("- create: {}", seed=2**64)
    assert result.failure is not None
    assert result.failure.message.startswith("the account of the case was refused: 400 ")


async def test_in_a_foreign_emulator_accounts_are_deleted_but_those_that_failed(
    plays: Plays,
) -> None:
    passed = await plays.play("- create: {}", is_private=False)
    failed = await plays.play("- create: {amount: 1}", is_private=False)
    assert passed.kept_account is None
    assert failed.kept_account is not None
    assert failed.kept_account.startswith("acct_")
