"""The clauses of sections 4.4, 5 and 6: test numbers, keys, webhooks."""

from emulator.domain.clauses.clause import Basis, Clause

_KEYS = "tests/api/test_authentication.py::"
_NUMBERS = "tests/control/test_payments.py::test_paying_has_the_outcome_of_the_number"
_OFFERED = "tests/engine/test_numbers.py::"

CLAUSES = (
    Clause(
        number="4.4.1",
        says="In sandbox mode, a USSD push for `telebirr` to a designated test number has a fixed"
        " outcome",
        here="So has an `mpesa` push to numbers of its own; in live mode they are numbers like"
        " any other",
        assumed="the numbers of `mpesa`",
        knobs=("outcomes",),
        tests=(
            _NUMBERS,
            "tests/control/test_payments.py::"
            "test_in_live_mode_the_test_numbers_are_numbers_like_any_other",
        ),
    ),
    Clause(
        number="4.4.2",
        says="First number: the payment completes immediately",
        here="`completed` with the submit",
        knobs=("outcomes",),
        tests=(_NUMBERS,),
    ),
    Clause(
        number="4.4.3",
        says="Second number: the payment fails, insufficient balance",
        here="`failed` with the submit, reason `insufficient_balance`",
        assumed="how soon",
        knobs=("outcomes",),
        tests=(_NUMBERS,),
    ),
    Clause(
        number="4.4.4",
        says="Third number: the payment times out after 30 seconds",
        here="`processing`, after 30 s `failed` with the reason `timeout`",
        assumed="that a time-out is `failed`",
        knobs=("outcomes",),
        tests=(_NUMBERS, "tests/engine/test_rules.py::test_a_step_happens_at_its_own_time"),
    ),
    Clause(
        number="4.4.5",
        says="Fourth number: the user cancels on the USSD menu",
        here="`failed` with the submit, reason `user_cancelled`",
        assumed="that a cancellation is `failed`",
        knobs=("outcomes",),
        tests=(_NUMBERS,),
    ),
    Clause(
        number="4.4.6",
        says="The test numbers are placeholders: not shown",
        here="`+251900000001` to `+251900000004`, of our own choosing",
        basis=Basis.ASSUMED,
        knobs=("outcomes",),
        tests=(f"{_OFFERED}test_in_test_mode_they_are_ours",),
    ),
    Clause(
        number="4.4.7",
        says="Any other number: not shown",
        here="Waits for an answer on the phone, and times out after 30 s",
        basis=Basis.ASSUMED,
        knobs=("outcomes", "POST /_emulator/payments/{payment_id}/answer"),
        tests=(
            "tests/control/test_payments.py::test_the_handset_answers",
            "tests/control/test_payments.py::"
            "test_an_unanswered_handset_times_out_after_thirty_seconds",
        ),
    ),
    Clause(
        number="5.1",
        says="Every request carries the secret key as a Bearer token:"
        " `Authorization: Bearer <API_KEY>`",
        here="The scheme in any case; another scheme, or none, is a missing key",
        assumed="that the case of the scheme does not count, and no other scheme is taken",
        tests=(
            f"{_KEYS}test_the_scheme_may_be_written_in_any_case",
            f"{_KEYS}test_a_missing_or_invalid_key_yields_401",
        ),
    ),
    Clause(
        number="5.2",
        says="A key prefixed `test_` operates in sandbox; no real money moves",
        here="No money moves",
        knobs=("--test-key", "--auto-provision"),
        tests=(f"{_KEYS}test_the_prefix_of_the_key_chooses_sandbox_or_live",),
    ),
    Clause(
        number="5.3",
        says="A key prefixed `live_` processes real payments",
        here="Live mode keeps data of its own; its payments are simulated, and no money moves",
        assumed="that a simulated live payment goes as a real one",
        knobs=("--live-key",),
        tests=(
            f"{_KEYS}test_the_prefix_of_the_key_chooses_sandbox_or_live",
            "tests/checkout/test_states.py::test_live_mode_says_that_it_is_a_simulation_too",
        ),
    ),
    Clause(
        number="5.4",
        says="A missing or invalid key yields 401",
        here="`missing_api_key` or `invalid_api_key`, with `WWW-Authenticate: Bearer`",
        assumed="the codes and the header",
        knobs=("--auto-provision",),
        tests=(
            f"{_KEYS}test_a_missing_or_invalid_key_yields_401",
            f"{_KEYS}TestAutoProvision::test_without_it_an_unknown_key_stays_unknown",
        ),
    ),
    Clause(
        number="5.5",
        says="A resource that belongs to another account is reported as 404",
        here="404 in a path, and as a cursor the answer of an unknown one",
        assumed="the answer to a cursor",
        tests=(
            "tests/api/test_payment_object.py::TestRetrieve::"
            "test_anothers_payment_is_answered_like_one_that_does_not_exist",
            "tests/api/test_list.py::TestPages::"
            "test_every_cursor_that_is_no_payment_of_ours_gets_one_identical_answer",
        ),
    ),
    Clause(
        number="6.1",
        says="The service has webhooks, the recommended way to follow payment status in production",
        here="They are sent, with retries, and every attempt is kept",
        knobs=("--webhook-url", "POST /_emulator/webhook_endpoints"),
        tests=(
            "tests/engine/test_delivering.py::"
            "test_every_change_of_a_payment_is_told_with_the_payment_as_it_was_then",
        ),
    ),
    Clause(
        number="6.2",
        says="Event kinds: not shown",
        here="`payment.created`, and one for each status that a payment comes to",
        basis=Basis.ASSUMED,
        tests=("tests/domain/test_wire.py::test_there_is_a_type_of_event_for_each_status",),
    ),
    Clause(
        number="6.3",
        says="Payload shape: not shown",
        here="`id`, `object`, `type`, `timestamp`, `mode`, and in `data` the payment as it was",
        basis=Basis.ASSUMED,
        tests=("tests/domain/test_wire.py::test_an_event_carries_the_payment_as_it_was",),
    ),
    Clause(
        number="6.4",
        says="Delivery: not shown",
        here="Five attempts, the first at once; 2xx within 15 s is a success, redirects are not"
        " followed, 410 ends it",
        basis=Basis.ASSUMED,
        knobs=("webhooks", "POST /_emulator/webhook_endpoints"),
        tests=(
            "tests/webhooks/test_retry_schedule.py::"
            "test_each_attempt_of_a_profile_comes_so_long_after_the_one_before",
            "tests/webhooks/test_sender.py::test_any_2xx_is_a_success",
            "tests/webhooks/test_sender.py::test_a_redirect_is_not_followed",
        ),
    ),
    Clause(
        number="6.5",
        says="Signing: not shown",
        here="Standard Webhooks 1.0, HMAC-SHA256 with a `whsec_` secret",
        basis=Basis.ASSUMED,
        knobs=("--webhook-secret", "webhooks"),
        tests=(
            "tests/webhooks/test_messages.py::test_a_webhook_verifies_and_is_the_event_to_the_byte",
            "tests/webhooks/test_signatures.py::"
            "test_the_example_of_standard_webhooks_is_signed_as_there",
        ),
    ),
)
