"""Index changes, so that the next one can be compared with all of them: incremental, and resumed where it was left."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from custody.dupes.app.change_reader import (
    OWN,
    ChangeBatch,
    ChangeRef,
    SketchedChange,
    UnreadableChange,
    sketch_batch,
    travelling,
)
from custody.dupes.app.search import indexed_rows
from custody.dupes.app.select import REFS, changes_in, typed_changes
from custody.dupes.model import ChangeRow
from custody.dupes.packing import pack_signature
from custody.dupes.pool import Backend, pool_map
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import asked_terms
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import DupesIndexReport, UnreadChange
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

BATCH = 32
"""Changes that one worker is handed at a time."""
TITLE_CHARS_MAX = 200
UNREAD_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """What to index: refs that match, ranges as typed, landed commits; by how many workers of which kind."""

    refs: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    commits: bool = True
    workers: int | None = None
    backend: Backend = "processes"
    anew: bool = False


def dupes_index(workspace: Workspace, wanted: IndexRequest) -> DupesIndexReport:
    """Index everything wanted that is not indexed yet."""
    rules = load_rules(workspace)[0].of(DedupeRules)
    repository = workspace.repository
    ranges = typed_changes(repository, wanted.ranges)
    patterns = wanted.refs or (() if ranges else REFS)
    named = changes_in(repository, patterns, rules, commits=wanted.commits and not ranges) if patterns else None
    asked = (*(named.asked if named else ()), *ranges)
    with workspace.writing() as store:
        tables = DupesTables(store)
        if wanted.anew or tables.is_of_another(SIGNATURE_VERSION):
            with store.writing():
                tables.forget()
        known = tables.known(OWN)
        fresh = [ref for ref in dict.fromkeys(asked) if (ref.base, ref.head) not in known]
        workspace.progress.start("indexing changes", len(fresh))
        workers = wanted.workers or max(1, min(os.cpu_count() or 1, -(-len(fresh) // BATCH)))
        made = sketch_all(str(repository.git_dir), fresh, rules, workers=workers, backend=wanted.backend)
        counted = index_all(store, made, workspace.progress.step)
        unread = tables.unread(OWN)
        total = tables.count()
    refused = [
        UnreadChange("", name, f"its ref names an object that is {why}")
        for name, why in (named.unread if named else ())
    ]
    return DupesIndexReport(
        asked=len(asked),
        known=len(asked) - len(fresh),
        indexed=counted.indexed,
        degraded=counted.degraded,
        changes=total,
        unread=[*refused, *(UnreadChange(base, head, why) for base, head, why in unread)][:UNREAD_SHOWN_MAX],
        unread_count=len(refused) + len(unread),
        signature_version=SIGNATURE_VERSION,
    )


def sketch_all(
    folder: str, asked: Iterable[ChangeRef], rules: DedupeRules, *, workers: int, backend: Backend = "processes"
) -> Iterator[SketchedChange | UnreadableChange]:
    """Read and sketch changes in their order, by several workers."""
    rules_sent = travelling(rules)
    batches = (ChangeBatch(folder, some, rules_sent) for some in _batches(asked))
    for done in pool_map(sketch_batch, batches, workers=workers, backend=backend):
        yield from done


@dataclass(slots=True)
class IndexCount:
    """How many changes were indexed, and how many files of theirs had no readable syntax."""

    indexed: int = 0
    degraded: int = 0


def index_all(
    store: Store,
    made: Iterable[SketchedChange | UnreadableChange],
    step: Callable[[int], None] = lambda _: None,
) -> IndexCount:
    """Put changes into the index as they come, some at a time: what is in it stays when this is interrupted."""
    counted = IndexCount()
    tables = DupesTables(store)
    made = iter(made)
    while batch := list(islice(made, BATCH)):
        with store.writing():
            for change in batch:
                if isinstance(change, UnreadableChange):
                    tables.put_unread(OWN, change.asked.base, change.asked.head, change.why)
                elif not tables.has(OWN, change.asked.base, change.asked.head):  # another process may be indexing too
                    index_one(store, change)
                    counted.indexed += 1
                    counted.degraded += change.degraded
        step(len(batch))
    return counted


def index_one(store: Store, change: SketchedChange) -> int:
    """Put one change into the index; its number there."""
    tables = DupesTables(store)
    counts = tables.counts(asked_terms(change.sketched.terms))
    exact, terms = indexed_rows(change.sketched, counts)
    asked = change.asked
    row = ChangeRow(
        id=tables.newest() + 1,
        repo=OWN,
        base=asked.base,
        head=asked.head,
        name=asked.name,
        title=change.title[:TITLE_CHARS_MAX],
        opened_ns=change.opened_ns,
        on_main=asked.on_main,
        version=SIGNATURE_VERSION,
        signature=pack_signature(change.sketched.signature),
    )
    tables.put(row, exact, terms)
    tables.read_after_all(OWN, asked.base, asked.head)
    return row.id


def _batches(asked: Iterable[ChangeRef]) -> Iterator[tuple[ChangeRef, ...]]:
    asked = iter(asked)
    while some := tuple(islice(asked, BATCH)):
        yield some
