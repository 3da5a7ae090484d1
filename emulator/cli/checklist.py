"""The command `checklist`, which judges the merchant's integration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import convert

from emulator.cli.emulator_options import KEY_OPTION, URL_OPTION, call_emulator
from emulator.cli.output import (
    JSON_OPTION,
    console_paint,
    write_coloured,
    write_json,
)
from emulator.http.emulator_calls import CHECKLIST
from emulator.reporting import verdict_lines
from emulator.tools.json_results import ChecklistEntry, ChecklistResults

_FAILED = "failed"
_NOT_EXERCISED = "not_exercised"
_COLOURS = {"passed": "green", _FAILED: "red", _NOT_EXERCISED: "yellow"}
_ADVICE = {
    _FAILED: "Change the integration, so that it {title}.",
    _NOT_EXERCISED: "To exercise it, {exercise}.",
}
_MAX_SHOWN = 8

Items = Sequence[dict[str, Any]]


@click.command()
@URL_OPTION
@KEY_OPTION
@click.option(
    "--fail-on",
    metavar="RESULT",
    type=click.Choice([_FAILED, _NOT_EXERCISED]),
    help="Exit with code 1 when an item has this result: failed, or not_exercised, which includes"
    " failed.",
)
@JSON_OPTION
def checklist(url: str, key: str | None, fail_on: str | None, json: Path | None) -> int:
    """Judge the merchant's integration by ten items.

    The emulator judges by the requests and deliveries of one account and mode.
    """
    items = call_emulator(url, key, lambda emulator: emulator.call(CHECKLIST))
    paint = console_paint()
    for item in items:
        verdict = _COLOURS[item["result"]], _words(item)
        rows = [f"{item['id']}: {item['title']}", *_reasons(item)]
        write_coloured(verdict_lines(paint, verdict, rows, width=15))
    write_json(json, lambda: _results(items))
    results = {item["result"] for item in items}
    is_failure = _FAILED in results or (fail_on == _NOT_EXERCISED and _NOT_EXERCISED in results)
    return int(fail_on is not None and is_failure)


def _reasons(item: dict[str, Any]) -> list[str]:
    """What shows that an item failed, or how to exercise it."""
    if item["result"] == _NOT_EXERCISED:
        return [f"to exercise it, {item['exercise']}"]
    lines = [f"{each['seen']}: {', '.join(each['ids'][:_MAX_SHOWN])}" for each in item["evidence"]]
    more = [f"and {len(lines) - _MAX_SHOWN} more"] if len(lines) > _MAX_SHOWN else []
    return [*lines[:_MAX_SHOWN], *more] if item["result"] == _FAILED else []


def _words(item: dict[str, Any]) -> str:
    return str(item["result"]).replace("_", " ")


def _results(items: Items) -> bytes:
    names = ChecklistEntry.__struct_fields__
    entries = [
        {name: item[name] for name in names if name in item}
        | {"what_to_do": _ADVICE.get(item["result"], "").format(**item) or None}
        for item in items
    ]
    return ChecklistResults(results=convert(entries, list[ChecklistEntry])).encode()
