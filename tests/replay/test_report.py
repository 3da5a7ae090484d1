"""The report: one file, well-formed, which shows all and loads nothing."""

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from emulator.replay.diff import side_by_side
from emulator.replay.report import MAX_BODY_CHARACTERS, MAX_SHOWN, pretty, report
from emulator.replay.results import CaseResult, Mismatch, Trace
from emulator.settings import data_directory
from tests.replay.sample_results import (
    HERE,
    LATER,
    ORDER,
    event,
    failed,
    failure,
    played,
    request,
    result,
    step,
    webhook,
)

VOID = {"meta", "br", "link", "img", "input", "hr"}
TRACE = Trace(
    events=(event("created"), event("processing"), event("failed", at=LATER, reason="timeout")),
    webhooks=(webhook("created"), webhook("failed", step=2, at=LATER, is_genuine=False)),
    requests=(
        request(warnings=("unknown-parameter:colour",)),
        request(status=None, response_body="", fault={"then": {"drop": True}}),
        request(status=500, fault={"then": {"status": 500, "point": "after_commit"}}),
    ),
)


class Page(HTMLParser):
    """What is in a page, and whether each element is closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, self.getpos()

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def html(*results: CaseResult) -> str:
    return report(results, skipped=0).decode()


def told(**changes: Any) -> CaseResult:
    values: dict[str, Any] = {
        "steps": (
            played(1, step=step("create: {as: order}"), text="create: {as: order}", payment=ORDER),
            played(2, at=LATER),
        ),
        "trace": TRACE,
        "names": {"order": ORDER},
    }
    return result(**values | changes)


def test_it_is_one_well_formed_page() -> None:
    page = Page(html(told(), failed("bad")))
    assert len(page.all("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_it_loads_and_runs_nothing() -> None:
    text = html(told(), failed("bad"))
    page = Page(text)
    assert {tag for tag, _ in page.elements} & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
    } == set()
    for _, attributes in page.elements:
        assert not attributes.keys() & {"src", "onclick", "onload", "style"}
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in text
    assert "@import" not in text


def test_all_that_happened_is_in_it() -> None:
    text = Page(html(told())).text
    for what in (
        *("mine", "passed", "create: {as: order}", "advance: 1s"),
        *("payment.created", "payment.failed", "timeout", ORDER),
        *("unknown-parameter:colour", "drop", "status 500, point after_commit", "cut"),
        *("genuine", "forged", "webhook-signature: v1,c2lnbmF0dXJl", '"amount": 10000'),
        *("Coverage", "pending → processing", "tamper timestamp"),
    ):
        assert what in text, what


def test_a_failure_stands_side_by_side() -> None:
    mismatch = Mismatch(
        place=HERE, subject="events", rows=side_by_side(["a", "b"], ["a", "c"]), note="Note it."
    )
    page = Page(html(failed(why=failure("events is not as expected", mismatches=(mismatch,)))))
    assert "events is not as expected" in page.text
    assert "Note it." in page.text
    rows = [attributes["class"] for attributes in page.all("tr") if "class" in attributes]
    assert rows.count("same") == 1
    assert rows.count("changed") == 1
    assert "went-wrong" in rows


def test_what_others_wrote_is_text_and_no_markup() -> None:
    script = "<script>alert(1)</script>"
    page = Page(
        html(
            told(
                trace=Trace(
                    requests=(request(request_body=script, path=f"/v1/{script}"),),
                    webhooks=(webhook("created", body=script, id=script),),
                )
            )
        )
    )
    assert page.all("script") == []
    assert script in page.text


def test_its_pictures_are_well_formed() -> None:
    pictures = re.findall(r"<svg xmlns=.*?</svg>", html(told(), failed("bad")), re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        svg = ElementTree.fromstring(picture)  # noqa: S314 - it is ours
        assert svg.attrib["role"] == "img"
        assert svg.attrib["aria-label"]
        for shape in svg.iter("{http://www.w3.org/2000/svg}rect"):
            assert int(shape.attrib["width"]) > 0


def test_several_cases_have_a_list_of_contents() -> None:
    one = Page(html(told()))
    assert one.all("nav") == []
    two = Page(html(told(), failed("bad")))
    targets = [(attributes["href"] or "").removeprefix("#") for attributes in two.all("a")]
    assert targets == [attributes["id"] for attributes in two.all("article")]


def test_no_duration_is_in_it() -> None:
    assert html(told(duration_ms=1.0)) == html(told(duration_ms=98_765.4))


def test_of_very_much_the_first_part_is_shown() -> None:
    text = Page(html(told(trace=Trace(requests=(request(),) * (MAX_SHOWN + 1))))).text
    assert f"The first {MAX_SHOWN} of {MAX_SHOWN + 1} are shown." in text
    assert text.count("POST /v1/payments") == MAX_SHOWN


def test_bodies_are_laid_out_and_not_without_end() -> None:
    assert pretty('{"a":{"b":"ብር"}}') == '{\n  "a": {\n    "b": "ብር"\n  }\n}'
    assert pretty("half a bo") == "half a bo"
    assert pretty("x" * (MAX_BODY_CHARACTERS + 1)).endswith("… and more")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def colours_of(room: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a room's report is coloured with, in the light and in the dark."""
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for file in ("reports/page.css", f"{room}/report.css"):
        css = (data_directory("templates") / file).read_text(encoding="utf-8")
        blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
        for colours, block in zip((light, dark), blocks, strict=False):
            colours.update(re.findall(r"--([\w-]+): (#\w{6});", block))
    assert light.keys() == dark.keys()
    return light, dark


def test_each_text_stands_out_from_what_it_stands_on() -> None:
    """WCAG 2.2 AA asks for 4.5, in the light and in the dark."""
    for colours in colours_of("replay"):
        pairs = [(name, f"{name}-ink") for name in colours if f"{name}-ink" in colours]
        pairs += [
            (ground, text)
            for ground in ("page", "card", "sunk")
            for text in ("ink", "muted", "link")
        ]
        pairs += [("card", "good-ink"), ("sunk", "bad-ink")]
        for ground, text in pairs:
            assert contrast(colours[ground], colours[text]) >= 4.5, (ground, text)


def test_of_a_long_comparison_the_first_lines_are_shown() -> None:
    rows = side_by_side([f"entry {number}" for number in range(MAX_SHOWN + 1)], [])
    why = failure(mismatches=(Mismatch(place=HERE, subject="events", rows=rows),))
    text = Page(html(failed("bad", why))).text
    assert f"The first {MAX_SHOWN} of {MAX_SHOWN + 1} are shown." in text
    assert f"entry {MAX_SHOWN - 1}" in text
    assert f"entry {MAX_SHOWN}" not in text.replace(f"entry {MAX_SHOWN - 1}", "")
