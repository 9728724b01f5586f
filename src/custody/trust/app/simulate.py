"""Simulation of a policy on recorded decisions, and on plain git history before the first of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.time import format_timestamp, parse_start_time
from custody.git import Comparison, NoObject
from custody.trust.app.acceptance import list_counted_decisions
from custody.trust.app.approval_case import count_approval_lines, list_approval_paths
from custody.trust.app.decisions import FolderWorkspace, load_trust_rules, read_settled_decisions
from custody.trust.app.git_history import CommitDecisions, read_commit_decisions
from custody.trust.app.record import list_trust_areas
from custody.trust.model import ChangeStakes, DecisionEntry
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TIERS, TrustRules
from custody.trust.simulate import PolicyTally, SimulatedChange, SimulationResult, simulate_policy
from custody.trust.wire import AgentMergeShare, MergeShare, SimulatedExample, SimulatedPolicy, TrustSimulateReport
from custody.workspace.workspace import Workspace

SimulationSource = Literal["auto", "records", "git"]

IN_FORCE = "rules in force"
EXAMPLES_MAX = 20
_SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


class SimulationInput(Struct, frozen=True):
    """The past: recorded decisions, and commits before the first of them."""

    pasts: tuple[PastDecision, ...]
    history: CommitDecisions


def trust_simulate(
    workspace: Workspace, *, policy: str | None, since: str, source: SimulationSource = "auto"
) -> TrustSimulateReport:
    """Return what the rules in force, and optionally a policy, would have merged since a time, with the outcomes."""
    rules = {IN_FORCE: load_trust_rules(workspace)}
    if policy is not None:
        rules[policy] = load_trust_rules(workspace, policy=policy)
    now_ns = workspace.now_ns()
    since_ns = parse_start_time(since, now_ns)
    gathered = gather_simulation_input(workspace, rules[IN_FORCE], since_ns, now_ns, source)
    simulated = {
        name: _replay_policy(workspace, name, gathered.pasts, policy_rules, since_ns)
        for name, policy_rules in rules.items()
    }
    return report_policy_simulation(simulated, gathered, since_ns, now_ns)


def report_policy_simulation(
    simulated: Mapping[str, SimulationResult], gathered: SimulationInput, since_ns: int, now_ns: int
) -> TrustSimulateReport:
    """Return the report of simulated policies; one of them is called ``IN_FORCE``."""
    judged = simulated[IN_FORCE].judged
    examples = list(_choose_simulated_examples(simulated))
    return TrustSimulateReport(
        since=format_timestamp(since_ns),
        until=format_timestamp(now_ns),
        recorded=sum(change.source == "records" for change in judged),
        commits=sum(change.source == "git" for change in judged),
        reverted_commits=gathered.history.reverted,
        mended_commits=gathered.history.mended,
        undated_commits=gathered.history.undated,
        policies=[_report_simulated_policy(name, result) for name, result in simulated.items()],
        examples=examples[:EXAMPLES_MAX],
        example_count=len(examples),
    )


def gather_simulation_input(
    workspace: Workspace, rules: TrustRules, since_ns: int, now_ns: int, source: SimulationSource
) -> SimulationInput:
    """Return recorded decisions, and git history until the first of them if they do not reach back far enough."""
    records: list[PastDecision] = []
    if source != "git":
        with workspace.reading() as store, read_settled_decisions(store):
            records = list_counted_decisions(store, rules, now_ns)
        records = list(_add_touched_paths(workspace, records, rules, since_ns))
    first_ns = min((past.opened_ns for past in records), default=now_ns)
    wants_git = source == "git" or (
        source == "auto" and first_ns > since_ns and not isinstance(workspace, FolderWorkspace)
    )
    before = read_commit_decisions(workspace, rules, since_ns, first_ns) if wants_git else CommitDecisions(())
    pasts = (*before.pasts, *records)
    if not any(past.is_change and past.opened_ns >= since_ns for past in pasts):
        raise InputError(
            f"no decisions and no commits since {format_timestamp(since_ns)[:10]}",
            hint="pass an earlier --since, or record decisions with 'custody trust record'",
        )
    return SimulationInput(pasts, before)


def _add_touched_paths(
    workspace: Workspace, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int
) -> Iterator[PastDecision]:
    """Yield the decisions; those of the period with the paths of their commits, where the commits exist."""
    shas = {
        str(sha)
        for past in pasts
        if past.is_change and past.opened_ns >= since_ns
        for sha in _list_decision_commits(past)
    }
    if isinstance(workspace, FolderWorkspace) or workspace.home is None or not shas:
        yield from pasts
        return
    repository = workspace.repository
    names = sorted(shas)
    here = [sha for sha, info in zip(names, repository.look_up(names), strict=True) if not isinstance(info, NoObject)]
    workspace.progress.start("reading commits", len(here))
    completed: dict[str, PastDecision] = {}
    by_commit = {str(sha): past for past in pasts if past.is_change for sha in _list_decision_commits(past)}
    with repository.diffs([Comparison(CommitSha(sha)) for sha in here], renames=True) as diffs:
        for diff in diffs:
            workspace.progress.step(1)
            past = by_commit[diff.commit]
            entry = past.entry
            assert isinstance(entry, DecisionEntry), "only decisions are about commits"
            lines = max(entry.stakes.lines or 0, count_approval_lines(diff.files))
            areas = entry.areas or list_trust_areas(diff.files, rules)
            stakes = ChangeStakes(entry.stakes.complexity, lines, entry.stakes.review_ms)
            touched = tuple(list_approval_paths(diff.files))
            completed[entry.id + past.agent] = replace(
                past, entry=replace(entry, stakes=stakes, areas=areas), touched=touched
            )
    yield from (completed.get(past.entry.id + past.agent, past) for past in pasts)


def _list_decision_commits(past: PastDecision) -> Iterator[CommitSha]:
    commit = past.entry.commit if isinstance(past.entry, DecisionEntry) else None
    if commit is not None and _SHA.fullmatch(commit):
        yield CommitSha(commit)


def _replay_policy(
    workspace: Workspace, name: str, pasts: Sequence[PastDecision], rules: TrustRules, since_ns: int
) -> SimulationResult:
    workspace.progress.start(f"replaying {name}", len(pasts))
    return simulate_policy(pasts, rules, since_ns, workspace.progress.step)


def _report_simulated_policy(name: str, simulated: SimulationResult) -> SimulatedPolicy:
    landing, target = simulated.tally(), simulated.rules.reverted_share_max
    share = landing.bad_share
    return SimulatedPolicy(
        name=name,
        rules_digest=format_digest(digest_rule_tables({"trust": simulated.rules})),
        target=target,
        within=None if share is None else share <= target,
        landing=_report_merge_share(landing),
        controlled=_report_merge_share(simulated.controlled),
        reasons=simulated.reasons(),
        agents=[
            AgentMergeShare(agent=agent, landing=_report_merge_share(agent_tally))
            for agent, agent_tally in sorted(
                simulated.tally_by_agent().items(), key=lambda row: (-row[1].approved, row[0])
            )
        ],
    )


def _report_merge_share(tally: PolicyTally) -> MergeShare:
    return MergeShare(
        changes=tally.changes,
        approved=tally.approved,
        lines=tally.lines,
        modified=tally.modified,
        rejected=tally.rejected,
        reverted=tally.reverted,
        bad_share=tally.bad_share,
    )


def _choose_simulated_examples(simulated: Mapping[str, SimulationResult]) -> Iterator[SimulatedExample]:
    """Yield notable changes: the largest bad ones that would merge, then those on which the policies differ."""
    rows = list(zip(*(result.judged for result in simulated.values()), strict=True))
    bad = [row for row in rows if row[0].bad and any(change.approved for change in row)]
    differing = [row for row in rows if not row[0].bad and len({change.approved for change in row}) > 1]
    for chosen, why in ((bad, "merges and was bad"), (differing, "the policies differ")):
        for row in sorted(chosen, key=lambda row: (-row[0].lines, row[0].opened_ns, row[0].entry.id)):
            yield _report_simulated_example(dict(zip(simulated, row, strict=True)), why)


def _report_simulated_example(by_policy: Mapping[str, SimulatedChange], why: str) -> SimulatedExample:
    judged = next(iter(by_policy.values()))
    return SimulatedExample(
        agent=judged.agent,
        id=judged.entry.commit or judged.entry.id,
        opened=format_timestamp(judged.opened_ns),
        lines=judged.lines,
        outcome="reverted" if judged.reverted else judged.entry.decision.value,
        score=judged.score,
        chance=judged.chance,
        low=judged.low,
        why=why,
        reasons={name: list(change.reasons) for name, change in by_policy.items()},
    )


# Policies with moved sliders, compared with the rules in force.


TRIED = "tried"


class Slider(Struct, frozen=True, kw_only=True):
    """A number of a policy that can be moved; ``read`` takes it from rules, ``put`` returns rules with it.

    A ``percent`` is a hundred times the value in the rules.
    """

    name: str
    label: str
    least: float
    most: float
    step: float
    read: Callable[[TrustRules], float]
    put: Callable[[TrustRules, float], TrustRules]
    percent: bool = False


def _make_trust_rule_slider(name: str, *, whole: bool = False, share: bool = False) -> dict[str, Any]:
    """Return how a rule with one number is read and put."""
    scale = 100 if share else 1

    def put(rules: TrustRules, value: float) -> TrustRules:
        changed: dict[str, Any] = {name: round(value / scale) if whole else value / scale}
        return replace(rules, **changed)

    return {"read": lambda rules: getattr(rules, name) * scale, "put": put, "percent": share}


def _make_trust_tier_slider(place: int) -> dict[str, Any]:
    """Return how the least score of a tier is read and put."""

    def put(rules: TrustRules, value: float) -> TrustRules:
        bounds = list(rules.tier_score_min)
        bounds[place] = value
        # A bound that is moved past another one moves that too: bounds never fall.
        bounds = [
            min(bound, value) if n < place else max(bound, value) if n > place else bound
            for n, bound in enumerate(bounds)
        ]
        return replace(rules, tier_score_min=tuple(bounds))

    return {"read": lambda rules: rules.tier_score_min[place], "put": put}


def _set_approval_lines_max(rules: TrustRules, value: float) -> TrustRules:
    most = round(value)
    return replace(
        rules, approve_lines_max=most, tier_lines_max=tuple(min(number, most) for number in rules.tier_lines_max)
    )


SLIDERS: Mapping[str, Slider] = MappingProxyType(
    {
        slider.name: slider
        for slider in (
            Slider(
                name="target",
                label="Risk target: bad changes among those merged without review",
                least=0.1,
                most=20,
                step=0.1,
                **_make_trust_rule_slider("reverted_share_max", share=True),
            ),
            Slider(
                name="samples",
                label="Reviews that an agent needs",
                least=0,
                most=100,
                step=1,
                **_make_trust_rule_slider("approve_samples_min", whole=True),
            ),
            *(
                Slider(
                    name=TIERS[place],
                    label=f"Score from which an agent is {TIERS[place]}",
                    least=0,
                    most=1,
                    step=0.01,
                    **_make_trust_tier_slider(place),
                )
                for place in range(1, len(TIERS))
            ),
            Slider(
                name="lines",
                label="Most lines of a change merged without review",
                least=0,
                most=2_000,
                step=10,
                read=lambda rules: rules.approve_lines_max,
                put=_set_approval_lines_max,
            ),
            Slider(
                name="budget",
                label="Budget, as a multiple of the tier's line limit",
                least=0,
                most=20,
                step=0.5,
                **_make_trust_rule_slider("budget_tier_limits_max"),
            ),
            Slider(
                name="audit",
                label="Share selected for an audit",
                least=0,
                most=50,
                step=1,
                **_make_trust_rule_slider("audit_share", share=True),
            ),
        )
    }
)


def read_trust_slider_values(workspace: Workspace) -> dict[str, float]:
    """Return the value of each slider by the rules in force."""
    rules = load_trust_rules(workspace)
    return {name: round(slider.read(rules), 6) for name, slider in SLIDERS.items()}


class PolicyTrial(Struct, frozen=True):
    """The past between two times, and what the rules in force would have merged."""

    now_ns: int
    since_ns: int
    gathered: SimulationInput
    in_force: SimulationResult


def begin_policy_trial(gathered: SimulationInput, rules: TrustRules, since_ns: int, now_ns: int) -> PolicyTrial:
    """Judge the past by the rules in force."""
    return PolicyTrial(now_ns, since_ns, gathered, simulate_policy(gathered.pasts, rules, since_ns))


def try_policy(trial: PolicyTrial, rules: TrustRules, values: Mapping[str, float]) -> TrustSimulateReport:
    """Compare the rules in force with the same rules at the slider ``values``."""
    policy = rules
    for name, value in values.items():
        policy = SLIDERS[name].put(policy, value)
    simulated = trial.in_force if policy == rules else simulate_policy(trial.gathered.pasts, policy, trial.since_ns)
    both = {IN_FORCE: trial.in_force, TRIED: simulated}
    return report_policy_simulation(both, trial.gathered, trial.since_ns, trial.now_ns)
