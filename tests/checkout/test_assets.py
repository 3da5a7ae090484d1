"""The files of the pages: their names, what they are served as, and how stylesheets name others."""

import re
from pathlib import Path

import pytest

from emulator.checkout.assets import Assets

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


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.css", "text/css; charset=utf-8"),
        ("a.js", "text/javascript; charset=utf-8"),
        ("a.svg", "image/svg+xml"),
        ("a.woff2", "font/woff2"),
    ],
)
def test_a_file_is_kept_for_good_under_a_name_of_its_content(
    name: str, media_type: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"one")
    files = Assets(tmp_path)
    hashed, content = served(files, name)
    assert content == b"one"
    stem, _, suffix = name.partition(".")
    assert re.fullmatch(rf"{stem}-[0-9a-f]{{12}}\.{suffix}", hashed)
    response = files.response(hashed)
    assert response is not None
    assert response.headers["content-type"] == media_type
    assert response.headers["cache-control"] == FOREVER
    (tmp_path / name).write_bytes(b"two")
    assert served(Assets(tmp_path), name)[0] != hashed


@pytest.mark.parametrize("name", ["en.json", "base.html", "OFL.txt", "unknown.css"])
def test_other_files_have_no_name(name: str, tmp_path: Path) -> None:
    if name != "unknown.css":
        (tmp_path / name).write_text("{}", encoding="utf-8")
    files = Assets(tmp_path)
    assert files.response(name) is None
    with pytest.raises(KeyError):
        files.path(name)


@pytest.mark.parametrize(
    "reference", ['url("icon.svg")', "url('icon.svg')", "url(icon.svg)", 'url( "icon.svg" )']
)
def test_a_stylesheet_names_the_files_beside_it_as_they_are_served(
    reference: str, tmp_path: Path
) -> None:
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


@pytest.mark.parametrize(
    "name",
    [
        "",
        "unknown.woff2",
        "../icon.svg",
        "icon.svg#part",
        "other.css",
        "sheet.css",
        "en.json",
        "https://fonts.example/icon.svg",
        "data:image/svg+xml,x",
    ],
)
def test_a_stylesheet_that_names_anything_else_is_a_mistake(name: str, tmp_path: Path) -> None:
    (tmp_path / "en.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^sheet\.css names '"):
        assets(tmp_path, other="", sheet=f'a {{ background: url("{name}") }}')
