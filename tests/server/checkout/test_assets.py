"""Files of the pages: their hashed names, media types, and references in stylesheets."""

import re
from pathlib import Path

import pytest

from emulator.domain.payment_methods import METHODS
from emulator.server.assets import Assets
from tests.server.checkout.fonts import ASSETS

ICON = b"<svg/>"
FOREVER = "public, max-age=31536000, immutable"


def assets(directory: Path, **files: str) -> Assets:
    """Of an icon, and of stylesheets given by their stem."""
    (directory / "icon.svg").write_bytes(ICON)
    for stem, text in files.items():
        (directory / f"{stem}.css").write_text(text, encoding="utf-8")
    return Assets(directory)


def served(files: Assets, name: str) -> tuple[str, bytes]:
    """What a file is called when it is served, without its directory, and what is in it."""
    directory, _, hashed = files.path(name).partition("/")
    assert directory == "static"
    response = files.response(hashed)
    assert response is not None
    return hashed, bytes(response.body)


MEDIA_TYPES = {
    "a.css": "text/css; charset=utf-8",
    "a.js": "text/javascript; charset=utf-8",
    "a.svg": "image/svg+xml",
    "a.woff2": "font/woff2",
}


def test_a_file_is_cached_for_ever_under_a_name_of_its_content(tmp_path: Path) -> None:
    for name, media_type in MEDIA_TYPES.items():
        (tmp_path / name).write_bytes(b"one")
        files = Assets(tmp_path)
        hashed, content = served(files, name)
        assert content == b"one"
        stem, _, suffix = name.partition(".")
        assert re.fullmatch(rf"{stem}-[0-9a-f]{{12}}\.{suffix}", hashed)
        response = files.response(hashed)
        assert response is not None
        assert response.headers["content-type"] == media_type, name
        assert response.headers["cache-control"] == FOREVER
        (tmp_path / name).write_bytes(b"two")
        assert served(Assets(tmp_path), name)[0] != hashed


def test_other_files_are_not_served(tmp_path: Path) -> None:
    names = ["en.json", "base.html", "OFL.txt"]
    for name in names:
        (tmp_path / name).write_text("{}", encoding="utf-8")
    files = Assets(tmp_path)
    for name in [*names, "unknown.css"]:
        assert files.response(name) is None, name
        with pytest.raises(KeyError):
            files.path(name)


def test_a_stylesheet_names_the_files_beside_it_as_they_are_served(tmp_path: Path) -> None:
    for reference in ('url("icon.svg")', "url('icon.svg')", "url(icon.svg)", 'url( "icon.svg" )'):
        files = assets(tmp_path, sheet=f"a {{ background: {reference} }} b {{ mask: {reference} }}")
        icon, _ = served(files, "icon.svg")
        _, sheet = served(files, "sheet.css")
        assert sheet.decode() == f'a {{ background: url("{icon}") }} b {{ mask: url("{icon}") }}'


def test_a_stylesheet_gets_another_name_when_a_file_that_it_names_changes(tmp_path: Path) -> None:
    sheets = {"using": 'a { background: url("icon.svg") }', "alone": "a { color: red }"}
    before = assets(tmp_path, **sheets)
    (tmp_path / "icon.svg").write_bytes(b"<svg></svg>")
    after = Assets(tmp_path)
    assert before.path("using.css") != after.path("using.css")
    assert before.path("alone.css") == after.path("alone.css")


FOREIGN_NAMES = (
    *("", "unknown.woff2", "../icon.svg", "icon.svg#part", "other.css", "sheet.css", "en.json"),
    *("https://fonts.example/icon.svg", "data:image/svg+xml,x"),
)


def test_a_stylesheet_that_names_anything_else_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text("{}", encoding="utf-8")
    for name in FOREIGN_NAMES:
        with pytest.raises(ValueError, match=r"^sheet\.css names '"):
            assets(tmp_path, other="", sheet=f'a {{ background: url("{name}") }}')


def test_each_payment_method_has_its_own_mark() -> None:
    sheet = (ASSETS / "checkout.css").read_text(encoding="utf-8")
    rule = r'\.choice\.(\w+)::before { mask-image: url\("(\w+\.svg)"\); }'
    marks = dict(re.findall(rule, sheet))
    assert marks.keys() == METHODS.keys()
    assert len(set(marks.values())) == len(METHODS)
