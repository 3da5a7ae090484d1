"""Builds the faults of rules from the keys of a file; a key that is false is left out."""

from typing import Any

from emulator.domain.effects import RequestEffect
from emulator.domain.webhooks import DeliveryEffect
from emulator.scenarios.faults import FAULT_THEN
from emulator.scenarios.values import Fault
from emulator.scenarios.webhook_faults import WEBHOOK_THEN


def request_fault(**settings: Any) -> Fault[RequestEffect]:
    return FAULT_THEN.fault({key: value for key, value in settings.items() if value})


def delivery_fault(**settings: Any) -> Fault[DeliveryEffect]:
    return WEBHOOK_THEN.fault({key: value for key, value in settings.items() if value})
