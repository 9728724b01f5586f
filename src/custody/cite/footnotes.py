"""The document's formatter: a marker in the text, a footnote line below it."""

from dataclasses import dataclass

from custody.cite.markdown_text import address, escape_markdown
from custody.cite.model import FootnoteNumber, ResearchSource, SourceID


@dataclass(frozen=True, slots=True)
class FootnoteFormatter:
    """Writes markers and footnotes as document 003 has them, with titles escaped and addresses encoded."""

    def format_inline(self, source_id: SourceID) -> str:
        """The marker of a source.

        >>> FootnoteFormatter().format_inline("S3")
        '[S3]'
        """
        return f"[{source_id}]"

    def format_footnote(self, number: FootnoteNumber, source: ResearchSource) -> str:
        """The line of a footnote: title — publisher (year) <url>."""
        return f"[^{number}]: {self.format_source(source)}"

    def format_source(self, source: ResearchSource) -> str:
        """What stands after the number, in every kind of list."""
        publisher = source.metadata.get("publisher") or source.publisher
        year = source.metadata.get("year") or (source.date.year if source.date else None)
        made = escape_markdown(source.title)
        if publisher:
            made = f"{made} — {escape_markdown(str(publisher))}" if made else escape_markdown(str(publisher))
        if year:
            made = f"{made} ({escape_markdown(str(year))})".strip()
        if source.url:
            made = f"{made} {address(source.url)}".strip()
        return made
