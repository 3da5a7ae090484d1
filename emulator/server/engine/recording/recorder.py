"""Records the history of an account and mode as a scenario file."""

import asyncio
from typing import TYPE_CHECKING

from emulator.server.engine.payments.context import EngineService
from emulator.server.engine.state.account import Owner
from emulator.server.storage import actions, deliveries, events, payments
from emulator.server.storage.batch import Transaction
from emulator.server.storage.database import reads
from emulator.server.storage.deliveries import DeliveryFilter

if TYPE_CHECKING:
    from emulator.server.engine.recording.delivery_rules import DeliveryRules
    from emulator.server.engine.recording.script_builder import AccountHistory


class Recorder(EngineService):
    """Reads a history in one transaction; the modules that write it are loaded when needed."""

    async def record(
        self, owner: Owner, payment_id: str | None = None, *, has_deliveries: bool = False
    ) -> str:
        """The history of an owner, or of one payment, as a scenario file.

        With `has_deliveries`, the file has webhook rules that reproduce their order.

        Raises UnknownPayment, TooMuchToRecord, InvalidApiKey.
        """
        from emulator.server.engine.recording.recording_file import recording_file

        await self._scheduler.fire_due(owner.account)
        history = await self._read(owner, payment_id)
        webhooks = None
        if has_deliveries:
            webhooks = await self._read_deliveries(owner, history)
        profile = owner.account.profile
        return await asyncio.to_thread(
            recording_file, history, account_id=profile.id, mode=owner.mode, webhooks=webhooks
        )

    @reads(is_long=True)
    def _read_deliveries(
        self, tx: Transaction, owner: Owner, history: "AccountHistory"
    ) -> "DeliveryRules":
        from emulator.server.engine.recording.delivery_rules import (
            MAX_RECORDED_DELIVERIES,
            delivery_rules,
        )
        from emulator.server.engine.recording.recording_file import check_deliveries

        only = history.payments[0][0].id if len(history.payments) == 1 else None
        found = deliveries.newest(
            tx, owner.number, DeliveryFilter(payment=only), limit=MAX_RECORDED_DELIVERIES + 1
        )
        check_deliveries(history, len(found))
        attempts = deliveries.attempts(tx, [each.position for each in found])
        return delivery_rules(
            history.events, [(each, attempts[each.position]) for each in reversed(found)]
        )

    @reads(is_long=True)
    def _read(self, tx: Transaction, owner: Owner, payment_id: str | None) -> "AccountHistory":
        from emulator.server.engine.recording.recording_file import check_extent
        from emulator.server.engine.recording.script_builder import AccountHistory

        account = owner.account
        account.check_open()
        # A flowing clock may have passed a timer that `fire_due` did not fire.
        now = min(account.clock.now(), account.due_at - 1)
        if payment_id is not None:
            chosen = payments.find(tx, owner.number, payment_id)
            return AccountHistory(
                payments=payments.of_owner(tx, owner.number, only=chosen.position),
                events=events.of_payment(tx, chosen.position),
                actions=[
                    action
                    for action in actions.of_owner(tx, owner.number)
                    if action.payment == chosen.position
                ],
                now=now,
            )
        check_extent(
            tx.row_count("payments", owner.number),
            tx.row_count("actions", owner.number),
            metadata_bytes=lambda: payments.metadata_bytes(tx, owner.number),
        )
        return AccountHistory(
            payments=payments.of_owner(tx, owner.number),
            events=events.of_owner(tx, owner.number),
            actions=actions.of_owner(tx, owner.number),
            now=now,
        )
