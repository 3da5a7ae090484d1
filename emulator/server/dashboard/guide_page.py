"""Renders a guide as HTML: the parts of Markdown that the documents of this project use."""

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup, escape

_BLOCK = re.compile(
    r"```[^\n]*\n(?P<code>.*?\n)```"
    r"|(?P<level>#+) (?P<title>[^\n]+)"
    r"|(?P<table>(?:\|[^\n]*\n)+)"
    r"|(?P<items>(?:(?:-|\d+\.) [^\n]*\n(?: +[^\n]*\n)*)+)"
    r"|&lt;!--.*?--&gt;"
    r"|(?P<text>(?:[^\n]+\n)+)",
    re.DOTALL,
)
_ITEM = re.compile(r"^(?:-|\d+\.) ", re.MULTILINE)
_SPAN = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*|&lt;(?P<url>https?:[^&\s]+)&gt;"
    r"|\[(?P<text>[^\]]+)\]\((?P<to>[^)\s]+)\)",
    re.DOTALL,
)

Address = Callable[[str], str | None]
"""Returns the address of the target of a link, or None if no page shows it."""


def guide_html(text: str, address: Address) -> Markup:
    """The HTML of a guide."""
    blocks = _BLOCK.finditer(str(escape(text)))
    return Markup("\n".join(_block(each, address) for each in blocks))  # noqa: S704 - it is escaped


def heading_id(title: str) -> str:
    """The id of a heading, by its escaped text or by the fragment of a link to it."""
    return "guide-" + re.sub(r"&[^;]+;|[^\w -]", "", title.lower()).replace(" ", "-")


def _block(block: re.Match[str], address: Address) -> str:
    def each(element: str, texts: Iterable[str]) -> str:
        name = element.partition(" ")[0]
        return "".join(f"<{element}>{_spans(text, address)}</{name}>" for text in texts)

    if code := block["code"]:
        return f'<pre tabindex="0"><code>{code}</code></pre>'
    if title := block["title"]:
        return each(f'h{len(block["level"])} id="{heading_id(title)}"', [title])
    if block["table"]:
        head, _, *rows = (line.strip("| ").split("|") for line in block["table"].splitlines())
        lines = "".join(f"<tr>{each('td', row)}</tr>" for row in rows)
        head_line = each('th scope="col"', head)
        return f"<table><thead><tr>{head_line}</tr></thead><tbody>{lines}</tbody></table>"
    if items := block["items"]:
        name = "ul" if items.startswith("-") else "ol"
        return f"<{name}>{each('li', _ITEM.split(items)[1:])}</{name}>"
    return each("p", filter(None, [block["text"]]))


def _spans(text: str, address: Address) -> str:
    """An escaped text with its code, bold parts and links."""

    def replaced(span: re.Match[str]) -> str:
        if span["code"]:
            return f"<code>{span['code']}</code>"
        if span["strong"]:
            return f"<strong>{_spans(span['strong'], address)}</strong>"
        if url := span["url"]:
            return f'<a href="{url}">{url}</a>'
        target, inner = address(span["to"]), _spans(span["text"], address)
        return inner if target is None else f'<a href="{escape(target)}">{inner}</a>'

    return _SPAN.sub(replaced, text.strip())
