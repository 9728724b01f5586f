from datetime import UTC, datetime

from custody.cite.app.report import to_csl_sources
from custody.cite.footnotes import FootnoteFormatter
from custody.cite.model import ResearchSource
from custody.cite.subject import AuditSubject
from custody.cite.wire import CslDate, CslSource

FORMAT = FootnoteFormatter()


# Conformance: 003-114
def test_a_footnote_is_title_publisher_year_and_address() -> None:
    source = ResearchSource(title="Prices", url="https://example.org/a", metadata={"publisher": "Agency", "year": 2024})
    assert FORMAT.format_inline("S3") == "[S3]"
    assert FORMAT.format_footnote(2, source) == "[^2]: Prices — Agency (2024) <https://example.org/a>"


def test_publisher_and_year_may_be_fields() -> None:
    source = ResearchSource(title="Prices", publisher="Agency", date=datetime(2020, 1, 31, tzinfo=UTC))
    assert FORMAT.format_footnote(1, source) == "[^1]: Prices — Agency (2020)"


def test_a_source_may_have_only_an_address_or_only_a_title() -> None:
    assert (
        FORMAT.format_footnote(1, ResearchSource(title="", url="https://example.org/a"))
        == "[^1]: <https://example.org/a>"
    )
    assert FORMAT.format_footnote(1, ResearchSource(title="Prices")) == "[^1]: Prices"


def test_titles_render_literally_and_urls_do_not_end_early() -> None:
    source = ResearchSource(title="Generic<T> in *depth*\n[1] <script>", url="https://example.org/a>b c")
    assert FORMAT.format_footnote(1, source) == (
        r"[^1]: Generic\<T\> in \*depth\* \[1\] \<script\> <https://example.org/a%3Eb%20c>"
    )


def test_listed_sources_are_csl_sources() -> None:
    text = "Words [1] [2] [3].\n\n## Sources\n\n1. *Nature* paper (2020) https://doi.org/10.1000/xyz123\n"
    text += "2. A page https://example.org/a\n3. A `Book<T>`\n"
    paper = CslSource(
        id="1",
        type="article",
        title="Nature paper (2020)",
        url="https://doi.org/10.1000/xyz123",
        doi="10.1000/xyz123",
        issued=CslDate([[2020]]),
    )
    assert to_csl_sources(AuditSubject.of(text.encode()).listing.entries) == [
        paper,
        CslSource(id="2", type="webpage", title="A page", url="https://example.org/a"),
        CslSource(id="3", type="document", title="A Book<T>"),
    ]


def test_every_item_has_an_id_of_its_own() -> None:
    text = "## Sources\n\n- [1] A https://example.org/a\n- [1] B https://example.org/b\n"
    assert [item.id for item in to_csl_sources(AuditSubject.of(text.encode()).listing.entries)] == ["1", "1-2"]
