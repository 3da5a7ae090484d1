"""Every kind of step, played in a private emulator."""

import json
from itertools import permutations

import pytest

from emulator.domain.payment import Status
from emulator.domain.payment_methods import DEFAULT_ORDER
from emulator.scenarios.runner.case_runner import play
from tests.tools.replay.player import Player, case

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def outcomes(player: Player, script: str, rules: str = "") -> list[str]:
    result = await player.passes(script, rules)
    return [step.outcome for step in result.steps if step.outcome]


async def test_a_create_adds_the_default_members(player: Player) -> None:
    result = await player.passes("- create: {as: order}")
    [request] = result.trace.requests
    assert json.loads(request.request_body) == DEFAULT_ORDER
    assert list(json.loads(request.request_body)) == list(DEFAULT_ORDER)
    assert result.names == {"order": json.loads(request.response_body)["id"]}
    assert result.steps[0].outcome == "201 pending"
    assert result.steps[0].payment == result.names["order"]


async def test_a_create_sends_its_members_unchanged(player: Player) -> None:
    result = await player.passes(
        """
        - create: {amount: 1.5, currency: null, metadata: {a: "1"}, unknown: {colour: [red]}}
        - expect: {http_status: 400, code: invalid_amount, param: amount}
        """
    )
    body = json.loads(result.trace.requests[0].request_body)
    assert body["amount"] == 1.5
    assert body["currency"] is None
    assert list(body) == [*DEFAULT_ORDER, "metadata", "colour"]


async def test_the_default_create_causes_no_warning(player: Player) -> None:
    assert (await player.passes("- create: {}")).trace.requests[0].warnings == ()


async def test_a_retrieve_has_a_name_or_an_id(player: Player) -> None:
    assert await outcomes(
        player,
        """
        - create: {as: order}
        - retrieve: order
        - expect: {http_status: 200, status: pending, amount: 10000}
        - retrieve: {id: "pay_no such?one"}
        - expect: {http_status: 404, code: payment_not_found, param: null}
        """,
    ) == ["201 pending", "200 pending", "404 payment_not_found"]


async def test_a_list_has_a_query_and_a_cursor_by_name(player: Player) -> None:
    assert await outcomes(
        player,
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


async def test_the_customer_pays_answers_and_cancels(player: Player) -> None:
    assert await outcomes(
        player,
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
        *("201 pending", "200 pending", "201 pending", "200 processing", "200 completed"),
        *("201 pending", "200 processing", "200 failed"),
    ]


# Scripts that pass, by what they show.
PASSING = {
    "a transition changes the status": """
        - create: {as: order}
        - transition: {payment: order, status: processing, method: mpesa}
        - transition: {payment: order, status: failed, reason: limit_exceeded}
        - expect: {payment: order, method: mpesa, reason: limit_exceeded}
        - transition: {payment: order, status: completed}
        - expect: {http_status: 409, code: invalid_state_transition}
        - transition: {payment: order, status: completed, unusual: true}
        - transition: {payment: order, status: refunded}
        - expect: {payment: order, status: refunded, reason: null}
    """,
    "after a refusal a name keeps its payment": """
        - create: {as: order, amount: 500}
        - create: {as: order, amount: 1}
        - expect: {http_status: 400}
        - expect: {payment: order, amount: 500}
    """,
    "a lost payment is returned to a retry with the same key": """
        - fault: {when: {request: create_payment}, times: 1,
            then: {drop: true, point: after_commit}}
        - create: {as: order, idempotency_key: k}
        - expect: {lost: true}
        - create: {as: order, idempotency_key: k}
        - expect: {http_status: 201, lost: false, replayed: true}
        - expect: {payment: order, status: pending, events: [payment.created]}
        - list: {}
        - expect: {payments: [order]}
    """,
}


@pytest.mark.parametrize("script", PASSING.values(), ids=PASSING)
async def test_a_script_passes(player: Player, script: str) -> None:
    await player.passes(script)


async def test_an_advance_moves_the_clock_to_the_millisecond(player: Player) -> None:
    result = await player.passes(
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
        *("201 pending", "0 effects", "", "1 effect", ""),
    ]


async def test_an_advance_to_next_ends_at_the_next_effect(player: Player) -> None:
    result = await player.passes(
        """
        - create: {as: order}
        - advance: next
        - expect: {payment: order, status: expired}
        - advance: next
        """
    )
    assert [step.outcome for step in result.steps] == ["201 pending", "1 effect", "", "0 effects"]
    assert result.steps[-1].at == "2026-01-01T00:30:00.000Z"


async def test_a_fault_applies_after_its_step(player: Player) -> None:
    result = await player.passes(
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


async def test_the_rules_of_a_disabled_file_apply(player: Player) -> None:
    rules = """
        enabled: false
        outcomes:
          - when: {method: telebirr}
            then: [{status: failed, reason: limit_exceeded}]
        expiry:
          - when: {metadata: {kind: short}}
            after: 5s
        """
    await player.passes(
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


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("- create: {amount: 1}", "create was refused: 400 invalid_amount (amount): "),
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
async def test_an_unexpected_refusal_fails_the_case(player: Player, script: str, why: str) -> None:
    assert (await player.failure(f"{script}\n- advance: 1s")).startswith(why)
    assert (await player.failure(f"{script}\n- expect: {{events: []}}")).startswith(why)
    assert (await player.failure(script)).startswith(why)


async def test_a_case_ends_with_its_first_failure(player: Player) -> None:
    result = await player.play("- create: {amount: 1}\n- create: {}")
    assert [step.failure is None for step in result.steps] == [False]
    assert len(result.trace.requests) == 1


LOST = (
    "- fault: {when: {request: create_payment}, then: {drop: true, point: after_commit}, times: 1}"
)


async def test_an_unexpected_lost_response_fails_the_case(player: Player) -> None:
    why = await player.failure(f"{LOST}\n- create: {{as: order}}")
    assert why == "create got no response: connection closed without a response"


async def test_a_truncated_response_is_lost(player: Player) -> None:
    why = await player.failure(
        """
        - fault: {then: {truncate: true}}
        - create: {as: order}
        """
    )
    assert why == "create got no response: the response is incomplete"


NOT_KNOWN = "create got no response, so order is unknown; retry it with the same idempotency_key"


async def test_the_name_of_a_lost_create_is_unknown(player: Player) -> None:
    before = f"{LOST}\n- create: {{as: order}}\n- expect: {{lost: true}}\n"
    for use in ("retrieve: order", "cancel: order", "list: {after: order}"):
        why = await player.failure(f"{before}- {use}")
        name = use.partition(":")[0]
        assert why == f"{name} is impossible: {NOT_KNOWN}"
    assert await player.mismatches(f"{before}- expect: {{payment: order, status: pending}}") == {
        "status": [f"({NOT_KNOWN})"]
    }


async def test_the_name_of_a_refused_create_is_unknown(player: Player) -> None:
    why = await player.failure(
        """
        - create: {as: order, amount: 1}
        - expect: {http_status: 400}
        - retrieve: order
        """
    )
    assert why == (
        "retrieve is impossible: create was refused with 400 invalid_amount, so order is not known"
    )


async def test_a_refused_account_fails_the_case(player: Player) -> None:
    # Accounts of a private emulator have keys of the names of their cases.
    twice = case("- create: {}", name="twice")
    results = [await play(twice, player.context, lambda _: None) for _ in range(2)]
    result = results[1]
    assert result.failure is not None
    assert result.failure.message.startswith("the account of the case was refused: 400 ")


async def test_in_a_running_emulator_only_accounts_of_failed_cases_are_kept(player: Player) -> None:
    passed = await player.play("- create: {}", is_private=False)
    failed = await player.play("- create: {amount: 1}", is_private=False)
    assert passed.kept_account is None
    assert failed.kept_account is not None
    assert failed.kept_account.startswith("acct_")


async def test_a_transition_makes_every_change(player: Player) -> None:
    lines = []
    for before, after in permutations(Status, 2):
        statuses = [after] if before is Status.PENDING else [before, after]
        steps = [f"transition: {{payment: a, status: {each}, unusual: true}}" for each in statuses]
        lines += ["create: {as: a}", *steps, f"expect: {{payment: a, status: {after}}}"]
    await player.passes("\n".join(f"- {line}" for line in lines))
