"""Which decisions count when a change may merge without review: those that somebody vouches for, about real changes.

Only what speaks for an agent can be left out; a rejection or a revert counts whoever reported it. So a
self-reported record never makes an answer milder, and property tests hold that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct, field
from msgspec.structs import replace

from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.identity import is_same_identity
from custody.core.ids import AgentName, RecordRef
from custody.trust.engine import decision_order_key, find_override_objection, find_valid_overrides, is_unreviewed
from custody.trust.model import (
    ChangeComplexity,
    ChangeStakes,
    DecisionEntry,
    DecisionOverride,
    DecisionType,
    Entry,
    RecoveryEntry,
)
from custody.trust.score import DECISION_VALUES, SIZE_LINES


class Omission(Enum):
    """Why a decision in favor of an agent does not count when its changes may merge."""

    ASSURANCE = "below the required assurance"
    OWN = "by the agent itself"
    UNREVIEWED = "merged without review"
    NO_COMMIT = "about no commit of this repository"
    NO_LINES = "about a change without lines of the agent"


class DecisionVouching(Struct, frozen=True):
    """Who vouches for a decision, before its assurance is known.

    ``chain`` is the assurance of the record in its chain, ``is_witness_chain`` whether the chain belongs to a witness.
    ``is_second_party``: the named witness is neither an author nor an operator of the change. ``is_signed``: the key of
    a reviewer signed it; ``is_present``: that key proved that a person was there.
    """

    chain: Assurance
    is_witness_chain: bool = False
    claim: str | None = None
    is_second_party: bool = False
    is_signed: bool = False
    is_present: bool = False


def rate_decision(vouching: DecisionVouching) -> Assurance:
    """Return the assurance of a decision.

    >>> rate_decision(DecisionVouching(Assurance.ENROLLED, is_witness_chain=True, claim="host", is_second_party=True))
    <Assurance.WITNESSED: 'witnessed'>
    >>> rate_decision(DecisionVouching(Assurance.SELF_REPORTED, claim="host", is_second_party=True))
    <Assurance.SELF_REPORTED: 'self-reported'>
    """
    if vouching.claim == "host" and vouching.is_second_party and vouching.is_witness_chain:
        return Assurance.WITNESSED if vouching.chain is Assurance.ENROLLED else vouching.chain
    if vouching.claim == "signature" and vouching.is_signed and vouching.is_second_party:
        return Assurance.WITNESSED if vouching.is_present else Assurance.ENROLLED
    return vouching.chain


class DecisionBelief(Struct, frozen=True):
    """How far each recorded decision can be believed, and how far it must be.

    ``commits`` are the existing ones among the commits that decisions are about; None if nothing was checked.
    """

    assurances: Mapping[RecordRef, Assurance] = field(default_factory=dict)
    least: Assurance = Assurance.SELF_REPORTED
    commits: frozenset[str] | None = None

    def rate(self, entry: Entry) -> Assurance:
        """Return the assurance of an entry; a record that was not rated is self-reported."""
        return self.assurances.get(entry.record, Assurance.SELF_REPORTED)

    def believes(self, entry: Entry) -> bool:
        """Return whether an entry may speak for its agent."""
        return self.rate(entry).meets(self.least)

    @property
    def is_strict(self) -> bool:
        """Return whether a self-reported entry is not enough."""
        return self.least is not Assurance.SELF_REPORTED


class CountingEntries(Struct, frozen=True):
    """The entries about an agent that count, how many were left out, and the lowest assurance of those in its favor."""

    entries: tuple[Entry, ...]
    left_out: Mapping[Omission, int]
    lowest: Assurance | None


def select_counting_entries(agent: AgentName, entries: Iterable[Entry], belief: DecisionBelief) -> CountingEntries:
    """Return the entries about ``agent`` that count when its changes may merge."""
    ordered = sorted(entries, key=decision_order_key)
    return _StrictSelection(agent, ordered, belief).run() if belief.is_strict else _select(agent, ordered, belief)


def find_largest_reviewed_change(agent: AgentName, entries: Iterable[Entry]) -> int:
    """Return the lines of the largest change of an agent that a person accepted; 0 without any."""
    ordered = sorted(entries, key=decision_order_key)
    overrides = find_valid_overrides(agent, ordered)
    return max(
        (
            entry.stakes.lines or 0
            for entry in ordered
            if isinstance(entry, DecisionEntry)
            and _get_counting_decision(entry, overrides) is DecisionType.ACCEPTED
            and (entry.id in overrides or not is_unreviewed(entry))
        ),
        default=0,
    )


def _get_counting_decision(entry: DecisionEntry, overrides: Mapping[str, DecisionOverride]) -> DecisionType:
    override = overrides.get(entry.id)
    return entry.decision if override is None else override.decision


def _select(agent: AgentName, ordered: Sequence[Entry], belief: DecisionBelief) -> CountingEntries:
    """Leave out only what is about no real change of the agent."""
    overrides = find_valid_overrides(agent, ordered)
    left_out, kept, rated = Counter[Omission](), list[Entry](), list[Assurance]()
    for entry in ordered:
        if isinstance(entry, DecisionEntry) and _get_counting_decision(entry, overrides) is not DecisionType.REJECTED:
            omission = _find_missing_ground(entry, belief)
            if omission is not None:
                left_out[omission] += 1
                continue
            rated.append(belief.rate(entry))
        kept.append(entry)
    return CountingEntries(tuple(kept), dict(left_out), find_lowest_assurance(rated))


def _find_missing_ground(entry: DecisionEntry, belief: DecisionBelief) -> Omission | None:
    """Return why a decision is about no real change of the agent; None if it is about one, or may be."""
    if belief.commits is not None and (entry.commit is None or entry.commit not in belief.commits):
        return Omission.NO_COMMIT
    lines, is_known = entry.agent_lines, entry.agent_lines is not None
    if lines == 0 or (entry.patch is None and is_known) or (belief.is_strict and not is_known):
        return Omission.NO_LINES
    return None


class _Statement(Struct, frozen=True):
    """A decision with its overrides applied: what counts, and the entry that says so."""

    entry: DecisionEntry
    decision: DecisionType
    source: Entry


class _StrictSelection:
    """The selection where entries in favor need more than a self-reported record."""

    def __init__(self, agent: AgentName, ordered: Sequence[Entry], belief: DecisionBelief) -> None:
        self._agent = agent
        self._belief = belief
        self._ordered = ordered
        self._left_out = Counter[Omission]()
        self._rated: list[Assurance] = []
        self._overrides: dict[str, list[DecisionOverride]] = {}
        for entry in ordered:
            if isinstance(entry, DecisionOverride) and find_override_objection(agent, entry) is None:
                self._overrides.setdefault(entry.target, []).append(entry)

    def run(self) -> CountingEntries:
        """Return what counts."""
        kept = [*self._select_recoveries(), *self._select_decisions()]
        return CountingEntries(tuple(kept), dict(self._left_out), find_lowest_assurance(self._rated))

    def _select_recoveries(self) -> Iterator[Entry]:
        for entry in self._ordered:
            if isinstance(entry, RecoveryEntry):
                if self._belief.believes(entry):
                    self._rated.append(self._belief.rate(entry))
                    yield entry
                else:
                    self._left_out[Omission.ASSURANCE] += 1

    def _select_decisions(self) -> Iterator[DecisionEntry]:
        """Yield the decisions, with their overrides applied; of those with one id, a rejection and one in favor."""
        by_id: dict[str, list[DecisionEntry]] = {}
        for entry in self._ordered:
            if isinstance(entry, DecisionEntry):
                by_id.setdefault(entry.id, []).append(entry)
        for id_ in dict.fromkeys((*by_id, *self._overrides)):
            statements = [self._settle_statement(entry) for entry in self._list_decided(id_, by_id.get(id_, ()))]
            against = [statement for statement in statements if statement.decision is DecisionType.REJECTED]
            if against:
                reviews = [
                    statement
                    for statement in against
                    if all(map(self._belief.believes, (statement.entry, statement.source)))
                ]
                yield _join_rejections(
                    [statement.entry for statement in against], [statement.entry for statement in reviews]
                )
            yield from self._select_favorable([statement for statement in statements if statement not in against])

    def _list_decided(self, id_: str, entries: Sequence[DecisionEntry]) -> Iterator[DecisionEntry]:
        """Yield the decisions with an id; a believed override stands for one that is not believed itself."""
        yield from entries
        if not any(self._is_believed_review(entry) for entry in entries):
            believed = [override for override in self._overrides.get(id_, ()) if self._belief.believes(override)]
            yield from (_decision_from_override(override) for override in believed[:1])

    def _settle_statement(self, entry: DecisionEntry) -> _Statement:
        """Apply the overrides of a decision in order: one that is not believed can only lower it."""
        statement = _Statement(entry, entry.decision, entry)
        for override in self._overrides.get(entry.id, ()):
            is_lower = DECISION_VALUES[override.decision] < DECISION_VALUES[statement.decision]
            if is_lower or self._belief.believes(override):
                statement = _Statement(entry, override.decision, override)
        return statement

    def _select_favorable(self, statements: Sequence[_Statement]) -> Iterator[DecisionEntry]:
        """Yield the first decision that counts."""
        is_found = False
        for statement in statements:
            omission = self._find_omission(statement.entry)
            if omission is not None:
                self._left_out[omission] += 1
            elif not is_found:
                is_found = True
                self._rated.append(self._belief.rate(statement.entry))
                yield replace(statement.entry, decision=statement.decision, unreviewed=False)

    def _find_omission(self, entry: DecisionEntry) -> Omission | None:
        if not self._is_believed_review(entry):
            if is_same_identity(entry.actor, self._agent):
                return Omission.OWN
            return Omission.UNREVIEWED if is_unreviewed(entry) else Omission.ASSURANCE
        return _find_missing_ground(entry, self._belief)

    def _is_believed_review(self, entry: DecisionEntry) -> bool:
        is_by_another = not is_same_identity(entry.actor, self._agent)
        return self._belief.believes(entry) and is_by_another and not is_unreviewed(entry)


def _decision_from_override(override: DecisionOverride) -> DecisionEntry:
    """Return the decision that an override states by itself."""
    return DecisionEntry(
        id=override.target,
        at_ns=override.at_ns,
        record=override.record,
        decision=override.decision,
        stakes=override.stakes,
        actor=override.actor,
        reason=override.reason,
        commit=override.commit,
        patch=override.patch,
        agent_lines=override.agent_lines,
    )


def _join_rejections(entries: Sequence[DecisionEntry], reviews: Sequence[DecisionEntry]) -> DecisionEntry:
    """Return one rejection for all with one id, at the time of the latest and with the largest stakes.

    So a repeated report counts once, and no report makes another one weigh less. Only ``reviews`` are believed.
    """
    latest = max(entries, key=decision_order_key)
    return replace(
        max(reviews or entries, key=decision_order_key),
        id=f"{latest.id} rejected",
        at_ns=latest.at_ns,
        record=latest.record,
        decision=DecisionType.REJECTED,
        stakes=_join_stakes([entry.stakes for entry in entries]),
        actor=None,
        unreviewed=False,
        is_review=bool(reviews),
    )


def _join_stakes(stakes: Sequence[ChangeStakes]) -> ChangeStakes:
    weights = [each.complexity.value for each in stakes if each.complexity is not None]
    lines = [each.lines for each in stakes]
    known = [count for count in lines if count is not None]
    return ChangeStakes(
        ChangeComplexity(max(weights)) if weights else None,
        # An unknown size weighs as much as SIZE_LINES; the review time only adds a bonus, which a rejection needs not.
        max(known) if len(known) == len(lines) else max([SIZE_LINES, *known]),
    )
