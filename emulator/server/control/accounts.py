"""The calls on accounts: creation, deletion and reset."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from emulator.domain import errors
from emulator.domain.accounts import KEY_PATTERN, mask_key
from emulator.domain.instants import format_clock
from emulator.server.control.calls import Call, operation
from emulator.server.control.types import AccountId, Body, ClockText, GivenClock, Name, Seed
from emulator.server.engine.accounts.account_registry import NewAccount
from emulator.server.engine.state.account import Account
from emulator.server.openapi.declarations import Resource, doc

_KEY_AFTER_MODE = KEY_PATTERN.pattern.removeprefix("(test|live)")
TestKey = Annotated[str, Meta(pattern=f"^test{_KEY_AFTER_MODE}$", examples=["test_addis_books"])]
LiveKey = Annotated[str, Meta(pattern=f"^live{_KEY_AFTER_MODE}$", examples=["live_addis_books"])]


class CreateAccount(Body, frozen=True):
    """The properties of the account; an omitted member gets its default."""

    name: Annotated[Name | None, doc("The name of the merchant on pages.", "Addis Books")] = None
    test_key: Annotated[
        TestKey | None,
        doc("The key of its test mode; by default a new one. No other account may have it."),
    ] = None
    live_key: Annotated[
        LiveKey | None,
        doc("The key of its live mode; by default a new one. No other account may have it."),
    ] = None
    clock: Annotated[
        GivenClock | None,
        doc(
            "`real`, `frozen` at the present instant, `frozen@` and an instant, such as"
            " `frozen@2026-01-01T00:00:00Z`, or a rate: `x60` runs sixty times as fast as real"
            " time. Other forms of ISO 8601 are accepted: a date, or"
            " an instant without an offset (UTC). The default is that of `serve --clock`."
        ),
    ] = None
    seed: Annotated[
        Seed | None,
        doc(
            "Determines ids, tokens, secrets and random values; the default is that of `serve"
            " --seed`."
        ),
    ] = None


class Reset(Body, frozen=True):
    """What is reset."""

    all: Annotated[bool | None, doc("Resets everything: the first two accounts remain.")] = None


class AccountPath(Struct, frozen=True):
    account_id: Annotated[
        AccountId, Meta(min_length=1, description="The identifier of an account.")
    ]


class AccountJson(Struct, frozen=True):
    """An account."""

    id: Annotated[AccountId, doc("Its identifier, with the prefix `acct_`.")]
    name: Annotated[str, doc("The name of the merchant on pages.", "Addis Books")]
    test_key: Annotated[
        str,
        doc(
            "The key of its test mode, complete only in the response of the creation.",
            "test_addis_books",
        ),
    ]
    live_key: Annotated[
        str,
        doc(
            "The key of its live mode, complete only in the response of the creation.",
            "live_addis_books",
        ),
    ]
    clock: Annotated[ClockText, doc("The clock at its creation, which a reset restores.")]


class AccountList(Struct, frozen=True):
    """All accounts, newest first; keys are masked."""

    data: list[AccountJson]


@operation(
    "POST /accounts",
    "The account.",
    body="The properties of the account.",
    status=201,
)
async def create_account(call: Call, body: CreateAccount) -> AccountJson:
    """Create an account.

    Creates an account with its own keys, clock, seed, scenarios, faults, journal and webhook
    endpoints. Only this response contains the complete keys. The body may be omitted.
    """
    return _json(await call.engine.accounts.create(NewAccount(**asdict(body))), shown_key=str)


@operation("GET /accounts", "The accounts.")
async def list_accounts(call: Call) -> AccountList:
    """List accounts.

    Lists all accounts, newest first, with masked keys.
    """
    accounts = sorted(call.engine.accounts.all(), key=lambda account: account.number)
    return AccountList([_json(account) for account in reversed(accounts)])


@operation("GET /accounts/{account_id}", "The account.")
async def get_account(call: Call, path: AccountPath) -> AccountJson:
    """Retrieve an account.

    Returns one account, with masked keys.
    """
    return _json(call.engine.accounts.get(path.account_id))


@operation(
    "DELETE /accounts/{account_id}",
    "Deleted.",
    errors.AccountIsPermanent,
)
async def delete_account(call: Call, path: AccountPath) -> None:
    """Delete an account.

    Deletes an account and all of its data. The first account cannot be deleted (409).
    """
    await call.engine.accounts.delete(path.account_id)


@operation("POST /reset", "The reset is complete.", body="What is reset.")
async def reset(call: Call, body: Reset) -> None:
    """Reset an account or the whole emulator.

    Resets the account to its state at the start: clock, payments, webhook endpoints, scenarios,
    faults, journal and snapshots. `{"all": true}` resets everything and deletes all but the
    first two accounts. A reset does not change the base of `checkout_url`.
    """
    if body.all:
        await call.engine.accounts.reset_all()
    else:
        await call.engine.accounts.reset(call.account)


def _json(account: Account, shown_key: Callable[[str], str] = mask_key) -> AccountJson:
    profile = account.profile
    return AccountJson(
        id=profile.id,
        name=profile.name,
        test_key=shown_key(profile.test_key),
        live_key=shown_key(profile.live_key),
        clock=format_clock(account.initial_clock),
    )


ACCOUNTS = Resource(
    tag="Accounts",
    description="An account has a test key and a live key and isolates tests: it has its own"
    " clock, seed, scenarios, faults, journal and webhook endpoints. Parallel tests use one"
    " account each.",
    operations=(create_account, list_accounts, get_account, delete_account, reset),
)
