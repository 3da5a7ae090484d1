"""Prints the test helpers for other languages, which users copy, and the guide for agents."""

import re
from pathlib import Path
from textwrap import indent

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
_OWN_HELPER = " For another language, see docs/guides/own-helper.md"
# The type declarations of the TypeScript file, which JavaScript has as comments.
_DECLARATION = re.compile(
    r"^(?:/\*\* .* \*/\n)?(?:export )?(?:interface .*\n(?:  .*\n)+\}|type .*;)$", re.MULTILINE
)
_ANNOTATIONS = {
    r"^import type .*\n": "",
    r"^( *(?:export )?(?:const|let) \w+): .+? = ": r"\1 = ",
    r"^((?!//).*)\((\w+): [\w.]+\)": r"\1(\2)",
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
    text = _DECLARATION.sub(lambda match: indent(match[0], "// "), typescript)
    for pattern, replacement in _ANNOTATIONS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text
