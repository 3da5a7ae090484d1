"""The clauses of section 4: create, retrieve, list, and the sandbox's test numbers."""

from emulator.domain.clauses.clause import Clause

CLAUSES = (
    Clause(
        "4.0.1",
        "POST and PATCH requests must carry `Content-Type: application/json`",
        "A POST with a missing or different `Content-Type`, or a charset other than UTF-8, is"
        " 400 `unsupported_content_type`; there is no PATCH",
        assumed="400 and the code",
    ),
    Clause(
        "4.0.2",
        "POST and PATCH requests must carry a JSON body",
        "Otherwise 400: `invalid_json`, `invalid_request_body` where it is not an object,"
        " `request_too_large` over 256 KiB",
        assumed="the codes and the size",
    ),
    Clause(
        "4.0.3",
        "Calls that take PATCH: not shown",
        "None: 404 `route_not_found`, as for every unknown path and method",
    ),
    Clause(
        "4.0.4",
        "GET requests use query parameters",
        "The body of a GET and its media type are ignored",
        assumed="that a body is ignored",
    ),
    Clause(
        "4.0.5",
        "Every request carries the `Authorization` header",
        "It is checked first, before the route",
        assumed="that it is checked first",
    ),
    Clause(
        "4.0.6",
        "Characters outside ASCII in the address of a request: not shown",
        "Percent-encoded UTF-8; a raw byte is 400 `invalid_request_body`",
    ),
    Clause(
        "4.1.1",
        "`POST /v1/payments` creates a payment",
        "It does, with the event `payment.created`",
        assumed="the event",
    ),
    Clause(
        "4.1.2",
        "`amount`: integer, in ETB cents",
        "A JSON integer of at most 2^53-1, else 400 `invalid_amount`; `100.0`, `1e3` and"
        ' `"100"` are refused',
        assumed="that a whole number with a point or an exponent is no integer; the maximum",
    ),
    Clause(
        "4.1.3",
        "`amount`: minimum 100 (1 ETB), a positive integer",
        "100 is accepted; 99, 0 and negative numbers are 400 `invalid_amount`",
    ),
    Clause(
        "4.1.4",
        "`currency`: must be `ETB`",
        "Exactly `ETB`, else 400 `invalid_currency`",
        assumed="that lower case is refused; the code",
    ),
    Clause(
        "4.1.5",
        "`methods`: array, the payment methods to offer; at least one is required",
        "Offered in the given order; a repeated entry is listed once, with a warning; an empty"
        " array or another value is 400 `invalid_methods`",
        assumed="the order, that duplicates are accepted, and the code",
        configured_by=("--methods", "--strict"),
    ),
    *(
        Clause(
            number,
            f"`{param}`: string, an HTTPS URL",
            f"Absolute, with a host and without white space, else 400 `invalid_{param}`;"
            " accepted with a warning: user information, a backslash, more than 2048 characters, a"
            " host or port that no browser opens",
            assumed="the code; which URLs get a warning",
            configured_by=("--allow-http-localhost", "--strict"),
        )
        for number, param in (("4.1.6", "success_url"), ("4.1.7", "cancel_url"))
    ),
    Clause(
        "4.1.8",
        "`metadata`: object of up to 20 key/value pairs",
        "20 are accepted, 21 are 400 `invalid_metadata`; long keys and values get a warning",
        assumed="the code",
        configured_by=("--strict",),
    ),
    Clause(
        "4.1.9",
        "`metadata`: values must be strings",
        "Anything else is 400 `invalid_metadata`",
        assumed="the code",
    ),
    Clause(
        "4.1.10",
        "`idempotency_key`: a unique string that lets a failed request be retried safely",
        "A retry creates no second payment and no second event. A key that is empty or no string"
        " is 400 `invalid_idempotency_key`; one over 255 characters and the header"
        " `Idempotency-Key` get a warning, with `--strict` 400 (`idempotency_key_header`)",
        assumed="the codes; what gets a warning",
        configured_by=("--strict",),
    ),
    Clause(
        "4.1.11",
        "`expires_in`: integer, seconds until the checkout expires",
        "`expires_at` is that much later than `created_at`; anything but an integer is 400"
        " `invalid_expires_in`",
        assumed="that it is exact to the millisecond; the code",
    ),
    Clause("4.1.12", "`expires_in`: default 1800", "1800"),
    Clause(
        "4.1.13",
        "Required or optional marking of each parameter other than `methods`: not shown",
        "`amount`, `currency`, `success_url` and `cancel_url` are required, else 400"
        " `missing_parameter`; null counts as absent",
    ),
    Clause(
        "4.1.14",
        "Parameters that are not in the table: not shown",
        "Accepted with a warning; with `--strict` 400 `unknown_parameter`",
        configured_by=("--strict",),
    ),
    Clause("4.1.15", "Response: the payment object", "The same object that a retrieve returns"),
    Clause(
        "4.1.16",
        "201 is the status listed for creation",
        "201, with the path of the payment in `Location`",
        assumed="the header",
    ),
    Clause(
        "4.1.17",
        "An invalid amount is a 400 whose `error.param` names the field",
        "As every invalid field; `error.param` names the first in the order of the table",
        assumed="which field is named",
    ),
    Clause(
        "4.1.18",
        "An invalid amount has, for example, the code `invalid_amount`",
        "`invalid_amount` for every invalid amount",
    ),
    Clause(
        "4.1.19",
        "An idempotency key reused with different parameters is a 409",
        "`idempotency_key_reused`. Compared after defaults; the order of `methods` counts, the"
        " order of members and of metadata does not",
        assumed="what counts as different",
    ),
    Clause(
        "4.1.20",
        "How a retry is answered: not shown",
        "201 with the bytes of the first response, and `Idempotent-Replayed: true`",
    ),
    Clause(
        "4.1.21",
        "What uses an idempotency key up, and for whom: not shown",
        "A created payment, for its account and mode; a refused request does not use the key",
    ),
    Clause(
        "4.1.22",
        "How long an idempotency key is remembered: not shown",
        "24 hours of the account's clock",
    ),
    Clause(
        "4.1.23",
        "Concurrent use of one idempotency key: not shown",
        "One request creates; the others wait for its response, after 5 s 409"
        " `idempotency_key_in_use`",
    ),
    Clause(
        "4.2.1",
        "`GET /v1/payments/:id`, where `id` is a payment identifier (`pay_` prefix)",
        "The payment with exactly this id",
        assumed="that upper and lower case are different",
    ),
    Clause(
        "4.2.2",
        "No body",
        "None is needed; one that is sent is ignored",
        assumed="that a body is ignored",
    ),
    Clause(
        "4.2.3",
        "Response: the full payment object",
        "In its present state: everything due has been applied",
        assumed="that everything due has been applied",
    ),
    Clause(
        "4.2.4",
        "Polling for status is meant for use before going live",
        "More than 30 reads of one live payment get a warning, also with `--strict`",
        assumed="the number",
    ),
    Clause(
        "4.2.5",
        "In production, webhooks are the intended way to learn of status changes",
        "Every change of status sends a webhook, in both modes",
        assumed="that every change sends one, also in the sandbox",
        configured_by=("--webhook-url", "POST /_emulator/webhook_endpoints"),
    ),
    Clause(
        "4.2.6",
        "A payment that does not exist is a 404",
        "404 `payment_not_found`",
        assumed="the code",
    ),
    Clause(
        "4.2.7",
        "A payment that belongs to another account is a 404",
        "The same response as for one that does not exist; also for a payment of the other mode",
        assumed="that the responses are identical; the other mode",
    ),
    Clause(
        "4.3.1",
        "`GET /v1/payments` lists payments",
        "Those of the key's account and mode",
        assumed="that each mode has its own list",
    ),
    Clause(
        "4.3.2",
        "`limit`: number of results",
        "So many, where the list has them",
    ),
    Clause("4.3.3", "`limit`: default 10", "10"),
    Clause(
        "4.3.4",
        "`after`: the previous page's `next_cursor`; returns the page after that payment"
        " identifier",
        "Any payment of the account and mode is a cursor, even one that the filters exclude",
        assumed="that any payment is a cursor",
    ),
    Clause(
        "4.3.5",
        "`status`: filter by a status value",
        "Everything due is applied before the filter",
        assumed="that everything due has been applied",
    ),
    Clause(
        "4.3.6",
        "`method`: filter by method",
        "By the method that the customer chose; a payment without a method does not match",
        assumed="that the methods offered do not count",
        configured_by=("--methods",),
    ),
    *(
        Clause(
            number,
            f"`{param}`: ISO 8601 timestamp; only payments created {relation} it",
            "To the millisecond; without an offset it is UTC, with a warning; see 4.3.14",
            assumed="the millisecond, and that a timestamp without an offset is UTC",
            configured_by=("--strict",),
        )
        for number, param, relation in (
            ("4.3.7", "created_gte", "after"),
            ("4.3.8", "created_lte", "before"),
        )
    ),
    Clause(
        "4.3.9",
        "Response: the list envelope with `data`, `has_more` and `next_cursor`",
        "Exactly these three, in this order",
        assumed="that there is no other field; the order",
    ),
    Clause(
        "4.3.10",
        "Pagination is cursor-based",
        "The pages together are the whole list; see 4.3.16",
    ),
    Clause(
        "4.3.11",
        "Ordering of results: not shown",
        "Newest first; at equal times the payment created later comes first",
    ),
    Clause("4.3.12", "Whether the timestamp bounds are inclusive: not shown", "Both are"),
    Clause(
        "4.3.13",
        "A cursor, a filter or a timestamp that is none: not shown",
        "400 `invalid_cursor`, `invalid_status`, `invalid_method`, `invalid_created_gte` or"
        " `invalid_created_lte`; an empty value is a value",
        configured_by=("--methods",),
    ),
    Clause(
        "4.3.14",
        "Which forms of ISO 8601 a timestamp may have: not shown",
        "A date, a time and an offset, extended or basic. With a warning: an ordinal or a week"
        " date, a mixture of basic and extended form, `T24:00:00`, a leap second (`23:59:60`"
        " UTC) and an offset with seconds. 400: a fraction of an hour or a minute, `:60`"
        " elsewhere, a year or a month alone",
        configured_by=("--strict",),
    ),
    Clause(
        "4.3.15",
        "`limit`: 1 to 100",
        "Decimal digits; anything else is 400 `invalid_limit`",
        assumed="that a value out of bounds is refused; the code",
    ),
    Clause(
        "4.3.16",
        "Payments that are created while a client reads page after page: not shown",
        "They shift no page",
    ),
    Clause(
        "4.3.17",
        "Several filters in one request: not shown",
        "A payment must match all of them",
    ),
    Clause(
        "4.3.18",
        "A query parameter that occurs twice: not shown",
        "The last one counts, with a warning; with `--strict` 400 `duplicate_parameter`",
        configured_by=("--strict",),
    ),
    Clause(
        "4.4.1",
        "In sandbox mode, a USSD push for `telebirr` to a designated test number has a fixed"
        " outcome",
        "So has an `mpesa` push to its own numbers; in live mode these numbers have no fixed"
        " outcome",
        assumed="the numbers of `mpesa`",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.2",
        "First number: the payment completes immediately",
        "`completed` on submit",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.3",
        "Second number: the payment fails, insufficient balance",
        "`failed` on submit, with the reason `insufficient_balance`",
        assumed="how soon",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.4",
        "Third number: the payment times out after 30 seconds",
        "`processing`, after 30 s `failed` with the reason `timeout`",
        assumed="that a time-out is `failed`",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.5",
        "Fourth number: the user cancels on the USSD menu",
        "`failed` on submit, with the reason `user_cancelled`",
        assumed="that a cancellation is `failed`",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.6",
        "The test numbers are placeholders: not shown",
        "`+251900000001` to `+251900000004`, chosen by the emulator",
        configured_by=("outcomes",),
    ),
    Clause(
        "4.4.7",
        "Any other number: not shown",
        "Waits for confirmation on the phone, and times out after 30 s",
        configured_by=("outcomes", "POST /_emulator/payments/{payment_id}/answer"),
    ),
    Clause(
        "4.4.8",
        "The forms of a phone number, and the method to which a number belongs: not shown",
        "Nine digits, alone or after `+251`, `00251`, `251` or `0`; spaces and hyphens are ignored."
        " Numbers with `9` first are of `telebirr`, with `7` first of `mpesa`; others are refused",
    ),
)
