"""The variants of a rehearsal: shipped scenario files, the merchant's files, and `--vary`."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from emulator.domain.accounts import VARY_OFF
from emulator.domain.variants import VARIANTS
from emulator.domain.webhooks import STANDARD, WebhookForm
from emulator.scenarios.entries import Problem
from emulator.scenarios.loader import read_files
from emulator.scenarios.values import RuleSection, VariantKind
from emulator.settings import data_directory

_ADVICE = {
    VariantKind.FALSE_ANSWER: "Add a test that fails with",
    VariantKind.DISTURBANCE: (
        "Change the shop, or your test if it calls the handler directly, until the tests pass with"
    ),
}


class Variant(NamedTuple):
    """A scenario or a setting of `--vary`, for all accounts during one run of the suite.

    Those that are combinable do not hide each other.
    """

    name: str
    kind: VariantKind
    description: str
    file: Path | None = None
    vary: str = VARY_OFF
    is_combinable: bool = False

    @property
    def what_to_do(self) -> str:
        """The advice for a finding."""
        return f"{_ADVICE[self.kind]} `rehearse --only {self.name}`."

    @property
    def by_hand(self) -> str:
        """The option of `serve` with the same effect, or the scenario: its name or own path."""
        if self.file is None:
            return f"--vary {self.vary}"
        if self.file.parent == data_directory("scenarios") / "rehearsal":
            return self.name
        absolute, here = self.file.absolute(), Path.cwd()
        return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def combination(variants: Sequence[Variant]) -> Variant:
    """All settings of these variants at once."""
    description = "Several other forms at once; the suite passes with each of them alone."
    vary = ",".join(variant.vary for variant in variants)
    return Variant("combined-forms", VariantKind.DISTURBANCE, description, vary=vary)


def read_variants(
    paths: Sequence[Path], form: WebhookForm = STANDARD
) -> tuple[list[Variant], list[Problem]]:
    """The variants, shipped or in files and directories, false answers first; all problems.

    A file without a problem has a rule and is on, so that it is a variant of something. A shipped
    one that webhooks in the form cannot have is left out.
    """
    shipped = data_directory("scenarios") / "rehearsal"
    by_file, problems = read_files([shipped, *paths], frozenset({form}))
    problems = [each for each in problems if Path(each.source).parent != shipped]
    variants = []
    for file, each in by_file.items():
        if each is None:
            continue
        variants.append(Variant(each.name, each.rehearsal, each.description, file))
        if not each.enabled or not any(getattr(each, section) for section in RuleSection):
            message = "a variant must have a rule, and must not have 'enabled: false'"
            problems.append(Problem(source=str(file), message=message))
    variants.sort(key=lambda variant: variant.kind is VariantKind.DISTURBANCE)
    for form_variant in VARIANTS:
        name, effect = form_variant.name, form_variant.effect
        # Timestamps without a fraction hide those with a longer one.
        can_combine = not form_variant.is_of_account
        variants.append(Variant(name, VariantKind.DISTURBANCE, effect, None, name, can_combine))
    return variants, problems
