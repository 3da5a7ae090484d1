"""Prints the test helpers for other languages: files of this package, which users copy."""

import re
from pathlib import Path
from textwrap import indent

import click

from emulator.cli.output import cli_error, write
from emulator.domain.message_text import nearest_word_hint

_FILES = {"node": "payments-emulator.ts", "php": "PaymentsEmulator.php"}
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
    """Print the test helper for another language: `node` or `php`.

    It is one file without dependencies, which starts an emulator for the tests.
    """
    if language not in _FILES:
        hint = nearest_word_hint(language.lower(), _FILES)
        expected = f"expected {' or '.join(_FILES)}.{hint}".removesuffix(".")
        cli_error(f"LANGUAGE: found {language!r}, {expected}")
    if is_js and language != "node":
        cli_error(f"flag --js: expected the language 'node', found {language!r}")
    text = (Path(__file__).parent / _FILES[language]).read_text(encoding="utf-8")
    write(_javascript(text) if is_js else text)


def _javascript(typescript: str) -> str:
    text = _DECLARATION.sub(lambda match: indent(match[0], "// "), typescript)
    for pattern, replacement in _ANNOTATIONS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text
