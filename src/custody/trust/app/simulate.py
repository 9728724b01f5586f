"""Try a policy on the past: recorded decisions, and plain git history before anything was recorded."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.core.wire.time import ns_from, text_from
from custody.git import Comparison, NoObject
from custody.trust.app.approval_case import proposed_lines, touched_by
from custody.trust.app.chance import list_counted_decisions
from custody.trust.app.decisions import FolderWorkspace, read_settled_decisions, trust_rules
from custody.trust.app.git_history import CommitDecisions, history
from custody.trust.app.record import areas_of
from custody.trust.model import ChangeStakes, DecisionEntry
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TIERS, TrustRules
from custody.trust.simulate import PolicyTally, SimulatedChange, SimulationResult, simulate
from custody.trust.wire import AgentMergeShare, MergeShare, SimulatedExample, SimulatedPolicy, TrustSimulateReport
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


# Try a policy on the past: numbers of the rules in force are moved, and what would have landed is compared.


TRIED = "tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A number of a policy that can be moved; ``read`` takes it from rules, ``put`` gives rules that have it.

    A ``percent`` is a hundred times what the rules hold.
    """

    name: str
    label: str
    least: float
    most: float
    step: float
    read: Callable[[TrustRules], float]
    put: Callable[[TrustRules, float], TrustRules]
    percent: bool = False


def _number(name: str, *, whole: bool = False, share: bool = False) -> dict[str, Any]:
    """How a rule that is one number is read and put."""
    scale = 100 if share else 1

    def put(rules: TrustRules, value: float) -> TrustRules:
        found: dict[str, Any] = {name: round(value / scale) if whole else value / scale}
        return replace(rules, **found)

    return {"read": lambda rules: getattr(rules, name) * scale, "put": put, "percent": share}


def _tier(place: int) -> dict[str, Any]:
    """How the least score of a tier is read and put."""

    def put(rules: TrustRules, value: float) -> TrustRules:
        bounds = list(rules.tier_score_min)
        bounds[place] = value
        # A tier whose bound is pushed past another's takes that one along: bounds never fall.
        bounds = [
            min(bound, value) if n < place else max(bound, value) if n > place else bound
            for n, bound in enumerate(bounds)
        ]
        return replace(rules, tier_score_min=tuple(bounds))

    return {"read": lambda rules: rules.tier_score_min[place], "put": put}


def _lines(rules: TrustRules, value: float) -> TrustRules:
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
                label="Risk target: bad changes among those that land unseen",
                least=0.1,
                most=20,
                step=0.1,
                **_number("reverted_share_max", share=True),
            ),
            Slider(
                name="samples",
                label="Decisions that an agent needs",
                least=0,
                most=100,
                step=1,
                **_number("approve_samples_min", whole=True),
            ),
            *(
                Slider(
                    name=TIERS[place],
                    label=f"Score from which an agent is {TIERS[place]}",
                    least=0,
                    most=1,
                    step=0.01,
                    **_tier(place),
                )
                for place in range(1, len(TIERS))
            ),
            Slider(
                name="lines",
                label="Most lines of a change that lands unseen",
                least=0,
                most=2_000,
                step=10,
                read=lambda rules: rules.approve_lines_max,
                put=_lines,
            ),
            Slider(
                name="budget",
                label="Budget, as a multiple of the tier's line limit",
                least=0,
                most=20,
                step=0.5,
                **_number("budget_tier_limits_max"),
            ),
            Slider(
                name="audit",
                label="Share drawn for a person to look at",
                least=0,
                most=50,
                step=1,
                **_number("audit_share", share=True),
            ),
        )
    }
)


def slider_values(workspace: Workspace) -> dict[str, float]:
    """The value of each slider by the rules in force."""
    rules = trust_rules(workspace)
    return {name: round(slider.read(rules), 6) for name, slider in SLIDERS.items()}


@dataclass(frozen=True, slots=True)
class PolicyTrial:
    """What happened between two times, and what the rules in force would have let land of it."""

    now_ns: int
    since_ns: int
    gathered: SimulationInput
    in_force: SimulationResult


def begin_trial(gathered: SimulationInput, rules: TrustRules, since_ns: int, now_ns: int) -> PolicyTrial:
    """Judge what happened by the rules in force."""
    return PolicyTrial(now_ns, since_ns, gathered, simulate(gathered.pasts, rules, since_ns))


def try_policy(trial: PolicyTrial, rules: TrustRules, wished: Mapping[str, float]) -> TrustSimulateReport:
    """Compare the rules in force with the same rules in which the ``wished`` sliders are moved."""
    policy = rules
    for name, value in wished.items():
        policy = SLIDERS[name].put(policy, value)
    simulated = trial.in_force if policy == rules else simulate(trial.gathered.pasts, policy, trial.since_ns)
    both = {IN_FORCE: trial.in_force, TRIED: simulated}
    return report_simulation(both, trial.gathered, trial.since_ns, trial.now_ns)
