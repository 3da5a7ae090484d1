"""Every kind of check of an `expect` step, with matching and other values."""

import pytest

from tests.tools.replay.player import Player

pytestmark = pytest.mark.asyncio(loop_scope="session")

# A failed payment, a pending one, and a list as the last response.
TWO = """
- create: {as: order, metadata: {order: "1"}, amount: 500}
- pay: {payment: order, phone: "0900000002"}
- create: {as: other}
- list: {limit: 1}
"""
RATE_LIMITED = "- fault: {then: {status: 429, retry_after: 9}}\n- create: {}\n"
PAID = '- create: {as: order}\n- pay: {payment: order, phone: "0900000002"}\n'
DROPPED = "- fault: {then: {drop: true}}\n- create: {}\n"

MATCHES = [
    (TWO, "payment: order, status: failed, method: telebirr, reason: insufficient_balance"),
    (TWO, 'payment: order, amount: 500, currency: ETB, metadata: {order: "1"}, object: payment'),
    (TWO, "payment: other, status: pending, method: null, reason: null, completed_at: null"),
    (TWO, "payment: order, events: [payment.created, payment.processing, payment.failed]"),
    (TWO, "events: [payment.created, payment.processing, payment.failed, payment.created]"),
    (TWO, "payment: other, same_as: other"),
    (TWO, "http_status: 200, code: null, param: null, retry_after: null, lost: false"),
    (TWO, "payments: [other], has_more: true, replayed: false"),
    (RATE_LIMITED, "http_status: 429, code: rate_limit_exceeded, retry_after: 9, param: null"),
    ("- create: {amount: 1}\n", "http_status: 400, code: invalid_amount, param: amount"),
    (DROPPED, "lost: true"),
    (PAID, "status: failed, reason: insufficient_balance"),
    (f"{PAID}- retrieve: order\n", "status: failed, reason: insufficient_balance"),
    ("- create: {}\n", "reason: null"),
]

MISMATCHES = [
    (TWO, "payment: order, status: completed", {"status": ["failed"]}),
    (TWO, "payment: order, reason: timeout", {"reason": ["insufficient_balance"]}),
    (
        TWO,
        "payment: order, method: mpesa, amount: 501",
        {"method": ["telebirr"], "amount": ["500"]},
    ),
    (TWO, "payment: order, metadata: {order: 1}", {"metadata": ['order: "1"']}),
    (TWO, "payment: other, events: []", {"events": ["payment.created"]}),
    (
        TWO,
        "events: [payment.created]",
        {"events": ["payment.created", "payment.processing", "payment.failed", "payment.created"]},
    ),
    (TWO, "http_status: 201", {"http_status": ["200"]}),
    (TWO, "code: invalid_limit", {"code": ["null"]}),
    (TWO, "payments: [order]", {"payments": ["other"]}),
    (TWO, "payments: []", {"payments": ["other"]}),
    (TWO, "has_more: false", {"has_more": ["true"]}),
    (TWO, "status: pending", {"status": ["(not there)"]}),
    (TWO, "lost: true", {"lost": ["false"]}),
    (TWO, "replayed: true", {"replayed": ["false"]}),
    (RATE_LIMITED, "retry_after: 1, http_status: 429", {"retry_after": ["9"]}),
    (RATE_LIMITED, "retry_after: null, http_status: 429", {"retry_after": ["9"]}),
    ("- create: {amount: 1}\n", "param: currency", {"param": ["amount"]}),
    (DROPPED, "lost: false", {"lost": ["true"]}),
    (
        DROPPED,
        "http_status: 201",
        {"http_status": ["(no complete response: connection closed without a response)"]},
    ),
    ("- create: {}\n", "payments: []", {"payments": ["(the last response is not a list)"]}),
    ("- create: {}\n", "has_more: true", {"has_more": ["(the last response is not a list)"]}),
    ("", "http_status: 200", {"http_status": ["(there is no earlier request)"]}),
    ("- advance: 1s\n", "http_status: 200", {"http_status": ["(there is no earlier request)"]}),
    ("", "events: [payment.created]", {"events": []}),
    (PAID, "reason: timeout", {"reason": ["insufficient_balance"]}),
    (TWO, "reason: null", {"reason": ["(the last response is not a payment)"]}),
    (
        RATE_LIMITED,
        "reason: null, http_status: 429",
        {"reason": ["(the last response is not a payment)"]},
    ),
    (
        DROPPED,
        "reason: null, lost: true",
        {"reason": ["(no complete response: connection closed without a response)"]},
    ),
    ("", "reason: null", {"reason": ["(there is no earlier request)"]}),
]


@pytest.mark.parametrize(("script", "expected"), MATCHES)
async def test_a_matching_value_passes(player: Player, script: str, expected: str) -> None:
    await player.passes(f"{script}- expect: {{{expected}}}")


@pytest.mark.parametrize(("script", "expected", "mismatches"), MISMATCHES)
async def test_another_value_is_reported(
    player: Player, script: str, expected: str, mismatches: dict[str, list[str]]
) -> None:
    assert await player.mismatches(f"{script}- expect: {{{expected}}}") == mismatches


async def test_all_mismatches_of_a_step_are_reported_with_their_places(player: Player) -> None:
    result = await player.play(
        f"{TWO}- expect: {{payment: order, status: expired, amount: 500, reason: null}}"
    )
    assert result.failure is not None
    assert result.failure.message == "status and reason of order: not as expected"
    assert (result.failure.place.line, result.failure.place.column) == (9, 3)
    assert [
        (mismatch.subject, mismatch.place.line, mismatch.place.column)
        for mismatch in result.failure.mismatches
    ] == [("status", 9, 28), ("reason", 9, 58)]


PATIENT = '- create: {as: order}\n- pay: {payment: order, phone: "0911223344"}\n- advance: 30s\n'


@pytest.mark.parametrize("rest", ["- expect: {payment: order, ", "- retrieve: order\n- expect: {"])
async def test_a_payment_that_timed_out_and_did_not_expire_is_explained(
    player: Player, rest: str
) -> None:
    result = await player.play(f"{PATIENT}{rest}status: expired}}")
    assert result.failure is not None
    [mismatch] = result.failure.mismatches
    assert mismatch.note == (
        "the payment ended as failed with the reason timeout: a payment expires only before the"
        " customer submits a method"
    )
    other = await player.play(f"{PAID}- expect: {{payment: order, status: expired}}")
    assert other.failure is not None
    assert other.failure.mismatches[0].note is None


async def test_two_payments_are_not_the_same(player: Player) -> None:
    seen = await player.mismatches(f"{TWO}- expect: {{payment: order, same_as: other}}")
    assert seen["same_as"][0].startswith("(order is pay_")


async def test_a_payment_may_have_several_names(player: Player) -> None:
    await player.passes(
        """
        - create: {as: one, idempotency_key: k}
        - create: {as: two, idempotency_key: k}
        - expect: {http_status: 201, replayed: true}
        - expect: {payment: two, same_as: one}
        - list: {}
        - expect: {payments: [one]}
        - expect: {payments: [two]}
        """
    )


async def test_a_payment_without_a_name_is_reported_by_its_id(player: Player) -> None:
    seen = await player.mismatches("- create: {}\n- list: {}\n- expect: {payments: []}")
    assert seen["payments"][0].startswith("pay_")


async def test_an_expectation_is_not_a_request_to_v1(player: Player) -> None:
    result = await player.passes(
        """
        - fault: {when: {nth: 3}, then: {status: 500}}
        - create: {as: order}
        - expect: {payment: order, status: pending}
        - expect: {payment: order, events: [payment.created]}
        - expect: {events: [payment.created]}
        - create: {}
        - create: {}
        - expect: {http_status: 500}
        """
    )
    assert len(result.trace.requests) == 3


async def test_webhooks_arrive_in_order_and_verified(player: Player) -> None:
    result = await player.passes(
        """
        - create: {as: order}
        - create: {as: other}
        - pay: {payment: order, phone: "0900000003"}
        - expect: {payment: order, webhooks: [payment.created, payment.processing], forged: []}
        - advance: 30m
        - expect: {payment: other, webhooks: [payment.created, payment.expired]}
        - expect:
            webhooks: [payment.created, payment.created, payment.processing,
              payment.failed, payment.expired]
        """
    )
    assert [webhook.at[-13:] for webhook in result.trace.webhooks] == [
        *("00:00:00.000Z",) * 3,
        "00:00:30.000Z",
        "00:30:00.000Z",
    ]
    assert [webhook.timestamp for webhook in result.trace.webhooks] == [
        *("1767225600",) * 3,
        "1767225630",
        "1767227400",
    ]


TAMPERED = """
webhooks:
  - {when: {event: payment.created}, then: {tamper: body}}
  - {when: {event: payment.processing}, then: {tamper: signature}}
  - {when: {event: payment.completed}, then: {tamper: timestamp}}
"""


async def test_forged_webhooks_are_separated_from_genuine_ones(player: Player) -> None:
    result = await player.passes(
        """
        - create: {as: order}
        - pay: {payment: order, phone: "0900000001"}
        - transition: {payment: order, status: refunded}
        - expect:
            payment: order
            forged: [payment.created, payment.processing, payment.completed]
            webhooks: [payment.refunded]
        """,
        TAMPERED,
    )
    assert [fault["tamper"] for fault in result.trace.webhook_faults] == [
        "body",
        "signature",
        "timestamp",
    ]


async def test_late_webhooks_are_genuine_and_dropped_ones_are_not_received(player: Player) -> None:
    rules = """
        webhooks:
          - {when: {event: payment.created}, then: {delay: 10m, copies: 2}}
          - {when: {event: payment.completed}, then: {drop: true}}
        """
    await player.passes(
        """
        - create: {as: order}
        - pay: {payment: order, phone: "0900000001"}
        - expect: {payment: order, webhooks: [payment.processing], forged: []}
        - advance: 10m
        - expect:
            webhooks: [payment.processing, payment.created, payment.created]
            forged: []
        """,
        rules,
    )


async def test_missing_webhooks_are_reported(player: Player) -> None:
    script = "- create: {as: order}\n- expect: {payment: order, webhooks: [payment.completed]}"
    assert await player.mismatches(script) == {"webhooks": ["payment.created"]}
    assert await player.mismatches(script.replace("webhooks", "forged")) == {"forged": []}


async def test_a_script_without_expected_webhooks_has_no_endpoint(player: Player) -> None:
    result = await player.passes("- create: {}", TAMPERED)
    assert (result.trace.webhooks, result.trace.webhook_faults) == ((), ())


async def test_the_trace_contains_events_with_reasons_and_requests(player: Player) -> None:
    result = await player.passes(f"{TWO}- expect: {{payment: order, status: failed}}")
    trace = result.trace
    assert [event.type.removeprefix("payment.") for event in trace.events] == [
        "created",
        "processing",
        "failed",
        "created",
    ]
    assert [event.reason for event in trace.events] == [None, None, "insufficient_balance", None]
    assert [(request.method, request.path, request.query) for request in trace.requests] == [
        ("POST", "/v1/payments", ""),
        ("POST", "/v1/payments", ""),
        ("GET", "/v1/payments", "limit=1"),
    ]
    assert not trace.is_cut
