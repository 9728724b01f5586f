"""Policies tried on the past by somebody who moves sliders: the past is gathered once, and judged again and again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from custody.core.errors import InputError
from custody.server.page_data.cache import Lately, place_of
from custody.server.page_data.trust import few_enough, heads_of
from custody.trust.app.decisions import count_decisions
from custody.trust.app.folder import trust_rules
from custody.trust.app.simulate import IN_FORCE, Gathered, Source, gather, simulation_told
from custody.trust.rules import TIERS, TrustRules
from custody.trust.simulate import Simulated, simulate
from custody.trust.wire.chance import TrustSimulateReport
from custody.workspace.workspace import Desk, has_repository

TRIED = "tried"
NS_PER_DAY = 86_400 * 1_000_000_000
KEPT_NS_MAX = 120 * 1_000_000_000
"""After this the past is gathered again, since it has grown."""


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
            min(one, value) if n < place else max(one, value) if n > place else one for n, one in enumerate(bounds)
        ]
        return replace(rules, tier_score_min=tuple(bounds))

    return {"read": lambda rules: rules.tier_score_min[place], "put": put}


def _lines(rules: TrustRules, value: float) -> TrustRules:
    most = round(value)
    return replace(rules, approve_lines_max=most, tier_lines_max=tuple(min(one, most) for one in rules.tier_lines_max))


SLIDERS: Mapping[str, Slider] = MappingProxyType(
    {
        one.name: one
        for one in (
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


@dataclass(frozen=True, slots=True)
class _Past:
    """What happened, until when it was gathered, and what the rules in force make of it."""

    now_ns: int
    since_ns: int
    gathered: Gathered
    in_force: Simulated


_KEPT: Lately[_Past] = Lately(ns_max=KEPT_NS_MAX)


def slider_values(desk: Desk) -> dict[str, float]:
    """Where each slider stands by the rules in force."""
    rules = trust_rules(desk)
    return {name: round(slider.read(rules), 6) for name, slider in SLIDERS.items()}


def policy_tried(desk: Desk, wished: Mapping[str, float], *, days: int, source: Source) -> TrustSimulateReport:
    """What the rules in force, and the same with the ``wished`` numbers, would have let land in the last ``days``."""
    kept = _past(desk, days, source)
    rules = tried = trust_rules(desk)
    for name, value in wished.items():
        tried = SLIDERS[name].put(tried, value)
    simulated = kept.in_force if tried == rules else simulate(kept.gathered.pasts, tried, kept.since_ns)
    both = {IN_FORCE: kept.in_force, TRIED: simulated}
    return simulation_told(both, kept.gathered, kept.since_ns, kept.now_ns)


def _past(desk: Desk, days: int, source: Source) -> _Past:
    rules = trust_rules(desk)
    here = has_repository(desk)
    if source == "git" and not here:
        raise InputError("this service has no repository of the project", hint="look at records instead")
    with desk.reading() as store:
        few_enough(count_decisions(store))
        state = (heads_of(store), desk.repository.head().commit if here else None, rules, days, source)
    now_ns = desk.now_ns()
    since_ns = now_ns - days * NS_PER_DAY

    def made() -> _Past:
        gathered = gather(desk, rules, since_ns, now_ns, source if here else "records")
        few_enough(len(gathered.pasts))
        return _Past(now_ns, since_ns, gathered, simulate(gathered.pasts, rules, since_ns))

    return _KEPT.get(place_of(desk), state, now_ns, made)
