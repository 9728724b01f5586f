"""How where an agent stands, and what a decision did, are said in words."""

from custody.trust.wire.report import ScoreStepReport, TrustLine

SHORT_DIGITS = 12
SECOND_SIGNS = len("2026-01-31T12:00:00")


def standing_line(line: TrustLine) -> str:
    """Score, tier and counts."""
    sure = f"confidence {line.confidence:.2f}" + ("" if line.meaningful else ", too few to mean much")
    counts = f"{line.accepted} accepted, {line.modified} modified, {line.rejected} rejected"
    return f"{line.score:.4f} {line.tier.upper():<9} {counts} ({sure})"


def step_line(step: ScoreStepReport) -> str:
    """One record and what it did."""
    what = step.kind if step.kind == "recovery" else f"{step.kind} {step.decision}".removeprefix("decision ")
    size = "" if step.weight is None else f", weight {step.weight:.2f}, step {step.step:.3f}"
    about = f" {step.commit[:SHORT_DIGITS]}" if step.commit else ""
    by = f" by {step.actor}" if step.actor else ""
    said = f": {step.reason}" if step.reason else ""
    notes = f" [{'; '.join(step.notes)}]" if step.notes else ""
    moved = f"{step.before:.4f} -> {step.after:.4f}" if step.counts else f"{step.before:.4f} (not counted)"
    # A decision about a commit is named by the commit, which is told already.
    name = "" if step.commit and step.id == f"commit:{step.commit}" else f" (id {step.id})"
    return f"{moment_line(step.at)}  {moved}  {what}{about}{size}{by}{said}{notes}{name}"


def moment_line(at: str) -> str:
    """A moment to the second."""
    return f"{at[:SECOND_SIGNS]}Z"
