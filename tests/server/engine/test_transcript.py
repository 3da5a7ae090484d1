"""Scenarios with arbitrary texts, written as YAML and read again."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.files import MapNode, ScalarKind, ScalarNode
from emulator.files.yaml_tree import read_tree
from emulator.files.yaml_writer import yaml_text
from emulator.scenarios.entries import Notes
from tests.depth import usually
from tests.server.engine.recording_player import TEXTS

LOADERS = (yaml.SafeLoader, yaml.CSafeLoader)
VALUES = st.recursive(
    TEXTS | st.integers(0, 2**53) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=30,
)


def read(text: str, loader: Any) -> Any:
    return yaml.load(text, loader)  # noqa: S506 - they are the safe ones


@settings(max_examples=usually(10, deep=100))
@given(document=st.dictionaries(st.sampled_from(["name", "script"]), VALUES, min_size=1))
def test_a_yaml_parser_reads_the_same_document(document: dict[str, Any]) -> None:
    text = yaml_text(document)
    for loader in LOADERS:
        assert read(text, loader) == document


@settings(max_examples=usually(10, deep=100))
@given(text=TEXTS)
def test_a_text_is_a_text_to_the_scenario_reader_too(text: str) -> None:
    notes = Notes("written")
    tree = read_tree(yaml_text({"key": text}), notes.add)
    assert notes.problems == ()
    assert isinstance(tree, MapNode)
    ((_, value),) = tree.pairs
    assert isinstance(value, ScalarNode)
    assert (value.kind, value.text) == (ScalarKind.TEXT, text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("completed", "completed"), ("payment.created", "payment.created")),
        *(("two words", "two words"), ("ሰላም ለዓለም", "ሰላም ለዓለም"), ("30s", "30s"), ("a: b", '"a: b"')),
        *(("0700", '"0700"'), ("1e3", '"1e3"'), ("n", '"n"'), ("N", '"N"'), ("", '""')),
        *((word, f"'{word}'") for word in ("yes", "no", "on", "off", "true", "false", "null")),
        *(("ድምር: 12", '"ድምር: 12"'), ("\u202etxt.exe", '"\\u202Etxt.exe"')),
        *(("\x85\ufeff\x00", '"\\N\\uFEFF\\0"'), ("\U000e0001", '"\\U000E0001"')),
    ],
)
def test_only_ambiguous_texts_are_quoted(text: str, written: str) -> None:
    assert yaml_text({"key": text}) == f"key: {written}\n"


def test_a_long_value_has_a_line_for_each_member_or_item() -> None:
    document = {
        "name": "case",
        "script": [
            {"create": {"as": "order", "amount": 100, "metadata": {"a": "b"}}},
            {"create": {"as": "order", "metadata": {"first": "v" * 50, "second": "w" * 50}}},
            {"expect": {"events": ["payment.created"] * 7}},
            {"when": {}, "then": [{"after": "1s"}], "times": 2},
        ],
    }
    assert yaml_text(document) == (
        "name: case\n"
        "\n"
        "script:\n"
        "- create: {as: order, amount: 100, metadata: {a: b}}\n"
        "- create:\n"
        "    as: order\n"
        "    metadata:\n"
        f"      first: {'v' * 50}\n"
        f"      second: {'w' * 50}\n"
        "- expect:\n"
        "    events:\n" + "    - payment.created\n" * 7 + "- when: {}\n"
        "  then: [{after: 1s}]\n"
        "  times: 2\n"
    )


@pytest.mark.parametrize("length", [100, 127, 128, 1_023, 1_024, 1_025, 5_000])
def test_a_key_may_be_long(length: int) -> None:
    document = {"script": [{"create": {"metadata": {"k" * length: "v", '"' * length: "w"}}}]}
    for loader in LOADERS:
        assert read(yaml_text(document), loader) == document
