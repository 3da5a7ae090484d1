"""The clauses of sections 1 to 3: the service, the payment object, the list, the states."""

from emulator.domain.clauses.clause import Clause

CLAUSES = (
    Clause(
        "1.1",
        "The service accepts JSON-encoded request bodies",
        "Strict JSON in UTF-8; anything else is 400 `invalid_json`. Of a member that occurs twice"
        " the last one counts, with a warning; with `--strict` it is 400 `duplicate_parameter`",
        assumed="that a byte order mark, NaN, a lone surrogate and nesting deeper than 32 are"
        " refused; what happens to a member that occurs twice",
        configured_by=("--strict",),
    ),
    Clause(
        "1.2",
        "It returns JSON-encoded responses",
        "Compact JSON with `Content-Type: application/json`, errors included",
        assumed="that it is compact, and this media type",
    ),
    Clause(
        "1.3",
        "It uses standard HTTP status codes",
        "Only those of section 7, unless a fault rule returns another",
        assumed="that a wrong media type and an unknown method have no status of their own",
        configured_by=("faults",),
    ),
    Clause(
        "1.4",
        "A payment represents a single customer checkout",
        "Each payment has a checkout page of its own; see 3.4",
    ),
    Clause(
        "1.5",
        "The merchant creates a payment server-side and redirects the customer to its"
        " `checkout_url`",
        "A redirect from any site opens the page; the API has no CORS, because secret keys do"
        " not belong in browsers",
        assumed="that there is no CORS",
    ),
    Clause(
        "1.6",
        "The service then handles method selection, a USSD push, or a bank redirect",
        "The checkout page simulates them; no operator and no bank is contacted, and the four"
        " banks are invented",
        assumed="that the customer chooses among banks, and which there are",
        configured_by=("outcomes", "--no-handset"),
    ),
    Clause(
        "1.7",
        "On success the customer is redirected to `success_url`",
        "At once, from the page that the customer has open, to exactly the given URL",
        assumed="that it is at once, and that nothing is appended to the URL",
    ),
    Clause(
        "1.8",
        "On cancellation the customer is redirected to `cancel_url`",
        "After a cancellation on the phone, at the bank or on the page (see 3.3); after another"
        " failure the page stays and shows a link",
        assumed="that nothing is appended, and that other failures do not redirect",
    ),
    Clause(
        "1.9",
        "The API root is `{base_url}/v1`",
        "`/v1` has only the contract's calls; the emulator's own calls are at `/_emulator`",
        configured_by=("--host", "--port"),
    ),
    Clause(
        "1.10",
        "The hosted checkout page lives at a separate address, `{checkout_url_host}`",
        "On a port of its own, at `/c/{token}`",
        assumed="the path",
        configured_by=("--checkout-port", "--checkout-url"),
    ),
    Clause(
        "1.11",
        "A sandbox mode and a live mode exist, chosen by the kind of key used",
        "Each mode of an account has its own payments, webhooks and idempotency keys",
        assumed="that the modes share nothing",
        configured_by=("--test-key", "--live-key"),
    ),
    Clause(
        "2.1.1",
        "`id`: string, a unique payment identifier with the prefix `pay_`",
        "`pay_` and 24 letters and digits",
        assumed="the length",
        configured_by=("--seed",),
    ),
    Clause("2.1.2", "`object`: string, always `payment`", "Always `payment`"),
    Clause("2.1.3", "`amount`: integer, in ETB cents; 100 units are 1 ETB", "As given"),
    Clause("2.1.4", "`currency`: string, always `ETB` in the current API version", "Always `ETB`"),
    Clause(
        "2.1.5",
        "`status`: string, one of `pending`, `processing`, `completed`, `failed`, `expired`,"
        " `refunded`",
        "One of these; a new payment is `pending`",
        assumed="that a new payment is `pending`",
    ),
    Clause(
        "2.1.6",
        "`method`: string or null, the payment method used; null until the customer selects one",
        "Set when the customer submits a method, and never changed",
        assumed="the instant, and that it does not change",
    ),
    Clause(
        "2.1.7",
        "`checkout_url`: string, the URL to which the customer is redirected",
        "An absolute URL with an unguessable token",
        assumed="the token",
        configured_by=("--checkout-url",),
    ),
    Clause(
        "2.1.8",
        "`checkout_url` expires after 30 minutes by default",
        "At `expires_at` a `pending` payment becomes `expired`, and its page returns 410; a"
        " `processing` payment may still complete or fail",
        assumed="410, that the payment expires with its URL, and that `processing` does not expire",
        configured_by=("expires_in", "expiry"),
    ),
    Clause(
        "2.1.9",
        "`success_url`: string, where the customer is redirected after success",
        "Exactly as given",
    ),
    Clause(
        "2.1.10",
        "`cancel_url`: string, where the customer is redirected on cancellation",
        "Exactly as given",
    ),
    Clause(
        "2.1.11",
        "`metadata`: object of up to 20 key/value pairs; values are strings",
        "As given, in the same order; an empty object where none was given",
        assumed="the order, and the empty object",
    ),
    Clause(
        "2.1.12",
        "`created_at`: string, an ISO 8601 timestamp, when the payment was created",
        "UTC with milliseconds, such as `2026-01-01T00:00:00.000Z`",
        assumed="UTC and milliseconds",
        configured_by=("--clock",),
    ),
    Clause(
        "2.1.13",
        "`expires_at`: string, an ISO 8601 timestamp, when the checkout URL expires",
        "`created_at` plus `expires_in` to the millisecond, in the same format",
        assumed="UTC and milliseconds",
        configured_by=("expires_in", "expiry"),
    ),
    Clause(
        "2.1.14",
        "`completed_at`: string (ISO 8601 timestamp) or null, when the payment was confirmed;"
        " null until then",
        "Set by `completed`, and kept by a refund",
        assumed="that a refund keeps it",
    ),
    Clause(
        "2.1.15",
        "The payment object has these thirteen fields",
        "Exactly these, in the order of the table; the reason of a failure is not among them",
        assumed="that there is no other field; the order",
    ),
    Clause(
        "2.1.16",
        "Method values named: `telebirr`, `mpesa`, `bank_transfer`",
        "These three can be offered and used",
        assumed="that every account may offer them",
        configured_by=("--methods",),
    ),
    Clause(
        "2.1.17",
        "Complete list of method values: not shown",
        "Only these three; another value is 400 `invalid_methods`",
        configured_by=("--methods",),
    ),
    Clause(
        "2.2.1",
        "`data`: array, the payment objects of the current page",
        "Whole payment objects, as a retrieve returns them",
    ),
    Clause(
        "2.2.2",
        "`has_more`: boolean, true when a further page exists",
        "True or false, never absent",
    ),
    Clause(
        "2.2.3",
        "`next_cursor`: string, a payment identifier to pass as `after` to obtain the next page",
        "The id of the page's last payment",
        assumed="that it is the id of the last payment",
    ),
    Clause("2.2.4", "`next_cursor` where there is no further page: not shown", "Null"),
    Clause(
        "2.3.1",
        "Error object: see section 7",
        "One form for every error, those of the control API included",
        assumed="that there is no second form",
    ),
    Clause(
        "3.1",
        "States of `status`: `pending`, `processing`, `completed`, `failed`, `expired`, `refunded`",
        "These six",
    ),
    Clause(
        "3.2",
        "Transitions: not shown",
        "`pending` becomes `processing` or `expired`, `processing` becomes `completed` or"
        " `failed`, `completed` becomes `refunded`; a late success only on request",
        configured_by=("outcomes", "POST /_emulator/payments/{payment_id}/transition"),
    ),
    Clause(
        "3.3",
        "What a cancellation on the checkout page does to a payment without a method: not shown",
        "Nothing: it stays `pending`, and its page can be opened again until it expires",
    ),
    Clause(
        "3.4",
        "How often a customer can try to pay: not shown",
        "Once: the first submit counts, and a failed payment is final",
        configured_by=("outcomes",),
    ),
)
