"""Writes the file of `--ready-file`, which shows other programs that `serve` responds."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from emulator import __version__
from emulator.files import check_regular, create_private
from emulator.server.app.composition import Running

_BEGINNING = b'{"api": '

logger = logging.getLogger(__name__)


class NoReadyFile(Exception):
    """The file cannot be written; the message is one sentence for the user."""


@contextmanager
def ready_file(path: str) -> Iterator[Callable[[Running], None]]:
    """Removes a former process's file, yields the function that writes it, and removes it.

    Raises NoReadyFile.
    """
    file = _ReadyFile(Path(path).absolute())
    file.prepare()
    try:
        yield file.write
    finally:
        file.remove()


class _ReadyFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        # In the same directory, so that it can be renamed.
        self._temporary = path.parent / f".{path.name}.{os.getpid()}"
        self._content = b""

    def prepare(self) -> None:
        """Remove the file of a former process, and check that a new one can be written."""
        try:
            if self._path.exists():
                check_regular(self._path)
                content = self._path.read_bytes()
                # `mktemp` creates an empty file.
                if content and not content.startswith(_BEGINNING):
                    raise NoReadyFile(
                        f"--ready-file: found another file at '{self._path}', expected none or"
                        " the ready file of a former process; name another path"
                    )
            self._path.unlink(missing_ok=True)
            create_private(self._temporary, b"")
            self._temporary.unlink()
        except OSError as error:
            raise NoReadyFile(
                f"--ready-file: cannot write '{self._path}': {error.strerror}; name a file in a"
                " writable directory"
            ) from None

    def write(self, running: Running) -> None:
        settings = running.settings
        profile = running.engine.accounts.first.profile
        entry = {
            "api": settings.local_url(running.api_port),
            "checkout": settings.public_checkout_url(running.checkout_port),
            "pid": os.getpid(),
            "test_key": profile.test_key,
            "version": __version__,
        }
        self._content = json.dumps(entry).encode() + b"\n"
        try:
            create_private(self._temporary, self._content)
            self._temporary.replace(self._path)
        except OSError as error:
            logger.error("cannot write the ready file %s: %s", self._path, error.strerror)

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
            if self._content and self._path.read_bytes() == self._content:
                self._path.unlink()
