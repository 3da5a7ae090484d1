"""The filters of payments that the control API has in addition to the filters of `/v1`."""

import re
from typing import Annotated, Any

from msgspec import Meta

from emulator.domain.message_text import not_accepted
from emulator.domain.payment import MAX_AMOUNT_MINOR, Reason
from emulator.domain.payment_methods import normalise_phone
from emulator.scenarios.conditions import PHONE
from emulator.server.api.parameter_types import (
    ParameterRules,
    ParameterTable,
    ParameterType,
    Warnings,
    one_of,
    parameter,
)
from emulator.server.api.parameters import LIST
from emulator.server.storage.payments import MAX_COMPARED_PAYMENTS

_AMOUNT = re.compile(r"[0-9]{1,16}", re.ASCII)
_COMPARED = (
    "Only payments of this amount in ETB cents {}. The newest"
    f" {MAX_COMPARED_PAYMENTS} payments that match the other filters are compared."
)


class AmountBound(ParameterType, frozen=True, kw_only=True):
    """An amount in ETB cents, in decimal digits."""

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> int:
        if not _AMOUNT.fullmatch(value) or int(value) > MAX_AMOUNT_MINOR:
            raise not_accepted(
                param, value, f"an amount in ETB cents from 0 to {MAX_AMOUNT_MINOR}, such as 15000"
            )
        return int(value)

    def field_type(self) -> Any:
        return Annotated[int, Meta(ge=0, le=MAX_AMOUNT_MINOR)]


class PhoneNumber(ParameterType, frozen=True, kw_only=True):
    """A mobile number in any form."""

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> str:
        try:
            return normalise_phone(value)
        except ValueError:
            raise not_accepted(param, value, "a mobile number, such as 0911223344") from None

    def field_type(self) -> Any:
        return Annotated[str, Meta(extra_json_schema=PHONE.schema())]


class AnyText(ParameterType, frozen=True, kw_only=True):
    """Any text."""

    def check(self, _: str, value: Any, __: ParameterRules, ___: Warnings) -> str:
        return str(value)

    def field_type(self) -> Any:
        return str


class ReasonName(ParameterType, frozen=True, kw_only=True):
    """A reason of a failure."""

    def check(self, param: str, value: Any, _: ParameterRules, __: Warnings) -> Reason:
        return Reason(one_of(tuple(Reason), param, value))

    def field_type(self) -> Any:
        return Reason


LIST_WITH_FILTERS = ParameterTable(
    *LIST.rows,
    parameter("amount_gte", AmountBound(), description=_COMPARED.format("or more")),
    parameter("amount_lte", AmountBound(), description=_COMPARED.format("or less")),
    parameter(
        "phone",
        PhoneNumber(),
        description="Only payments of this phone number. It is compared as the amount is.",
    ),
    parameter(
        "metadata",
        AnyText(),
        description="Only payments with metadata whose `name=value` contains this text. It is"
        " compared as the amount is.",
        example="order=7",
        kind=None,
    ),
    parameter(
        "reason",
        ReasonName(),
        description="Only payments that failed for this reason. It is compared as the amount is.",
    ),
)
ControlListPaymentsQuery = LIST_WITH_FILTERS.struct("ControlListPaymentsQuery")
