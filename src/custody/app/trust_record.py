"""Record what was decided about an agent: checked first, then a record of the chain; nothing is changed in place."""

from collections.abc import Sequence
from dataclasses import dataclass

from custody.app.desk import Desk
from custody.app.redacting import redacted
from custody.app.trust import Asked, agents_in, entries_from, entries_of, settled, step_taken, trust_line, unknown
from custody.app.trust_folder import trust_rules
from custody.app.user import user
from custody.model.errors import InputError
from custody.model.ids import PENDING, AgentName, CommitSha, EventId, RecordRef, Seq
from custody.trust.engine import against_recovery, replay
from custody.trust.model import Account, ChangeComplexity, Decided, DecisionType, Entry, Recovered, Step
from custody.trust.rules import TrustRules
from custody.trust.score import complexity_of
from custody.wire.arrivals import Arrival, arrival_from
from custody.wire.canonical import Json
from custody.wire.times import text_from
from custody.wire.trust import TrustRecordReport
from custody.world.git import Comparison, Repository, Shown
from custody.world.hook.homes import key_of
from custody.world.store import Seen, Store

SHA_DIGITS = (40, 64)
NAME_DIGITS_MIN = 4
"""A commit may be named by so many of its first digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants recorded about a change; without an ``id`` it is a decision of its own."""

    agent: str
    decision: DecisionType
    commit: str | None = None
    complexity: ChangeComplexity | None = None
    lines: int | None = None
    review_ms: int | None = None
    actor: str | None = None
    reason: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A new record: what it did, and everything about the agent with it."""

    agent: str
    step: Step
    account: Account
    asked: Asked

    def report(self) -> TrustRecordReport:
        """The same, to be shown."""
        return TrustRecordReport(
            profile=self.asked.rules.profile,
            taken=step_taken(self.step),
            standing=trust_line(self.agent, self.account, self.asked),
        )


def record_commit(desk: Desk, wanted: Wanted) -> Recorded:
    """Record a decision about a commit of this repository, once: its size and complexity are those of its diff."""
    rules = trust_rules(desk)
    assert wanted.commit is not None, "the caller names a commit"
    commit = desk.repository.resolve(wanted.commit)
    lines = _at_least("lines", wanted.lines, changed_lines(desk.repository, commit, rules))
    complexity = _complexity(wanted.complexity, complexity_of(lines, rules))
    return record(
        desk,
        Wanted(
            agent=wanted.agent,
            decision=wanted.decision,
            commit=commit,
            complexity=complexity,
            lines=lines,
            review_ms=wanted.review_ms,
            actor=wanted.actor or user(),
            reason=wanted.reason,
            id=f"commit:{commit}",
        ),
        rules,
    )


def record(desk: Desk, wanted: Wanted, rules: TrustRules | None = None) -> Recorded:
    """Record a decision as it is said."""
    check_number("the size of the change", wanted.lines)
    check_number("the time of the review", wanted.review_ms)
    if wanted.actor is not None and wanted.actor == wanted.agent and wanted.decision is not DecisionType.REJECTED:
        raise InputError(f"'{wanted.agent}' cannot decide about its own change", hint="name the person who decided")
    fields: dict[str, Json] = {
        "decision": wanted.decision.value,
        "complexity": None if wanted.complexity is None else wanted.complexity.word,
        "changed_lines": wanted.lines,
        "review_ms": wanted.review_ms,
        "actor": wanted.actor,
        "reason": wanted.reason,
        **_commit_fields(wanted.commit),
    }
    with desk.writing() as store:
        return _Log(desk, store, wanted.agent, rules).keep(wanted.id or desk.token(), fields)


def override(desk: Desk, agent: str, target: str, decision: DecisionType, *, actor: str, reason: str) -> Recorded:
    """Record that an earlier decision was wrong: from now on ``decision`` counts in its place."""
    _check_said(agent, actor, reason)
    with desk.writing() as store:
        log = _Log(desk, store, agent)
        wrong = log.find(target)
        if log.stands(wrong) is decision:
            raise InputError(f"'{wrong.id}' is {decision.value} already", hint="there is nothing to override")
        fields: dict[str, Json] = {"decision": decision.value, "overrides": wrong.id, "actor": actor, "reason": reason}
        return log.keep(desk.token(), fields)


def revert(desk: Desk, agent: str, target: str, *, actor: str, reason: str) -> Recorded:
    """Record that a change which had landed was taken back: a rejection with everything that was at stake."""
    _check_said(agent, actor, reason)
    with desk.writing() as store:
        log = _Log(desk, store, agent)
        landed = log.find(target)
        if log.stands(landed) is DecisionType.REJECTED:
            raise InputError(f"'{landed.id}' was rejected: it never landed", hint="there is nothing to take back")
        complexity = landed.stakes.complexity
        fields: dict[str, Json] = {
            "decision": DecisionType.REJECTED.value,
            "reverts": landed.id,
            "complexity": None if complexity is None else complexity.word,
            "changed_lines": landed.stakes.lines,
            "actor": actor,
            "reason": reason,
            **_commit_fields(landed.commit),
        }
        return log.keep(f"revert:{landed.id}", fields)


def recover(
    desk: Desk, agent: str, *, boost: float | None, actor: str, reason: str, rules: TrustRules | None = None
) -> Recorded:
    """Lift the score of an agent that has a record, by at most the recovery rate."""
    _check_said(agent, actor, reason)
    with desk.writing() as store:
        log = _Log(desk, store, agent, rules)
        amount = log.rules.recovery_rate if boost is None else boost
        if not amount > 0 or amount > 1:
            raise InputError(f"a recovery of {amount} adds nothing", hint="give a number above 0 and at most 1")
        standing = replay(log.agent, log.entries(), log.rules).standing
        if not standing.samples:
            raise unknown(agent, agents_in(store))
        entry = Recovered("", desk.now_ns(), RecordRef(PENDING, Seq(0)), amount, actor, reason)
        against = against_recovery(log.agent, entry, standing, log.rules)
        if against is not None:
            raise InputError(f"'{agent}' cannot recover: {against}", hint="wait, or let its work speak for it")
        fields: dict[str, Json] = {"decision": "recovered", "boost": amount, "actor": actor, "reason": reason}
        return log.keep(desk.token(), fields)


def changed_lines(repository: Repository, commit: CommitSha, rules: TrustRules) -> int:
    """How many lines a commit adds and removes against its first parent; what is too large to count is the largest."""
    with repository.diffs([Comparison(commit)], renames=True) as answers:
        files = [file for diff in answers for file in diff.files]
    counted = sum(hunk.old_count + hunk.new_count for file in files for hunk in file.hunks)
    uncounted = any(file.shown is Shown.TOO_LARGE for file in files)
    return max(counted, rules.complexity_lines_min[-1]) if uncounted else counted


def check_number(what: str, value: object) -> None:
    """Refuse what is no count: negative, not whole, not a number at all."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f"{what} is {value}, not a whole number from 0 on", hint="leave it out when it is not known")


class _Log:
    """What is recorded about one agent, and the one way to record more."""

    def __init__(self, desk: Desk, store: Store, agent: str, rules: TrustRules | None = None) -> None:
        self.agent = AgentName(agent)
        self.rules = rules or trust_rules(desk)
        self._desk = desk
        self._store = store

    def entries(self) -> list[Entry]:
        """Everything recorded until now."""
        with settled(self._store):
            return entries_of(self._store, self.agent)

    def find(self, target: str) -> Decided:
        """The decision with this id, in this record, or about this commit."""
        entries = self.entries()
        decided = [entry for entry in entries if isinstance(entry, Decided)]
        if not decided:
            raise unknown(self.agent, agents_in(self._store))
        found = [one for one in decided if target in (one.id, str(one.record))] or _about(decided, target)
        if not found:
            raise InputError(
                f"no decision about '{self.agent}' is named '{target}'",
                hint=f"'custody trust show {self.agent}' lists them by id",
            )
        if len({one.id for one in found}) > 1:
            raise InputError(
                f"'{target}' fits {len(found)} decisions about '{self.agent}'", hint="name one of them by its id"
            )
        return found[0]

    def stands(self, decided: Decided) -> DecisionType | None:
        """What counts of a decision now, overrides included."""
        steps = replay(self.agent, self.entries(), self.rules).steps
        return next(step.decision for step in steps if step.entry == decided)

    def keep(self, id: str, fields: dict[str, Json]) -> Recorded:
        """Append one record and say what it did; one with a known id is refused."""
        entries = self.entries()
        if known := [entry for entry in entries if entry.id == id]:
            raise InputError(
                f"'{id}' is decided already, in record {known[0].record}",
                hint="a decision that was wrong is overridden: 'custody trust record --overrides'",
            )
        now_ns = self._desk.now_ns()
        (made,) = self._store.append([self._arrival(id, fields, now_ns)]).made
        new = entries_from([Seen(made, view) for view in self._store.views.of(made)])
        account = replay(self.agent, [*entries, *new], self.rules)
        step = next(step for step in account.steps if step.entry.record == made.ref)
        return Recorded(self.agent, step, account, Asked(self.rules, now_ns))

    def _arrival(self, id: str, fields: dict[str, Json], now_ns: int) -> Arrival:
        event: dict[str, Json] = {
            "custody": 1,
            "kind": "decision",
            "id": id,
            "at": text_from(now_ns),
            "agent": self.agent,
            **{name: value for name, value in fields.items() if value is not None},
        }
        clean = redacted(event, lambda: key_of(str(self._desk.home)))
        if (clean["agent"], clean["id"]) != (self.agent, id):
            raise InputError("the agent's name or the decision's id looks like a secret", hint="choose another name")
        return arrival_from(EventId(f"trust-{self._desk.token()}"), clean)


def _about(decided: Sequence[Decided], target: str) -> list[Decided]:
    """The decisions about a commit, named by its first digits; what took one back is not meant."""
    if len(target) < NAME_DIGITS_MIN:
        return []
    return [one for one in decided if one.reverts is None and one.commit is not None and one.commit.startswith(target)]


def _commit_fields(commit: str | None) -> dict[str, Json]:
    """A full id as a commit, any other name as a name."""
    if commit is None:
        return {}
    is_full = len(commit) in SHA_DIGITS and set(commit) <= set("0123456789abcdef")
    return {"commit" if is_full else "commit_name": commit}


def _at_least(what: str, said: int | None, seen: int) -> int:
    check_number(what, said)
    if said is not None and said < seen:
        raise InputError(
            f"the change has {seen} {what}, not {said}", hint="what the diff shows can be raised, never lowered"
        )
    return seen if said is None else said


def _complexity(said: ChangeComplexity | None, seen: ChangeComplexity) -> ChangeComplexity:
    if said is not None and said.value < seen.value:
        raise InputError(
            f"a change of this size is {seen.word}, not {said.word}",
            hint="what the diff shows can be raised, never lowered",
        )
    return said or seen


def _check_said(agent: str, actor: str, reason: str) -> None:
    if not actor.strip() or not reason.strip():
        raise InputError("a correction needs somebody who makes it and a reason", hint="give --actor and --reason")
    if actor == agent:
        raise InputError(f"'{agent}' cannot correct its own record", hint="name the person who decided")
