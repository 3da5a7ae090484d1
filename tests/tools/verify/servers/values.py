"""Servers that return URLs, metadata or timestamps in another form than they were given."""

import html
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from emulator.domain.instants import format_instant, parse_instant
from tests.tools.verify.wrong import Change, Object, created, fields, listed, payments, retrieved


def _with_query(url: str, edit: Callable[[list[tuple[str, str]]], list[tuple[str, str]]]) -> str:
    parts = urlsplit(url)
    query = urlencode(edit(parse_qsl(parts.query, keep_blank_values=True)))
    return parts._replace(query=query).geturl()


URLS: dict[str, Callable[[str], str]] = {
    "lower-cases": str.lower,
    "decodes": unquote,
    "encodes": lambda url: quote(url, safe=":/?&=#"),
    "cuts at 64 characters": lambda url: url[:64],
    "cuts at 255 characters": lambda url: url[:255],
    "cuts at 512 characters": lambda url: url[:512],
    "drops the query of": lambda url: urlsplit(url)._replace(query="").geturl(),
    "drops the fragment of": lambda url: url.partition("#")[0],
    "drops the slash before the query of": lambda url: url.replace("/?", "?"),
    "sorts the query of": lambda url: _with_query(url, sorted),
    "drops empty parameters of": lambda url: url.replace("&empty=", ""),
    "drops repeated parameters of": lambda url: _with_query(
        url, lambda pairs: [*dict(pairs).items()]
    ),
    "writes plus as a blank in": lambda url: url.replace("+", "%20"),
    "writes escapes in upper case in": lambda url: re.sub(
        "%..", lambda escape: escape[0].upper(), url
    ),
    "escapes as HTML": html.escape,
}


def values(edit: Callable[[str], object]) -> Change:
    """Every value in metadata is changed."""
    return fields(metadata=lambda pairs: {name: edit(value) for name, value in pairs.items()})


def names(edit: Callable[[str], str]) -> Change:
    return fields(metadata=lambda pairs: {edit(name): value for name, value in pairs.items()})


def _number(value: str) -> object:
    try:
        return int(value)
    except ValueError:
        return value


def _like_json(value: str) -> object:
    return {"true": True, "null": None}.get(value, value)


VALUES: dict[str, Callable[[str], object]] = {
    "lower-cases": str.lower,
    "trims": str.strip,
    "joins blanks in": lambda value: re.sub(" +", " ", value),
    "makes numbers of": _number,
    "writes numbers without zeros in": lambda value: str(_number(value)),
    "writes decimals shorter in": lambda value: value.replace("1.50", "1.5"),
    "makes JSON of": _like_json,
    "composes letters in": lambda value: unicodedata.normalize("NFC", value),
    "writes only ASCII in": lambda value: value.encode("ascii", "replace").decode("ascii"),
    "writes no emoji in": lambda value: "".join(one for one in value if ord(one) < 0x10000),
    "escapes as HTML": html.escape,
    "removes markup from": lambda value: re.sub("<[^>]*>", "", value),
    "doubles the backslash in": lambda value: value.replace("\\", "\\\\"),
    "puts in one line": lambda value: " ".join(value.splitlines()),
    "cuts at 255 characters": lambda value: value[:255],
    "cuts at 100 characters": lambda value: value[:100],
    "writes null for empty": lambda value: value or None,
}


def _clauses(edit: Callable[[str], object]) -> str:
    """The first payment has plain metadata, which only some of these servers change."""
    return "2.1.11" if edit("Run ብር") == "Run ብር" else "2.1.11 4.1.8 8.2"


def in_order(key: Callable[[str], object]) -> Callable[[Object], Object]:
    return lambda pairs: {name: pairs[name] for name in sorted(pairs, key=key)}  # type: ignore[arg-type,return-value]


def moved(name: str, by_ms: int) -> Change:
    return fields(**{name: lambda text: format_instant(parse_instant(text) + by_ms)})


METADATA = {
    **{f"{what} values: {_clauses(edit)}": values(edit) for what, edit in VALUES.items()},
    "lower-cases names: 2.1.11": names(str.lower),
    "writes names with hyphens: 2.1.11 4.1.8 8.2": names(lambda name: name.replace("_", "-")),
    "cuts names at dots: 2.1.11": names(lambda name: name.partition(".")[0]),
    "drops empty values: 2.1.11": fields(
        metadata=lambda pairs: {name: text for name, text in pairs.items() if text}
    ),
    "drops long values: 2.1.11": fields(
        metadata=lambda pairs: {n: v for n, v in pairs.items() if len(v) < 256}
    ),
    "sorts metadata: (2.1.11)": fields(metadata=in_order(str)),
    "sorts metadata without case: (2.1.11)": fields(metadata=in_order(str.lower)),
    "writes whole numbers first in metadata: (2.1.11)": fields(
        metadata=in_order(lambda name: not name.isdigit())
    ),
    "lists metadata in order: (2.1.11)": fields(listed, metadata=in_order(str)),
    "retrieves metadata in order: (2.1.11)": fields(retrieved, metadata=in_order(str)),
    "reverses metadata: (2.1.11)": fields(metadata=lambda pairs: dict(reversed([*pairs.items()]))),
}
EXPIRES = {
    "expires a second late: 2.1.8 4.1.11 4.1.12 8.3 8.4": moved("expires_at", 1_000),
    "expires a second early: 2.1.8 4.1.11 4.1.12 8.3 8.4": moved("expires_at", -1_000),
    "expires a millisecond late: (4.1.11 8.4)": moved("expires_at", 1),
    "expires half a second late: (4.1.11 8.4)": moved("expires_at", 500),
    "expires a minute late: 2.1.8 4.1.11 4.1.12 8.3 8.4": moved("expires_at", 60_000),
}


def _of_url(name: str, number: str) -> dict[str, Change]:
    return {f"{what} {name}: {number}": fields(**{name: edit}) for what, edit in URLS.items()}


URL_FIELDS = {
    **_of_url("success_url", "2.1.9"),
    **_of_url("cancel_url", "2.1.10"),
    "exchanges the URLs: 2.1.9 2.1.10": payments(
        lambda one: {**one, "success_url": one["cancel_url"], "cancel_url": one["success_url"]}
    ),
    "creates a URL with a slash: 2.1.9 4.1.15": fields(created, success_url="{}/".format),
}

TABLES = (URL_FIELDS, METADATA, EXPIRES)
