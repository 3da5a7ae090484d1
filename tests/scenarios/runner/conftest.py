"""The emulator of the tests of `replay`, which plays scripts with the same runner."""

from tests.tools.conftest import player

__all__ = ["player"]
