"""A world with the scenario files of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.world import World, world

HEAD = "version: 1\nname: {name}\n"
SHOP_CASES = """
outcomes:
  - when: {metadata: {case: limit}}
    then: [{after: 2s, status: failed, reason: limit_exceeded}]
  - when: {metadata: {case: late}}
    then:
      - {after: 10s, status: failed, reason: timeout}
      - {after: 1m, status: completed, unusual: true}
  - when: {metadata: {case: stuck}}
    then: []
  - when: {amount: {gte: 500000}}
    then: [{status: failed, reason: limit_exceeded}]
  - when: {phone: "0911 00 00 00"}
    then: handset
  - when: {metadata: {case: twice}}
    then: [{status: failed, reason: provider_error}]
    times: 2
  - when: {metadata: {case: twice}}
    then: [{status: completed}]
expiry:
  - when: {metadata: {case: short}}
    after: 5s
  - when: {mode: live, metadata: {case: once}}
    after: 7s
    times: 1
"""


@asynccontextmanager
async def scenario_world(directory: Path, **files: str) -> AsyncIterator[World]:
    """A world with scenario files of its own, in the order in which they are given."""
    paths = []
    for name, text in files.items():
        path = directory / f"{name}.yaml"
        path.write_text(HEAD.format(name=name) + text, encoding="utf-8")
        paths.append(str(path))
    async with world(scenarios=tuple(paths)) as emulator:
        yield emulator
