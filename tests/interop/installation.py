"""Environments and installations by uv, which takes a tenth of the time of venv and pip."""

import shutil
import sys
from pathlib import Path

UV = Path(sys.executable).with_name("uv")
# It may have built the package from an earlier state of the same directory.
INSTALL = ("install", "--quiet", "--refresh-package", "etb-payments-emulator")
_PYTHON = """\
#!/bin/sh
case "$*" in
*"-m venv "*)
  for directory; do :; done
  {uv} venv --quiet --allow-existing --python {python} "$directory"
  cp {pip} "$directory/bin/pip" ;;
*) exec {python} "$@" ;;
esac
"""
_PIP = """\
#!/bin/sh
shift
exec {uv} pip {install} --python "$(dirname "$0")/python" "$@"
"""


def programs_of_uv(directory: Path) -> Path:
    """A directory for `PATH`, whose `python` and `python3` create environments with uv."""
    programs = directory / "programs"
    programs.mkdir()
    names = {"uv": UV, "python": sys.executable, "pip": programs / "pip"}
    (programs / "pip").write_text(_PIP.format(**names, install=" ".join(INSTALL)), encoding="utf-8")
    (programs / "python3").write_text(_PYTHON.format(**names), encoding="utf-8")
    for program in programs.iterdir():
        program.chmod(0o755)
    shutil.copy(programs / "python3", programs / "python")
    return programs
