"""A shop's program on the client that openapi-python-client makes."""
# ruff: noqa: S106, T201 - the key is one of the emulator, and it is to print

from attrs import evolve
from etb_payments_client import AuthenticatedClient
from etb_payments_client.api.payments import create_payment, list_payments, retrieve_payment
from etb_payments_client.models import (
    CreatePayment,
    Currency,
    Error,
    Metadata,
    Payment,
    PaymentList,
    PaymentMethod,
    PaymentStatus,
)
from etb_payments_client.types import UNSET, Response, Unset

client = AuthenticatedClient(base_url="http://127.0.0.1:8080", token="test_demo_key")

order = CreatePayment(
    amount=15000,
    currency=Currency.ETB,
    methods=[PaymentMethod.TELEBIRR, PaymentMethod.MPESA],
    success_url="https://shop.example/አመሰግናለሁ",
    cancel_url="https://shop.example/cart",
    metadata=Metadata.from_dict({"customer": "አበበ"}),
    idempotency_key="order-1042",
)

payment = create_payment.sync(client=client, body=order)
assert isinstance(payment, Payment)
print("created", payment.id, payment.status, payment.amount, payment.metadata["customer"])

again = create_payment.sync(client=client, body=order)
assert isinstance(again, Payment)
print("retried", again.id)

retrieved = retrieve_payment.sync(payment.id, client=client)
assert isinstance(retrieved, Payment)
print("retrieved", retrieved.id, retrieved.success_url, retrieved.method or "-")

cursor: str | Unset | None = UNSET
while cursor is not None:
    page = list_payments.sync(client=client, limit=2, after=cursor)
    assert isinstance(page, PaymentList)
    print("page", *(one.id for one in page.data))
    cursor = page.next_cursor

narrowed = list_payments.sync(
    client=client,
    status=PaymentStatus.COMPLETED,
    method=PaymentMethod.TELEBIRR,
    created_gte=payment.created_at,
)
assert isinstance(narrowed, PaymentList)
print("narrowed", *(one.id for one in narrowed.data))


def print_refusal(answer: Response[Error | Payment]) -> None:
    if isinstance(answer.parsed, Error):
        refusal = answer.parsed.error
        print(answer.status_code.value, refusal.code, refusal.param or "-")


small = evolve(order, amount=99)
stranger = evolve(client, token="sk_demo")
print_refusal(create_payment.sync_detailed(client=client, body=small))
print_refusal(retrieve_payment.sync_detailed(payment.id, client=stranger))
print_refusal(retrieve_payment.sync_detailed("pay_unknown", client=client))
print_refusal(create_payment.sync_detailed(client=client, body=evolve(order, amount=20000)))
