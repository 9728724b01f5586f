"""Which sources a session had read before it wrote a line: an indexed look-up of that session and nothing more."""

from collections.abc import Iterator, Sequence

from custody.attribution import Trace
from custody.cite.app.source_numbers import page_source_number
from custody.core.ids import SessionId
from custody.core.views import Reading, SourceAccess
from custody.core.wire.time import text_from
from custody.git import Repository
from custody.intake.transcript_paths import work_trees
from custody.ledger.queries.readings import locators_read_by
from custody.ledger.queries.sessions import first_session_views
from custody.store import ObservedView, Store
from custody.why.queries import readings_of_source
from custody.why.report import SourceLine, SourcesLink

SHOWN_MAX = 10
EACH_MAX = 4
"""Of one source so many readings are looked at, the latest: a file may have been read a hundred times."""
PARENTS_MAX = 8
"""How many sessions upwards are looked at."""
READINGS = tuple(Reading)


def sources_before(repository: Repository, store: Store, trace: Trace, at_ns: int) -> SourcesLink:
    """The sources that a session, subagents included, or one that started it had read by a moment, the latest first."""
    sessions = [trace.session, *_above(store, trace)]
    found = locators_read_by(store, sessions, at_ns, SHOWN_MAX)
    trees = work_trees(repository) if any(text.startswith("/") for text in found.locators) else []
    lines: list[SourceLine] = []
    for locator in found.locators:
        readings = readings_of_source(store, sessions, locator, at_ns, EACH_MAX)
        seen = [reading for reading in readings if reading.view.agent == trace.agent]
        if seen:
            lines.append(_line(store, seen, trees))
    return SourcesLink(sources=lines, more=found.total - len(found.locators))


def _line(store: Store, seen: Sequence[ObservedView[SourceAccess]], trees: Sequence[str]) -> SourceLine:
    reads = [view.view for view in seen]
    best = min(reads, key=lambda read: (READINGS.index(read.reading), -read.at_ns))
    last = max(reads, key=lambda read: read.at_ns)
    return SourceLine(
        id=_number(store, last.locator),
        locator=_place(last.locator, trees),
        title=next((read.title for read in reads if read.title), None),
        reading=best.reading.value,
        at=text_from(last.at_ns),
        call=last.call,
        records=[str(ref) for ref in sorted({view.record.ref for view in seen})],
    )


def _place(locator: str, trees: Sequence[str]) -> str:
    """A path of the repository where it is one, else as it was written."""
    for tree in trees:
        if locator.startswith(f"{tree.rstrip('/')}/"):
            return locator[len(tree.rstrip("/")) + 1 :]
    return locator


def _number(store: Store, locator: str) -> str | None:
    if locator[:4].lower() != "http":
        return None
    number = page_source_number(store, locator)
    return None if number is None else f"S{number}"


def _above(store: Store, trace: Trace) -> Iterator[SessionId]:
    """The sessions that started this one, where its recorder names them."""
    met, session = {trace.session}, trace.session
    for _ in range(PARENTS_MAX):
        parent = next((seen.view.parent for seen in first_session_views(store, session, 1)), None)
        if parent is None or parent in met:
            return
        met.add(parent)
        session = parent
        yield parent
