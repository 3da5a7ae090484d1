"""Notes what makes the keys of a webhook form useless together."""

import json
from collections.abc import Iterator
from string import ascii_letters, digits, hexdigits, printable, punctuation

from emulator.domain.payment import ORDER_TERMS
from emulator.domain.webhooks import (
    BODY_PLACEHOLDERS,
    METADATA_PREFIX,
    PLACEHOLDER,
    Algorithm,
    ContentType,
    Encoding,
)
from emulator.files import ListNode, MapNode
from emulator.scenarios.entries import Entry, text_of
from emulator.scenarios.mappings import Members

MAX_HEADERS = 32

_WORD = f"{ascii_letters}{digits}_"
# The ASCII characters of values that are not words; types and signatures vary.
_CHARACTERS = {
    "timestamp": digits,
    "event.timestamp": f"{_WORD}-:.+",
    **{name: f"{_WORD}-:.+" for name in BODY_PLACEHOLDERS if name.endswith("_at")},
    **{f"payment.{name}": printable for name in ORDER_TERMS},
    **{name: _WORD + punctuation for name in BODY_PLACEHOLDERS if name.endswith("_url")},
    "payment.amount_birr": f"{digits}.",
    "payment": printable,
}


def _check_parts(members: Members) -> None:
    headers, signature = members.values["headers"], members.values["signature"]
    if signature is None or headers is None:
        return
    is_signed = signature.algorithm is not Algorithm.NONE
    at = members.known.get("headers", members.entry)
    in_headers = set(PLACEHOLDER.findall(" ".join(text or "" for _, text in headers)))
    if signature.algorithm is Algorithm.TOKEN and signature.separator:
        separator = members.known["signature"].child("separator")
        separator.note("separator must be empty, because only the new secret is sent as a token")
    if is_signed and "signature" not in in_headers:
        at.note("a header must have {signature}, or signature must be {algorithm: none}")
    elif "signature" in in_headers and not is_signed:
        at.note("no header can have {signature}, because the algorithm is none")
    for name in sorted(signature.signed - _readable(members, in_headers)):
        place = "a header" if name == "timestamp" else "a header or the body"
        at.note(f"{place} must have {{{name}}}, because it is signed")
    if len(headers) > MAX_HEADERS:
        at.note(f"headers must not have more than {MAX_HEADERS} entries")


def _readable(members: Members, in_headers: set[str]) -> set[str]:
    """The signed placeholders whose values a receiver can read or derive."""
    body, signed = members.values["body"] or "", members.values["signature"].signed
    found = in_headers | set(PLACEHOLDER.findall(body)) | {"body"}
    is_json = members.values["content_type"] is ContentType.JSON
    # A text that is one placeholder has its members.
    whole = {
        name for name in ("payment", "payment.metadata") if is_json and f'"{{{name}}}"' in body
    }
    found |= {name for name in signed if any(name.startswith(f"{each}.") for each in whole)}
    found |= {"id", "event.id"} if found & {"id", "event.id"} else set()
    return found | ({"payment.amount_birr"} if "payment.amount" in found else set())


def _check_ends(members: Members) -> None:
    """Note each value whose end a receiver could not find."""
    signature, events = members.values["signature"], members.values["events"]
    if signature is None or events is None:
        return
    is_hex = signature.encoding is Encoding.HEX
    one = signature.prefix + (hexdigits if is_hex else f"{_WORD}+/=")
    is_token = signature.algorithm is Algorithm.TOKEN
    one = printable if is_token else one
    if signature.separator and not (is_token or _separators(one, signature.separator)):
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
                is_metadata = name.startswith(METADATA_PREFIX)
                possible = printable if is_metadata else characters.get(name, _WORD)
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
            name = getattr(key, "text", entry.label)
            yield from _scalars(Entry(value, name, entry.context, f"{entry.path}.{name}"))
    elif isinstance(node, ListNode):
        for index, item in enumerate(node.items):
            label, path = f"an entry of {entry.label}", f"{entry.path}[{index}]"
            yield from _scalars(Entry(item, label, entry.context, path))
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
