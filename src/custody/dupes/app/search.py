"""Find the changes that are like one: exact hashes, rare terms, then the scores of the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custody.dupes.app.change_reader import ReadChange
from custody.dupes.chance import Model, chance_of
from custody.dupes.evidence import Overlap
from custody.dupes.model import (
    ChangeRow,
    ChangeSketch,
    DuplicateChance,
    DuplicateVerdict,
    ExactKind,
    HashVariant,
    PairScore,
    Relation,
    Signature,
)
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import DupesTables, SharedTerms
from custody.dupes.relations import RelationReason
from custody.dupes.rules import DedupeRules
from custody.dupes.score import Search, asked_terms, kept_terms, score_pair, search_of, similarities
from custody.dupes.signature import KINDS, STORED, key_of

CANDIDATES_MAX = 200
"""Candidates that a search keeps: the upper end of document 002's target."""
SCORED_MAX = 48
"""Candidates that are scored, the best first: each needs its signature read."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class ChangeMatch:
    """An indexed change with what it has in common with the one asked about.

    ``exact`` are the kinds of exact hashes that both have; ``takes_back`` says that the one asked about undoes it;
    ``shared`` is what the rare terms weigh that both have, ``terms`` how many they are.
    """

    change: ChangeRow
    signature: Signature
    scored: PairScore
    chance: DuplicateChance
    exact: frozenset[ExactKind]
    takes_back: bool
    shared: int
    terms: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer of a search: the best first; ``compared`` is how many were looked at, of ``changes`` in all."""

    likes: tuple[ChangeMatch, ...]
    candidates: int
    compared: int
    changes: int
    until: int
    search: Search


@dataclass(frozen=True, slots=True)
class DuplicateMatch:
    """One of the best matches, compared with the change itself; ``overlap`` is the reason where git cannot read it."""

    like: ChangeMatch
    says: DuplicateVerdict
    related: tuple[RelationReason, ...]
    overlap: Overlap | str

    @property
    def relations(self) -> frozenset[Relation]:
        """What the change is to the match, without the reasons."""
        return frozenset(relation for relation, _ in self.related)


@dataclass(frozen=True, slots=True)
class DuplicateCheck:
    """A change that was checked for duplicates: as it was read, the search, and its matches, best first."""

    read: ReadChange
    found: SearchResult
    matches: tuple[DuplicateMatch, ...]
    model_version: str
    rules_digest: str


class ChangeSearch:
    """Searches the index as of one moment."""

    def __init__(self, tables: DupesTables, rules: DedupeRules, model: Model) -> None:
        self._tables = tables
        self._rules = rules
        self._model = model

    def find(
        self,
        asked: ChangeSketch,
        *,
        until: int | None = None,
        without: Sequence[int] = (),
        counts: Mapping[int, int] | None = None,
    ) -> SearchResult:
        """The changes indexed up to ``until`` that are most like one, best first; ``without`` is itself, indexed.

        ``counts`` are given to ask once more as it was asked before, when terms stood in fewer changes.
        """
        until = self._tables.newest() if until is None else until
        counts = self._tables.counts(asked_terms(asked.terms)) if counts is None else counts
        search = search_of(asked.terms, counts, until)
        exact, undone = self._exact(asked, until)
        shared = self._tables.sharing(search.weights, until, CANDIDATES_MAX + len(without))
        sharing = {terms.change: terms for terms in shared if terms.change not in without}
        certain = [change for change in (*exact, *sorted(undone)) if change not in without]
        wanted = list(dict.fromkeys((*certain, *list(sharing)[:SCORED_MAX])))
        rows = self._tables.changes(wanted)
        likes = [
            self._like(
                asked,
                rows[change],
                sharing.get(change) or self._tables.shared_by(search.weights, change),
                exact=exact.get(change, frozenset()),
                takes_back=change in undone,
            )
            for change in wanted
            if change in rows
        ]
        likes.sort(key=_place)
        return SearchResult(tuple(likes), len({*sharing, *wanted}), len(likes), until, until, search)

    def _like(
        self,
        asked: ChangeSketch,
        change: ChangeRow,
        sharing: SharedTerms,
        *,
        exact: frozenset[ExactKind],
        takes_back: bool,
    ) -> ChangeMatch:
        signature = unpack_signature(change.signature)
        signals = similarities(asked.signature, signature)
        return ChangeMatch(
            change=change,
            signature=signature,
            scored=score_pair(asked.signature, signature, signals, self._rules, exact),
            chance=chance_of(signals, self._model),
            exact=exact,
            takes_back=takes_back,
            shared=sharing.weight,
            terms=sharing.terms,
        )

    def _exact(self, asked: ChangeSketch, until: int) -> tuple[dict[int, frozenset[ExactKind]], set[int]]:
        """The changes with the same exact hash, with the kinds of it; and those that this one takes back."""
        wanted = [(key_of(asked.exact[str(kind)]), _KIND_NUMBERS[kind]) for kind in STORED if str(kind) in asked.exact]
        found: dict[int, set[ExactKind]] = {}
        for change, number in self._tables.exactly(wanted, until):
            found.setdefault(change, set()).add(KINDS[number])
        inverted = [
            (key_of(asked.exact[str(kind)]), _KIND_NUMBERS[ExactKind(kind.channel, HashVariant.PLAIN)])
            for kind in KINDS
            if kind.likeness is HashVariant.INVERTED and kind.channel is None and str(kind) in asked.exact
        ]
        undone = {change for change, _ in self._tables.exactly(inverted, until)}
        return {change: frozenset(kinds) for change, kinds in found.items()}, undone


def _place(like: ChangeMatch) -> tuple[bool, float, int, int]:
    """Exact matches first, then the most likely; of equals the one that shares more, then the earlier one."""
    return not like.exact, -like.chance.probability, -like.shared, like.change.id


def indexed_rows(asked: ChangeSketch, counts: dict[int, int]) -> tuple[list[tuple[int, int]], list[int]]:
    """What of a change goes into the index beside its signature: exact hashes with their kinds, and terms."""
    exact = [(key_of(asked.exact[str(kind)]), _KIND_NUMBERS[kind]) for kind in STORED if str(kind) in asked.exact]
    return exact, kept_terms(asked.terms, counts)
