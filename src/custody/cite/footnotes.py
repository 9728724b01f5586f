"""The document's formatter: a marker in the text, a footnote line below it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from custody.cite.markdown_text import address, escape_markdown
from custody.cite.model import FootnoteNumber, SourceID


class Citable(Protocol):
    """What a footnote can be made of."""

    @property
    def title(self) -> str:
        """What it is called; may be empty if it has an address."""

    @property
    def url(self) -> str | None:
        """Where it is."""

    @property
    def publisher(self) -> str | None:
        """Who published it."""

    @property
    def date(self) -> datetime | None:
        """When it was published."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else is known; ``publisher`` and ``year`` in it come before the fields."""


@dataclass(frozen=True, slots=True)
class FootnoteFormatter:
    """Writes markers and footnotes as document 003 has them, with titles escaped and addresses encoded."""

    def format_inline(self, source_id: SourceID) -> str:
        """The marker of a source.

        >>> FootnoteFormatter().format_inline("S3")
        '[S3]'
        """
        return f"[{source_id}]"

    def format_footnote(self, number: FootnoteNumber, source: Citable) -> str:
        """The line of a footnote: title — publisher (year) <url>."""
        return f"[^{number}]: {self.format_source(source)}"

    def format_source(self, source: Citable) -> str:
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
