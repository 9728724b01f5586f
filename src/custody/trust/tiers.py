"""Which tier a score is in, and what an agent may land; this file is the only one that decides either."""

from collections.abc import Iterator

from custody.trust.model import Approval, ReviewReason, ReviewRequirement, Trust, TrustTier
from custody.trust.rules import TrustRules
from custody.trust.score import samples_of


def tier_of(score: float, rules: TrustRules) -> TrustTier:
    """The highest tier whose bound the score reaches, compared unrounded; equal bounds leave the lower tier empty."""
    reached = zip(TrustTier, rules.tier_score_min, strict=True)
    return [tier for tier, least in reached if score >= least][-1]


def lines_max(tier: TrustTier, rules: TrustRules) -> int:
    """The most lines that a tier may land without review."""
    return min(rules.tier_lines_max[tier.standing], rules.approve_lines_max)


def approve(trust: Trust, lines: int, rules: TrustRules) -> Approval:
    """Whether an agent with this trust may land a change of so many lines without review."""
    return Approval(tuple(against_record(trust, rules)) + tuple(against_size(trust, lines, rules)))


def against_record(trust: Trust, rules: TrustRules) -> Iterator[ReviewReason]:
    """What an agent's record has against any change of its own."""
    samples = samples_of(trust.standing, rules)
    if trust.tier is TrustTier.UNTRUSTED:
        yield ReviewReason(ReviewRequirement.UNTRUSTED, "the agent is UNTRUSTED")
    if samples < rules.approve_samples_min:
        inherited = f", {trust.standing.inherited} of them about another model" if trust.standing.inherited else ""
        counted = f"the agent has {trust.standing.samples} decision(s){inherited}"
        yield ReviewReason(ReviewRequirement.SAMPLES, f"{counted}, fewer than {rules.approve_samples_min}")
    # Waiting must not be a way out of a bad record: neutral is more than what the agent has earned.
    if tier_of(trust.earned, rules).standing < trust.tier.standing:
        yield ReviewReason(ReviewRequirement.IDLE, f"the agent reached {trust.tier.name} only by being idle")


def against_size(trust: Trust, lines: int, rules: TrustRules) -> Iterator[ReviewReason]:
    """Whether a change is larger than the agent's tier may land."""
    most = lines_max(trust.tier, rules)
    if lines > most:
        yield ReviewReason(
            ReviewRequirement.SIZE, f"the change has {lines} line(s), more than the {most} of {trust.tier.name}"
        )
