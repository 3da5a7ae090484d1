"""Defines the actions of the customer and the control API, as they are stored for recordings."""

from typing import ClassVar

import msgspec

from emulator.domain.instants import parse_duration_ms
from emulator.domain.outcomes import Handset, Outcome, Scripted, Step
from emulator.domain.payment import Reason, Status
from emulator.storage.actions import Action

_HANDSET = "handset"


class _StoredStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of an outcome, as in scenario files."""

    after: str = "0ms"
    status: Status
    reason: Reason | None = None
    unusual: bool = False


class Paid(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A method was submitted; `phone` is normalised; the outcome is the one that follows."""

    name: ClassVar[str] = "pay"
    method: str
    phone: str | None = None
    bank: str | None = None
    stored_outcome: str | list[_StoredStep] = msgspec.field(name="outcome")

    @property
    def outcome(self) -> Outcome:
        if isinstance(self.stored_outcome, str):
            return Handset()
        return Scripted(
            steps=tuple(
                Step(
                    status=step.status,
                    after_ms=parse_duration_ms(step.after),
                    reason=step.reason,
                    unusual=step.unusual,
                )
                for step in self.stored_outcome
            )
        )


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A person answered on the phone or at the bank."""

    name: ClassVar[str] = "answer"
    answer: str


class Cancelled(msgspec.Struct, frozen=True):
    """The page's cancel button was pressed."""

    name: ClassVar[str] = "cancel"


class Transitioned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A status was changed through the control API; what is None was not in the request."""

    name: ClassVar[str] = "transition"
    status: Status
    method: str | None = None
    reason: Reason | None = None
    unusual: bool = False


PaymentAction = Paid | Answered | Cancelled | Transitioned

_ACTIONS: dict[str, type[PaymentAction]] = {
    kind.name: kind for kind in (Paid, Answered, Cancelled, Transitioned)
}


def stored_outcome(outcome: Outcome) -> str | list[_StoredStep]:
    """An outcome, as it is stored with the submit that it follows."""
    if not isinstance(outcome, Scripted):
        return _HANDSET
    return [
        _StoredStep(
            after=f"{step.after_ms}ms", status=step.status, reason=step.reason, unusual=step.unusual
        )
        for step in outcome.steps
    ]


def stored_action(action: PaymentAction) -> str:
    """The JSON of an action, as it is stored."""
    return msgspec.json.encode(action).decode()


def payment_action(action: Action) -> PaymentAction:
    return msgspec.json.decode(action.detail_json, type=_ACTIONS[action.verb])
