"""An account for the length of an examination, so that nothing is changed in anybody's own."""

from dataclasses import replace
from typing import Self

from emulator import ids
from emulator.cli.examination.asking import ACCOUNTS, Server, told

_NAME_DIGITS = 12


class NoGuest(Exception):
    """The emulator made no account; the message says why."""


class Guest:
    """The account: `server` is the emulator, asked with its key.

    However the block ends, it is gone afterwards; else `left_behind` is its name.
    """

    def __init__(self, control: Server) -> None:
        self.server = control
        self.left_behind: str | None = None
        self._control = control
        # Nobody else's, so that it is found also where the answer that tells its id was lost.
        self._name = f"doctor {ids.stream_key(None).hex()[:_NAME_DIGITS]}"

    async def __aenter__(self) -> Self:
        try:
            wanted = {"name": self._name, "clock": "real"}
            answer = await self._control.ask("POST", ACCOUNTS, wanted)
        except BaseException:
            await self._remove()
            raise
        key = answer.member("test_key")
        if answer.status != 201 or not isinstance(key, str):
            await self._remove()
            raise NoGuest(told(answer))
        self.server = replace(self._control, key=key)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._remove()

    async def _remove(self) -> None:
        """Remove whatever account has the name."""
        listed = await self._control.ask("GET", ACCOUNTS)
        accounts = listed.member("data")
        if not isinstance(accounts, list):
            self.left_behind = self._name
            return
        for account in accounts:
            if isinstance(account, dict) and account.get("name") == self._name:
                path = f"{ACCOUNTS}/{account.get('id')}"
                answer = await self._control.ask("DELETE", path)
                if answer.status not in (204, 404):
                    self.left_behind = self._name
