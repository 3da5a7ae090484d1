"""Every regular expression of the program takes time in proportion to the length of a text.

Each is found in the source, so that a new one cannot be left out. Each has to match one of the
`EXAMPLES`; the texts that it is measured with repeat a part of these examples.
"""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, product
from time import thread_time  # noqa: TID251 - processor time, whatever else runs
from typing import Any

import pytest
from starlette.routing import Router

from emulator.domain import accounts
from emulator.server.api.layers import CallRoute
from tests.architecture.tools import modules, parsed
from tests.tables import values

pytestmark = pytest.mark.deep

# Texts that the regular expressions match, or find something in.
EXAMPLES = values(__file__, "texts")
# The expressions that are not constants of their modules.
COMPUTED: dict[str, Callable[[], list[re.Pattern[str]]]] = {
    "emulator/domain/accounts.py": lambda: [accounts._escaped_key_in_text()],
    "emulator/server/api/layers.py": lambda: [_route("/v1/payments/{payment_id}").path_regex],
    # Patterns of the user: a timer ends their searches.
    "emulator/tools/explore/response_value.py": list,
    "emulator/scenarios/kinds.py": list,
}
# These read texts of the program only.
EXEMPT = {
    "emulator/server/assets.py",
    "emulator/server/app/published_files.py",
    "emulator/cli/helper/__init__.py",
}

# Of each expression: the examples that are used, and the characters of each.
MAX_EXAMPLES = 3
MAX_PLACES = 20
# What is repeated besides parts of examples, and what follows.
REPEATED = (*"a0 -_.:/\"'[{(\t", "a ", "a:")
ENDS = ("", "\x00", ": ")
# A search that is not linear takes longer than SLOW_S for a short text, and usually longer than
# MEASURABLE_S for a text of LENGTH.
SHORT_LENGTH, SLOW_S = 250, 0.000_1
LENGTH, MEASURABLE_S = 2_000, 0.002
MAX_RATIO = 3

Search = Callable[[Any], object]
# Of the functions of `re`; each other one finds all matches.
SEARCHES: dict[str, Callable[[re.Pattern[Any]], Search]] = {
    "match": lambda pattern: pattern.match,
    "fullmatch": lambda pattern: pattern.fullmatch,
    "search": lambda pattern: pattern.search,
}
FUNCTIONS = {"sub", "split", "findall", "finditer", *SEARCHES}
CALLS_OF_RE = {f"re.{function}" for function in ("compile", *FUNCTIONS)}

# A module without any of this is not parsed.
MAY_USE_SOME = re.compile(rf"pattern ?=|\.({'|'.join(FUNCTIONS)})\b")


def _route(path: str) -> CallRoute:
    return CallRoute(path, Router(), methods={"GET"}, name="")


def _value(node: ast.expr, path: str) -> Any:
    """The value of an expression in its module. Raises NameError for a local name."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return eval(ast.unparse(node), vars(importlib.import_module(name)))  # noqa: S307 - our source


def _uses(path: str, tree: ast.Module) -> Iterator[tuple[re.Pattern[Any], str]]:
    """The regular expressions in a module, and the functions that search with them.

    An expression that is passed on to another function is searched with each function.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "pattern":
            yield re.compile(_value(node.value, path)), "search"
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS_OF_RE:
            function = ast.unparse(node.func).removeprefix("re.")
            try:
                value = _value(node if function == "compile" else node.args[0], path)
                yield re.compile(value), function
            except NameError:
                assert path in COMPUTED, f"COMPUTED has no entry for {ast.unparse(node)} in {path}"
                yield from ((pattern, function) for pattern in COMPUTED[path]())
        elif isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
            is_constant = ast.unparse(node.value).rpartition(".")[2].isupper()
            value = _value(node.value, path) if is_constant else None
            if isinstance(value, re.Pattern):
                yield value, node.attr


@cache
def _searches() -> dict[tuple[re.Pattern[Any], str], list[str]]:
    """Each regular expression with a function, and the modules that use it."""
    found: dict[tuple[re.Pattern[Any], str], list[str]] = {}
    used = [
        (path, pattern, function)
        for path, file in modules()
        if path not in EXEMPT and MAY_USE_SOME.search(file.read_text(encoding="utf-8"))
        for pattern, function in _uses(path, parsed(file))
    ]
    searched = {pattern for _, pattern, function in used if function != "compile"}
    for path, pattern, function in used:
        functions = [function]
        if function == "compile":
            # Where it is passed on, its function is not known.
            functions = [] if pattern in searched else ["fullmatch", "sub"]
        for each in functions:
            found.setdefault((pattern, each), []).append(path)
    return found


def _matching(pattern: re.Pattern[Any]) -> list[Any]:
    """The examples that an expression matches, whole ones first."""
    is_text = isinstance(pattern.pattern, str)
    texts = [text if is_text else text.encode("utf-8", "replace") for text in EXAMPLES]
    matching = [text for text in texts if pattern.search(text)]
    return sorted(matching, key=lambda text: not pattern.fullmatch(text))[:MAX_EXAMPLES]


def _attacks(example: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The beginnings, the repeated parts and the ends of texts that are similar to an example."""
    as_is: Callable[[str], Any] = (lambda text: text) if isinstance(example, str) else str.encode
    ends, repeated = [*map(as_is, ENDS)], [*map(as_is, REPEATED)]
    for place in range(min(len(example), MAX_PLACES) + 1):
        parts = {example[place - size : place] for size in range(1, min(place, 4) + 1)}
        yield from product([example[:place]], {*parts, *repeated}, {*ends, example[place:]})


def _duration_s(search: Search, attack: tuple[Any, Any, Any], length: int) -> float:
    beginning, part, end = attack
    text = beginning + part * (length // len(part)) + end
    begun = thread_time()
    search(text)
    return thread_time() - begun


def _is_slow(search: Search, attack: tuple[Any, Any, Any]) -> bool:
    """Whether a text of twice the length always takes more than three times as long."""
    if _duration_s(search, attack, SHORT_LENGTH) < SLOW_S:
        return False
    # A busy machine delays one measurement, but not each of five.
    return all(_is_superlinear(search, attack) for _ in range(5))


def _is_superlinear(search: Search, attack: tuple[Any, Any, Any]) -> bool:
    single, double = (
        min(_duration_s(search, attack, length) for _ in range(5))
        for length in (LENGTH, 2 * LENGTH)
    )
    return double > MEASURABLE_S and double > MAX_RATIO * single


def _slow_attack(pattern: re.Pattern[Any], function: str) -> tuple[Any, Any, Any] | None:
    search = SEARCHES.get(function, lambda pattern: pattern.findall)(pattern)
    attacks = chain.from_iterable(map(_attacks, _matching(pattern)))
    return next((attack for attack in attacks if _is_slow(search, attack)), None)


def test_each_regular_expression_has_an_example() -> None:
    without = [
        (*paths, pattern) for (pattern, _), paths in _searches().items() if not _matching(pattern)
    ]
    assert without == [], "add a text to EXAMPLES that it matches"


def test_no_regular_expression_takes_more_than_twice_as_long_for_twice_the_length() -> None:
    slow = [
        (*paths, pattern, function, attack)
        for (pattern, function), paths in _searches().items()
        if (attack := _slow_attack(pattern, function)) is not None
    ]
    assert slow == [], "the beginning, the repeated part and the end of a text that is slow"
