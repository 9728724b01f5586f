"""Drafts under the citation contract, and strategies to generate others."""

import re

from hypothesis import strategies as st

from custody.cite.model import ResearchSource

SOURCES = (
    ResearchSource(source_id="S1", title="Fishery statistics", url="https://example.org/statistics"),
    ResearchSource(source_id="S2", title="Annual review", url="https://example.org/review"),
    ResearchSource(source_id="S7", title="An interview"),
)
TEXT = """# Prices of mackerel

The price rose by 12% in 2024 [S2]. Catches fell to 3,000 tonnes, says the agency [S1].

## Boats

Boats were smaller than before [S7][S1].
"""

_TITLES = (
    "Prices",
    "Generic<T> in *depth*",
    "See https://other.example/x [1] now",
    "1. Prices",
    "# A_b",
    "[^1]: x",
    "| a |",
)
_ENDS = ("https://example.org/{n}", "https://example.org/a>b c/{n}", "ftp://example.org/{n}", "notes/{n}.txt", "")
_SAID = (
    "Prices rose by 12% in 2024",
    "Catches fell to 3,000 tonnes",
    "捕捞量下降了12%",
    "Boats are smaller than before",
)
_BETWEEN = (
    "```\ncode [S1] [^1]\n```",
    "    indented [S1]",
    "> quoted words of 2020",
    "| a | b |\n|---|---|\n| x | y |",
    "<div>\n[S1]\n</div>",
    "### A part of it",
    "A word.",
    "1. an item",
)


@st.composite
def some_sources(draw: st.DrawFn) -> tuple[ResearchSource, ...]:
    """Up to six sources with ids that may have gaps."""
    numbers = sorted(draw(st.sets(st.integers(1, 20), min_size=1, max_size=6)))
    return tuple(
        ResearchSource(
            source_id=f"S{n}",
            title=f"{draw(st.sampled_from(_TITLES))} no {n}",
            url=draw(st.sampled_from(_ENDS)).format(n=n) or None,
            publisher=draw(st.sampled_from((None, "Agency", "A <b> & [c]"))),
        )
        for n in numbers
    )


@st.composite
def a_passing_text(draw: st.DrawFn, sources: tuple[ResearchSource, ...]) -> str:
    """Return a text that cites every source, among code, HTML, tables and headings."""
    ids = draw(st.permutations([str(one.source_id) for one in sources]))
    blocks = ["# Report"]
    for source_id in (*ids, *draw(st.lists(st.sampled_from(ids), max_size=3))):
        marker = draw(st.sampled_from(("[{}]", "[{}][{}]", "[{}, {}]", "【{}】", "[cite: {}]"))).format(
            source_id, source_id
        )
        blocks.append(f"{draw(st.sampled_from(_SAID))} {marker}.")
        blocks += draw(st.lists(st.sampled_from(_BETWEEN), max_size=1))
    text = "\n\n".join(blocks) + draw(st.sampled_from(("", "\n", "\n\n")))
    return text.replace("\n", draw(st.sampled_from(("\n", "\n", "\r\n"))))


def without(text: str, source_id: str) -> str:
    """Return a text without any marker of one source."""
    number = source_id[1:]
    text = re.sub(rf"(?:\[{source_id}\])+|\[{source_id}, {source_id}\]|【{source_id}】|\[cite: {source_id}\]", "", text)
    return re.sub(rf"\[S?{number}\]", "", text)


PIECES = (
    "[S1]|[S2]|[1]|## Sources\n|## Notes\n|- [S1] x https://example.org/statistics\n|```\n|<!--|-->|1. |- |> |\n|\n\n| "
    "|word |Prices rose by 12%. |[S1] Fishery statistics https://example.org/statistics\n|---\n|$x$|\\[1\\]|【S2】|\r\n"
    "|    |\t|<div>\n|</div>\n|[S1-S2]|[7](https://example.org/x)|**References**\n|参考文献：\n|![|:|[x]|[ ]"
    "|https://example.org/q"
).split("|")
CITING = ("It rose by 12% [S1][S2][S7].", "[S1]: [S2] [S7](x) [S7][a]", "A [S7, S1] b [S2][S2]:")
"""Each cites all of ``SOURCES``, unless the text around it prevents that."""


@st.composite
def a_wild_text(draw: st.DrawFn) -> str:
    """Pieces of Markdown in any order around a sentence that cites."""
    around = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)
    return draw(around) + draw(st.sampled_from(CITING)) + draw(around)
