"""The YAML file of `--config`, and its error messages with positions."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.domain.user_error import UserError
from emulator.files import MAX_FILE_BYTES
from emulator.files.yaml_tree import read_tree
from emulator.settings import Settings, resolve
from tests.tables import rows


def settings_of(directory: Path, content: str | bytes) -> Settings:
    path = directory / "emulator.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return resolve({"config": str(path)}, {})


@pytest.mark.parametrize(("content", "field", "value"), rows(__file__, "ways of writing"))
def test_yaml_may_be_written_in_any_of_its_ways(
    tmp_path: Path, content: str, field: str, value: object
) -> None:
    found = getattr(settings_of(tmp_path, content), field)
    assert (list(found) if isinstance(found, tuple) else found) == value


@pytest.mark.parametrize("content", [b"", b"# nothing yet\n", b"port:\nseed: null\nmethods: ~\n"])
def test_an_empty_file_and_a_key_without_a_value_give_nothing(
    tmp_path: Path, content: bytes
) -> None:
    settings = settings_of(tmp_path, content)
    assert settings == Settings(config=settings.config)


DEEP = ":1:33: nesting must not go deeper than 32 levels"
# A text is encoded in UTF-8.
MISTAKES: list[tuple[str | bytes, str]] = [
    *rows(__file__, "mistakes"),
    ("# ብር\nhost: ብ".encode() + b"\xff", ":2:8: the byte 0xff here is not UTF-8; "),
    *(("[" * 3_000, DEEP), ("[" * 20_000, DEEP), ("[" * (MAX_FILE_BYTES - 1) + "}", DEEP)),
    ("host: " + "{a: " * 32, ":1:131: nesting must not go deeper than 32 levels"),
    ("methods: [" + "a," * 80_000 + "]", ":1:20005: the file must not have more than 10,000 "),
    ("#" * (MAX_FILE_BYTES + 1), ":1:1: the file must not be larger than 256 KiB"),
]


@pytest.mark.parametrize(("content", "message"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        settings_of(tmp_path, content)
    text = str(refusal.value)
    assert text.removeprefix(str(tmp_path / "emulator.yaml")).startswith(message)
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("text", ["[" * 32 + "]" * 32, "- " * 32 + "a"])
def test_nesting_up_to_the_limit_is_yaml(text: str) -> None:
    notes: list[object] = []
    assert read_tree(text, lambda *note: notes.append(note)) is not None
    assert notes == []


@pytest.mark.parametrize("key", [b"[test_very_secret_key]", b"test_very_secret key"])
def test_a_message_masks_a_refused_key(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(UserError) as refusal:
        settings_of(tmp_path, b"test-key: " + key)
    assert "very_secret" not in str(refusal.value)


def test_the_message_for_an_unreadable_file_names_its_source(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.yaml")
    with pytest.raises(UserError, match=r"^flag --config: cannot read '.*none.yaml': No such"):
        resolve({"config": missing}, {})
    with pytest.raises(UserError, match=r"^variable EMULATOR_CONFIG: cannot read '.*none"):
        resolve({}, {"EMULATOR_CONFIG": missing})
    with pytest.raises(UserError, match=r"^flag --config: cannot read .*: Is a directory$"):
        resolve({"config": str(tmp_path)}, {})


def test_a_message_is_one_line_for_any_file_name(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.yaml"
    path.write_text("port: true")
    with pytest.raises(UserError) as refusal:
        resolve({"config": str(path)}, {})
    assert len(str(refusal.value).splitlines()) == 1


def test_a_start_without_a_file_does_not_import_yaml() -> None:
    script = "import sys, emulator.settings as s; s.resolve({}, {});print('yaml' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
