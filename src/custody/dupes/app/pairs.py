"""The decision about pairs of changes, with everything that git, the index and people know about them.

``check``, the gate, clusters and pages all decide here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.dupes.app.change_reader import ReadChange
from custody.dupes.app.select import MainBranches, read_main_branches
from custody.dupes.decision import PairDecision, PairEvidence, PersonAnswer, decide_pair
from custody.dupes.exact_hash import KIND_NUMBERS
from custody.dupes.model import NO_COMMIT, ChangeRow, DuplicateChance, ExactKind, HashVariant, PairScore, Signature
from custody.dupes.queries import DupesTables
from custody.dupes.relations import (
    ChangePair,
    HistoryFacts,
    RelatedChange,
    find_change_relations,
)
from custody.dupes.rules import DedupeRules
from custody.git import Ancestry, Repository
from custody.store import Store

PULL_REQUEST = lazy_pattern(r"refs/(?:pull|merge-requests)/(\d+)/head")

PairAnswers = Mapping[frozenset[str], PersonAnswer]
"""The last answer about each pair of heads."""


class ComparedChange(Struct, frozen=True, kw_only=True):
    """A change of a pair: a row of the index, or a change that was read from git.

    ``onto`` is the tip of the branch that it targets, empty if only the name of the branch is known.
    """

    base: CommitSha
    head: CommitSha
    title: str
    author: str
    opened_ns: int
    on_main: bool
    signature: Signature
    names: frozenset[str] = frozenset()
    target: str = ""
    merged: str = ""
    is_closed: bool = False
    onto: CommitSha = NO_COMMIT


class ComparedPair(Struct, frozen=True, kw_only=True):
    """Two changes with their scores; ``exact`` holds the kinds of exact hashes that both share."""

    this: ComparedChange
    other: ComparedChange
    score: PairScore
    chance: DuplicateChance
    exact: Collection[ExactKind]
    terms: int


def compare_row(row: ChangeRow, signature: Signature, names: Iterable[str] = ()) -> ComparedChange:
    """Return an indexed change as part of a pair."""
    return ComparedChange(
        base=row.base,
        head=row.head,
        title=row.title,
        author=row.author,
        opened_ns=row.opened_ns,
        on_main=row.on_main,
        signature=signature,
        names=frozenset((row.name, *names)),
        target=row.target,
        merged=row.merged,
        is_closed=row.state == "closed",
    )


def compare_read(read: ReadChange, signature: Signature, names: Iterable[str], row: ChangeRow | None) -> ComparedChange:
    """Return a change that was read from git as part of a pair; ``row`` is what the index knows of it."""
    change = read.description
    return ComparedChange(
        base=change.base,
        head=change.head,
        title=change.title,
        author=change.author,
        opened_ns=change.opened_ns,
        on_main=read.ref.on_main or (row is not None and row.on_main),
        signature=signature,
        names=frozenset((read.ref.name, *names)),
        target="" if row is None else row.target,
        merged="" if row is None else row.merged,
        onto=read.ref.onto,
    )


class PairJudge:
    """Decides about pairs of changes of one repository."""

    def __init__(
        self,
        repository: Repository,
        store: Store,
        rules: DedupeRules,
        answers: PairAnswers,
        reverters: Iterable[ComparedChange] = (),
    ) -> None:
        self._repository = repository
        self._tables = DupesTables(store)
        self._rules = rules
        self._answers = answers
        self._reverters = reverters
        self._reverted: dict[CommitSha, bool] = {}

    @cached_property
    def _mains(self) -> MainBranches:
        return read_main_branches(self._repository, self._rules)

    def decide(self, pairs: Sequence[ComparedPair]) -> list[PairDecision]:
        """Return the decision about each pair."""
        targets = self._find_targets(pairs)
        ancestries = self._find_ancestries(pairs, targets)
        return [self._decide(pair, targets, ancestries) for pair in pairs]

    def _decide(
        self, pair: ComparedPair, targets: Mapping[CommitSha, str], ancestries: frozenset[Ancestry]
    ) -> PairDecision:
        evidence = PairEvidence(
            score=pair.score,
            chance=pair.chance,
            exact=pair.exact,
            terms=pair.terms,
            answer=self._answers.get(frozenset((pair.this.head, pair.other.head))),
            is_empty=pair.this.signature.whole_hash is None or pair.other.signature.whole_hash is None,
        )
        is_named = bool(pair.this.signature.picked & pair.other.signature.commits) or bool(
            pair.other.signature.picked & pair.this.signature.commits
        )
        is_same = decide_pair(evidence, self._rules).category.value == "SAME_CHANGE"
        related = ChangePair(
            this=self._relate(pair.this, targets, is_same=is_same or is_named),
            other=self._relate(pair.other, targets, is_same=is_same or is_named),
            this_facts=self._read_facts(pair.this, pair.other, ancestries),
            other_facts=self._read_facts(pair.other, pair.this, ancestries),
            is_same=is_same,
        )
        relations = () if evidence.is_empty else find_change_relations(related, self._rules)
        return decide_pair(
            PairEvidence(
                score=evidence.score,
                chance=evidence.chance,
                exact=evidence.exact,
                terms=evidence.terms,
                relations=relations,
                answer=evidence.answer,
                is_empty=evidence.is_empty,
            ),
            self._rules,
        )

    def _relate(self, change: ComparedChange, targets: Mapping[CommitSha, str], *, is_same: bool) -> RelatedChange:
        target = change.target or targets.get(change.onto or change.base, "")
        return RelatedChange(
            head=change.head,
            title=change.title,
            author=change.author,
            opened_ns=change.opened_ns,
            on_main=change.on_main,
            signature=change.signature,
            numbers=frozenset(match[1] for name in change.names if (match := PULL_REQUEST.fullmatch(name))),
            target=target,
            is_trunk=target in ("", self._mains.trunk),
            merged=change.merged,
            is_closed=change.is_closed,
            was_reverted=is_same and self._was_reverted(change),
        )

    def _find_targets(self, pairs: Sequence[ComparedPair]) -> Mapping[CommitSha, str]:
        """Return the main branches that the changes without a known target were made for."""
        points = {
            change.onto or change.base
            for pair in pairs
            for change in (pair.this, pair.other)
            if not change.target and (change.onto or change.base)
        }
        return self._mains.find_targets(self._repository, points) if points else {}

    def _find_ancestries(self, pairs: Sequence[ComparedPair], targets: Mapping[CommitSha, str]) -> frozenset[Ancestry]:
        wanted = {
            Ancestry(other.head, descendant)
            for pair in pairs
            for this, other in ((pair.this, pair.other), (pair.other, pair.this))
            for descendant in (this.head, this.base, self._find_target_tip(this, targets))
            if descendant and descendant != other.head
        }
        return self._repository.ancestries(wanted) if wanted else frozenset()

    def _find_target_tip(self, change: ComparedChange, targets: Mapping[CommitSha, str] | None = None) -> CommitSha:
        if change.onto:
            return change.onto
        target = change.target or (targets or {}).get(change.base, "")
        return self._mains.tips.get(target, NO_COMMIT)

    def _read_facts(self, this: ComparedChange, other: ComparedChange, ancestries: frozenset[Ancestry]) -> HistoryFacts:
        def has(descendant: CommitSha) -> bool:
            return descendant == other.head or Ancestry(other.head, descendant) in ancestries

        is_after = bool(this.base) and has(this.base)
        target = self._find_target_tip(this)
        return HistoryFacts(
            has_other=not is_after and this.head != other.head and has(this.head),
            is_after_other=is_after,
            target_has_other=is_after or (bool(target) and has(target)),
        )

    def _was_reverted(self, change: ComparedChange) -> bool:
        """Return whether a later commit of main is the inverse of a change, or names it as reverted."""
        if change.head not in self._reverted:
            reverts = [
                *((row.on_main, row.opened_ns) for row in self._find_inverses(change)),
                *(
                    (revert.on_main, revert.opened_ns)
                    for revert in self._reverters
                    if revert.signature.reverted & change.signature.commits
                ),
            ]
            self._reverted[change.head] = any(on_main and at >= change.opened_ns for on_main, at in reverts)
        return self._reverted[change.head]

    def _find_inverses(self, change: ComparedChange) -> list[ChangeRow]:
        inverse = change.signature.inverse_hash
        if inverse is None or inverse == change.signature.whole_hash:
            return []
        kind = KIND_NUMBERS[ExactKind(None, HashVariant.PLAIN)]
        found = self._tables.find_exact_matches([(inverse, kind)], self._tables.newest())
        return list(self._tables.changes(id_ for id_, _ in found).values())
