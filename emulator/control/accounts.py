"""Accounts as they come and go, and the way back to how everything was at start."""

from starlette.requests import Request
from starlette.responses import Response

from emulator.control.calls import Calls
from emulator.control.replies import no_content, reply
from emulator.domain.accounts import mask_key
from emulator.domain.instants import format_clock
from emulator.engine.accounts.account_registry import AccountRegistry, NewAccount
from emulator.engine.state.account import Account


class AccountCalls:
    """`/accounts` and `/reset`."""

    def __init__(self, calls: Calls, accounts: AccountRegistry) -> None:
        self._calls = calls
        self._accounts = accounts

    async def create(self, request: Request) -> Response:
        call = await self._calls.decode(
            request, body=("name", "test_key", "live_key", "clock", "seed")
        )
        fields = call.fields
        account = await self._accounts.create(
            NewAccount(
                name=fields.name("name"),
                test_key=fields.text("test_key"),
                live_key=fields.text("live_key"),
                clock=fields.clock("clock"),
                seed=fields.seed("seed"),
            )
        )
        profile = account.profile
        # The only answer with whole keys: whoever asked for the account has to learn them.
        return reply(_shown(account, profile.test_key, profile.live_key), status=201)

    async def list(self, request: Request) -> Response:
        await self._calls.decode(request)
        newest_first = sorted(
            self._accounts.all(), key=lambda account: account.number, reverse=True
        )
        return reply({"data": [_masked(account) for account in newest_first]})

    async def get(self, request: Request) -> Response:
        await self._calls.decode(request)
        return reply(_masked(self._accounts.get(request.path_params["account_id"])))

    async def delete(self, request: Request) -> Response:
        await self._calls.decode(request, body=())
        await self._accounts.delete(request.path_params["account_id"])
        return no_content()

    async def reset(self, request: Request) -> Response:
        call = await self._calls.decode(request, body=("all",))
        if call.fields.flag("all"):
            await self._accounts.reset_all()
        else:
            await self._accounts.reset(call.account)
        return no_content()


def _masked(account: Account) -> dict[str, str]:
    profile = account.profile
    return _shown(account, mask_key(profile.test_key), mask_key(profile.live_key))


def _shown(account: Account, test_key: str, live_key: str) -> dict[str, str]:
    """An account; its clock is the one that it began with and that a reset goes back to."""
    return {
        "id": account.profile.id,
        "name": account.profile.name,
        "test_key": test_key,
        "live_key": live_key,
        "clock": format_clock(account.initial_clock),
    }
