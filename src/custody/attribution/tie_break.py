"""Which of several traces with enough evidence is the answer. This file is the only one that decides ties."""

from dataclasses import dataclass

from custody.attribution.model import Segment, TraceCandidate
from custody.core.evidence import Evidence

_NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate with what was seen in it and the tier that it reaches."""

    candidate: TraceCandidate
    evidence: Evidence
    tier: int


RankKey = tuple[int, float, int, tuple[bool, int], tuple[str, ...]]


def rank_candidate(segment: Segment, weighed: RankedCandidate) -> RankKey:
    """The smaller, the better: tier, score, text support, the latest not after the commit, the smaller id.

    Under the document's points a better tier is a better score. Where they differ, the tier leads: a mere claim must
    not displace what is certain by claiming more, and so the answer's tier is always the best that any trace reaches.
    """
    candidate = weighed.candidate
    return (
        weighed.tier,
        -weighed.evidence.score,
        -candidate.supports,
        _lateness(segment, candidate),
        _name(candidate),
    )


def best_of(segment: Segment, weighed: list[RankedCandidate]) -> RankedCandidate:
    """The one that stands best; the order of ``weighed`` never matters."""
    first = min(rank_candidate(segment, candidate) for candidate in weighed)
    # Two observations under one name differ only in what they say of the file; their own text decides.
    return min(
        (candidate for candidate in weighed if rank_candidate(segment, candidate) == first),
        key=lambda ranked_candidate: repr(ranked_candidate.candidate),
    )


def _lateness(segment: Segment, candidate: TraceCandidate) -> tuple[bool, int]:
    if candidate.at_ns is None or _is_after(candidate.at_ns, segment.at_ns):
        return True, 0
    return False, -candidate.at_ns


def _is_after(at_ns: int, commit_ns: int | None) -> bool:
    # git keeps whole seconds: a call in the commit's own second came before it.
    return commit_ns is not None and at_ns // _NS_PER_SECOND > commit_ns // _NS_PER_SECOND


def _name(candidate: TraceCandidate) -> tuple[str, ...]:
    trace = candidate.trace
    return (trace.id, trace.agent, trace.session, candidate.call or "")
