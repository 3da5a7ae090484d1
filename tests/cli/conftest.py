"""A server that the tests of a module share."""

from collections.abc import Iterator

import pytest

from tests.cli.processes import Server, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(logs=tmp_path_factory.mktemp("logs")) as server:
        yield server
