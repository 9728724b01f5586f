"""Gathering of the evidence for merging a change without review; the decision is in ``approval``."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from custody.core.assurance import Assurance
from custody.core.ids import AgentName
from custody.core.plural import count_noun
from custody.core.record import ChainTip
from custody.core.views import Decision, DecisionKind
from custody.core.wire.arrival import parse_decision_key
from custody.core.wire.claims import is_imported_record
from custody.dupes.app.patch_identity import compute_patch_identity
from custody.git import Comparison, FileDiff, HunkDetail, Person
from custody.store import ObservedView, Store
from custody.trust.app.acceptance import AcceptanceAccount, estimate_acceptance, learn_acceptance_from_decisions
from custody.trust.app.decision_assurance import DecisionPolicy, DecisionRater
from custody.trust.app.decisions import TrustQuery, decision_entries_from_views
from custody.trust.app.record import count_decision_lines, list_trust_areas
from custody.trust.app.reservations import HEAD, Reservation, sum_reserved_lines
from custody.trust.app.score_cache import Position, fold_agent_decisions, is_position_current
from custody.trust.approval import (
    ApprovalCase,
    BudgetUse,
    ProposedChange,
    TouchedPath,
    budget_since_ns,
    decide_approval,
    is_drawn_for_audit,
)
from custody.trust.assurance import CountingEntries, find_largest_reviewed_change, select_counting_entries
from custody.trust.engine import can_override_decision, compute_trust, fold_entries, make_empty_fold, settle_score_state
from custody.trust.levels import LevelCase
from custody.trust.model import Approval, ChangeAuthor, CurrentModel, FileVoucher, Trust
from custody.trust.past_decisions import HERE, AcceptanceMemory
from custody.trust.queries import (
    ScoreTables,
    decisions_on_commit,
    decisions_with_patch,
    list_all_decisions,
    list_decision_corrections,
    list_unreviewed_decisions,
)
from custody.trust.rules import TrustRules
from custody.workspace.change import ChangeRange

PATCH_COMMITS_MAX = 100
"""The newest commits of a change that are searched for rejections; one with more needs a review."""
FILE, LINK, SUBMODULE = 0o100644, 0o120000, 0o160000
_ODD = {LINK: "is a link", SUBMODULE: "is a submodule"}


class AuthorScore(Struct, frozen=True):
    """The score of an author, folded from the records themselves, and its position in each chain.

    ``counting`` are the entries that count. ``acceptance`` is the estimate for the change as if the author wrote all of
    it; None before any decision.
    """

    author: ChangeAuthor
    position: Position
    counting: CountingEntries
    acceptance: AcceptanceAccount | None = None


class ApprovalQuery:
    """The approval of one change; it can be decided again after more was recorded.

    Without ``audit_key`` every change that would pass is selected for an audit, if any are.
    """

    def __init__(  # noqa: PLR0913 - the parts of an approval
        self,
        store: Store,
        query: TrustQuery,
        change: ChangeRange,
        *,
        unknown_lines: int = 0,
        vouchers: Sequence[FileVoucher] = (),
        policy: DecisionPolicy | None = None,
        audit_key: bytes | None = None,
    ) -> None:
        self.query = query
        self._store = store
        self._change = change
        self._unknown_lines = unknown_lines
        self._policy = policy or DecisionPolicy()
        self._unvouched = tuple(each.path for each in vouchers if not each.assurance.meets(self._policy.least))
        self._rater = DecisionRater(store, self._policy, query.now_ns)
        self._audit_key = audit_key

    def read_author_score(self, author: ChangeAuthor) -> AuthorScore:
        """Fold the decisions about an author that count, without the cache; call it inside one read transaction."""
        counting = self._select_counting(author.agent, self._decisions_about_agent(author.agent))
        running = CurrentModel(author.model)
        position = fold_agent_decisions(self._store, author.agent, self.query, running, counting.entries)
        estimate = estimate_acceptance(self._memory, self._make_level_case(author))
        return AuthorScore(author, position, counting, estimate if estimate.control.seen else None)

    def refresh_author_score(self, known: AuthorScore) -> AuthorScore:
        """Return the score of an author with what was recorded since; call it inside one read transaction."""
        if is_position_current(self._store, known.author.agent, known.position):
            return known
        for name in ("_decisions", "_own_decisions"):
            self.__dict__.pop(name, None)
        return self.read_author_score(known.author)

    def case(
        self,
        known: AuthorScore,
        *,
        approver: str | None = None,
        damage: str | None = None,
        reserved: Sequence[Reservation] = (),
    ) -> ApprovalCase:
        """Return the evidence about the change and one of its authors; call it inside one read transaction.

        ``reserved`` are reservations of other stores.
        """
        author, rules = known.author, self.query.rules
        running = CurrentModel(author.model)
        known = self.refresh_author_score(known)
        agent, folded = AgentName(author.agent), known.position.folded
        state = settle_score_state(agent, folded, self.query.now_ns, rules, running=running)
        change = self.make_proposed_change()
        newest_ns = max((change.newest_ns, *(reservation.at_ns for reservation in reserved)))
        return ApprovalCase(
            change=replace(change, newest_ns=newest_ns),
            author=author,
            trust=compute_trust(state, self.query.now_ns, rules),
            now_ns=self.query.now_ns,
            spent=sum_budget_use(self._store, author, change, self.query, reserved),
            approver=approver,
            rejected_by=self.find_rejecting_reviewer(),
            reviewed_lines=find_largest_reviewed_change(agent, known.counting.entries),
            risk_objection=_find_risk_objection(known.acceptance, rules),
            erased=_count_erased_decisions(self._store, author, change.head, budget_since_ns(self.query.now_ns, rules)),
            damage=damage,
            is_drawn=self._is_drawn,
        )

    @cached_property
    def _is_drawn(self) -> bool:
        rules = self.query.rules
        if self._audit_key is None:
            return rules.audit_share > 0
        return is_drawn_for_audit(self.patch, self._audit_key, rules)

    @cached_property
    def patch(self) -> str:
        """Return the patch identity of the change."""
        return compute_patch_identity(self._change.files) or ""

    def decide_author_approval(self, case: ApprovalCase) -> Approval:
        """Decide about the change as far as one author goes; imported decisions count only against it.

        Anybody can write a file of decisions, so the approval must hold without them too. Those of a store that the
        team enrolled count like the store's own. Call it inside one read transaction.
        """
        rules = self.query.rules
        decided = decide_approval(case, rules)
        imported_count = len(self._decisions) - len(self._own_decisions)
        if self._policy.least is not Assurance.SELF_REPORTED or not imported_count:
            return decided  # with a minimum, decisions below it were left out before
        agent, own = AgentName(case.author.agent), self._select_own(case.author)
        alone = decide_approval(
            replace(
                case,
                trust=self._own_trust(case.author, own),
                reviewed_lines=find_largest_reviewed_change(agent, own.entries),
                risk_objection=self._own_risk_objection(case),
            ),
            rules,
        )
        known = {(reason.code, reason.sentence) for reason in decided.against}
        imported = count_noun(imported_count, "imported decision")
        note = f" (excluding {imported}: imports never count in favor)"
        more = (reason for reason in alone.against if (reason.code, reason.sentence) not in known)
        return Approval((*decided.against, *(replace(reason, sentence=reason.sentence + note) for reason in more)))

    def _select_own(self, author: ChangeAuthor) -> CountingEntries:
        """Return what counts of the decisions that were made here or in enrolled stores."""
        own = [decision for decision in self._own_decisions if decision.view.agent == author.agent]
        return self._select_counting(author.agent, own)

    def _own_trust(self, author: ChangeAuthor, own: CountingEntries) -> Trust:
        rules, running = self.query.rules, CurrentModel(author.model)
        agent = AgentName(author.agent)
        folded = fold_entries(agent, make_empty_fold(rules), own.entries, rules, running=running).folded
        state = settle_score_state(agent, folded, self.query.now_ns, rules, running=running)
        return compute_trust(state, self.query.now_ns, rules)

    def _own_risk_objection(self, case: ApprovalCase) -> str | None:
        return _find_risk_objection(
            estimate_acceptance(self._own_memory, self._make_level_case(case.author)), self.query.rules
        )

    def _make_level_case(self, author: ChangeAuthor) -> LevelCase:
        change = self.make_proposed_change()
        return LevelCase(author.agent, HERE, change.areas, author.operator, change.lines, self.query.now_ns)

    def _select_counting(self, agent: str, decisions: Sequence[ObservedView[Decision]]) -> CountingEntries:
        entries = list(decision_entries_from_views(decisions))
        return select_counting_entries(AgentName(agent), entries, self._rater.believe(decisions))

    @cached_property
    def _own_decisions(self) -> list[ObservedView[Decision]]:
        """Return the decisions that were not imported, or that an enrolled store vouches for."""
        owned = self._store.tables.list_owned_chains()
        return [
            decision
            for decision in self._decisions
            if not is_imported_record(decision.record, owned) or self._is_vouched(decision)
        ]

    def _is_vouched(self, decision: ObservedView[Decision]) -> bool:
        return self._rater.rate(decision) is not Assurance.SELF_REPORTED

    @cached_property
    def _own_memory(self) -> AcceptanceMemory:
        return self._learn(self._own_decisions)

    @cached_property
    def _memory(self) -> AcceptanceMemory:
        """Return what all decisions teach; with a minimum, those that meet it, so that no other makes a change pass."""
        least = self._policy.least
        if least is Assurance.SELF_REPORTED:
            return self._learn(self._decisions)
        return self._learn([decision for decision in self._decisions if self._rater.rate(decision).meets(least)])

    def _learn(self, decisions: Sequence[ObservedView[Decision]]) -> AcceptanceMemory:
        belief = self._rater.believe(decisions)
        return learn_acceptance_from_decisions(
            self._store,
            self.query.rules,
            self.query.now_ns,
            decisions,
            select=lambda agent, entries: select_counting_entries(agent, entries, belief).entries,
        )

    @cached_property
    def _decisions(self) -> list[ObservedView[Decision]]:
        """Return all decisions, read once with the first author."""
        return list_all_decisions(self._store)

    def _decisions_about_agent(self, agent: str) -> list[ObservedView[Decision]]:
        return [decision for decision in self._decisions if decision.view.agent == agent]

    def find_rejecting_reviewer(self) -> str | None:
        """Return who rejected or reverted the change, one of its commits or the same patch, unless overridden."""
        heads = (self._change.head, *(commit.id for commit in self._change.commits[:PATCH_COMMITS_MAX]))
        about = _read_decisions_on_change(self._store, tuple(dict.fromkeys(heads)), self._patches)
        overridden = {decision.view.overrides for decision in about if self._can_lift(decision)}
        for view in (decision.view for decision in about):
            refused = view.decision is DecisionKind.REJECTED or view.reverts is not None
            if refused and view.id not in overridden:
                return view.actor or "an unknown reviewer"
        return None

    def _can_lift(self, decision: ObservedView[Decision]) -> bool:
        """Return whether an override can lift a rejection."""
        view, rated = decision.view, self._rater.rate(decision)
        is_foreign = is_imported_record(decision.record, self._store.tables.list_owned_chains())
        return (
            view.decision is not DecisionKind.REJECTED
            and rated.meets(self._policy.least)
            and (rated is not Assurance.SELF_REPORTED or not is_foreign)
            and can_override_decision(view.agent, view.actor, view.reason)
        )

    @cached_property
    def _patches(self) -> tuple[str, ...]:
        """Return the patch identities of the change and of its commits."""
        whole = compute_patch_identity(self._change.files)
        repository, commits = self._policy.repository, self._change.commits[:PATCH_COMMITS_MAX]
        if repository is None or len(commits) < 2:
            return () if whole is None else (whole,)
        with repository.diffs([Comparison(commit.id) for commit in commits], renames=True) as diffs:
            each = [compute_patch_identity(diff.files) for diff in diffs]
        return tuple(dict.fromkeys(patch for patch in (whole, *each) if patch is not None))

    def make_proposed_change(self) -> ProposedChange:
        """Return the change as trust judges it."""
        change, rules = self._change, self.query.rules
        last_ns = 0 if change.period is None else change.period.last_ns
        return ProposedChange(
            head=change.head,
            patch=self.patch,
            lines=count_approval_lines(change.files),
            touched=tuple(list_approval_paths(change.files)),
            areas=list_trust_areas(change.files, rules),
            people=frozenset(_list_approval_author_names(change.people)),
            unknown_lines=self._unknown_lines,
            unvouched=self._unvouched,
            unsearched=max(0, len(change.commits) - PATCH_COMMITS_MAX),
            newest_ns=max(ScoreTables(self._store).newest_ns(), last_ns),
        )


def _find_risk_objection(estimate: AcceptanceAccount | None, rules: TrustRules) -> str | None:
    """Return the objection of risk control; None while there are too few decisions."""
    return None if estimate is None or estimate.control.seen < rules.chance_decisions_min else estimate.against


def sum_budget_use(
    store: Store,
    author: ChangeAuthor,
    change: ProposedChange,
    query: TrustQuery,
    reserved: Iterable[Reservation] = (),
) -> BudgetUse:
    """Return the lines merged without review in the budget window, without this patch; ``reserved`` is counted too."""
    here = list_reservations(store, budget_since_ns(query.now_ns, query.rules), query.rules)
    return sum_reserved_lines((*here, *reserved), author, change.areas, frozenset((change.patch, HEAD + change.head)))


def list_reservations(store: Store, since_ns: int, rules: TrustRules | None = None) -> list[Reservation]:
    """Return the approvals without review after a time that this store knows of."""
    return [
        _reservation_from_view(decision.view, rules or TrustRules())
        for decision in list_unreviewed_decisions(store, since_ns)
    ]


def _reservation_from_view(view: Decision, rules: TrustRules) -> Reservation:
    return Reservation(
        patch=view.patch or HEAD + (view.head or view.commit or view.id),
        agent=view.agent,
        operator=view.operator,
        areas=view.areas,
        # A change of unknown size may have been as large as any.
        lines=rules.approve_lines_max if view.changed_lines is None else view.changed_lines,
        at_ns=view.at_ns,
        head=view.head,
    )


def _count_erased_decisions(store: Store, author: ChangeAuthor, head: str, since_ns: int) -> int:
    """Return how many erased decisions were about the author or this head, or may have used a budget."""
    return sum(
        agent == author.agent or head in name or at_ns > since_ns
        for (agent, name), at_ns in (
            (parse_decision_key(key), at_ns) for key, at_ns in ScoreTables(store).list_erased()
        )
    )


def _read_decisions_on_change(
    store: Store, commits: Sequence[str], patches: Sequence[str]
) -> list[ObservedView[Decision]]:
    """Return the decisions about some commits or the same patches elsewhere, and their overrides."""
    found = [decision for commit in commits for decision in decisions_on_commit(store, commit)]
    found += [decision for patch in patches for decision in decisions_with_patch(store, patch)]
    about = {decision.record.ref: decision for decision in found}
    for decision in tuple(about.values()):
        for correction in list_decision_corrections(store, decision.view.agent, decision.view.id):
            about.setdefault(correction.record.ref, correction)
    return list(about.values())


def count_approval_lines(files: Sequence[FileDiff]) -> int:
    """Return how many lines a change adds and removes; a renamed file counts as one line."""
    return count_decision_lines(files) + sum(1 for file in files if not file.hunks)


def list_approval_paths(files: Sequence[FileDiff]) -> Iterator[TouchedPath]:
    """Yield the paths that a change touches, old names included, and why they cannot be judged by lines."""
    for file in files:
        odd = _find_approval_obstacle(file)
        sides = [side for side in (file.change.old, file.change.new) if side is not None]
        for path in dict.fromkeys(side.path.display for side in sides):
            yield TouchedPath(path, odd)


def _find_approval_obstacle(file: FileDiff) -> str | None:
    """Return why a file cannot be judged by its lines; None if it can."""
    old, new = file.change.old, file.change.new
    for side in (new, old):
        if side is not None and side.mode in _ODD:
            return _ODD[side.mode]
    if new is not None and new.mode != (FILE if old is None else old.mode):
        return "has a changed mode" if old is not None else "is executable"
    if file.shown is HunkDetail.BINARY:
        return "is a binary file"
    return "is too large to be compared line by line" if file.shown is HunkDetail.TOO_LARGE else None


def _list_approval_author_names(people: Sequence[Person]) -> Iterator[str]:
    for person in people:
        yield from (name.decode("utf-8", "replace") for name in (person.name, person.email) if name)


def digest_approval_chain_heads(heads: Sequence[ChainTip]) -> bytes:
    """Return one digest of all chain heads: SHA-256 over them by store id, every field with its length."""
    folded = hashlib.sha256()
    for head in sorted(heads, key=lambda head: head.store):
        for field in (head.store.encode(), str(head.seq).encode(), head.link):
            folded.update(len(field).to_bytes(8, "big"))
            folded.update(field)
    return folded.digest()


def sort_approval_authors(written: Mapping[ChangeAuthor, int]) -> list[ChangeAuthor]:
    """Sort authors by name, model and operator."""
    return sorted(written, key=lambda author: (author.agent, author.model or "", author.operator or ""))
