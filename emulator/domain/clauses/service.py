"""The clauses of section 1: what the service does."""

from emulator.domain.clauses.clause import Clause

_BODY = "tests/api/test_create_body.py::"
_OBJECT = "tests/api/test_payment_object.py::"
_PAYING = "tests/checkout/test_paying.py::"

CLAUSES = (
    Clause(
        number="1.1",
        says="The service accepts JSON-encoded request bodies",
        here="Strict JSON in UTF-8; anything else is 400 `invalid_json`",
        assumed="that a byte order mark, NaN, half a surrogate pair and nesting over 32 are no"
        " JSON",
        tests=(
            f"{_BODY}TestJson::test_what_is_not_json_is_refused",
            f"{_BODY}TestJson::test_half_of_a_surrogate_pair_is_no_json",
            f"{_BODY}TestJson::test_nesting_over_32_is_refused",
            "tests/api/test_messages.py::test_a_byte_order_mark",
        ),
    ),
    Clause(
        number="1.2",
        says="It returns JSON-encoded responses",
        here="Compact JSON with `Content-Type: application/json`, errors included",
        tests=(
            f"{_OBJECT}test_the_answer_is_compact_json",
            "tests/api/test_robustness.py::test_any_request_is_answered_in_the_contracts_words",
        ),
    ),
    Clause(
        number="1.3",
        says="It uses standard HTTP status codes",
        here="Those of section 7 and no other, unless a fault rule says so",
        assumed="that there is no other, for a wrong media type or an unknown verb either",
        knobs=("faults",),
        tests=(
            "tests/api/test_routes.py::test_the_statuses_are_those_of_the_contract",
            "tests/app/test_connections.py::"
            "test_what_is_no_http_is_answered_400_in_the_contract_s_form",
        ),
    ),
    Clause(
        number="1.4",
        says="A payment represents a single customer checkout",
        here="One checkout page for each payment; its first submit decides",
        tests=(
            f"{_OBJECT}"
            "test_ids_and_checkout_tokens_are_all_different_and_tell_nothing_of_each_other",
            f"{_PAYING}test_twenty_submits_at_once_are_one_payment",
        ),
    ),
    Clause(
        number="1.5",
        says="The merchant creates a payment server-side and redirects the customer to its"
        " `checkout_url`",
        here="The page opens from a redirect of any site; the API has no CORS, since secret keys"
        " do not belong in browsers",
        assumed="that there is no CORS",
        tests=(
            "tests/checkout/test_states.py::"
            "test_every_state_has_its_page_opened_afresh_and_after_the_submit",
            "tests/api/test_routes.py::test_a_browser_is_given_no_leave_to_use_a_secret_key",
        ),
    ),
    Clause(
        number="1.6",
        says="The service then handles method selection, a USSD push, or a bank redirect",
        here="The checkout page does, simulated: no operator and no bank is contacted",
        knobs=("outcomes", "--no-handset"),
        tests=(
            "tests/checkout/test_handset.py::test_the_phone_asks_as_a_menu_of_the_operator_would",
            "tests/checkout/test_bank.py::test_the_bank_page_decides_the_payment",
            f"{_PAYING}test_a_submit_of_the_method_alone_goes_to_its_form",
        ),
    ),
    Clause(
        number="1.7",
        says="On success the customer is redirected to `success_url`",
        here="At once, by the page that the customer is on, and exactly as given",
        assumed="that nothing is appended to the URL",
        tests=(
            f"{_PAYING}test_an_approved_payment_takes_the_customer_to_the_success_url",
            "tests/checkout/test_safety.py::test_the_redirect_is_exactly_what_the_merchant_gave",
        ),
    ),
    Clause(
        number="1.8",
        says="On cancellation the customer is redirected to `cancel_url`",
        here="After a cancellation on the phone or on the page; another failure stays on the"
        " page, with a link",
        assumed="that nothing is appended, and that other failures do not redirect",
        tests=(
            f"{_PAYING}test_a_cancel_on_the_phone_takes_the_customer_to_the_cancel_url",
            f"{_PAYING}test_the_cancel_button_leaves_the_payment_pending",
            f"{_PAYING}test_a_payment_without_balance_stays_on_its_result",
        ),
    ),
    Clause(
        number="1.9",
        says="The API root is `{base_url}/v1`",
        here="`/v1` holds the contract and nothing else; what is ours is at `/_emulator`",
        knobs=("--host", "--port"),
        tests=(
            "tests/api/test_routes.py::"
            "test_outside_of_the_contract_and_of_our_own_there_is_nothing",
        ),
    ),
    Clause(
        number="1.10",
        says="The hosted checkout page lives at a separate address, `{checkout_url_host}`",
        here="On a port of its own, at `/c/{token}`",
        assumed="the path",
        knobs=("--checkout-port", "--checkout-url"),
        tests=(
            f"{_OBJECT}test_the_checkout_lives_at_the_address_that_is_configured",
            "tests/checkout/test_safety.py::test_any_other_address_of_the_checkout_listener_is_a_page_of_ours_that_says_so",
        ),
    ),
    Clause(
        number="1.11",
        says="A sandbox mode and a live mode exist, chosen by the kind of key used",
        here="Each mode of an account has its own payments, webhooks and idempotency keys",
        assumed="that the modes share nothing",
        knobs=("--test-key", "--live-key"),
        tests=(
            "tests/api/test_authentication.py::test_the_prefix_of_the_key_chooses_sandbox_or_live",
        ),
    ),
)
