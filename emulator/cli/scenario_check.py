"""Validates scenario files for `check`, without click, which is slow to import."""

from collections.abc import Collection, Sequence
from pathlib import Path

from emulator.domain.message_text import LINE_BREAK, escape_controls
from emulator.domain.payment_methods import DEFAULT_METHODS
from emulator.scenarios.loader import method_warnings, read_paths


def check_files(
    paths: Sequence[str], methods: Collection[str] = DEFAULT_METHODS
) -> tuple[int, str]:
    """The exit code and the output."""
    scenarios, problems, files_count = read_paths([Path(path) for path in paths])
    if problems:
        return 2, "".join(f"{escape_controls(str(problem))}\n" for problem in problems)
    lines = [f"warning: {warning}\n" for warning in method_warnings(scenarios, methods)]
    found = "no mistakes" if lines else "no problems"
    lines.append(f"{files_count} {'file' if files_count == 1 else 'files'}: {found}\n")
    return 0, escape_controls("".join(lines), besides=LINE_BREAK)
