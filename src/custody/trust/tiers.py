"""Which tier a score is in, and what an agent may land; this file is the only one that decides either."""

from collections.abc import Iterator

from custody.trust.model import Approval, Trust, TrustTier
from custody.trust.rules import TrustRules


def tier_of(score: float, rules: TrustRules) -> TrustTier:
    """The highest tier whose bound the score reaches, compared unrounded; equal bounds leave the lower tier empty."""
    reached = zip(TrustTier, rules.tier_score_min, strict=True)
    return [tier for tier, least in reached if score >= least][-1]


def lines_max(tier: TrustTier, rules: TrustRules) -> int:
    """The most lines that a tier may land without review."""
    return min(rules.tier_lines_max[tier.standing], rules.approve_lines_max)


def approve(trust: Trust, lines: int, rules: TrustRules) -> Approval:
    """Whether an agent with this trust may land a change of so many lines without review."""
    return Approval(tuple(_against(trust, lines, rules)))


def _against(trust: Trust, lines: int, rules: TrustRules) -> Iterator[str]:
    samples, most = trust.standing.samples, lines_max(trust.tier, rules)
    if trust.tier is TrustTier.UNTRUSTED:
        yield "the agent is UNTRUSTED"
    if samples < rules.approve_samples_min:
        yield f"the agent has {samples} decision(s), fewer than {rules.approve_samples_min}"
    # Waiting must not be a way out of a bad record: neutral is more than what the agent has earned.
    if tier_of(trust.standing.score, rules).standing < trust.tier.standing:
        yield f"the agent reached {trust.tier.name} only by being idle"
    if lines > most:
        yield f"the change has {lines} line(s), more than the {most} of {trust.tier.name}"
