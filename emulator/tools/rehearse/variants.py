"""Reads the variants of a rehearsal: scenario files, the shipped ones and the merchant's."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from emulator.scenarios.loader import read_files
from emulator.scenarios.problems import Problem
from emulator.scenarios.values import RuleSection, VariantKind
from emulator.settings import data_directory


class Variant(NamedTuple):
    """A scenario that is on for all accounts during one run of the suite."""

    name: str
    kind: VariantKind
    description: str
    file: Path


def read_variants(paths: Sequence[Path]) -> tuple[list[Variant], list[Problem]]:
    """The shipped variants and those of files and directories, false answers first; all problems.

    A file without a problem has a rule and is on, so that it is a variant of something.
    """
    by_file, problems = read_files([data_directory("scenarios") / "rehearsal", *paths])
    variants = []
    for file, each in by_file.items():
        if each is None:
            continue
        variants.append(Variant(each.name, each.rehearsal, each.description, file))
        if not each.enabled or not any(getattr(each, section) for section in RuleSection):
            message = "a variant must have a rule, and must not have 'enabled: false'"
            problems.append(Problem(source=str(file), message=message))
    return sorted(variants, key=lambda variant: variant.kind is VariantKind.DISTURBANCE), problems
