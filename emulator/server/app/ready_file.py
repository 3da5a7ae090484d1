"""Writes the file of `--ready-file`, which shows other programs that `serve` responds."""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator import __version__
from emulator.server.app.application import Application
from emulator.server.app.published_file import published_file

_CONTENT = re.compile(rb'\{"api": ')

logger = logging.getLogger(__name__)


@contextmanager
def ready_file(path: str) -> Iterator[Callable[[Application], None]]:
    """Removes a former process's file, yields the function that writes it, and removes it.

    Only its user can read the file, which has a key. Raises UserError.
    """
    with published_file("--ready-file", path, content=_CONTENT, mode=0o600) as file:

        def write(app: Application) -> None:
            try:
                file.replace(json.dumps(_entry(app)).encode() + b"\n")
            except OSError as error:
                logger.error("cannot write the ready file %s: %s", file.path, error.strerror)

        yield write


def _entry(app: Application) -> dict[str, object]:
    settings = app.settings
    return {
        "api": settings.local_url(settings.port),
        "checkout": settings.public_checkout_url,
        "pid": os.getpid(),
        "test_key": app.engine.accounts.first.profile.test_key,
        "version": __version__,
    }
