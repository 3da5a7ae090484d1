"""The steps of a script that make something happen: what a person does, the clock, a fault."""

from functools import partial

from emulator.domain.payment import Reason, Status
from emulator.domain.payment_methods import BANK_TRANSFER, BANKS, PHONE_METHODS, method_of_phone
from emulator.scenarios.conditions import note_misfits, read_bank, read_method, read_phone
from emulator.scenarios.entries import (
    Entry,
    Members,
    is_text,
    listed,
    read_boolean,
    read_duration_ms,
    read_listed,
    read_members,
    read_word,
)
from emulator.scenarios.faults import read_fault_rule
from emulator.scenarios.names import Names
from emulator.scenarios.nodes import MapNode, ScalarNode
from emulator.scenarios.problems import hint_nearest
from emulator.scenarios.steps import AddFault, Advance, Answer, Cancel, Pay, Place, Transition
from emulator.scenarios.vocabulary import (
    ANSWER_KEYS,
    ANSWERS,
    CANCEL_KEYS,
    NEXT,
    PAY_KEYS,
    TRANSITION_KEYS,
)

_WHICH = "the name that 'create' gave it"
_read_answer = partial(read_listed, words=ANSWERS)
# A payment that is pending has just been created; nothing leads back there.
_read_status = partial(read_listed, words=[status for status in Status if status != "pending"])
_read_reason = partial(read_word, words=Reason)


def read_pay(entry: Entry, place: Place, names: Names) -> Pay | None:
    members = read_members(entry, PAY_KEYS)
    if members is None:
        return None
    payment = members.need("payment", names.use, _WHICH)
    method = members.get("method", read_method)
    phone = members.get("phone", read_phone)
    bank = members.get("bank", read_bank)
    note_misfits(members, method=method, phone=phone, bank=bank)
    if not members.known.keys() & {"phone", "bank"} and not members.has_stray_keys:
        _note_missing(members, method)
    if method is None and phone is not None:
        method = method_of_phone(phone)
    elif method is None and bank is not None:
        method = BANK_TRANSFER
    if payment is None or method is None:
        return None
    return Pay(place=place, payment=payment, method=method, phone=phone, bank=bank)


def _note_missing(members: Members, method: str | None) -> None:
    """Note what a method needs; of one that is configured elsewhere nobody here knows."""
    if method in PHONE_METHODS:
        members.entry.note(f"pay must have 'phone': the number that pays by {method}")
    elif method == BANK_TRANSFER:
        members.entry.note(f"pay must have 'bank': {listed(BANKS, 'or')}")
    elif "method" not in members.known:
        members.entry.note("pay must have 'phone' or 'bank': whose account is to pay")


def read_answer(entry: Entry, place: Place, names: Names) -> Answer | None:
    members = read_members(entry, ANSWER_KEYS)
    if members is None:
        return None
    payment = members.need("payment", names.use, _WHICH)
    answer = members.need("answer", _read_answer, listed(ANSWERS, "or"))
    if payment is None or answer is None:
        return None
    return Answer(place=place, payment=payment, answer=answer)


def read_cancel(entry: Entry, place: Place, names: Names) -> Cancel | None:
    payment = None
    if is_text(entry):
        payment = names.use(entry)
    elif not isinstance(entry.node, MapNode):
        entry.refuse("the name of a payment")
    elif (members := read_members(entry, CANCEL_KEYS)) is not None:
        payment = members.need("payment", names.use, _WHICH)
    return None if payment is None else Cancel(place=place, payment=payment)


def read_transition(entry: Entry, place: Place, names: Names) -> Transition | None:
    members = read_members(entry, TRANSITION_KEYS)
    if members is None:
        return None
    payment = members.need("payment", names.use, _WHICH)
    status = members.need("status", _read_status, "what the payment becomes")
    method = members.get("method", read_method)
    reason = members.get("reason", _read_reason)
    unusual = members.get("unusual", read_boolean)
    if status not in (None, Status.FAILED) and "reason" in members.known:
        members.known["reason"].note(f"reason belongs to 'status: {Status.FAILED}' alone")
    if payment is None or status is None:
        return None
    return Transition(
        place=place,
        payment=payment,
        status=Status(status),
        method=method,
        reason=reason,
        unusual=unusual is True,
    )


def read_advance(entry: Entry, place: Place, _: Names) -> Advance | None:
    word = entry.node.text if isinstance(entry.node, ScalarNode) and is_text(entry) else ""
    if word == NEXT:
        return Advance(place=place, by_ms=None)
    if not word or word.isalpha():
        entry.refuse(f"a duration such as 30s, or {NEXT}", hint_nearest(word, [NEXT]))
        return None
    by_ms = read_duration_ms(entry)
    return None if by_ms is None else Advance(place=place, by_ms=by_ms)


def read_fault(entry: Entry, place: Place, _: Names) -> AddFault | None:
    rule = read_fault_rule(entry, needs_when=False)
    return None if rule is None else AddFault(place=place, rule=rule)
