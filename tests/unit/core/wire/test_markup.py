"""Text of records in Markdown: read as it was, without markup, links, mentions or references."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from custody.core.wire.markup import JOINER, escape_markdown, quote_markdown_block, quote_markdown_code

HOSTILE = (
    *(
        "@everyone",
        "#12",
        "GH-12",
        "a/b#1",
        "a/b@deadbeef",
        "!7",
        "~bug",
        "%v1",
        "https://x.example/a",
        "www.x.example",
    ),
    *("a@b.example", "<img src=x onerror=alert(1)>", "[x](javascript:a)", "`x` **y**", "</pre><b>", "/close", "| a |"),
    *("0123456789abcdef0123456789abcdef01234567", "\u202eevil\u2066", "\x1b[2J", "<!-- custody: review -->"),
)
REFERENCE = re.compile(
    r"(?<![\w])@\w|#\d|\bGH-\d|https?://|www\.|[!~%&^$]\w|\b[0-9a-f]{7,40}\b|[\u202a-\u202e\u2066-\u2069]",
    re.IGNORECASE,
)


def rendered(markdown: str) -> str:
    return str(MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(markdown))


def read(page: str) -> str:
    text = re.sub("<[^>]*>", "", page)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_nothing_but_text(text: str) -> None:
    page = rendered(f"x {escape_markdown(text)} x")
    assert set(re.findall("<[^>]*>", page)) == {"<p>", "</p>"}
    assert not REFERENCE.search(read(page))


@given(st.text())
@example("".join(HOSTILE))
def test_escaped_text_is_read_as_it_was(text: str) -> None:
    page = rendered(f"x{escape_markdown(text)}x")
    assert set(re.findall("<[^>]*>", page)) == {"<p>", "</p>"}
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    assert read(page).replace(JOINER, "").strip() == f"x{printable.replace(JOINER, ' ')}x"


@given(st.text(), st.lists(st.text(), max_size=3))
def test_code_and_blocks_end_where_they_should(text: str, lines: list[str]) -> None:
    page = rendered(f"{quote_markdown_code(text)}\n\n{quote_markdown_block(lines)}\n\nend")
    assert re.findall("<[^>]*>", page) == ["<p>", "<code>", "</code>", "</p>", "<pre>", "</pre>", "<p>", "</p>"]
