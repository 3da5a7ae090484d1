"""An imported file has only recorded facts, no private text, and lists what is missing."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import yaml

from emulator.domain.user_error import UserError
from emulator.domain.webhooks import STANDARD
from emulator.scenarios.loader import parse_scenario
from emulator.scenarios.webhook_form_file import webhook_form_json
from emulator.tools.recorded_traffic import read_traffic
from emulator.tools.traffic_import import ImportedScript, import_traffic
from tests.tools.recordings import Draws
from tests.tools.traffic_import.recorded import (
    at,
    created,
    entry,
    har_file,
    lines_file,
    payment,
    retrieved,
    webhook,
)

FORM = webhook_form_json(STANDARD)
NO_WEBHOOKS = "the webhooks, their order and their delays"
TELEBIRR = {"method": "telebirr"}
PAID = {**TELEBIRR, "status": "completed", "completed_at": at(9)}


def imported(*paths: Path, keep: Collection[str] = ()) -> ImportedScript:
    [script] = import_traffic(read_traffic(paths), name="imported", keep=keep, form=FORM)
    parse_scenario(script.text, "imported.yaml")
    return script


def document(script: ImportedScript) -> Any:
    return yaml.safe_load(script.text)


def steps(script: ImportedScript, *names: str) -> list[Any]:
    """The steps with these names."""
    return [step for step in document(script)["script"] if next(iter(step)) in names]


def test_a_completed_payment_has_the_statuses_and_distances_of_its_webhooks(
    tmp_path: Path,
) -> None:
    shown = payment()
    webhooks = (
        webhook(shown, 0),
        webhook({**shown, **PAID}, 9, late_s=60),
        webhook({**shown, **TELEBIRR, "status": "processing"}, 4, late_s=90),
    )
    script = imported(
        har_file(tmp_path, created(shown, idempotency_key="k")),
        lines_file(tmp_path, *webhooks),
    )
    assert script.missing == []
    assert script.text.splitlines() == [
        "# Imported from 1 exchange and 3 webhooks.",
        "# Ids, keys, phone numbers, names, metadata and URLs are replaced.",
        "#",
        "# To replay it:  payments-emulator replay FILE",
        "# To also send its webhooks to your endpoints, add:  --url URL --key KEY",
        "version: 1",
        "name: imported",
        "description: Imported from recorded traffic.",
        "",
        "webhooks:",
        "- when: {event: payment.processing}",
        "  then: {delay: 90s}",
        "  times: 1",
        "- when: {event: payment.completed}",
        "  then: {delay: 1m}",
        "  times: 1",
        "",
        "script:",
        "- create: {as: order, amount: 15000, idempotency_key: key_1}",
        "- expect: {payment: order, status: pending}",
        "- advance: 4s",
        "- transition: {payment: order, status: processing, method: telebirr}",
        "- expect: {payment: order, status: processing, method: telebirr}",
        "- advance: 5s",
        "- transition: {payment: order, status: completed}",
        "- expect: {payment: order, status: completed}",
        "- advance: 85s",
        "- expect:",
        "    payment: order",
        "    status: completed",
        "    events: [payment.created, payment.processing, payment.completed]",
        "- expect: {payment: order, webhooks: [payment.created, payment.completed,"
        " payment.processing]}",
    ]


def test_what_a_har_lacks_is_listed(tmp_path: Path) -> None:
    paid, failed = payment(1), payment(2, created_at=at(1), expires_at=at(1_801))
    script = imported(
        har_file(
            tmp_path,
            created(paid),
            created(failed, 1),
            retrieved({**paid, **PAID, "status": "refunded"}, 20),
            retrieved({**failed, **TELEBIRR, "status": "failed"}, 30),
        )
    )
    assert script.missing == [
        "order_1: when it became processing",
        "order_1: when it became refunded",
        "order_2: when it became processing",
        "order_2: when it became failed",
        "order_2: why it failed",
        NO_WEBHOOKS,
    ]
    assert all(f"# - {fact}\n" in script.text for fact in script.missing)
    assert steps(script, "transition", "advance") == [
        {"advance": "1s"},
        {"advance": "8s"},
        {"transition": {"payment": "order_1", "status": "processing", "method": "telebirr"}},
        {"transition": {"payment": "order_1", "status": "completed"}},
        {"advance": "11s"},
        {"transition": {"payment": "order_1", "status": "refunded"}},
        {"advance": "10s"},
        {"transition": {"payment": "order_2", "status": "processing", "method": "telebirr"}},
        {"transition": {"payment": "order_2", "status": "failed"}},
    ]


def test_what_webhooks_lack_is_listed(tmp_path: Path) -> None:
    shown = payment(amount=..., expires_at=..., method=...)
    script = imported(
        lines_file(
            tmp_path,
            webhook({**shown, "status": "completed"}, 3),
            {"at": at(5), "headers": {}, "body": {"type": "payment.completed"}},
        )
    )
    assert script.missing == [
        "order: its amount",
        "order: the methods that it offers",
        "order: when it expires",
        "order: when it became processing",
        "order: its method",
        "order: a webhook of payment.created",
        "order: a webhook of payment.processing",
        "the payment of 1 webhook",
    ]


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        # The page cancelled it: it never had a method.
        ({"status": "failed"}, ["order: when it became failed"]),
        ({"status": "expired"}, []),
        ({}, ["order: whether it expired"]),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_payment_without_a_method_ended_on_its_page(
    changes: dict[str, Any], missing: list[str], tmp_path: Path
) -> None:
    shown = payment()
    other = payment(2, created_at=at(0.5), expires_at=at(90_000))
    entries = (created(shown), created(other), retrieved({**shown, **changes}, 100))
    # Something else happens a day later.
    later = {**other, **TELEBIRR, "status": "processing"}
    script = imported(har_file(tmp_path, *entries, retrieved(later, 80_000)))
    facts = [fact.replace("order_1", "order") for fact in script.missing if "order_1" in fact]
    assert facts == missing
    assert ({"cancel": "order_1"} in document(script)["script"]) is (
        changes == {"status": "failed"}
    )


def test_a_late_success_and_an_impossible_change(tmp_path: Path) -> None:
    shown = {**payment(), **TELEBIRR}
    late = [
        webhook({**shown, "status": status}, n)
        for n, status in enumerate(("failed", "completed"), 5)
    ]
    script = imported(har_file(tmp_path, created(shown)), lines_file(tmp_path, *late))
    assert {"payment": "order", "status": "completed", "unusual": True} in [
        step["transition"] for step in steps(script, "transition")
    ]
    both = [webhook({**shown, "status": status}, 5) for status in ("failed", "expired")]
    script = imported(har_file(tmp_path, created(shown)), lines_file(tmp_path, *both))
    assert "order: how it became expired after failed" in script.missing


@pytest.mark.parametrize("seconds", [35, 1_900])
def test_a_time_out_that_ends_as_expired(tmp_path: Path, seconds: int) -> None:
    """Also after `expires_at`: a payment in processing does not expire by itself."""
    shown = {**payment(), **TELEBIRR}
    sent = [webhook({**shown, "status": "processing"}, 5)]
    sent.append(webhook({**shown, "status": "expired"}, seconds))
    script = imported(har_file(tmp_path, created(shown)), lines_file(tmp_path, *sent))
    assert {"payment": "order", "status": "expired", "unusual": True} in [
        step["transition"] for step in steps(script, "transition")
    ]


def test_a_payment_that_is_only_in_a_list_is_left_out(tmp_path: Path) -> None:
    shown, old = payment(1), payment(2, created_at=at(-90_000))
    page = entry("GET", "/v1/payments", {"data": [{**shown, **PAID}, old]}, seconds=20)
    script = imported(har_file(tmp_path, created(shown), page))
    assert [step["create"]["as"] for step in steps(script, "create")] == ["order"]
    with pytest.raises(UserError, match="no payment that was created"):
        imported(har_file(tmp_path, page))


def test_another_clock_of_the_recorder_makes_no_difference(tmp_path: Path) -> None:
    """The first entry is a day before the service's instants."""
    shown = payment()
    failed = {**shown, **TELEBIRR, "status": "failed"}
    same = imported(har_file(tmp_path, created(shown), retrieved(failed, 30)))
    ahead = imported(har_file(tmp_path, created(shown, -86_400), retrieved(failed, -86_370)))
    assert ahead == same


def test_a_repeated_create_call_shows_neither_the_clock_nor_the_status(tmp_path: Path) -> None:
    shown = {**payment(), **TELEBIRR}
    failed = {**shown, "status": "failed"}
    entries = (created(payment()), retrieved({**shown, "status": "processing"}, 5))
    once = imported(har_file(tmp_path, *entries, retrieved(failed, 900)))
    again = imported(har_file(tmp_path, *entries, created(payment(), 600), retrieved(failed, 900)))
    assert document(again) == document(once)


def test_a_repetition_and_an_unknown_method(tmp_path: Path) -> None:
    shown = payment(metadata={"order": "7", "shop": "Addis"})
    har = har_file(tmp_path, created(shown, methods=["awash"]))
    paid = {**shown, "method": "awash", "status": "processing"}
    lines = lines_file(tmp_path, webhook(shown, 0), *[webhook(paid, 2, late_s=n) for n in (0, 9)])
    script = imported(har, lines, keep=["order"])
    assert script.missing == [
        "order: the time between the copies of payment.processing: sent at once"
    ]
    assert "serve --methods telebirr,mpesa,bank_transfer,method_1" in script.text
    assert "replaced, except metadata order." in script.text
    [create] = steps(script, "create")
    assert create["create"]["metadata"] == {"order": "7", "name_1": "value_1"}
    assert document(script)["webhooks"] == [
        {"when": {"event": "payment.processing"}, "then": {"copies": 2}, "times": 1}
    ]


def test_a_payment_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    shown = [payment(number, metadata={"a": "x" * 300_000}) for number in range(3)]
    with pytest.raises(UserError) as raised:
        imported(har_file(tmp_path, *map(created, shown)), keep=["a"])
    assert str(raised.value).startswith("a payment does not fit into a file. That takes 3")


PRIVATE = [
    *(f"test_private{n:04}secret" for n in range(30)),
    *(f"live_private{n:04}secret" for n in range(10)),
    *(f"+25191{n:07}" for n in range(20)),
    *(f"09{n:08}" for n in range(20)),
    *(f"Abebe{n} Bikila{n}" for n in range(40)),
    *(f"user{n}@mail{n}.example" for n in range(40)),
    *(f"shop{n}.private.example" for n in range(20)),
    *(f"reference-{n:05}" for n in range(20)),
]


def test_no_private_text_is_left_and_a_second_import_is_equal(tmp_path: Path) -> None:
    draws, rest = Draws(1), list(PRIVATE)

    def secret() -> str:
        return rest.pop() if rest else draws.one_of(PRIVATE)

    entries, webhooks = [], []
    for number in range(14):
        pairs = {secret(): secret(), "order": secret()}
        url = f"https://{secret().replace(' ', '')}/{secret()}?a={secret()}"
        shown = payment(
            number,
            id=f"pay_{secret()}",
            metadata=pairs,
            success_url=url,
            cancel_url=url,
            checkout_url=url,
            customer={"name": secret(), "phone": secret()},
            created_at=at(number),
            method=secret() if number == 7 else None,
        )
        body = {"metadata": pairs, "success_url": url, "cancel_url": url, secret(): secret()}
        made = created(shown, number, idempotency_key=secret(), methods=[secret()], **body)
        made["request"]["headers"] = [{"name": "Authorization", "value": f"Bearer {secret()}"}]
        made["serverIPAddress"] = secret()
        refused = entry("POST", "/v1/payments", {"error": {"message": secret()}}, body, status=400)
        other = entry("GET", f"/v1/payments?after={secret()}", {"data": [{"id": secret()}]})
        entries += [made, refused, other]
        notified = webhook({**shown, "status": "processing"}, number + 0.5)
        notified["headers"] |= {"x-shop": secret(), "webhook-signature": secret()}
        notified["body"] |= {"id": secret(), "account": {"email": secret()}}
        webhooks.append(notified)
    assert (rest, len(PRIVATE)) == ([], 200)
    paths = har_file(tmp_path, *entries), lines_file(tmp_path, *webhooks)
    text = imported(*paths).text
    assert [private for private in PRIVATE if private in text] == []
    assert "private" not in text.replace("private emulator", "")
    assert imported(*paths).text == text
    kept = imported(*paths, keep=["order"])
    orders = {str(step["create"]["metadata"]["order"]) for step in steps(kept, "create")}
    assert {private for private in PRIVATE if private in kept.text} == orders & {*PRIVATE}
