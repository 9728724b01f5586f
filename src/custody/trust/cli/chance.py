"""A chance of acceptance in words; several verbs tell one."""

from collections.abc import Iterator

from custody.trust.wire.chance import ChancePart, ChanceReport


def render_chance(chance: ChanceReport) -> Iterator[str]:
    """A chance of acceptance with everything that it is the sum of."""
    for part in chance.account:
        yield f"{part.points:+.4f}  {part.name}{_behind(part)}"
    yield (
        f"{chance.logit:+.4f} log-odds: chance of acceptance {chance.probability:.4f}, at least {chance.low:.4f},"
        f" from {chance.samples:.1f} decision(s) about the agent as they have faded"
    )
    realised = "nothing" if chance.realised is None else f"{chance.realised:.2%} of {chance.realised_count:,}"
    allows = "risk control can show nothing yet" if chance.threshold is None else f"from {chance.threshold:g} on"
    yield f"risk target {chance.target:.1%}, realised {realised} in {chance.seen:,} decision(s); lets through: {allows}"


def _behind(part: ChancePart) -> str:
    samples = "" if part.samples is None else f" from {part.samples:.1f}"
    return "" if part.value is None else f" ({part.value:.4g}{samples})"
