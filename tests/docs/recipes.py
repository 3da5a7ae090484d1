"""The recipes for containers and CI in README.md, and the workflows of this repository."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.docs.document import REPOSITORY, Kind, sections

OWN_WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").iterdir())
KINDS = (Kind.COMPOSE, Kind.WORKFLOW, Kind.GITLAB)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    kind: Kind
    text: str
    title: str
    """Its heading, and its number below the heading."""

    @property
    def value(self) -> dict[str, Any]:
        return dict(yaml.safe_load(self.text))

    @property
    def variables(self) -> dict[str, str] | None:
        """The variables of the emulator's container; None without a container."""
        match self.kind:
            case Kind.COMPOSE:
                return dict(self.value["services"]["emulator"]["environment"])
            case Kind.GITLAB:
                [service] = self.value["test"]["services"]
                return dict(service["variables"])
        for job in self.value["jobs"].values():
            if "services" in job:
                return dict(job["services"]["emulator"]["env"])
        return None

    @property
    def scripts(self) -> Iterator[str]:
        """The scripts that a shell runs."""
        if self.kind is Kind.WORKFLOW:
            for job in self.value["jobs"].values():
                yield from (step["run"] for step in job.get("steps", ()) if "run" in step)
        if self.kind is Kind.GITLAB:
            yield "\n".join(self.value["test"]["script"])


def recipes() -> list[Recipe]:
    return [
        Recipe(kind=block.kind, text=block.text, title=f"{one.id}, {number}")
        for one in sections()
        for number, block in enumerate(one.blocks)
        if block.kind in KINDS
    ]


def own_workflows() -> list[Recipe]:
    return [
        Recipe(kind=Kind.WORKFLOW, text=path.read_text(encoding="utf-8"), title=path.name)
        for path in OWN_WORKFLOWS
    ]


def own_workflow(name: str = "ci.yml") -> Recipe:
    [found] = [workflow for workflow in own_workflows() if workflow.title == name]
    return found
