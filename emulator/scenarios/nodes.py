"""Holds a YAML document as a tree of nodes, each with its line and column."""

from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from emulator.scenarios.problems import Notes, Problem


class ScalarKind(Enum):
    """The kind of a scalar by the rules of YAML 1.1: `yes` is a Boolean, `0700` a number."""

    TEXT = "tag:yaml.org,2002:str"
    INTEGER = "tag:yaml.org,2002:int"
    BOOLEAN = "tag:yaml.org,2002:bool"
    NULL = "tag:yaml.org,2002:null"
    MERGE = "tag:yaml.org,2002:merge"
    FLOAT = "tag:yaml.org,2002:float"
    TIMESTAMP = "tag:yaml.org,2002:timestamp"
    EQUALS_SIGN = "tag:yaml.org,2002:value"


# Named tuples: a file has thousands of nodes, and a dataclass takes three times as long to make.
class ScalarNode(NamedTuple):
    line: int
    column: int
    text: str
    kind: ScalarKind


class ListNode(NamedTuple):
    line: int
    column: int
    items: tuple["Node", ...]


class MapNode(NamedTuple):
    line: int
    column: int
    pairs: tuple[tuple["Node", "Node"], ...]


Node = ScalarNode | ListNode | MapNode


def problems_in(tree: Node, notes: Notes) -> tuple[Problem, ...]:
    """The problems, each with the key of the outermost mapping whose value has it."""
    return tuple(replace(problem, key=_key_above(tree, problem)) for problem in notes.problems)


def _key_above(tree: Node, problem: Problem) -> str | None:
    place = (problem.line, problem.column)
    above = None
    for key, _ in tree.pairs if isinstance(tree, MapNode) else ():
        if (key.line, key.column) > place:
            break
        above = key
    # A problem of a key itself, or a key that is missing beside the first one, is at the top.
    if not isinstance(above, ScalarNode) or (above.line, above.column) == place:
        return None
    return above.text
