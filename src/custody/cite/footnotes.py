"""The footnote formatter of document 003, and footnote cycles."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from custody.cite.document import Label, LabelKind, SourceListing, compile_citation_pattern, to_footnote_label
from custody.cite.markdown import Layout, escape_citation_markdown, render_source_link
from custody.cite.model import FootnoteNumber, ResearchSource, SourceID


class FootnoteFormatter(Struct, frozen=True):
    """Markers and footnotes in the form of document 003, with titles escaped and URLs encoded."""

    def format_inline(self, source_id: SourceID) -> str:
        """Return the marker of a source.

        >>> FootnoteFormatter().format_inline("S3")
        '[S3]'
        """
        return f"[{source_id}]"

    def format_footnote(self, number: FootnoteNumber, source: ResearchSource) -> str:
        """Return the line of a footnote: title — publisher (year) <url>."""
        return f"[^{number}]: {self.format_source(source)}"

    def format_source(self, source: ResearchSource) -> str:
        """Return the text after the number, the same in every kind of list."""
        publisher = source.metadata.get("publisher") or source.publisher
        year = source.metadata.get("year") or (source.date.year if source.date else None)
        line = escape_citation_markdown(source.title)
        if publisher:
            line = (
                f"{line} — {escape_citation_markdown(str(publisher))}"
                if line
                else escape_citation_markdown(str(publisher))
            )
        if year:
            line = f"{line} ({escape_citation_markdown(str(year))})".strip()
        if source.url:
            line = f"{line} {render_source_link(source.url)}".strip()
        return line


# Footnotes that refer to themselves; one popular renderer loops forever on them.


_REFERENCE = compile_citation_pattern(r"(?<!\\)\[\^([^\]\[\s^]{1,200})\]")


class Circle(Struct, frozen=True):
    """The start of a cycle, and its footnotes."""

    at: int
    labels: tuple[Label, ...]

    @property
    def route(self) -> str:
        """Return the cycle as text."""
        return " → ".join(f"[{label}]" for label in (*self.labels, self.labels[0]))


def find_footnote_cycle(layout: Layout, listing: SourceListing) -> Circle | None:
    """Return the first cycle in the order of the text; None if there is none."""
    return next(iterate_footnote_cycles(layout, listing), None)


def iterate_footnote_cycles(layout: Layout, listing: SourceListing) -> Iterator[Circle]:
    """Yield each cycle once, at its first footnote in the text."""
    starts = {
        entry.label: entry.start for entry in listing.entries if entry.label and entry.label.kind is LabelKind.NOTE
    }
    if not starts:
        return
    edges = {
        entry.label: [label for label in _footnote_references(layout, entry.body, entry.end) if label in starts]
        for entry in listing.entries
        if entry.label in starts
    }
    done: set[Label] = set()
    for label in edges:
        cycle = _trace_footnote_cycle(label, edges, done)
        if cycle:
            yield Circle(starts[cycle[0]], cycle)


def _footnote_references(layout: Layout, start: int, end: int) -> Iterator[Label]:
    for match in _REFERENCE.finditer(layout.data, start, end):
        if not layout.is_guarded(match.start()):
            yield to_footnote_label(match[1].decode("utf-8", "replace"))


def _trace_footnote_cycle(first: Label, edges: Mapping[Label, list[Label]], done: set[Label]) -> tuple[Label, ...]:
    """Return a cycle reachable from ``first`` through unvisited footnotes; empty if there is none."""
    path: list[Label] = []
    on_path: dict[Label, int] = {}
    waiting = [iter([first])]
    while waiting:
        label = next(waiting[-1], None)
        if label is None:
            waiting.pop()
            if path:
                done.add(path[-1])
                del on_path[path.pop()]
        elif label in on_path:
            cycle = tuple(path[on_path[label] :])
            done.update(path)
            return cycle
        elif label not in done:
            on_path[label] = len(path)
            path.append(label)
            waiting.append(iter(edges[label]))
    return ()
