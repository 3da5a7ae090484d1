"""Logs the errors of background work that is repeated until it succeeds."""

import logging
from collections.abc import Hashable


class FailureLog:
    """Logs an error of a work once, until the error changes or the work succeeds."""

    def __init__(self, logger: logging.Logger, message: str) -> None:
        self._logger = logger
        self._message = message
        self._last: dict[Hashable, str] = {}

    def add(self, error: BaseException, work: Hashable = None) -> None:
        if self._last.get(work) != repr(error):
            self._last[work] = repr(error)
            self._logger.error(self._message, exc_info=error)

    def end(self, work: Hashable = None) -> None:
        """The work has succeeded, or is not repeated."""
        self._last.pop(work, None)
