"""The same citations in three Markdown engines."""

import re
from html import unescape

import cmarkgfm
import pyromark
import pytest
from cmarkgfm.cmark import Options as Cmark
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.markdown import OPTIONS
from tests.unit.cite.reports import a_report, cited, listed

SCRIPT = b"Words [1].\n\n## Sources\n\n1. <script>alert(1)</script> Generic<T> https://example.org/a>b\n"


def by_pyromark(text: str) -> str:
    return pyromark.html(text, options=OPTIONS)


def by_markdown_it(text: str) -> str:
    return str(MarkdownIt("commonmark").enable("table").use(footnote_plugin, inline=False).render(text))


def by_cmark(text: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(text, options=Cmark.CMARK_OPT_FOOTNOTES))


ENGINES = {"pyromark": by_pyromark, "markdown-it": by_markdown_it, "cmark": by_cmark}
_REFERENCE = re.compile(r'<sup class="footnote-ref(?:erence)?"><a href="#([^"]*)"')
_NOTE = re.compile(
    r'<(?:li|div) (?:class="footnote-definition" )?id="([^"]*)"[^>]*>'
    r'(.*?)(?=<(?:li|div) (?:class="footnote|id="fn)|\Z)',
    re.DOTALL,
)


def footnotes(html: str) -> list[str | None]:
    """Return the URL of each footnote reference, in order."""
    leads = {
        label: next((unescape(url) for url in re.findall(r'href="([^"#][^"]*)"', note)), None)
        for label, note in _NOTE.findall(html)
    }
    return [leads.get(label) for label in _REFERENCE.findall(html)]


def shown(html: str) -> str:
    html = re.sub(r"<(pre|code|div)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize("engine", ENGINES)
@given(data=a_report(), to=st.sampled_from((ConversionTarget.SOURCES, ConversionTarget.MARKERS)))
@settings(deadline=None, max_examples=40)
def test_a_converted_list_shows_every_source_as_an_item_with_its_link(
    engine: str, data: bytes, to: ConversionTarget
) -> None:
    converted = convert_citations(data, to).text
    html = ENGINES[engine](converted.decode())
    tail = html[html.rindex("<h2>") if "<h2>" in html else html.rindex("<h3>") :]
    assert re.findall(r'<li>.*?href="([^"]*)"', tail, flags=re.DOTALL) == listed(converted)


@given(data=a_report(), to=st.sampled_from((ConversionTarget.SOURCES, ConversionTarget.MARKERS)))
@settings(deadline=None, max_examples=60)
def test_all_engines_show_the_same_markers(data: bytes, to: ConversionTarget) -> None:
    text = convert_citations(data, to).text.decode()
    seen = {name: re.findall(r"\[S?\d+\]", shown(render(text))) for name, render in ENGINES.items()}
    assert seen["pyromark"] == seen["markdown-it"] == seen["cmark"]


@pytest.mark.parametrize("engine", ENGINES)
def test_footnotes_link_to_the_listed_urls(engine: str) -> None:
    text = (
        b"A [2], b [1], c [2].\n\n## Sources\n\n1. [X](https://example.org/x)\n2. [Y](https://example.org/y?a=1&b=2)\n"
    )
    leads = footnotes(ENGINES[engine](convert_citations(text, ConversionTarget.FOOTNOTES).text.decode()))
    first, second = "https://example.org/y?a=1&b=2", "https://example.org/x"
    assert leads == [first, second, first]


@given(data=a_report())
@settings(deadline=None, max_examples=60)
def test_all_engines_show_the_same_footnotes(data: bytes) -> None:
    text = convert_citations(data, ConversionTarget.FOOTNOTES).text.decode()
    seen = {name: footnotes(render(text)) for name, render in ENGINES.items()}
    assert seen["pyromark"] == seen["markdown-it"] == seen["cmark"]


@given(data=a_report())
@settings(deadline=None, max_examples=60)
def test_every_cited_footnote_has_a_reference_and_a_definition(data: bytes) -> None:
    converted = convert_citations(data, ConversionTarget.FOOTNOTES).text
    known = [one for one in cited(converted, linked=False) if one[0] != "?"]
    html = by_pyromark(converted.decode())
    if known:
        assert html.count('<sup class="footnote-reference">') == len(known)
        assert html.count('<div class="footnote-definition"') == len(listed(converted))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("to", list(ConversionTarget))
def test_no_engine_runs_a_script_in_a_title(engine: str, to: ConversionTarget) -> None:
    html = ENGINES[engine](convert_citations(SCRIPT, to).text.decode())
    assert "<script" not in html and "<T>" not in html
    if engine == "pyromark" or to is not ConversionTarget.FOOTNOTES:
        assert 'href="https://example.org/a%3Eb"' in html
