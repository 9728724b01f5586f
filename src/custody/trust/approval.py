"""Whether a change may land without a person looking: the document's rule, and everything that is never so.

Each reason is a function that yields what it has against a change; a change that none of them has anything against is
approved, unless its head was drawn for an audit.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from custody.core.paths import matches
from custody.trust.model import Approval, ChangeAuthor, ReviewReason, ReviewRequirement, Trust
from custody.trust.rules import TrustRules
from custody.trust.score import against_record, against_size, lines_max

HOUR_NS = 3_600 * 1_000_000_000
MINUTE_NS = 60 * 1_000_000_000
SHOWN_MAX = 3
"""Paths that a sentence names; it counts the others."""
ROOT = "."
"""The area of files that lie in no folder."""
_DRAW_BYTES = 8


@dataclass(frozen=True, slots=True)
class TouchedPath:
    """A path that a change touches; ``odd`` says what about it cannot be read line by line, if anything."""

    path: str
    odd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange:
    """A change that is to land: its head, how many lines it adds and removes, what it touches.

    ``people`` are the names and addresses that its commits are signed with; ``unknown_lines`` were written by nobody
    can tell whom; ``newest_ns`` is the latest moment that a record or a commit of it claims.
    """

    head: str
    lines: int
    touched: tuple[TouchedPath, ...] = ()
    areas: tuple[str, ...] = ()
    people: frozenset[str] = frozenset()
    unknown_lines: int = 0
    newest_ns: int = 0


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """Lines that landed without review within the budget's window: the agent's, the operator's, each area's."""

    agent: int = 0
    operator: int = 0
    areas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCase:
    """Everything that is known when it is asked whether a change of one author may land."""

    change: ProposedChange
    author: ChangeAuthor
    trust: Trust
    now_ns: int
    spent: BudgetUse = BudgetUse()
    approver: str | None = None
    rejected_by: str | None = None
    """Who rejected this very change before, if anybody did."""
    chance: str | None = None
    """What the control of risk has against it, in a sentence; None when it has nothing or does not know enough."""
    erased: int = 0
    """Decisions that were erased and may have spoken against it: nobody knows any more what they said."""
    damage: str | None = None
    """What in the log is not as it was written; None when nothing was found, or another check tells it."""


def may_land(case: ApprovalCase, rules: TrustRules) -> Approval:
    """Whether the change may land without review, as far as this author goes; with every reason against it."""
    against = tuple(reason for say in NEVERS for reason in say(case, rules))
    if not against and is_drawn(case.change.head, rules):
        against = (
            ReviewReason(ReviewRequirement.AUDIT, f"the change was drawn for an audit, as {rules.audit_share:.1%} are"),
        )
    return Approval(against)


def nobody_known(change: ProposedChange, *, persons: int) -> Approval:
    """The answer about a change of which no agent can be told: nobody's record speaks for it."""
    if persons and not change.unknown_lines:
        return Approval(
            (ReviewReason(ReviewRequirement.UNKNOWN, f"no agent wrote it: {persons} added line(s) are persons' own"),)
        )
    return Approval((ReviewReason(ReviewRequirement.UNKNOWN, "it cannot be told which agent wrote the change"),))


def is_drawn(head: str, rules: TrustRules) -> bool:
    """Whether a head is one of those that a person looks at in any case: by its digest, so that nobody can try again.

    >>> is_drawn("a" * 40, TrustRules(audit_share=1.0)), is_drawn("a" * 40, TrustRules(audit_share=0.0))
    (True, False)
    """
    drawn = int.from_bytes(hashlib.sha256(head.encode()).digest()[:_DRAW_BYTES], "big")
    return drawn < rules.audit_share * float(1 << 8 * _DRAW_BYTES)


def budget_of(trust: Trust, rules: TrustRules) -> int:
    """How many lines may land without review in the budget's window."""
    return int(lines_max(trust.tier, rules) * rules.budget_tier_limits_max)


def compute_budget_left(case: ApprovalCase, rules: TrustRules) -> int:
    """How many more lines may land now: what the tightest of agent, operator and areas leaves."""
    used = max((case.spent.agent, case.spent.operator, *_of_areas(case).values()))
    return max(0, budget_of(case.trust, rules) - used)


def budget_since_ns(now_ns: int, rules: TrustRules) -> int:
    """When the budget's window began; what was recorded later than now is in it too."""
    return now_ns - round(rules.budget_hours * HOUR_NS)


def area_of(path: str, rules: TrustRules) -> str:
    """The area that a path belongs to: the first of the policy's that fits, else its top-level folder.

    >>> area_of("src/pay/card.py", TrustRules(areas=("billing: src/pay/**",))), area_of("src/a.py", TrustRules())
    ('billing', 'src')
    """
    for row in rules.areas:
        name, _, pattern = row.partition(": ")
        if matches(pattern, path):
            return name
    folder, found, _ = path.partition("/")
    return folder if found else ROOT


def _unknown(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.change.unknown_lines:
        yield ReviewReason(
            ReviewRequirement.UNKNOWN, f"nothing shows who wrote {case.change.unknown_lines} added line(s)"
        )
    if case.erased:
        yield ReviewReason(
            ReviewRequirement.UNKNOWN,
            f"{case.erased} decision(s) that may concern it were erased: nobody knows what they said",
        )


def _record(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    yield from against_record(case.trust, rules)


def _size(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    yield from against_size(case.trust, case.change.lines, rules)


def _budget(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    most = budget_of(case.trust, rules)
    operator = case.author.operator or "nobody known"
    used = {
        f"of '{case.author.agent}'": case.spent.agent,
        f"of what {operator} runs": case.spent.operator,
        **{f"in '{area}'": lines for area, lines in _of_areas(case).items()},
    }
    alone = case.change.lines > lines_max(case.trust.tier, rules)
    for whose, lines in used.items():
        # What is too large by itself was said already.
        if lines + case.change.lines > most and (lines or not alone):
            yield ReviewReason(
                ReviewRequirement.BUDGET,
                f"{lines} line(s) {whose} landed without review in the last {rules.budget_hours:g} hour(s):"
                f" {case.change.lines} more would exceed {most}",
            )


def _of_areas(case: ApprovalCase) -> dict[str, int]:
    return {area: case.spent.areas.get(area, 0) for area in case.change.areas}


def _path(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    named = [
        touched_path.path
        for touched_path in case.change.touched
        if any(matches(pattern, touched_path.path) for pattern in rules.review_paths)
    ]
    if named:
        yield ReviewReason(ReviewRequirement.PATH, f"the rules ask for a review of {_listed(named)}")


def _kind(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    odd = [
        f"{touched_path.path} {touched_path.odd}"
        for touched_path in case.change.touched
        if touched_path.odd is not None
    ]
    if odd:
        yield ReviewReason(ReviewRequirement.KIND, _listed(odd))


def _self(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.approver is None:
        return
    authors = {case.author.agent, *case.change.people} | ({case.author.operator} - {None})
    if _plain(case.approver) in {_plain(str(author)) for author in authors}:
        yield ReviewReason(
            ReviewRequirement.SELF, f"'{case.approver}' is an author of the change and cannot approve it"
        )


def _rejected(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.rejected_by is not None:
        yield ReviewReason(ReviewRequirement.REJECTED, f"this very change was rejected by {case.rejected_by}")


def _log(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.damage is not None:
        yield ReviewReason(ReviewRequirement.LOG, f"the log is not as it was written: {case.damage}")


def _clock(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    if case.change.newest_ns > case.now_ns + round(rules.approve_clock_minutes_max * MINUTE_NS):
        yield ReviewReason(
            ReviewRequirement.CLOCK, "the clock is behind what was recorded: it was set back, or a record's was ahead"
        )


def _chance(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.chance is not None:
        yield ReviewReason(ReviewRequirement.CHANCE, case.chance)


NEVERS: tuple[Callable[[ApprovalCase, TrustRules], Iterator[ReviewReason]], ...] = (
    *(_unknown, _record, _size, _budget, _path, _kind, _self, _rejected, _log, _clock, _chance),
)


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _listed(some: list[str]) -> str:
    more = f" and {len(some) - SHOWN_MAX} more" if len(some) > SHOWN_MAX else ""
    return ", ".join(some[:SHOWN_MAX]) + more
