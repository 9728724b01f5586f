"""Try a policy on the past: recorded decisions, and plain git history before anything was recorded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.body import digest_text
from custody.core.wire.rules_digest import rules_digest
from custody.core.wire.time import ns_from, text_from
from custody.git import Comparison, NoObject
from custody.trust.app.approval_case import proposed_lines, touched_by
from custody.trust.app.chance import list_counted_decisions
from custody.trust.app.decisions import read_settled_decisions
from custody.trust.app.folder import FolderWorkspace, trust_rules
from custody.trust.app.git_history import CommitDecisions, history
from custody.trust.app.record import areas_of
from custody.trust.model import ChangeStakes, DecisionEntry
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TrustRules
from custody.trust.simulate import PolicyTally, SimulatedChange, SimulationResult, simulate
from custody.trust.wire.chance import (
    AgentMergeShare,
    MergeShare,
    SimulatedExample,
    SimulatedPolicy,
    TrustSimulateReport,
)
from custody.workspace.workspace import Workspace

SimulationSource = Literal["auto", "records", "git"]

IN_FORCE = "rules in force"
EXAMPLES_MAX = 20
_AGO = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([hdw])", re.ASCII)
_UNITS_NS = {unit: hours * 3_600_000_000_000 for unit, hours in {"h": 1, "d": 24, "w": 168}.items()}
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SimulationInput:
    """What happened: decisions that were recorded, and commits before the first of them."""

    pasts: tuple[PastDecision, ...]
    history: CommitDecisions


def trust_simulate(
    workspace: Workspace, *, policy: str | None, since: str, source: SimulationSource = "auto"
) -> TrustSimulateReport:
    """What the rules in force, and a policy beside them, would have let land since a moment, and what became of it."""
    rules = {IN_FORCE: trust_rules(workspace)}
    if policy is not None:
        rules[policy] = trust_rules(workspace, policy=policy)
    now_ns = workspace.now_ns()
    since_ns = moment_before(since, now_ns)
    gathered = gather(workspace, rules[IN_FORCE], since_ns, now_ns, source)
    simulated = {
        name: _simulated(workspace, name, gathered.pasts, policy_rules, since_ns)
        for name, policy_rules in rules.items()
    }
    return report_simulation(simulated, gathered, since_ns, now_ns)


def report_simulation(
    simulated: Mapping[str, SimulationResult], gathered: SimulationInput, since_ns: int, now_ns: int
) -> TrustSimulateReport:
    """What each policy would have let land; one of them is called ``IN_FORCE``."""
    judged = simulated[IN_FORCE].judged
    examples = list(_examples(simulated))
    return TrustSimulateReport(
        since=text_from(since_ns),
        until=text_from(now_ns),
        recorded=sum(change.source == "records" for change in judged),
        commits=sum(change.source == "git" for change in judged),
        reverted_commits=gathered.history.reverted,
        mended_commits=gathered.history.mended,
        undated_commits=gathered.history.undated,
        policies=[_policy(name, result) for name, result in simulated.items()],
        examples=examples[:EXAMPLES_MAX],
        example_count=len(examples),
    )


def moment_before(text: str, now_ns: int) -> int:
    """The moment that ``30d``, ``12h``, ``2w``, a day or a full moment means; of the future it is an ``InputError``."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now_ns - round(float(ago[1]) * _UNITS_NS[ago[2]])
    try:
        moment = ns_from(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    except InputError as error:
        raise InputError(
            f"'{text[:60]}' is no moment to begin at", hint="say 30d, 12h, 2w, 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error
    if moment > now_ns:
        raise InputError(f"'{text}' is in the future", hint="a simulation looks at what has happened")
    return moment


def gather(
    workspace: Workspace, rules: TrustRules, since_ns: int, now_ns: int, source: SimulationSource
) -> SimulationInput:
    """Records, and git history until the first of them; where records reach back far enough, records alone."""
    records: list[PastDecision] = []
    if source != "git":
        with workspace.reading() as store, read_settled_decisions(store):
            records = list_counted_decisions(store, rules, now_ns)
        records = list(_add_touched_paths(workspace, records, rules, since_ns))
    first_ns = min((past.opened_ns for past in records), default=now_ns)
    wants_git = source == "git" or (
        source == "auto" and first_ns > since_ns and not isinstance(workspace, FolderWorkspace)
    )
    before = history(workspace, rules, since_ns, first_ns) if wants_git else CommitDecisions(())
    pasts = (*before.pasts, *records)
    if not any(past.is_change and past.opened_ns >= since_ns for past in pasts):
        raise InputError(
            f"nothing was decided and nothing was committed since {text_from(since_ns)[:10]}",
            hint="look further back, or record decisions with 'custody trust record'",
        )
    return SimulationInput(pasts, before)


def _add_touched_paths(
    workspace: Workspace, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int
) -> Iterator[PastDecision]:
    """The same, those of the period with what their commits touch, where the commits are here."""
    wanted = {str(sha) for past in pasts if past.is_change and past.opened_ns >= since_ns for sha in _commits(past)}
    if isinstance(workspace, FolderWorkspace) or workspace.home is None or not wanted:
        yield from pasts
        return
    repository = workspace.repository
    names = sorted(wanted)
    here = [sha for sha, found in zip(names, repository.look_up(names), strict=True) if not isinstance(found, NoObject)]
    workspace.progress.start("reading commits", len(here))
    seen: dict[str, PastDecision] = {}
    by_commit = {str(sha): past for past in pasts if past.is_change for sha in _commits(past)}
    with repository.diffs([Comparison(CommitSha(sha)) for sha in here], renames=True) as diffs:
        for diff in diffs:
            workspace.progress.step(1)
            past = by_commit[diff.commit]
            entry = past.entry
            assert isinstance(entry, DecisionEntry), "only decisions are about commits"
            lines = max(entry.stakes.lines or 0, proposed_lines(diff.files))
            areas = entry.areas or areas_of(diff.files, rules)
            stakes = ChangeStakes(entry.stakes.complexity, lines, entry.stakes.review_ms)
            touched = tuple(touched_by(diff.files))
            seen[entry.id + past.agent] = replace(
                past, entry=replace(entry, stakes=stakes, areas=areas), touched=touched
            )
    yield from (seen.get(past.entry.id + past.agent, past) for past in pasts)


def _commits(past: PastDecision) -> Iterator[CommitSha]:
    commit = past.entry.commit if isinstance(past.entry, DecisionEntry) else None
    if commit is not None and _SHA.fullmatch(commit):
        yield CommitSha(commit)


def _simulated(
    workspace: Workspace, name: str, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int
) -> SimulationResult:
    workspace.progress.start(f"replaying {name}", len(pasts))
    return simulate(pasts, rules, since_ns, workspace.progress.step)


def _policy(name: str, simulated: SimulationResult) -> SimulatedPolicy:
    landing, target = simulated.tally(), simulated.rules.reverted_share_max
    share = landing.bad_share
    return SimulatedPolicy(
        name=name,
        rules_digest=digest_text(rules_digest({"trust": simulated.rules})),
        target=target,
        within=None if share is None else share <= target,
        landing=_landing(landing),
        controlled=_landing(simulated.controlled),
        reasons=simulated.reasons(),
        agents=[
            AgentMergeShare(agent=agent, landing=_landing(agent_tally))
            for agent, agent_tally in sorted(simulated.by_agent().items(), key=lambda row: (-row[1].approved, row[0]))
        ],
    )


def _landing(tally: PolicyTally) -> MergeShare:
    return MergeShare(
        changes=tally.changes,
        approved=tally.approved,
        lines=tally.lines,
        modified=tally.modified,
        rejected=tally.rejected,
        reverted=tally.reverted,
        bad_share=tally.bad_share,
    )


def _examples(simulated: Mapping[str, SimulationResult]) -> Iterator[SimulatedExample]:
    """Changes worth looking at: the largest bad ones that would land, then those about which the policies differ."""
    rows = list(zip(*(result.judged for result in simulated.values()), strict=True))
    bad = [row for row in rows if row[0].bad and any(change.approved for change in row)]
    differing = [row for row in rows if not row[0].bad and len({change.approved for change in row}) > 1]
    for chosen, why in ((bad, "lands and was bad"), (differing, "the policies differ")):
        for row in sorted(chosen, key=lambda row: (-row[0].lines, row[0].opened_ns, row[0].entry.id)):
            yield _example(dict(zip(simulated, row, strict=True)), why)


def _example(by_policy: Mapping[str, SimulatedChange], why: str) -> SimulatedExample:
    judged = next(iter(by_policy.values()))
    return SimulatedExample(
        agent=judged.agent,
        id=judged.entry.commit or judged.entry.id,
        opened=text_from(judged.opened_ns),
        lines=judged.lines,
        outcome="reverted" if judged.reverted else judged.entry.decision.value,
        score=judged.score,
        chance=judged.chance,
        low=judged.low,
        why=why,
        reasons={name: list(change.reasons) for name, change in by_policy.items()},
    )
