"""Escapes the characters that a terminal or an editor obeys instead of showing them."""

import re

LINE_BREAK = "\n"

# C0, DEL and C1; separators of lines and paragraphs; marks of text direction.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape_controls(text: str, *, besides: str = "") -> str:
    r"""A text with each control character, except those of `besides`, in the form `\u001b`.

    In a JSON string or a quoted YAML string this is the same character.
    """
    return _CONTROL.sub(
        lambda found: found[0] if found[0] in besides else f"\\u{ord(found[0]):04x}", text
    )
