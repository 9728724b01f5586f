"""The same citations, whoever renders: the parser that we use, and another one.

Footnotes are part of the first engine only; the second shows what it makes of numbers and ids.
"""

import re
from html import unescape

import pyromark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from custody.cite.convert import convert
from custody.cite.plan import Target
from custody.cite.ranges import OPTIONS
from tests.unit.cite.reports import a_report, cited, listed

SCRIPT = b"Words [1].\n\n## Sources\n\n1. <script>alert(1)</script> Generic<T> https://example.org/a>b\n"


def by_pyromark(text: str) -> str:
    return pyromark.html(text, options=OPTIONS)


def by_markdown_it(text: str) -> str:
    return str(MarkdownIt("commonmark").enable("table").render(text))


ENGINES = {"pyromark": by_pyromark, "markdown-it": by_markdown_it}


def shown(html: str) -> str:
    html = re.sub(r"<(pre|code|div)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize("engine", ENGINES)
@given(data=a_report(), to=st.sampled_from((Target.SOURCES, Target.MARKERS)))
@settings(deadline=None, max_examples=40)
def test_a_converted_list_shows_every_source_as_an_item_with_its_link(engine: str, data: bytes, to: Target) -> None:
    converted = convert(data, to).text
    html = ENGINES[engine](converted.decode())
    tail = html[html.rindex("<h2>") if "<h2>" in html else html.rindex("<h3>") :]
    assert re.findall(r'<li>.*?href="([^"]*)"', tail, flags=re.DOTALL) == listed(converted)


@given(data=a_report(), to=st.sampled_from((Target.SOURCES, Target.MARKERS)))
@settings(deadline=None, max_examples=60)
def test_both_engines_show_the_same_markers(data: bytes, to: Target) -> None:
    text = convert(data, to).text.decode()
    seen = {name: re.findall(r"\[S?\d+\]", shown(render(text))) for name, render in ENGINES.items()}
    assert seen["pyromark"] == seen["markdown-it"]


@given(data=a_report())
@settings(deadline=None, max_examples=60)
def test_every_cited_footnote_has_a_reference_and_a_definition(data: bytes) -> None:
    converted = convert(data, Target.FOOTNOTES).text
    known = [one for one in cited(converted, linked=False) if one[0] != "?"]
    html = by_pyromark(converted.decode())
    if known:
        assert html.count('<sup class="footnote-reference">') == len(known)
        assert html.count('<div class="footnote-definition"') == len(listed(converted))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("to", list(Target))
def test_no_engine_runs_what_a_title_says(engine: str, to: Target) -> None:
    html = ENGINES[engine](convert(SCRIPT, to).text.decode())
    assert "<script" not in html and "<T>" not in html
    if engine == "pyromark" or to is not Target.FOOTNOTES:
        assert 'href="https://example.org/a%3Eb"' in html
