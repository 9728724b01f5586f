"""The document's formatter: a marker in the text, a footnote line below it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from custody.cite.document import Label, LabelKind, SourceListing, compile_byte_pattern, note_label
from custody.cite.markdown import Layout, address, escape_markdown
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


# Footnotes that lead back to themselves; one popular renderer never ends on them.


_REFERENCE = compile_byte_pattern(r"(?<!\\)\[\^([^\]\[\s^]{1,200})\]")


@dataclass(frozen=True, slots=True)
class Circle:
    """Where a circle begins, and the footnotes in it."""

    at: int
    labels: tuple[Label, ...]

    @property
    def route(self) -> str:
        """The way round, as one would write it."""
        return " → ".join(f"[{label}]" for label in (*self.labels, self.labels[0]))


def circle(layout: Layout, listing: SourceListing) -> Circle | None:
    """The first footnote, in the order of the text, that leads back to itself; None if none does."""
    return next(circles(layout, listing), None)


def circles(layout: Layout, listing: SourceListing) -> Iterator[Circle]:
    """Every circle once, by the footnote of it that was reached first."""
    starts = {
        entry.label: entry.start for entry in listing.entries if entry.label and entry.label.kind is LabelKind.NOTE
    }
    if not starts:
        return
    edges = {
        entry.label: [label for label in _references(layout, entry.body, entry.end) if label in starts]
        for entry in listing.entries
        if entry.label in starts
    }
    done: set[Label] = set()
    for label in edges:
        found = _round_trip(label, edges, done)
        if found:
            yield Circle(starts[found[0]], found)


def _references(layout: Layout, start: int, end: int) -> Iterator[Label]:
    for match in _REFERENCE.finditer(layout.data, start, end):
        if not layout.is_guarded(match.start()):
            yield note_label(match[1].decode("utf-8", "replace"))


def _round_trip(first: Label, edges: Mapping[Label, list[Label]], done: set[Label]) -> tuple[Label, ...]:
    """A circle that can be reached from ``first`` through what was not looked at yet, or nothing."""
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
            found = tuple(path[on_path[label] :])
            done.update(path)
            return found
        elif label not in done:
            on_path[label] = len(path)
            path.append(label)
            waiting.append(iter(edges[label]))
    return ()
