"""Two emulators that all tests of a module share; each test changes only its own account."""

from collections.abc import Iterator

import pytest

from tests.tools.doctor.examinations import emulator_on_a_thread


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with emulator_on_a_thread() as url:
        yield url


@pytest.fixture(scope="module")
def other_url() -> Iterator[str]:
    """At 127.0.0.2, without the first payment method that the doctor tries."""
    with emulator_on_a_thread(host="127.0.0.2", methods="mpesa") as url:
        yield url
