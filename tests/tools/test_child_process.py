"""A command of the user runs in its own process group, in bounded time and with bounded output."""

import os
import signal
import sys
from pathlib import Path

import pytest

from emulator.clock import RealClock
from emulator.tools.child_process import MAX_OUTPUT_BYTES, run_command

LONG_MS = 60_000


async def ran(*words: str, max_ms: float = LONG_MS, **variables: str) -> tuple[int | None, bytes]:
    code, output, errors = await run_command(words, variables, RealClock(), max_ms=max_ms)
    assert errors == b""
    return code, output


def shell(script: str) -> tuple[str, str, str]:
    return "/bin/sh", "-c", script


async def test_the_exit_code_and_both_outputs_are_returned() -> None:
    script = shell('echo "$GREETING"; echo again >&2; exit 3')
    assert await ran(*script, GREETING="hello") == (3, b"hello\nagain\n")


async def test_standard_error_can_be_split_from_the_output() -> None:
    words, wall = shell("echo one; echo two >&2"), RealClock()
    split = await run_command(words, {}, wall, max_ms=LONG_MS, splits_errors=True)
    assert split == (0, b"one\n", b"two\n")


async def test_words_are_passed_as_they_are() -> None:
    program = "import sys; print(sys.argv[1:])"
    code, output = await ran(sys.executable, "-c", program, "a b", "$HOME", "'")
    assert (code, output) == (0, b"['a b', '$HOME', \"'\"]\n")


async def test_the_end_of_a_long_output_is_kept() -> None:
    length = 5 * MAX_OUTPUT_BYTES
    code, output = await ran(*shell(f"head -c {length} /dev/zero; echo the end"))
    assert (code, len(output)) == (0, MAX_OUTPUT_BYTES)
    assert output.endswith(b"\0the end\n")


async def test_a_command_that_takes_too_long_is_ended() -> None:
    assert await ran(*shell("exec sleep 1000"), max_ms=100) == (None, b"")


async def ends_what_holds_a_pipe(directory: Path, script: str, **variables: str) -> None:
    """Run a script that opens the pipe HELD; the pipe ends when no process holds it."""
    pipe = directory / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        code, _ = await ran(*shell(script), HELD=str(pipe), **variables)
        os.set_blocking(reading, True)
        assert (code, os.read(reading, 1)) == (0, b"")
    finally:
        os.close(reading)


async def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    await ends_what_holds_a_pipe(tmp_path, 'sleep 1000 >"$HELD" &')


# Its child leaves the process group before it ends; without a word it leaves its environment, too.
LEAVING = """
import os, sys
reading, writing = os.pipe()
if os.fork():
    os.close(writing)
    os.read(reading, 1)
else:
    os.setsid()
    print(os.getpid(), flush=True)
    os.execve("/bin/sleep", ["sleep", "1000"], {**os.environ} if sys.argv[1:] else {})
"""


async def test_an_output_that_another_process_holds_is_not_awaited_for_long() -> None:
    code, output = await ran(sys.executable, "-c", LEAVING)
    os.kill(int(output), signal.SIGKILL)
    assert code == 0


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs the files of Linux")
async def test_a_child_in_a_session_of_its_own_ends_with_the_command(tmp_path: Path) -> None:
    script = 'exec "$PYTHON" -c "$LEAVING" marked 9>"$HELD"'
    await ends_what_holds_a_pipe(tmp_path, script, PYTHON=sys.executable, LEAVING=LEAVING)
