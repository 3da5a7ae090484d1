"""The guides as pages: rendered, safe, and linked with each other."""

import re
from html import unescape

import pytest

from emulator.server.dashboard.app import GUIDES
from emulator.server.dashboard.guide_page import guide_html
from emulator.settings import data_directory
from tests.server.dashboard import VIEW, get, page
from tests.world import World

ALL = sorted(file.stem for file in data_directory("docs/guides").glob("*.md"))
MARKDOWN = """# A *shop's* page

First line
with `<code>`, **bold `x`** and [a link](faults.md#one-thing), [elsewhere](../reference/x.md), <http://127.0.0.1:1/>.

<!-- generated: x -->

```sh run
# not a heading
curl "<b>"
```

1. One
   more
2. Two

- item

| member | value |
|---|---|
| `a` | <script> |
"""
HTML = """<h1 id="guide-a-shops-page">A *shop&#39;s* page</h1>
<p>First line
with <code>&lt;code&gt;</code>, <strong>bold <code>x</code></strong> and \
<a href="/faults.md#one-thing">a link</a>, elsewhere, <a href="http://127.0.0.1:1/">http://127.0.0.1:1/</a>.</p>

<pre tabindex="0"><code># not a heading
curl &#34;&lt;b&gt;&#34;
</code></pre>
<ol><li>One
   more</li><li>Two</li></ol>
<ul><li>item</li></ul>
<table><thead><tr><th scope="col">member</th><th scope="col">value</th></tr></thead>\
<tbody><tr><td><code>a</code></td><td>&lt;script&gt;</td></tr></tbody></table>"""


def test_markdown_becomes_html_and_no_text_becomes_an_element() -> None:
    def address(target: str) -> str | None:
        return None if target.startswith("..") else f"/{target}"

    assert guide_html(MARKDOWN, address) == HTML


@pytest.mark.parametrize("name", ALL)
async def test_no_markdown_is_left_in_a_guide(emulator: World, name: str) -> None:
    html = await page(emulator, f"guides/{name}")
    guide = html.partition('data-testid="guide-text">')[2].partition("</article>")[0]
    text = re.sub(r"(?s)<pre.*?</pre>|<code>.*?</code>", "", guide)
    assert re.search(r"```|\*\*|\]\(|^#|^\||^- |&lt;!--|&lt;http", text, re.MULTILINE) is None
    assert guide.count("<h1 ") == 1


async def test_each_link_between_guides_leads_to_its_heading(emulator: World) -> None:
    pages = {name: await page(emulator, f"guides/{name}") for name in ALL}
    links = {
        (name, unescape(fragment))
        for html in pages.values()
        for name, fragment in re.findall(rf'href="{VIEW}/guides/([\w-]+)(?:#([^"]+))?"', html)
    }
    assert len(links) > 30
    for name, fragment in links:
        assert not fragment or f'id="{fragment}"' in pages[name], (name, fragment)


async def test_only_guides_are_shown(emulator: World) -> None:
    assert set(GUIDES.values()) <= {*ALL}
    for name in ("README", "../reference/options", "%2e%2e%2fREADME", ""):
        response = await get(emulator, f"guides/{name}")
        assert response.status_code in (404, 303), name
        assert "guide-text" not in response.text
