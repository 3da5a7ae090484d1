"""Notes what makes the keys of a webhook form useless together."""

import json
from collections.abc import Iterator
from string import ascii_letters, digits, hexdigits, printable, punctuation

from emulator.domain.webhook_forms import (
    BODY_PLACEHOLDERS,
    PLACEHOLDER,
    Algorithm,
    ContentType,
    Encoding,
)
from emulator.files.yaml_nodes import ListNode, MapNode
from emulator.scenarios.entries import Entry, text_of
from emulator.scenarios.mappings import Members

MAX_HEADERS = 32

_WORD = f"{ascii_letters}{digits}_"
# The ASCII characters of values that are not words; those of types and signatures vary.
_CHARACTERS = {
    "timestamp": digits,
    "event.timestamp": f"{_WORD}-:.+",
    **{name: f"{_WORD}-:.+" for name in BODY_PLACEHOLDERS if name.endswith("_at")},
    **{name: _WORD + punctuation for name in BODY_PLACEHOLDERS if name.endswith("_url")},
    "payment": printable,
    "payment.metadata": printable,
}


def _check_parts(members: Members) -> None:
    """Note what makes the parts of a form useless together."""
    headers, signature = members.values["headers"], members.values["signature"]
    if signature is None or headers is None:
        return
    is_signed = signature.algorithm is not Algorithm.NONE
    at = members.known.get("headers", members.entry)
    in_headers = set(PLACEHOLDER.findall(" ".join(text for _, text in headers)))
    found = in_headers | ({"id", "event.id"} & {*PLACEHOLDER.findall(members.values["body"] or "")})
    signed = set(PLACEHOLDER.findall(signature.content)) if is_signed else set()
    if is_signed and "body" not in signed:
        members.known["signature"].child("content").note("content must have {body}")
    if is_signed and "signature" not in in_headers:
        at.note("a header must have {signature}, or signature must be {algorithm: none}")
    elif "signature" in in_headers and not is_signed:
        at.note("no header can have {signature}, because the algorithm is none")
    if "timestamp" in signed - found:
        at.note("a header must have {timestamp}, because it is signed")
    if "id" in signed and not found & {"id", "event.id"}:
        at.note("a header or the body must have {id}, because it is signed")
    if len(headers) > MAX_HEADERS:
        at.note(f"headers must not have more than {MAX_HEADERS} entries")


def _check_ends(members: Members) -> None:
    """Note each value whose end a receiver could not find."""
    signature, events = members.values["signature"], members.values["events"]
    if signature is None or events is None:
        return
    is_hex = signature.encoding is Encoding.HEX
    one = signature.prefix + (hexdigits if is_hex else f"{_WORD}+/=")
    if signature.separator and not _separators(one, signature.separator):
        at = members.known["signature"].child("separator")
        at.note(f"separator must have a character{_never_in('a signature or its prefix', one)}")
    types = "".join(sent or "" for _, sent in events)
    characters = {**_CHARACTERS, "event.type": f"{_WORD}.{types}"}
    characters["signature"] = one + signature.separator
    for key in {"headers", "body"} & members.known.keys():
        for entry in _scalars(members.known[key]):
            # Without the first text, and without the last placeholder and text.
            parts = PLACEHOLDER.split(text_of(entry) or "")[1:-2]
            for name, following in zip(parts[::2], parts[1::2], strict=True):
                possible = characters.get(name, _WORD)
                if not _separators(possible, following):
                    after = f"a character after {{{name}}}{_never_in('its value', possible)}"
                    entry.note(f"{entry.label} must have {after}")


def _separators(possible: str, text: str = ",; ") -> list[str]:
    """The characters of a text that mark the end of a value, because it cannot have them."""
    return [each for each in text if each.isascii() and each not in possible]


def _never_in(what: str, possible: str) -> str:
    examples = _separators(possible)
    such_as = f", such as {examples[0]!r}" if examples else "; there is none, so it must be last"
    return f" that is never in {what}{such_as}"


def _scalars(entry: Entry) -> Iterator[Entry]:
    node = entry.node
    if isinstance(node, MapNode):
        for key, value in node.pairs:
            yield from _scalars(Entry(value, getattr(key, "text", entry.label), entry.context))
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from _scalars(Entry(item, f"an entry of {entry.label}", entry.context))
    else:
        yield entry


def _check_flat(members: Members) -> None:
    """Fields of a form are a mapping without lists and mappings in it."""
    body = json.loads(members.values["body"] or "{}")
    if members.values["content_type"] is not ContentType.FORM:
        return
    if not isinstance(body, dict) or any(isinstance(value, dict | list) for value in body.values()):
        at = members.known.get("body", members.entry)
        at.note(f"with {ContentType.FORM}, body must be a mapping of names to single values")


FORM_CHECKS = (_check_parts, _check_ends, _check_flat)
