"""What agents are shown of this store's sources, a source's text in full, near copies, and search. Nothing is written.

Showing a source is no access: only what is recorded (that it was registered, read, excerpted) counts as one. So the
same store gives the same context however often it is asked.
"""

from collections.abc import Sequence

from custody.cite.app.registry_stores import RecordRegistryStore, registry_name
from custody.cite.app.report_file import read_report, rules_for
from custody.cite.compression import digest_of
from custody.cite.context import ContextRequest, build_context
from custody.cite.model import UnknownSource
from custody.cite.near_copies import WAYS, Near, Way, find_duplicates, near_to
from custody.cite.registry import entry_of, root
from custody.cite.shelf import Shelf
from custody.cite.source_rank import Attention, SourceRank
from custody.cite.source_texts import ContextCandidate, candidate, candidates
from custody.cite.vectors import VectorIndex
from custody.cite.wire.context import (
    CiteContextReport,
    CiteHit,
    CiteNearPair,
    CiteNearReport,
    CiteSearchReport,
    CiteTextReport,
    ContextSource,
    SourceRankReport,
)
from custody.core.wire.body import digest_text
from custody.core.wire.rules_digest import rules_digest
from custody.workspace.workspace import Workspace

SCORE_DIGITS = 6


def cite_context(
    workspace: Workspace, *, budget: int | None = None, objectives: Sequence[str] = ()
) -> CiteContextReport:
    """The context of every source here under a budget of tokens."""
    rules = rules_for(workspace)
    registry, found = _candidates(workspace)
    made = build_context(
        found, ContextRequest(rules=rules, attention=Attention(objectives=tuple(objectives)), budget=budget)
    )
    without = frozenset(made.without_text)
    return CiteContextReport(
        registry=registry,
        context=made.text,
        budget=made.budget,
        tokens=made.tokens,
        full_tokens=made.full_tokens,
        objectives=list(objectives),
        sources=[
            ContextSource(
                id=standing.source_id,
                level=None if standing.source_id not in made.levels else int(made.levels[standing.source_id]),
                has_text=standing.source_id not in without,
                standing=_standing(standing),
            )
            for standing in made.standings
        ],
        left_out=list(made.left_out),
        without_text=list(made.without_text),
        rules_digest=digest_text(rules_digest({"cite": rules})),
    )


def cite_text(workspace: Workspace, source_id: str) -> CiteTextReport:
    """The whole text that is known of one source, by any of its ids."""

    def look(shelf: Shelf) -> CiteTextReport:
        found = candidate(shelf, root(shelf, entry_of(shelf, source_id)))
        if found is None:
            raise UnknownSource(source_id)
        return CiteTextReport(
            registry=registry_name(shelf),
            id=found.source_id,
            title=found.source.title,
            url=found.source.url,
            text=found.text,
            digest=None if found.text is None else digest_of(found.text),
        )

    return RecordRegistryStore(workspace).look(look)


def cite_near(
    workspace: Workspace,
    source_id: str | None = None,
    *,
    file: str | None = None,
    stdin: bytes = b"",
    way: Way = "winnowing",
    least: float | None = None,
) -> CiteNearReport:
    """Near copies among the sources here, of one of them, or of a file."""
    registry, context_candidates = _candidates(workspace)
    texts = [
        (context_candidate.source_id, context_candidate.text)
        for context_candidate in context_candidates
        if context_candidate.text is not None
    ]
    if file is not None:
        pairs = _near_one(file, read_report(workspace, file, stdin).decode("utf-8", "replace"), texts, way, least)
    elif source_id is not None:
        said = cite_text(workspace, source_id)
        others = [pair for pair in texts if pair[0] != said.id]
        pairs = [] if said.text is None else _near_one(said.id, said.text, others, way, least)
    else:
        pairs = find_duplicates(texts, way, least)
    return CiteNearReport(
        registry=registry,
        way=way,
        least=WAYS[way].least if least is None else least,
        compared=len(texts),
        pairs=[
            CiteNearPair(one=near.one, other=near.other, nearness=round(near.nearness, SCORE_DIGITS)) for near in pairs
        ],
        without_text=[
            context_candidate.source_id for context_candidate in context_candidates if context_candidate.text is None
        ],
    )


def cite_search(workspace: Workspace, question: str, *, most: int) -> CiteSearchReport:
    """The sources here whose title and text are most like a question."""
    registry, context_candidates = _candidates(workspace)
    index = VectorIndex(
        [
            (context_candidate.source_id, f"{context_candidate.source.title}\n{context_candidate.text or ''}")
            for context_candidate in context_candidates
        ]
    )
    by_id = {context_candidate.source_id: context_candidate.source for context_candidate in context_candidates}
    return CiteSearchReport(
        registry=registry,
        question=question,
        searched=len(context_candidates),
        hits=[
            CiteHit(id=source_id, title=by_id[source_id].title, url=by_id[source_id].url, likeness=likeness)
            for source_id, likeness in index.search(question, most)
        ],
    )


def _near_one(name: str, text: str, texts: Sequence[tuple[str, str]], way: Way, least: float | None) -> list[Near]:
    index = WAYS[way]()
    for source_id, other in texts:
        index.add(source_id, other)
    return [Near(name, other, nearness) for other, nearness in near_to(index, text, least)]


def _candidates(workspace: Workspace) -> tuple[str | None, list[ContextCandidate]]:
    def look(shelf: Shelf) -> tuple[str | None, list[ContextCandidate]]:
        workspace.progress.start("reading sources", shelf.last())
        found: list[ContextCandidate] = []
        for context_candidate in candidates(shelf):
            workspace.progress.step(1)
            found.append(context_candidate)
        return registry_name(shelf), found

    return RecordRegistryStore(workspace).look(look)


def _standing(rank: SourceRank) -> SourceRankReport:
    parts = {name: round(part, SCORE_DIGITS) for name, part in rank.parts.items()}
    return SourceRankReport(value=round(rank.value, SCORE_DIGITS), **parts)
