"""Index changes to compare others with; incremental, and resumed after an interruption."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from custody.core.errors import InputError
from custody.dupes.app.change_reader import (
    OWN,
    ChangeBatch,
    ChangeRef,
    SketchedChange,
    UnreadableChange,
    serialize_dedupe_rules,
    sketch_change_batch,
)
from custody.dupes.app.life import store_change_lives
from custody.dupes.app.search import index_rows_from_sketch
from custody.dupes.app.select import REFS, resolve_change_refs, select_changes
from custody.dupes.model import ChangeRow
from custody.dupes.packing import pack_signature
from custody.dupes.queries import DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import select_query_terms
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import DupesIndexReport, UnreadChange
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.dupes.pool import Backend


BATCH = 32
"""Changes per batch of a worker, and per transaction."""
TITLE_CHARS_MAX = 200
UNREAD_SHOWN_MAX = 20


class IndexRequest(Struct, frozen=True, kw_only=True):
    """What to index: matching refs, ranges, commits of main; ``rebuild`` deletes the index first.

    With ``needs_match``, a pattern that matches no ref is an ``InputError``.
    """

    refs: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    commits: bool = True
    workers: int | None = None
    backend: Backend = "processes"
    rebuild: bool = False
    needs_match: bool = False


def dupes_index(workspace: Workspace, request: IndexRequest) -> DupesIndexReport:
    """Index the requested changes that are not indexed yet."""
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    repository = workspace.repository
    ranges = resolve_change_refs(repository, request.ranges)
    patterns = request.refs or (() if ranges else REFS)
    selection = (
        select_changes(repository, patterns, rules, commits=request.commits and not ranges) if patterns else None
    )
    if selection is not None and selection.unmatched and request.needs_match:
        hint = "* and ? match any characters of a name, ** any folders; 'git for-each-ref' lists the refs"
        raise InputError(f"no ref matches '{selection.unmatched[0]}'", hint=hint)
    refs = (*(selection.changes if selection else ()), *ranges)
    with workspace.writing() as store:
        tables = DupesTables(store)
        if request.rebuild or tables.has_other_version(SIGNATURE_VERSION):
            with store.writing():
                tables.forget()
        known = tables.list_change_ends(OWN)
        named = {head for _, head, on_main in tables.list_heads(OWN) if not on_main}
        fresh = [ref for ref in dict.fromkeys(refs) if not _is_known(ref, known, named)]
        workspace.progress.start("indexing changes", len(fresh))
        workers = request.workers or max(1, min(os.cpu_count() or 1, -(-len(fresh) // BATCH)))
        changes = sketch_changes(str(repository.git_dir), fresh, rules, workers=workers, backend=request.backend)
        count = index_changes(store, changes, workspace.progress.step)
        if selection is not None:
            with store.writing():
                store_change_lives(tables, selection)
        unread = tables.list_unread(OWN)
        total = tables.count()
    unread_refs = [
        UnreadChange("", name, f"its ref names an object that is {why}")
        for name, why in (selection.unread if selection else ())
    ]
    return DupesIndexReport(
        asked=len(refs),
        known=len(refs) - len(fresh),
        indexed=count.indexed,
        degraded=count.degraded,
        changes=total,
        unread=[*unread_refs, *(UnreadChange(base, head, why) for base, head, why in unread)][:UNREAD_SHOWN_MAX],
        unread_count=len(unread_refs) + len(unread),
        signature_version=SIGNATURE_VERSION,
    )


def _is_known(ref: ChangeRef, known: Collection[tuple[str, str]], named: Collection[str]) -> bool:
    """Return whether a change is indexed; the same head under another name is the same change."""
    return (ref.base, ref.head) in known or (not ref.on_main and ref.head in named)


def sketch_changes(
    folder: str, refs: Iterable[ChangeRef], rules: DedupeRules, *, workers: int, backend: Backend = "processes"
) -> Iterator[SketchedChange | UnreadableChange]:
    """Read and sketch changes with several workers; results keep the order of ``refs``."""
    from custody.dupes.pool import pool_map

    plain_rules = serialize_dedupe_rules(rules)
    batches = (ChangeBatch(folder, batch, plain_rules) for batch in _batch_change_refs(refs))
    for changes in pool_map(sketch_change_batch, batches, workers=workers, backend=backend):
        yield from changes


class IndexCount(Struct):
    """Number of indexed changes, and of their files whose syntax could not be parsed."""

    indexed: int = 0
    degraded: int = 0


def index_changes(
    store: Store,
    changes: Iterable[SketchedChange | UnreadableChange],
    step: Callable[[int], None] = lambda _: None,
) -> IndexCount:
    """Store changes in the index, one transaction per batch, so that an interruption loses one batch at most."""
    count = IndexCount()
    tables = DupesTables(store)
    changes = iter(changes)
    while batch := list(islice(changes, BATCH)):
        with store.writing():
            for change in batch:
                if isinstance(change, UnreadableChange):
                    tables.put_unread(OWN, change.ref.base, change.ref.head, change.why)
                elif not tables.has(OWN, change.ref.base, change.ref.head):  # another process may be indexing too
                    index_sketched_change(store, change)
                    count.indexed += 1
                    count.degraded += change.degraded
        step(len(batch))
    return count


def index_sketched_change(store: Store, change: SketchedChange) -> int:
    """Store a change in the index and return its id."""
    tables = DupesTables(store)
    counts = tables.counts(select_query_terms(change.sketch.terms))
    exact, terms = index_rows_from_sketch(change.sketch, counts)
    ref = change.ref
    row = ChangeRow(
        id=tables.newest() + 1,
        repo=OWN,
        base=ref.base,
        head=ref.head,
        name=ref.name,
        title=change.title[:TITLE_CHARS_MAX],
        opened_ns=change.opened_ns,
        on_main=ref.on_main,
        version=SIGNATURE_VERSION,
        signature=pack_signature(change.sketch.signature),
        author=change.author[:TITLE_CHARS_MAX],
        target=ref.target,
        state="merged" if ref.merged else "open",
        merged=ref.merged,
    )
    tables.put(row, exact, terms)
    tables.delete_unread(OWN, ref.base, ref.head)
    return row.id


def _batch_change_refs(refs: Iterable[ChangeRef]) -> Iterator[tuple[ChangeRef, ...]]:
    refs = iter(refs)
    while batch := tuple(islice(refs, BATCH)):
        yield batch
