"""Try a policy on the past: numbers of the rules in force are moved, and what would have landed is compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from custody.trust.app.folder import trust_rules
from custody.trust.app.simulate import IN_FORCE, SimulationInput, report_simulation
from custody.trust.rules import TIERS, TrustRules
from custody.trust.simulate import SimulationResult, simulate
from custody.trust.wire.chance import TrustSimulateReport
from custody.workspace.workspace import Workspace

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
