"""Search for changes that match a change: by exact hashes and rare terms, then by the scores of the best."""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from custody.dupes.app.change_reader import ReadChange
from custody.dupes.chance import Model, compute_duplicate_probability
from custody.dupes.decision import PairDecision
from custody.dupes.evidence import Overlap
from custody.dupes.exact_hash import KIND_NUMBERS, KINDS, STORED
from custody.dupes.model import (
    ChangeRow,
    ChangeSketch,
    DuplicateChance,
    ExactKind,
    HashVariant,
    PairScore,
    Signature,
)
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import DupesTables, SharedTerms
from custody.dupes.rules import DedupeRules
from custody.dupes.score import (
    Search,
    make_term_search,
    measure_similarities,
    score_pair,
    select_index_terms,
    select_query_terms,
)
from custody.dupes.signature import key_from_exact_hash

CANDIDATES_MAX = 200
"""Candidates of a search: the upper end of document 002's target."""
SCORED_MAX = 48
"""Candidates that are scored, best first; each needs its signature read."""


class ChangeMatch(Struct, frozen=True):
    """An indexed change and what it shares with the searched change.

    ``exact`` holds the kinds of exact hashes that both share; ``is_undone`` says that the searched change reverts it;
    ``shared_weight`` and ``shared_terms`` are the weight and the number of the rare terms that both share.
    """

    change: ChangeRow
    signature: Signature
    score: PairScore
    chance: DuplicateChance
    exact: frozenset[ExactKind]
    is_undone: bool
    shared_weight: int
    shared_terms: int


class SearchResult(Struct, frozen=True):
    """The matches, best first; ``compared`` of ``candidates`` were scored, among all ``changes``."""

    matches: tuple[ChangeMatch, ...]
    candidates: int
    compared: int
    changes: int
    until: int
    search: Search


class DuplicateMatch(Struct, frozen=True):
    """One of the best matches, compared exactly; ``overlap`` is the reason if git cannot read it."""

    candidate: ChangeMatch
    decision: PairDecision
    overlap: Overlap | str


class DuplicateCheck(Struct, frozen=True):
    """A change that was checked for duplicates: the change, the search and its matches, best first."""

    change: ReadChange
    result: SearchResult
    matches: tuple[DuplicateMatch, ...]
    model_version: str
    rules_digest: str


class ChangeSearch:
    """Searches the index as of a given change."""

    def __init__(self, tables: DupesTables, rules: DedupeRules, model: Model) -> None:
        self._tables = tables
        self._rules = rules
        self._model = model

    def find(
        self,
        sketch: ChangeSketch,
        *,
        until: int | None = None,
        without: Collection[int] = (),
        wanted: Iterable[int] = (),
        counts: Mapping[int, int] | None = None,
    ) -> SearchResult:
        """Return the changes indexed up to ``until`` that match best, except ``without`` and superseded pushes.

        The ``wanted`` changes are always compared. ``counts`` repeats an earlier search with the term frequencies of
        that time.
        """
        until = self._tables.newest() if until is None else until
        counts = self._tables.counts(select_query_terms(sketch.terms)) if counts is None else counts
        search = make_term_search(sketch.terms, counts, until)
        exact, undone = self._find_exact_matches(sketch, until)
        shared = self._tables.find_sharing_changes(search.weights, until, CANDIDATES_MAX + len(without))
        sharing = {terms.change: terms for terms in shared if terms.change not in without}
        certain = [change for change in (*exact, *sorted(undone), *wanted) if change not in without and change <= until]
        candidates = list(dict.fromkeys((*certain, *list(sharing)[:SCORED_MAX])))
        rows = self._tables.changes(candidates)
        matches = [
            self._match_change(
                sketch,
                rows[change],
                sharing.get(change) or self._tables.sum_shared_terms(search.weights, change),
                exact=exact.get(change, frozenset()),
                is_undone=change in undone,
            )
            for change in candidates
            if change in rows and not 0 < rows[change].superseded_by <= until
        ]
        matches.sort(key=_rank_match)
        return SearchResult(tuple(matches), len({*sharing, *candidates}), len(matches), until, until, search)

    def _match_change(
        self,
        sketch: ChangeSketch,
        change: ChangeRow,
        sharing: SharedTerms,
        *,
        exact: frozenset[ExactKind],
        is_undone: bool,
    ) -> ChangeMatch:
        signature = unpack_signature(change.signature)
        signals = measure_similarities(sketch.signature, signature)
        return ChangeMatch(
            change=change,
            signature=signature,
            score=score_pair(sketch.signature, signature, signals, self._rules, exact),
            chance=compute_duplicate_probability(signals, self._model),
            exact=exact,
            is_undone=is_undone,
            shared_weight=sharing.weight,
            shared_terms=sharing.terms,
        )

    def _find_exact_matches(self, sketch: ChangeSketch, until: int) -> tuple[dict[int, frozenset[ExactKind]], set[int]]:
        """Return the changes with an equal exact hash, with its kinds; and the changes that this change reverts."""
        hashes = [
            (key_from_exact_hash(sketch.exact[str(kind)]), KIND_NUMBERS[kind])
            for kind in STORED
            if str(kind) in sketch.exact
        ]
        kinds_by_change: dict[int, set[ExactKind]] = {}
        for change, number in self._tables.find_exact_matches(hashes, until):
            kinds_by_change.setdefault(change, set()).add(KINDS[number])
        inverted = [
            (key_from_exact_hash(sketch.exact[str(kind)]), KIND_NUMBERS[ExactKind(kind.channel, HashVariant.PLAIN)])
            for kind in KINDS
            if kind.variant is HashVariant.INVERTED and kind.channel is None and str(kind) in sketch.exact
        ]
        undone = {change for change, _ in self._tables.find_exact_matches(inverted, until)}
        return {change: frozenset(kinds) for change, kinds in kinds_by_change.items()}, undone


def _rank_match(match: ChangeMatch) -> tuple[bool, float, int, int]:
    """Sort exact matches first, then by probability, then by shared weight, then by age."""
    return not match.exact, -match.chance.probability, -match.shared_weight, match.change.id


def index_rows_from_sketch(sketch: ChangeSketch, counts: dict[int, int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return what the index stores beside the signature: exact hashes with their kinds, and terms."""
    exact = [
        (key_from_exact_hash(sketch.exact[str(kind)]), KIND_NUMBERS[kind])
        for kind in STORED
        if str(kind) in sketch.exact
    ]
    return exact, select_index_terms(sketch.terms, counts)
