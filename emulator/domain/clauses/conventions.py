"""The clauses of sections 5 to 9: keys, events, errors, limits, versions."""

from emulator.domain.clauses.clause import Clause

CLAUSES = (
    Clause(
        "5.1",
        "Every request carries the secret key as a Bearer token: `Authorization: Bearer <API_KEY>`",
        "The scheme in upper or lower case; another scheme or none counts as a missing key",
        assumed="that the scheme is not case-sensitive, and that no other scheme is accepted",
    ),
    Clause(
        "5.2",
        "A key prefixed `test_` operates in sandbox; no real money moves",
        "No money moves",
        configured_by=("--test-key", "--auto-provision"),
    ),
    Clause(
        "5.3",
        "A key prefixed `live_` processes real payments",
        "Live mode has its own data; its payments are simulated, and no money moves",
        assumed="that a simulated live payment behaves as a real one",
        configured_by=("--live-key",),
    ),
    Clause(
        "5.4",
        "A missing or invalid key yields 401",
        "`missing_api_key` or `invalid_api_key`, with `WWW-Authenticate: Bearer`",
        assumed="the codes and the header",
        configured_by=("--auto-provision",),
    ),
    Clause(
        "5.5",
        "A resource that belongs to another account is reported as 404",
        "404 in a path; as a cursor, the same response as for an unknown one",
        assumed="the response to a cursor",
    ),
    Clause(
        "5.6",
        "The form of a key after its prefix: not shown",
        "4 to 128 letters, digits and `_`; a key of another form is 401 `invalid_api_key`",
        configured_by=("--test-key", "--live-key"),
    ),
    Clause(
        "6.1",
        "The service has webhooks, the recommended way to follow payment status in production",
        "They are sent, with retries, and every attempt is stored",
        assumed="the retries",
        configured_by=("--webhook-url", "POST /_emulator/webhook_endpoints"),
    ),
    Clause(
        "6.2",
        "Event kinds: not shown",
        "`payment.created`, and one for each status that a payment reaches",
    ),
    Clause(
        "6.3",
        "Payload shape: not shown",
        "`id`, `object`, `type`, `timestamp`, `mode`, and in `data` the payment at that time",
    ),
    Clause(
        "6.4",
        "Delivery: not shown",
        "Five attempts, the first at once; 2xx within 15 s is a success, redirects are not"
        " followed, 410 ends the delivery",
        configured_by=("webhooks", "POST /_emulator/webhook_endpoints"),
    ),
    Clause(
        "6.5",
        "Signing: not shown",
        "Standard Webhooks 1.0, HMAC-SHA256 with a `whsec_` secret",
        configured_by=("--webhook-secret", "webhooks"),
    ),
    Clause(
        "7.1",
        "Every error response body contains an `error` object",
        "Also for unknown paths, and for bytes that are not HTTP; with `code`, `message` and"
        " `param`, and nothing else",
        assumed="that there is no other member",
    ),
    Clause(
        "7.2",
        "`error.code`: string, machine-readable",
        "Lower-case letters and `_`",
        assumed="the format",
    ),
    Clause(
        "7.3",
        "`error.message`: string, human-readable",
        "The received value, with keys masked and at most 64 characters long, and the accepted"
        " values; one fixed message for every refused cursor",
        assumed="the wording",
    ),
    Clause(
        "7.4",
        "`error.param`: string, the field at fault, where one applies",
        "Absent where no field is at fault, and on 401, 404, 429 and 500",
        assumed="that it is absent, not null",
    ),
    Clause("7.5", "200: success", "For a retrieve and a list"),
    Clause("7.6", "201: created", "For a create call"),
    Clause(
        "7.7",
        "400: bad request; `error.param` tells which field is invalid",
        "The top-level name of the field; absent where the whole body is at fault",
        assumed="the name of a nested field",
    ),
    Clause(
        "7.8",
        "401: unauthorised, missing or invalid API key",
        "Checked before anything else",
        assumed="that it is checked first",
    ),
    Clause(
        "7.9",
        "404: not found, the resource does not exist or belongs to another account",
        "`payment_not_found`, and `route_not_found` for an unknown path or method",
        assumed="the codes",
    ),
    Clause(
        "7.10",
        "409: conflict, for example an idempotency key reused with different parameters",
        "`idempotency_key_reused` or `idempotency_key_in_use`, with the param `idempotency_key`",
        assumed="the codes and the param",
    ),
    Clause(
        "7.11",
        "429: rate limit exceeded; the client waits the number of seconds in `Retry-After`",
        "`rate_limit_exceeded`, with whole seconds of real time, at least 1; see 7.14",
        assumed="that they are whole, and at least 1",
        configured_by=("--rate-limit", "faults"),
    ),
    Clause(
        "7.12",
        "500: server error; retry",
        "`internal_error`, only by a fault rule, before or after the payment is created",
        configured_by=("faults",),
    ),
    Clause(
        "7.13",
        "The full list of `error.code` values, beyond `invalid_amount`: not shown",
        "A code for each kind of refusal, such as `missing_parameter`;"
        " docs/reference/error-codes.md lists them",
    ),
    Clause(
        "7.14",
        "A request after the seconds in `Retry-After`: not shown",
        "It is served, unless other requests have used up the limit again; on a frozen clock it"
        " is refused until the clock is moved",
        configured_by=("--rate-limit", "POST /_emulator/clock/advance"),
    ),
    Clause("8.1", "Minimum `amount`: 100 (ETB cents)", "100"),
    Clause(
        "8.2", "`metadata` pairs: at most 20, values strings", "20 are accepted, 21 are refused"
    ),
    Clause("8.3", "`expires_in` default: 1800 seconds", "1800 seconds"),
    Clause(
        "8.4",
        "Checkout URL lifetime: 30 minutes by default",
        "30 minutes to the millisecond",
        assumed="the millisecond",
        configured_by=("expires_in", "expiry"),
    ),
    Clause(
        "8.5",
        "List `limit`: 1 to 100, default 10",
        "1 and 100 are accepted, 0 and 101 are refused",
        assumed="that a value out of bounds is refused",
    ),
    Clause(
        "8.6",
        "Sandbox timeout scenario: 30 seconds",
        "30 seconds of the account's clock",
        configured_by=("outcomes", "POST /_emulator/clock/advance"),
    ),
    Clause(
        "8.7",
        "When the rate limit is exceeded, then 429 with a `Retry-After` header is returned",
        "429 `rate_limit_exceeded`",
        assumed="the code",
        configured_by=("--rate-limit", "faults"),
    ),
    Clause(
        "8.8",
        "Rate limit thresholds and windows: not shown",
        "Off, because an invented threshold would fail tests at random; when on, one bucket for"
        " each account and mode, on the account's clock",
        configured_by=("--rate-limit",),
    ),
    Clause(
        "8.9",
        "Minimum and maximum of `expires_in`: not shown",
        "1 second to ten years, else 400 `invalid_expires_in`; under a minute or over a day it"
        " gets a warning",
        configured_by=("--strict",),
    ),
    Clause(
        "9.1",
        "The version is carried in the path as `/v1`",
        "There are no paths without it, and no other version",
        assumed="that there is no other",
    ),
    Clause(
        "9.2",
        "In the current API version `currency` is always `ETB`",
        "Any other currency is refused, and none is returned",
    ),
    Clause(
        "9.3",
        "Rules for introducing new versions, deprecation and compatibility: not shown",
        "There is one version",
    ),
)
