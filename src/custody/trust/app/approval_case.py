"""Everything that is known when it is asked whether a change may land unseen: gathered here, decided in the domain."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from custody.core.ids import AgentName
from custody.core.record import ChainTip
from custody.core.views import Decision, DecisionKind
from custody.core.wire.arrival import parse_decision_key
from custody.git import FileDiff, HunkDetail, Person
from custody.ledger.records import IMPORT_EVENT, is_imported
from custody.store import ObservedView, Store
from custody.trust.app.chance import ChanceAccount, memory_of, said_by
from custody.trust.app.decisions import TrustQuery, entries_from
from custody.trust.app.record import areas_of, count_changed_lines
from custody.trust.app.standing import Position, anew, carried_on
from custody.trust.approval import ApprovalCase, BudgetUse, ProposedChange, TouchedPath, budget_since_ns, may_land
from custody.trust.engine import carry, make_empty_fold, may_override, standing_at, trust_at
from custody.trust.levels import LevelCase
from custody.trust.model import Approval, ChangeAuthor, CurrentModel, Trust
from custody.trust.past_decisions import HERE, ChanceMemory
from custody.trust.queries import (
    StandingTables,
    all_decisions,
    corrections_of_decision,
    decisions_on_commit,
    unreviewed_decisions,
)
from custody.trust.rules import TrustRules
from custody.workspace.change import ChangeRange

FILE, LINK, SUBMODULE = 0o100644, 0o120000, 0o160000
_ODD = {LINK: "is a link", SUBMODULE: "is a submodule"}


@dataclass(frozen=True, slots=True)
class AuthorStanding:
    """Where an author stands, folded from the records themselves, and how far each chain was read for it.

    ``chance`` is that of the change, were it the author's alone; None before anything was decided.
    """

    author: ChangeAuthor
    position: Position
    chance: ChanceAccount | None = None


class ApprovalQuery:
    """One question about one change, which can be asked again after more was recorded."""

    def __init__(self, store: Store, asked: TrustQuery, change: ChangeRange, *, unknown_lines: int = 0) -> None:
        self.asked = asked
        self._store = store
        self._change = change
        self._unknown_lines = unknown_lines

    def known(self, author: ChangeAuthor) -> AuthorStanding:
        """Fold everything about an author anew, whatever a cache says. Inside one moment."""
        position = anew(self._store, author.agent, self.asked, CurrentModel(author.model), self._about(author.agent))
        said = said_by(self._memory, self._changing(author))
        return AuthorStanding(author, position, said if said.control.seen else None)

    def case(self, known: AuthorStanding, *, approver: str | None = None, damage: str | None = None) -> ApprovalCase:
        """What is known now about the change and one of its authors. Inside one moment, perhaps a later one."""
        author, rules = known.author, self.asked.rules
        running = CurrentModel(author.model)
        position = carried_on(self._store, author.agent, self.asked, known.position, running)
        standing = standing_at(AgentName(author.agent), position.folded, self.asked.now_ns, rules, running=running)
        change = self.proposed()
        return ApprovalCase(
            change=change,
            author=author,
            trust=trust_at(standing, self.asked.now_ns, rules),
            now_ns=self.asked.now_ns,
            spent=spent_by(self._store, author, change, self.asked),
            approver=approver,
            rejected_by=_rejected_by(self._store, change.head),
            chance=_against(known.chance, rules),
            erased=_erased(self._store, author, change.head, budget_since_ns(self.asked.now_ns, rules)),
            damage=damage,
        )

    def allowed(self, case: ApprovalCase) -> Approval:
        """Whether the change may land, as far as a case goes: decisions that were imported speak only against it.

        Anybody can write a file of decisions, so the case has to hold without them too. Inside one moment.
        """
        rules = self.asked.rules
        said = may_land(case, rules)
        if not self._imported:
            return said
        alone = may_land(replace(case, trust=self._own_trust(case.author), chance=self._own_chance(case)), rules)
        known = {(reason.code, reason.sentence) for reason in said.against}
        note = f"; without the {self._imported} decision(s) that were imported, which speak only against a change"
        more = (reason for reason in alone.against if (reason.code, reason.sentence) not in known)
        return Approval((*said.against, *(replace(reason, sentence=reason.sentence + note) for reason in more)))

    def _own_trust(self, author: ChangeAuthor) -> Trust:
        """What an author's record is worth by the decisions that were made here."""
        rules, running, owned = self.asked.rules, CurrentModel(author.model), self._store.tables.owned()
        entries = entries_from([seen for seen in self._about(author.agent) if not is_imported(seen.record, owned)])
        agent = AgentName(author.agent)
        folded = carry(agent, make_empty_fold(rules), entries, rules, running=running).folded
        standing = standing_at(agent, folded, self.asked.now_ns, rules, running=running)
        return trust_at(standing, self.asked.now_ns, rules)

    def _own_chance(self, case: ApprovalCase) -> str | None:
        return _against(said_by(self._own_memory, self._changing(case.author)), self.asked.rules)

    def _changing(self, author: ChangeAuthor) -> LevelCase:
        change = self.proposed()
        return LevelCase(author.agent, HERE, change.areas, author.operator, change.lines, self.asked.now_ns)

    @cached_property
    def _imported(self) -> int:
        return StandingTables(self._store).imported(IMPORT_EVENT)

    @cached_property
    def _own_memory(self) -> ChanceMemory:
        owned = self._store.tables.owned()
        here = [seen for seen in self._decisions if not is_imported(seen.record, owned)]
        return memory_of(self._store, self.asked.rules, self.asked.now_ns, here)

    @cached_property
    def _memory(self) -> ChanceMemory:
        return memory_of(self._store, self.asked.rules, self.asked.now_ns, self._decisions)

    @cached_property
    def _decisions(self) -> list[ObservedView[Decision]]:
        """All decisions, as of the moment in which the first author was asked about: each is read once."""
        return all_decisions(self._store)

    def _about(self, agent: str) -> list[ObservedView[Decision]]:
        return [seen for seen in self._decisions if seen.view.agent == agent]

    def proposed(self) -> ProposedChange:
        """The change in the terms of trust."""
        change, rules = self._change, self.asked.rules
        last_ns = 0 if change.period is None else change.period.last_ns
        return ProposedChange(
            head=change.head,
            lines=proposed_lines(change.files),
            touched=tuple(touched_by(change.files)),
            areas=areas_of(change.files, rules),
            people=frozenset(_signatures(change.people)),
            unknown_lines=self._unknown_lines,
            newest_ns=max(StandingTables(self._store).newest_ns(), last_ns),
        )


def _against(said: ChanceAccount | None, rules: TrustRules) -> str | None:
    """What risk control has against the change, once enough was decided for it to know anything."""
    return None if said is None or said.control.seen < rules.chance_decisions_min else said.against


def spent_by(store: Store, author: ChangeAuthor, change: ProposedChange, asked: TrustQuery) -> BudgetUse:
    """What landed without review in the budget's window, other than this very change; each landing once."""
    since_ns, rules = budget_since_ns(asked.now_ns, asked.rules), asked.rules
    merged = [seen.view for seen in unreviewed_decisions(store, since_ns) if seen.view.head != change.head]
    return BudgetUse(
        agent=_sum_lines((view for view in merged if view.agent == author.agent), rules),
        operator=_sum_lines((view for view in merged if view.operator == author.operator), rules),
        areas={area: _sum_lines((view for view in merged if area in view.areas), rules) for area in change.areas},
    )


def _sum_lines(merged: Iterable[Decision], rules: TrustRules) -> int:
    """The lines of some merged changes; a change that several agents wrote is one."""
    heads: dict[str, int] = {}
    for view in merged:
        name = view.head or view.commit or view.id
        # A change of unknown size may have been as large as any.
        lines = rules.approve_lines_max if view.changed_lines is None else view.changed_lines
        heads[name] = max(heads.get(name, 0), lines)
    return sum(heads.values())


def _erased(store: Store, author: ChangeAuthor, head: str, since_ns: int) -> int:
    """How many erased decisions were about the author or this very head, or may have used up a budget."""
    return sum(
        agent == author.agent or head in name or at_ns > since_ns
        for (agent, name), at_ns in ((parse_decision_key(key), at_ns) for key, at_ns in StandingTables(store).erased())
    )


def _rejected_by(store: Store, head: str) -> str | None:
    """Who rejected this very head, or took it back, if that stands."""
    about = _about(store, head)
    owned = store.tables.owned()
    overridden = {
        seen.view.overrides
        for seen in about
        if seen.view.decision is not DecisionKind.REJECTED
        and not is_imported(seen.record, owned)
        and may_override(seen.view.agent, seen.view.actor, seen.view.reason)
    }
    for view in (seen.view for seen in about):
        refused = view.decision is DecisionKind.REJECTED or view.reverts is not None
        if refused and view.id not in overridden:
            return view.actor or "somebody"
    return None


def _about(store: Store, head: str) -> list[ObservedView[Decision]]:
    """The decisions about a head, and those that override them."""
    about = {seen.record.ref: seen for seen in decisions_on_commit(store, head)}
    for decision in tuple(about.values()):
        for seen in corrections_of_decision(store, decision.view.agent, decision.view.id):
            about.setdefault(seen.record.ref, seen)
    return list(about.values())


def proposed_lines(files: Sequence[FileDiff]) -> int:
    """What the change adds and removes; a file that only gets another name counts as a line."""
    return count_changed_lines(files) + sum(1 for file in files if not file.hunks)


def touched_by(files: Sequence[FileDiff]) -> Iterator[TouchedPath]:
    """The paths that a change touches, old names included, and what is odd about them."""
    for file in files:
        odd = _odd(file)
        sides = [side for side in (file.change.old, file.change.new) if side is not None]
        for path in dict.fromkeys(side.path.display for side in sides):
            yield TouchedPath(path, odd)


def _odd(file: FileDiff) -> str | None:
    """What about a file cannot be read line by line: a link, a submodule, a program, a binary file, one too large."""
    old, new = file.change.old, file.change.new
    for side in (new, old):
        if side is not None and side.mode in _ODD:
            return _ODD[side.mode]
    if new is not None and new.mode != (FILE if old is None else old.mode):
        return "has another mode" if old is not None else "is a program"
    if file.shown is HunkDetail.BINARY:
        return "is a binary file"
    return "is too large to be compared line by line" if file.shown is HunkDetail.TOO_LARGE else None


def _signatures(people: Sequence[Person]) -> Iterator[str]:
    for person in people:
        yield from (name.decode("utf-8", "replace") for name in (person.name, person.email) if name)


def heads_digest(heads: Sequence[ChainTip]) -> bytes:
    """One name for how far every chain reaches: SHA-256 over each head, by store id, every field with its length."""
    folded = hashlib.sha256()
    for head in sorted(heads, key=lambda head: head.store):
        for field in (head.store.encode(), str(head.seq).encode(), head.link):
            folded.update(len(field).to_bytes(8, "big"))
            folded.update(field)
    return folded.digest()


def sort_authors(written: Mapping[ChangeAuthor, int]) -> list[ChangeAuthor]:
    """The authors in an order of their own: by name, model and operator."""
    return sorted(written, key=lambda author: (author.agent, author.model or "", author.operator or ""))
