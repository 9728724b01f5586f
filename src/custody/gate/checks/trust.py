"""The check of trust: do the records of the agents that wrote the added lines let them land without a person looking?

It says nothing of lines that no agent wrote. Lines of nobody known are the business of attribution, whose reasons are
never milder than these.
"""

from collections.abc import Iterator, Sequence

from custody.gate.codes import Reason, ReasonCode
from custody.gate.model import AddedRange, GateEvidence, MissingEvidence, TrustAnswer
from custody.gate.rules import GateRules


def trust(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """What the agents' records have against the change; nothing where agents wrote none of it."""
    placed = [(path, stretch) for path, stretch in seen.ranges if stretch.whose.is_agent]
    if not placed:
        return
    if isinstance(seen.trust, MissingEvidence):
        yield rules.reason(ReasonCode.TRUST_UNKNOWN, seen.trust.why, seen.trust.remedy)
        return
    yield from _unanswered(placed, seen.trust, rules)
    authors = {stretch.author for _, stretch in placed}
    for answer in (trust_answer for trust_answer in seen.trust if trust_answer.author in authors):
        for against in answer.approval.against:
            yield rules.reason(ReasonCode(against.code.value), f"{answer.author.agent}: {against.sentence}")


def _unanswered(
    placed: Sequence[tuple[str, AddedRange]], answers: Sequence[TrustAnswer], rules: GateRules
) -> Iterator[Reason]:
    """Lines of an agent whose name is not known, or whose record nobody asked about."""
    known = {answer.author for answer in answers}
    open_ = [(path, stretch) for path, stretch in placed if stretch.author is None or stretch.author not in known]
    if open_:
        lines = sum(len(stretch.lines) for _, stretch in open_)
        path, first = open_[0]
        yield rules.reason(
            ReasonCode.TRUST_UNKNOWN,
            f"it is not known whose record speaks for {lines} added line(s), the first at '{path}:{first.lines.first}'",
        )
