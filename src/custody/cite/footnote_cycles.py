"""Footnotes that lead back to themselves; one popular renderer never ends on them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from custody.cite.document import Label, LabelKind, SourceListing
from custody.cite.labels import compile_byte_pattern, note_label
from custody.cite.markdown_ranges import Layout

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
