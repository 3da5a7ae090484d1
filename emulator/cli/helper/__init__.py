"""Prints the test helpers for other languages, which users copy, and the guide for agents."""

import re
from pathlib import Path

import click

from emulator.cli.output import cli_error, write_unescaped
from emulator.domain.message_text import nearest_word_hint
from emulator.settings import data_directory

_HERE = Path(__file__).parent
_FILES = {
    "node": _HERE / "payments-emulator.ts",
    "php": _HERE / "PaymentsEmulator.php",
    "java": _HERE / "PaymentsEmulator.java",
    "go": _HERE / "paymentsemulator.go",
    "agent": data_directory("docs/guides") / "agents.md",
}
_OWN_HELPER = " For another language, see docs/reference/test-helpers.md"
# The declarations of types in the TypeScript file, which are JSDoc in JavaScript.
_INTERFACE = re.compile(
    r"^/\*\* (?P<text>.*) \*/\nexport interface (?P<name>\w+) \{\n(?P<members>(?:  .*\n)+)\}$",
    re.MULTILINE,
)
_MEMBER = re.compile(
    r"(?:/\*\*(?P<text>.*?)\*/\s*)?(?P<name>\w+)(?P<parameters>\((?:[^(){}]|\{[^{}]*\})*\))?"
    r": (?P<type>[^;]+);",
    re.DOTALL,
)
_ANNOTATIONS = {
    r"^/\* eslint-disable \*/$": r"\g<0>\n// @ts-nocheck",
    r"^import type .*\n": "",
    r"^type (\w+) = (.*);$": r"/** @typedef {\2} \1 */",
    r" \*/\n(export const \w+): (.+?) = ": r"\n *  @type {\2} */\n\1 = ",
    r"^( *)((?:const|let) \w+): (.+?) = ": r"\1/** @type {\3} */\n\1\2 = ",
    r"^((?! *(?://|/?\*)).*)\((\w+): [\w.]+\)": r"\1(\2)",
    r"(?<!\*) as [A-Z]\w*": "",
}


@click.command()
@click.argument("language", metavar="LANGUAGE")
@click.option("--js", "is_js", is_flag=True, help="Print JavaScript, not TypeScript.")
def helper(language: str, *, is_js: bool) -> None:
    """Print the test helper for `node`, `php`, `java` or `go`, or the guide for coding agents.

    A helper is one file without dependencies, which starts an emulator for the tests. With `agent`,
    the command prints how to find, fix and prove with commands that write JSON.
    """
    if language not in _FILES:
        hint = nearest_word_hint(language.lower(), _FILES) or _OWN_HELPER
        cli_error(f"LANGUAGE: found {language!r}, expected node, php, java, go or agent.{hint}")
    if is_js and language != "node":
        cli_error(f"flag --js: expected the language 'node', found {language!r}")
    text = _FILES[language].read_text(encoding="utf-8")
    write_unescaped(_javascript(text) if is_js else text)


def _javascript(typescript: str) -> str:
    text = _INTERFACE.sub(_typedef, typescript)
    for pattern, replacement in _ANNOTATIONS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def _typedef(interface: re.Match[str]) -> str:
    lines = [interface["text"], f"@typedef {{object}} {interface['name']}"]
    for member in _MEMBER.finditer(interface["members"]):
        of_call = f"{member['parameters']} => " if member["parameters"] else ""
        described = f"{{{of_call}{member['type']}}} {member['name']} {member['text'] or ''}"
        lines.append(" ".join(f"@property {described}".replace("\n   *", " ").split()))
    return "".join(("/**\n", *(f" * {line}\n" for line in lines), " */"))
