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
from emulator.control.fields import LONGEST_NAME, SEEDS
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
    "maxLength": LONGEST_NAME,
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
}

_SCHEMAS = {
    "Mode": said(words(Mode), "Sandbox or live; either way everything is simulated."),
    "CreateAccount": body_of(
        "What the account is to be; what is left out is decided here.",
        {
            "name": said(_NAME, "What pages call the merchant."),
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
                f"{_CLOCK_MEANING} Other forms of ISO 8601 are taken, too: a date alone, an instant"
                " without an offset (UTC). By default that of `serve --clock`.",
            ),
            "seed": {
                "type": "integer",
                "format": "int64",
                "minimum": SEEDS.start,
                "maximum": SEEDS.stop - 1,
                "description": "Decides ids, tokens, secrets and chance; by default that of"
                " `serve --seed`.",
            },
        },
    ),
    "Account": answer_of(
        "An account.",
        {
            "id": said(TEXT, "Its identifier, with the prefix `acct_`."),
            "name": said(TEXT, "What pages call the merchant."),
            "test_key": said(TEXT, "The key of its test mode: whole only where it is created."),
            "live_key": said(TEXT, "The key of its live mode: whole only where it is created."),
            "clock": said(
                _CLOCK,
                "The clock that it began with, which a reset goes back to.",
            ),
        },
    ),
    "AccountList": collection_of("Account", "All accounts, newest first; keys are masked."),
    "Reset": body_of(
        "How much is reset.",
        {"all": said(BOOLEAN, "Everything: the first two accounts are as at start, others gone.")},
    ),
}

_PARAMETERS = {
    "AccountId": path_parameter("account_id", "The identifier of an account."),
    "Account": query_parameter(
        "account",
        "The account that the call acts on, by its identifier, where no key is sent; by default"
        " the first one. A key decides before it does.",
        {"type": "string"},
    ),
    "Mode": query_parameter(
        "mode",
        "The mode that the call acts on, where no key is sent. A key decides before it does.",
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
        description="A fresh account with a clock, seed, scenarios, journal and webhooks of its"
        " own: the unit of isolation of tests. This answer alone has its whole keys.",
        body=Body(description="What it is to be.", schema="CreateAccount", required=False),
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
        description="All accounts, newest first; their keys are masked.",
        answers={200: Answer(description="The accounts.", schema="AccountList")},
    ),
    Operation(
        method="get",
        path="/_emulator/accounts/{account_id}",
        id="get_account",
        summary="Look at an account",
        description="One account; its keys are masked.",
        parameters=("AccountId",),
        answers={200: Answer(description="The account.", schema="Account")},
        codes={404: ("account_not_found",)},
    ),
    Operation(
        method="delete",
        path="/_emulator/accounts/{account_id}",
        id="delete_account",
        summary="Delete an account",
        description="Removes an account with all that is its. The first one stays.",
        parameters=("AccountId",),
        answers={
            204: Answer(
                description="It is gone.",
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
        summary="Reset an account, or everything",
        description="Makes the account, or everything, as it was at start, its clock included."
        " The public address of the checkout pages stays.",
        body=Body(description="How much is reset.", schema="Reset", required=False),
        answers={204: Answer(description="It is done.")},
        codes={400: ("invalid_all",)},
    ),
)

SUBJECT = Subject(
    tag="Accounts",
    description="An account owns two keys and is the unit of isolation: each has its own clock,"
    " seed, scenarios, faults, journal and webhooks, so tests that run side by side each take one.",
    operations=_OPERATIONS,
    schemas=_SCHEMAS,
    parameters=_PARAMETERS,
)
