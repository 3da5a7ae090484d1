"""The nodes of a YAML document, with their positions, which count from 1."""

from enum import Enum
from typing import NamedTuple


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
