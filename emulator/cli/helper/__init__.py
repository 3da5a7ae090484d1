"""Prints the test helpers for other languages: files of this package, which users copy."""

import re
from pathlib import Path

import click

from emulator.cli.output import cli_error, write
from emulator.domain.nearest_word import nearest_word_hint

_FILES = {"node": "payments-emulator.ts", "php": "PaymentsEmulator.php"}
# The types of the TypeScript file: declarations, which stay as comments, and annotations.
_DECLARATION = re.compile(
    r"^(?:/\*\* .* \*/\n)?(?:export )?(?:interface .*(?:\}|\n(?:  .*\n)+\})|type .*;)$", re.MULTILINE
)
_ANNOTATIONS = {
    r"^import type .*\n": "",
    r"^( *(?:export )?(?:const|let) \w+): .+? = ": r"\1 = ",
    r"^((?!//).*)\((\w+): [\w.]+\)": r"\1(\2)",
    r"(?<!\*) as [A-Z]\w*": "",
}


@click.command()
@click.argument("language", metavar="LANGUAGE")
@click.option("--js", "is_js", is_flag=True, help="For node: print JavaScript, not TypeScript.")
def helper(language: str, *, is_js: bool) -> None:
    """Print the test helper for another language: `node` or `php`.

    It is one file without dependencies, which starts an emulator for the tests.
    """
    if language not in _FILES:
        hint = nearest_word_hint(language.lower(), _FILES)
        cli_error(f"found language {language!r}, expected {' or '.join(_FILES)}.{hint}")
    if is_js and language != "node":
        cli_error(f"flag --js: 'helper {language}' prints no JavaScript; use 'helper node --js'")
    text = (Path(__file__).parent / _FILES[language]).read_text(encoding="utf-8")
    write(_javascript(text) if is_js else text)


def _javascript(typescript: str) -> str:
    text = _DECLARATION.sub(lambda match: re.sub("^", "// ", match[0], flags=re.M), typescript)
    for pattern, replacement in _ANNOTATIONS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text
