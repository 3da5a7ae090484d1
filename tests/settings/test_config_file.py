"""The YAML file of `--config`, and its error messages with positions."""

import subprocess
import sys
from pathlib import Path

import pytest

from emulator.files import MAX_FILE_BYTES
from emulator.files.yaml_tree import read_tree
from emulator.settings import Settings, SettingsError, resolve


def settings_of(directory: Path, content: bytes) -> Settings:
    path = directory / "emulator.yaml"
    path.write_bytes(content)
    return resolve({"config": str(path)}, {})


def test_a_file_is_named_keys_with_values(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        b"checkout-port: 9000\nclock: frozen@2026-01-01T00:00:00Z\nmethods:\n- cash\n- card\n",
    )
    assert settings.checkout_port == 9000
    assert settings.clock.instant == 1_767_225_600_000
    assert settings.methods == ("cash", "card")


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        (b"checkout_port: 9000", "checkout_port", 9000),
        (b"\xef\xbb\xbfport: 1", "port", 1),
        (b'"port": 1', "port", 1),
        (b"{port: 1}", "port", 1),
        (b"seed: &p 1\nport: *p", "port", 1),
        (b"strict: off", "strict", False),
        (b"database: 2026-01-01", "database", "2026-01-01"),
        (b"database: 1.50", "database", "1.50"),
        (b"scenarios: []", "scenarios", ()),
        (b"scenarios: ['a,b']", "scenarios", ("a,b",)),
        ("database: ደንበኛ.sqlite".encode(), "database", "ደንበኛ.sqlite"),
    ],
)
def test_yaml_may_be_written_in_any_of_its_ways(
    tmp_path: Path, content: bytes, field: str, value: object
) -> None:
    assert getattr(settings_of(tmp_path, content), field) == value


@pytest.mark.parametrize("content", [b"", b"# nothing yet\n", b"port:\nseed: null\nmethods: ~\n"])
def test_an_empty_file_and_a_key_without_a_value_give_nothing(
    tmp_path: Path, content: bytes
) -> None:
    settings = settings_of(tmp_path, content)
    assert settings == Settings(config=settings.config)


METHOD = "a lower-case letter followed by at most 39 lower-case letters, digits or _"
PORT = "an integer from 0 to 65535"

MISTAKES = [
    # keys
    (b"prot: 1", ":1:1: unknown option 'prot', the nearest is 'port'"),
    (b"\n  chekout_prot: 1", ":2:3: unknown option 'chekout_prot', the nearest is 'checkout-port'"),
    (b"config: x", ":1:1: unknown option 'config', the nearest is "),
    (b"port: 1\nport: 2", ":2:1: port is given twice, first on line 1"),
    (
        b"port: 1\ncheckout-port:\ncheckout_port: 2",
        ":3:1: checkout-port is given twice, first on line 2",
    ),
    (b"? [port]\n: 1", ":1:3: found a list, expected the name of an option"),
    # the file as a whole
    (b"- port", ":1:1: found a list, expected a mapping from options to values"),
    (b"port 1", ":1:1: found the text 'port 1', expected a mapping from options to values"),
    (b"port: 1\n---\nport: 2", ":2:1: there must be one document in a file, not several"),
    (b"host: a: b", ":1:8: a value must not contain ': '; put a text in quotes, "),
    (b"port: [", ":1:7: this [ is not closed; write ] at the end"),
    (b"port: *p", ":1:7: the alias '*p' has no anchor before it; a text that begins "),
    (b"port: 1\nhost: \x00", ":2:7: the character '\\x00' is not allowed in a file"),
    (
        "# ብር\nhost: ብ".encode() + b"\xff",
        ":2:8: the byte 0xff here is not UTF-8; ",
    ),
    (b"[" * 3_000, ":1:33: nesting must not go deeper than 32 levels"),
    (b"[" * 20_000, ":1:33: nesting must not go deeper than 32 levels"),
    (b"[" * (MAX_FILE_BYTES - 1) + b"}", ":1:33: nesting must not go deeper than 32 levels"),
    (b"- " * 33, ":1:65: nesting must not go deeper than 32 levels"),
    (b"host: " + b"{a: " * 32, ":1:131: nesting must not go deeper than 32 levels"),
    (b"methods: [" + b"a," * 80_000 + b"]", ":1:20005: the file must not have more than 10,000 "),
    (b"#" * (MAX_FILE_BYTES + 1), ":1:1: the file must not be larger than 256 KiB"),
    # types
    (b"port: true", f":1:7: port: found true, expected {PORT}"),
    (b"port: '80'", f":1:7: port: found the text '80', expected {PORT}"),
    (b"port: 80.5", f":1:7: port: found 80.5, expected {PORT}"),
    (b"port: 0200", f":1:7: port: found '0200', expected {PORT}"),
    (b"port: 1:30", f":1:7: port: found '1:30', expected {PORT}"),
    (b"port: [1]", f":1:7: port: found a list, expected {PORT}"),
    (b"port: {a: 1}", f":1:7: port: found a mapping, expected {PORT}"),
    (b"port: !port 1", ":1:7: tags are not supported: '!port'; a text that begins with ! must "),
    (b"strict: 1", ":1:9: strict: found 1, expected true or false"),
    (b"strict: 'true'", ":1:9: strict: found the text 'true', expected true or false"),
    (b"database: 1", ":1:11: database: found 1, expected the path of a file, or :memory:"),
    (b"log-format: no", ":1:13: log-format: found no, expected text or json"),
    (
        b"methods: cash",
        f":1:10: methods: found the text 'cash', expected a list, each entry {METHOD}",
    ),
    (b"methods: [1]", f":1:10: methods: found 1 in the list, expected {METHOD}"),
    (b"methods: [~]", f":1:10: methods: found nothing in the list, expected {METHOD}"),
    (b"methods: [A]", f":1:10: methods: found 'A', expected {METHOD}"),
    # values
    (b"methods: []", ":1:10: methods: found no method, expected at least one"),
    (b"\nport: 65536", f":2:7: port: found '65536', expected {PORT}"),
]


@pytest.mark.parametrize(("content", "message"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(
    tmp_path: Path, content: bytes, message: str | tuple[str, ...]
) -> None:
    with pytest.raises(SettingsError) as refusal:
        settings_of(tmp_path, content)
    text = str(refusal.value)
    assert text.removeprefix(str(tmp_path / "emulator.yaml")).startswith(message)
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("text", ["[" * 32 + "]" * 32, "- " * 32 + "a"])
def test_nesting_up_to_the_limit_is_yaml(text: str) -> None:
    notes: list[object] = []
    assert read_tree(text, lambda *note: notes.append(note)) is not None
    assert notes == []


@pytest.mark.parametrize("key", [b"[test_very_secret_key]", b"test_very_secret-key"])
def test_a_message_masks_a_refused_key(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(SettingsError) as refusal:
        settings_of(tmp_path, b"test-key: " + key)
    assert "very_secret" not in str(refusal.value)


def test_the_message_for_an_unreadable_file_names_its_source(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match=r"^flag --config: cannot read '.*none.yaml': No such"):
        resolve({"config": missing}, {})
    with pytest.raises(SettingsError, match=r"^variable EMULATOR_CONFIG: cannot read '.*none"):
        resolve({}, {"EMULATOR_CONFIG": missing})
    with pytest.raises(SettingsError, match=r"^flag --config: cannot read .*: Is a directory$"):
        resolve({"config": str(tmp_path)}, {})


def test_a_message_is_one_line_for_any_file_name(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines.yaml"
    path.write_text("port: true")
    with pytest.raises(SettingsError) as refusal:
        resolve({"config": str(path)}, {})
    assert len(str(refusal.value).splitlines()) == 1


def test_a_start_without_a_file_imports_neither_yaml_nor_difflib() -> None:
    script = (
        "import sys, emulator.settings as s; s.resolve({}, {});"
        "print(*sorted({'yaml', 'difflib'} & sys.modules.keys()))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
