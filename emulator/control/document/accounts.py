"""What the document says of accounts, of resetting them, and of whose a call is."""

from emulator.control.document.operations import Answer, Body, Link, Operation, Subject
from emulator.control.document.shapes import (
    BOOLEAN,
    TEXT,
    answer_of,
    body_of,
    collection_of,
    path_parameter,
    query_parameter,
    ref,
    said,
    words,
)
from emulator.control.fields import MAX_NAME_LENGTH, SEEDS
from emulator.domain.accounts import KEY_PATTERN, Mode

_WORD_OF_A_KEY = KEY_PATTERN.pattern.removeprefix("(test|live)")
_CLOCK = {
    "type": "string",
    "pattern": r"^(real|frozen(@[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?)$",
}
_CLOCK_MEANING = (
    "`real`, `frozen` at the present instant, or `frozen@` and an instant, such as"
    " `frozen@2026-01-01T00:00:00Z`."
)
_NAME = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_LENGTH,
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
}

_SCHEMAS = {
    "Mode": said(words(Mode), "Test or live; both are simulated."),
    "CreateAccount": body_of(
        "The properties of the account; an omitted member gets its default.",
        {
            "name": said(_NAME, "The name of the merchant on pages."),
            "test_key": said(
                {"type": "string", "pattern": f"^test{_WORD_OF_A_KEY}$"},
                "The key of its test mode; by default a new one. No other account may have it.",
            ),
            "live_key": said(
                {"type": "string", "pattern": f"^live{_WORD_OF_A_KEY}$"},
                "The key of its live mode; by default a new one. No other account may have it.",
            ),
            "clock": said(
                _CLOCK,
                f"{_CLOCK_MEANING} Other forms of ISO 8601 are accepted: a date, or an instant"
                " without an offset (UTC). The default is that of `serve --clock`.",
            ),
            "seed": {
                "type": "integer",
                "format": "int64",
                "minimum": SEEDS.start,
                "maximum": SEEDS.stop - 1,
                "description": "Determines ids, tokens, secrets and random values; the"
                " default is that of `serve --seed`.",
            },
        },
    ),
    "Account": answer_of(
        "An account.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `acct_`."),
            "name": said(TEXT, "The name of the merchant on pages."),
            "test_key": said(
                TEXT, "The key of its test mode, complete only in the response of the creation."
            ),
            "live_key": said(
                TEXT, "The key of its live mode, complete only in the response of the creation."
            ),
            "clock": said(
                _CLOCK,
                "The clock at its creation, which a reset restores.",
            ),
        },
    ),
    "AccountList": collection_of("Account", "All accounts, newest first; keys are masked."),
    "Reset": body_of(
        "What is reset.",
        {"all": said(BOOLEAN, "Resets everything: the first two accounts remain.")},
    ),
}

_PARAMETERS = {
    "AccountId": path_parameter("account_id", "The identifier of an account."),
    "Account": query_parameter(
        "account",
        "The identifier of the account that the call acts on; by default the first account."
        " A key takes precedence.",
        {"type": "string"},
    ),
    "Mode": query_parameter(
        "mode",
        "The mode that the call acts on. A key takes precedence.",
        {**ref("Mode"), "default": Mode.TEST.value},
    ),
}

_ON_THE_NEW_ONE = {"query.account": "$response.body#/id"}

_OPERATIONS = (
    Operation(
        method="post",
        path="/_emulator/accounts",
        id="create_account",
        summary="Create an account",
        description="Creates an account with its own keys, clock, seed, scenarios, faults,"
        " journal and webhook endpoints. Only this response contains the complete keys. The body"
        " may be omitted.",
        body=Body(
            description="The properties of the account.", schema="CreateAccount", required=False
        ),
        answers={
            201: Answer(
                description="The account.",
                schema="Account",
                links=(
                    Link(to="get_account", parameters={"account_id": "$response.body#/id"}),
                    Link(to="delete_account", parameters={"account_id": "$response.body#/id"}),
                    Link(to="get_clock", parameters=_ON_THE_NEW_ONE),
                    Link(to="create_webhook_endpoint", parameters=_ON_THE_NEW_ONE),
                ),
            )
        },
        codes={
            400: (
                "invalid_name",
                "invalid_test_key",
                "invalid_live_key",
                "invalid_clock",
                "invalid_seed",
            )
        },
    ),
    Operation(
        method="get",
        path="/_emulator/accounts",
        id="list_accounts",
        summary="List accounts",
        description="Lists all accounts, newest first, with masked keys.",
        answers={200: Answer(description="The accounts.", schema="AccountList")},
    ),
    Operation(
        method="get",
        path="/_emulator/accounts/{account_id}",
        id="get_account",
        summary="Retrieve an account",
        description="Returns one account, with masked keys.",
        parameters=("AccountId",),
        answers={200: Answer(description="The account.", schema="Account")},
        codes={404: ("account_not_found",)},
    ),
    Operation(
        method="delete",
        path="/_emulator/accounts/{account_id}",
        id="delete_account",
        summary="Delete an account",
        description="Deletes an account and all of its data. The first account cannot be"
        " deleted (409).",
        parameters=("AccountId",),
        answers={
            204: Answer(
                description="Deleted.",
                links=(
                    Link(to="get_account", parameters={"account_id": "$request.path.account_id"}),
                ),
            )
        },
        codes={404: ("account_not_found",), 409: ("account_is_permanent",)},
    ),
    Operation(
        method="post",
        path="/_emulator/reset",
        id="reset",
        summary="Reset an account or the whole emulator",
        description="Resets the account to its state at the start: clock, payments, webhook"
        ' endpoints, scenarios, faults, journal and snapshots. `{"all": true}` resets everything'
        " and deletes all but the first two accounts. A reset does not change the base of"
        " `checkout_url`.",
        body=Body(description="What is reset.", schema="Reset", required=False),
        answers={204: Answer(description="The reset is complete.")},
        codes={400: ("invalid_all",)},
    ),
)

SUBJECT = Subject(
    tag="Accounts",
    description="An account has a test key and a live key and isolates tests: it has its"
    " own clock, seed, scenarios, faults, journal and webhook endpoints. Parallel tests use"
    " one account each.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
