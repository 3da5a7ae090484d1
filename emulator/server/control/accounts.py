"""The calls on accounts: creation, deletion, reset, snapshots, and the recording of a history."""

import re
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.responses import Response

from emulator.domain import errors
from emulator.domain.accounts import KEY_PATTERN, VARY_OFF, mask_key
from emulator.domain.instants import format_clock, format_instant
from emulator.server.control import types
from emulator.server.control.calls import Call
from emulator.server.control.resources import Kind, operation, shown
from emulator.server.engine.accounts.account_registry import NewAccount
from emulator.server.engine.accounts.snapshots import MAX_SNAPSHOTS, MAX_SNAPSHOTS_IN_MEMORY
from emulator.server.engine.state.account import Account
from emulator.server.openapi.declarations import Resource, SuccessResponse, doc
from emulator.server.storage.accounts import Snapshot

_KEY_AFTER_MODE = KEY_PATTERN.pattern.removeprefix("(test|live)")
TestKey = Annotated[str, Meta(pattern=f"^test{_KEY_AFTER_MODE}$", examples=["test_addis_books"])]
LiveKey = Annotated[str, Meta(pattern=f"^live{_KEY_AFTER_MODE}$", examples=["live_addis_books"])]
_NAME = doc("The name of the merchant on pages.", "Addis Books")
_COMPLETE = ", complete only in the response of the creation."


class CreateAccount(types.Body, frozen=True):
    """The properties of the account; an omitted member gets its default."""

    name: Annotated[types.Name | None, _NAME] = None
    test_key: Annotated[TestKey | None, doc("The key of its test mode, by default new.")] = None
    live_key: Annotated[LiveKey | None, doc("The key of its live mode, by default new.")] = None
    takes_over: Annotated[
        TestKey | None,
        doc(
            "The test key of the first account. Requests with this key belong to the new account"
            " until that is deleted, or the emulator ends; one account at a time can have it.",
            "test_demo_key",
        ),
    ] = None
    clock: Annotated[
        types.GivenClock | None,
        doc(
            "As `serve --clock`, which is the default: `real`, `frozen` at the present instant,"
            " `frozen@2026-01-01T00:00:00Z`, or a rate such as `x60`. Other forms of ISO 8601 are"
            " accepted: a date, or an instant without an offset (UTC)."
        ),
    ] = None
    seed: Annotated[
        types.Seed | None, doc("Determines ids, tokens and chance; by default `serve --seed`.")
    ] = None
    vary: Annotated[
        types.Vary | None,
        doc(
            "Other forms of responses and webhooks that the contract allows: names of variants,"
            " separated by commas, a seed, or `off`; the default is the value of `serve --vary`.",
            "member-order,charset",
        ),
    ] = None


class Reset(types.Body, frozen=True):
    """What is reset."""

    all: Annotated[bool | None, doc("Resets everything: the first two accounts remain.")] = None


class AccountJson(Struct, frozen=True):
    """An account."""

    id: Annotated[types.AccountId, doc("Its identifier, with the prefix `acct_`.")]
    name: Annotated[str, _NAME]
    test_key: Annotated[str, doc("The key of its test mode" + _COMPLETE, "test_addis_books")]
    live_key: Annotated[str, doc("The key of its live mode" + _COMPLETE, "live_addis_books")]
    clock: Annotated[types.ClockText, doc("The clock at its creation, which a reset restores.")]
    vary: Annotated[str, doc("The variants of its responses: names, a seed, or `off`.", "off")]


@operation("POST /accounts", "The account.", status=201)
async def create_account(call: Call, body: CreateAccount) -> AccountJson:
    """Create an account.

    Creates an account with its own keys, clock, seed, scenarios, faults, journal and webhook
    endpoints. Only this response contains the complete keys. The body may be omitted.
    """
    return _json(call, await call.engine.accounts.create(NewAccount(**asdict(body))), shown_key=str)


@operation("POST /reset", "The reset is complete.")
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


def _json(_: Call, account: Account, shown_key: Callable[[str], str] = mask_key) -> AccountJson:
    profile = account.profile
    return shown(
        AccountJson,
        profile,
        test_key=shown_key(profile.test_key),
        live_key=shown_key(profile.live_key),
        clock=format_clock(account.initial_clock),
        vary=VARY_OFF if account.variants is None else account.variants.setting,
    )


_ACCOUNT = Kind(
    noun="account",
    path="/accounts/{account_id}",
    id=Annotated[types.AccountId, types.identifies("an account")],
    item=AccountJson,
    show=_json,
)

ACCOUNTS = Resource(
    tag="Accounts",
    description="An account has a test key and a live key and isolates tests: it has its own"
    " clock, seed, scenarios, faults, journal and webhook endpoints. Parallel tests use one"
    " account each.",
    operations=(
        create_account,
        _ACCOUNT.list(
            lambda call: sorted(call.engine.accounts.all(), key=lambda account: -account.number),
            "Lists all accounts, newest first, with masked keys.",
        ),
        _ACCOUNT.get(
            lambda call, account_id: call.engine.accounts.get(account_id),
            "Returns one account, with masked keys.",
        ),
        _ACCOUNT.delete(
            lambda call, account_id: call.engine.accounts.delete(account_id),
            "Deletes an account and all of its data. The first account cannot be deleted (409).",
            errors.AccountIsPermanent,
        ),
        reset,
    ),
)


NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
SnapshotName = Annotated[str, Meta(pattern=f"^{NAME_PATTERN.pattern}$", examples=["one-order"])]


class SavedClock(Struct, frozen=True):
    """The clock after a restore."""

    now: types.InstantText
    frozen: bool


class SavedPayments(Struct, frozen=True):
    """The number of payments, by mode."""

    test: types.Count
    live: types.Count


class SnapshotJson(Struct, frozen=True):
    """A saved state of an account."""

    name: Annotated[SnapshotName, doc("Its name.")]
    created_at: types.CreatedAt
    clock: SavedClock
    payments: SavedPayments


class RecordingQuery(Struct, frozen=True):
    payment: Annotated[types.PaymentId | None, doc("Only this payment.")] = None


@operation(
    "GET /recording",
    {200: SuccessResponse("The file.", "ScenarioFile", media_type=types.YAML)},
    errors.UnknownPayment,
    errors.TooMuchToRecord,
)
async def get_recording(call: Call, query: RecordingQuery) -> Response:
    """Record the history.

    Returns the history of the account and mode, or of one payment, as a scenario file with a
    script for `replay`.
    """
    text = await call.engine.recording.record(call.owner, query.payment)
    return Response(text, media_type=types.YAML)


def _snapshot_json(_: Call, snapshot: Snapshot) -> SnapshotJson:
    now = format_instant(snapshot.created_at)
    return shown(
        SnapshotJson,
        snapshot,
        clock=SavedClock(now=now, frozen=snapshot.is_frozen),
        payments=SavedPayments(test=snapshot.test_payments, live=snapshot.live_payments),
    )


_SNAPSHOT = Kind(
    noun="snapshot",
    path="/snapshots/{name}",
    id=Annotated[
        SnapshotName,
        doc("The name of a snapshot."),
        types.text_parser(
            types.matched(NAME_PATTERN),
            "1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or"
            " a digit",
        ),
    ],
    item=SnapshotJson,
    show=_snapshot_json,
    unknown=errors.UnknownSnapshot,
)


@_SNAPSHOT.operation(
    "PUT /snapshots/{name}",
    errors.TooManySnapshots,
    description="Saves the whole state of the account, including its clock: 201, or 200 if"
    f" it replaces a snapshot with this name. An account has at most {MAX_SNAPSHOTS}"
    f" snapshots. The newest {MAX_SNAPSHOTS_IN_MEMORY} include the journal.",
)
async def save_snapshot(call: Call, name: str) -> tuple[int, Snapshot]:
    """Save a snapshot."""
    snapshot, is_new = await call.engine.snapshots.save(call.account, name)
    return 201 if is_new else 200, snapshot


SNAPSHOTS = Resource(
    tag="Snapshots and recordings",
    description="Saved states of an account that can be restored, and its history as a scenario"
    " file.",
    operations=(
        _SNAPSHOT.list(
            lambda call: call.engine.snapshots.all(call.account),
            "Lists the snapshots of the account, newest first.",
        ),
        save_snapshot,
        _SNAPSHOT.get(
            lambda call, name: call.engine.snapshots.get(call.account, name),
            "Returns one snapshot.",
        ),
        _SNAPSHOT.delete(
            lambda call, name: call.engine.snapshots.delete(call.account, name),
            "Deletes a snapshot.",
        ),
        _SNAPSHOT.act(
            "restore",
            lambda call, name: call.engine.snapshots.restore(call.account, name),
            "Restores the account to the saved state, including its clock.",
        ),
        get_recording,
    ),
)
