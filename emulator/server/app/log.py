"""Logs to standard error from a background thread, so that a blocked pipe blocks no request."""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread

from emulator.clock import RealClock
from emulator.domain.accounts import mask_keys
from emulator.domain.message_text import JSON_MEMBERS, LINE_BREAK, escape_controls, json_line
from emulator.server.storage.batch import is_of_file

MAX_WAITING_CHARACTERS = 4 * 1024 * 1024
# A part of the half second in which the program ends.
LAST_LINES_S = 0.1
_BLOCKED = "standard error was blocked"
_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}


class LogStream:
    """A text stream that a background thread writes: a full pipe blocks only that thread.

    Lines beyond a limit, and lines for which a disk has no space, are dropped and counted. The
    thread writes to the descriptor, because a blocked write to `sys.stderr` would hold a lock that
    the program needs at its end.
    """

    def __init__(self, descriptor: int | None, *, as_json: bool = False) -> None:
        self._descriptor = descriptor
        self._as_json = as_json
        # Set when the accounts are loaded.
        self.is_known_key: Callable[[str], bool] = lambda _: False
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._characters = 0
        self.lost = 0
        self._reason = _BLOCKED
        # The last line was written in part.
        self._is_cut = False
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        if self._characters > MAX_WAITING_CHARACTERS:
            self.lost += text.count("\n")
        else:
            self._characters += len(text)
            self._waiting.put(text)
        return len(text)

    def flush(self) -> None:
        """Nothing to do: the thread writes as soon as possible."""

    def close(self) -> None:
        """Wait a short time for the lines that are not written yet."""
        self._waiting.put(None)
        self._thread.join(LAST_LINES_S)

    def _run(self) -> None:
        with suppress(BrokenPipeError):
            while (text := self._waiting.get()) is not None:
                self._characters -= len(text)
                if self._write(text) and self.lost and self._characters == 0:
                    lost, self.lost = self.lost, 0
                    self._write(self._about(lost))

    def _about(self, lost: int) -> str:
        message = f"{lost} lines of the log were dropped: {self._reason}"
        self._reason = _BLOCKED
        if not self._as_json:
            return f"({message})\n"
        return f"{json_line(RealClock().system_ms(), 'warning', message)}\n"

    def _write(self, text: str) -> bool:
        """Write to the descriptor; false for a text that is dropped, because a disk is full.

        Raises BrokenPipeError where nobody reads the log any more.
        """
        if self._descriptor is None:
            return True
        data = text.encode(errors="backslashreplace")
        try:
            if self._is_cut:
                os.write(self._descriptor, b"\n")
                self._is_cut = False
            whole = len(data)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            self._is_cut = self._is_cut or 0 < len(data) < whole
            self.lost += data.count(b"\n")
            self._reason = error.strerror or str(error)
            return False
        return True


class _Lines(logging.Formatter):
    """Formats a record, masking keys and escaping control characters of received data."""

    def __init__(self, stream: LogStream, *, as_json: bool) -> None:
        super().__init__()
        self._stream = stream
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        message, traceback = record.getMessage(), ""
        if record.exc_info and _is_of_system(record.exc_info[1]):
            message = f"{message}: {record.exc_info[1]}"
        elif record.exc_info:
            traceback = self.formatException(record.exc_info)
        if not self._as_json:
            line = f"{record.levelname} {escape_controls(self._masked(message))}"
            rest = escape_controls(self._masked(traceback), besides=LINE_BREAK)
            return f"{line}\n{rest}".rstrip("\n")
        facts = {"traceback": traceback} if traceback else getattr(record, JSON_MEMBERS, {})
        masked = {
            name: self._masked(fact) if isinstance(fact, str) else fact
            for name, fact in {"message": message, **facts}.items()
        }
        return json_line(int(record.created * 1_000), record.levelname.lower(), **masked)

    def _masked(self, text: str) -> str:
        return mask_keys(text, self._stream.is_known_key)


def _is_of_system(error: BaseException | None) -> bool:
    """Whether an error is no defect of its place: a full disk, a locked database, no descriptors.

    A process that cannot open files fails wherever a module is imported late.
    """
    has_no_files = getattr(error, "errno", None) in _NO_DESCRIPTORS
    return has_no_files or isinstance(error, ImportError) or is_of_file(error)


@contextmanager
def standard_error(*, as_json: bool) -> Iterator[LogStream]:
    """The program's log, also the target of the `logging` module."""
    # Without a standard error its descriptor may belong to another file, even the database.
    stream = LogStream(None if sys.stderr is None else sys.stderr.fileno(), as_json=as_json)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines(stream, as_json=as_json))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        stream.close()
