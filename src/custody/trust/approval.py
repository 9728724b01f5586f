"""Whether a change may merge without review: document 001's rule, and the cases that always need review.

Each function yields reasons against a change. A change without reasons is approved, unless it is selected for an audit.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from custody.core.identity import list_identities
from custody.core.paths import matches_path_pattern
from custody.core.plural import count_noun, noun_for_count
from custody.trust.model import Approval, ChangeAuthor, ReviewReason, ReviewRequirement, Trust
from custody.trust.rules import TrustRules
from custody.trust.score import (
    count_missing_reviews,
    find_record_reasons,
    find_size_reasons,
    read_tier_lines_max,
)

HOUR_NS = 3_600 * 1_000_000_000
CLOCK_LAG_NS_MAX = 5 * 60 * 1_000_000_000
"""How far the clock may lag behind the newest record; with a larger lag nothing is approved."""
REVIEWED_SIZES_MAX = 2
"""Nothing larger than this many times the largest reviewed change merges without review: small ones vouch for small."""
SHOWN_MAX = 3
"""Paths named in a sentence; the others are counted."""
ROOT = "."
"""The area of files at the top level."""
_DRAW_BYTES = 8
_DRAW_PURPOSE = b"custody audit 1\0"


class TouchedPath(Struct, frozen=True):
    """A path that a change touches; ``odd`` says why it cannot be judged by its lines, if so."""

    path: str
    odd: str | None = None


class ProposedChange(Struct, frozen=True, kw_only=True):
    """A change to merge: its head, its patch identity, the number of lines it adds and removes, the paths it touches.

    ``people`` are the names and email addresses on its commits. ``unknown_lines`` have no live evidence of an author.
    ``unvouched`` are the paths of files that no recorded edit made what they are. ``unsearched`` commits
    were not compared with rejected changes.
    ``newest_ns`` is the latest time that a record or one of its commits claims.
    """

    head: str
    lines: int
    patch: str = ""
    touched: tuple[TouchedPath, ...] = ()
    areas: tuple[str, ...] = ()
    people: frozenset[str] = frozenset()
    unknown_lines: int = 0
    unvouched: tuple[str, ...] = ()
    unsearched: int = 0
    newest_ns: int = 0


class BudgetUse(Struct, frozen=True):
    """Lines merged without review within the budget window: the agent's, the operator's, each area's."""

    agent: int = 0
    operator: int = 0
    areas: Mapping[str, int] = field(default_factory=dict)


class ApprovalCase(Struct, frozen=True, kw_only=True):
    """All evidence for the decision whether one author's change may merge."""

    change: ProposedChange
    author: ChangeAuthor
    trust: Trust
    now_ns: int
    spent: BudgetUse = BudgetUse()
    approver: str | None = None
    rejected_by: str | None = None
    """Who rejected or reverted this change before, if anybody did."""
    risk_objection: str | None = None
    """The objection of risk control as a sentence; None if it has none or knows too little."""
    erased: int = 0
    """Erased decisions that may have been against the change."""
    reviewed_lines: int | None = None
    """The lines of the author's largest reviewed change; None without such a limit."""
    damage: str | None = None
    """A later change of the log; None if nothing was found, or another check reports it."""
    is_drawn: bool = False
    """Whether the change is selected for an audit, should it pass."""


def decide_approval(case: ApprovalCase, rules: TrustRules) -> Approval:
    """Return whether the change may merge without review as far as this author goes, with every reason against it."""
    against = tuple(reason for find in NEVERS for reason in find(case, rules))
    if not against and case.is_drawn:
        sentence = f"the change was selected for an audit ({rules.audit_share:.1%} of changes are)"
        against = (ReviewReason(ReviewRequirement.AUDIT, sentence),)
    return Approval(against)


def refuse_unknown_author(change: ProposedChange, *, persons: int) -> Approval:
    """Return the refusal for a change without a known agent."""
    if persons and not change.unknown_lines:
        verb = noun_for_count(persons, "is", "are")
        sentence = f"no agent wrote the change: {count_noun(persons, 'added line')} {verb} by people"
        return Approval((ReviewReason(ReviewRequirement.UNKNOWN, sentence),))
    return Approval((ReviewReason(ReviewRequirement.UNKNOWN, "cannot tell which agent wrote the change"),))


def is_drawn_for_audit(patch: str, key: bytes, rules: TrustRules) -> bool:
    """Return whether a patch is selected for an audit, which only the holder of the key can tell before.

    Another message or base does not draw again.

    >>> [is_drawn_for_audit("a" * 64, b"key", TrustRules(audit_share=share)) for share in (1.0, 0.0)]
    [True, False]
    """
    digest = hmac.new(key, _DRAW_PURPOSE + patch.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:_DRAW_BYTES], "big") < rules.audit_share * float(1 << 8 * _DRAW_BYTES)


def compute_merge_budget(trust: Trust, rules: TrustRules) -> int:
    """Return how many lines may merge without review in the budget window."""
    return int(read_tier_lines_max(trust.tier, rules) * rules.budget_tier_limits_max)


def compute_budget_left(case: ApprovalCase, rules: TrustRules) -> int:
    """Return how many more lines may merge now: the tightest budget of agent, operator and areas."""
    used = max((case.spent.agent, case.spent.operator, *_list_area_budget_use(case).values()))
    return max(0, compute_merge_budget(case.trust, rules) - used)


def budget_since_ns(now_ns: int, rules: TrustRules) -> int:
    """Return the start of the budget window; records later than now are inside it too."""
    return now_ns - round(rules.budget_hours * HOUR_NS)


def find_trust_area(path: str, rules: TrustRules) -> str:
    """Return the area of a path: the first matching one of the rules, else its top-level folder.

    >>> rules = TrustRules(areas=("billing: src/pay/**",))
    >>> find_trust_area("src/pay/card.py", rules), find_trust_area("src/a.py", rules)
    ('billing', 'src')
    """
    for row in rules.areas:
        name, _, pattern = row.partition(": ")
        if matches_path_pattern(pattern, path):
            return name
    folder, slash, _ = path.partition("/")
    return folder if slash else ROOT


def _find_unknown_author_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.change.unknown_lines:
        lines = count_noun(case.change.unknown_lines, "added line")
        verb = noun_for_count(case.change.unknown_lines, "is", "are")
        yield ReviewReason(ReviewRequirement.UNKNOWN, f"{lines} {verb} not backed by a live recording")
    if case.change.unvouched:
        named = _join_review_paths([f"'{path}'" for path in case.change.unvouched])
        sentence = f"no recorded edit made these files what they are: {named}"
        yield ReviewReason(ReviewRequirement.UNKNOWN, sentence)
    if case.change.unsearched:
        commits = count_noun(case.change.unsearched, "commit")
        verb = noun_for_count(case.change.unsearched, "was", "were")
        yield ReviewReason(ReviewRequirement.UNKNOWN, f"{commits} {verb} not compared with rejected changes")
    if case.erased:
        verb = noun_for_count(case.erased, "was", "were")
        sentence = f"{count_noun(case.erased, 'decision')} that may concern the change {verb} erased"
        yield ReviewReason(ReviewRequirement.UNKNOWN, sentence)


def _find_record_reasons(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    yield from find_record_reasons(case.trust, rules)


def _find_size_reasons(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    too_large = tuple(find_size_reasons(case.trust, case.change.lines, rules))
    yield from too_large
    if too_large or case.reviewed_lines is None or count_missing_reviews(case.trust, rules):
        return  # it cannot merge anyway
    if case.change.lines > REVIEWED_SIZES_MAX * case.reviewed_lines:
        sentence = (
            f"the change has {count_noun(case.change.lines, 'line')}, more than twice the"
            f" {case.reviewed_lines:,} of the largest reviewed change of '{case.author.agent}'"
        )
        yield ReviewReason(ReviewRequirement.SIZE, sentence)


def _find_budget_reasons(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    most = compute_merge_budget(case.trust, rules)
    operator = "an unknown operator" if case.author.operator is None else f"operator {case.author.operator}"
    used = {
        f"of '{case.author.agent}'": case.spent.agent,
        f"of {operator}": case.spent.operator,
        **{f"in '{area}'": lines for area, lines in _list_area_budget_use(case).items()},
    }
    alone = case.change.lines > read_tier_lines_max(case.trust.tier, rules)
    for owner, lines in used.items():
        # A change that is too large by itself has a reason already.
        if lines + case.change.lines > most and (lines or not alone):
            verb = noun_for_count(lines, "was", "were")
            window = "the last hour" if rules.budget_hours == 1 else f"the last {rules.budget_hours:g} hours"
            yield ReviewReason(
                ReviewRequirement.BUDGET,
                f"{count_noun(lines, 'line')} {owner} {verb} merged without review in {window};"
                f" {case.change.lines:,} more would exceed the budget of {most:,}",
            )


def _list_area_budget_use(case: ApprovalCase) -> dict[str, int]:
    return {area: case.spent.areas.get(area, 0) for area in case.change.areas}


def _find_path_reasons(case: ApprovalCase, rules: TrustRules) -> Iterator[ReviewReason]:
    named = [
        touched_path.path
        for touched_path in case.change.touched
        if any(matches_path_pattern(pattern, touched_path.path) for pattern in rules.review_paths)
    ]
    if named:
        yield ReviewReason(
            ReviewRequirement.PATH, f"trust.review_paths requires a review of {_join_review_paths(named)}"
        )


def _find_file_kind_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    odd = [
        f"{touched_path.path} {touched_path.odd}"
        for touched_path in case.change.touched
        if touched_path.odd is not None
    ]
    if odd:
        yield ReviewReason(ReviewRequirement.KIND, _join_review_paths(odd))


def _find_self_approval_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.approver is None:
        return
    authors = list_identities((case.author.agent, case.author.operator, *case.change.people))
    if list_identities((case.approver,)) & authors:
        yield ReviewReason(
            ReviewRequirement.SELF, f"'{case.approver}' is an author of the change and cannot approve it"
        )


def _find_rejection_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.rejected_by is not None:
        yield ReviewReason(
            ReviewRequirement.REJECTED, f"this change was already rejected or reverted by {case.rejected_by}"
        )


def _find_log_damage_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.damage is not None:
        yield ReviewReason(ReviewRequirement.LOG, f"the log was changed after recording: {case.damage}")


def _find_clock_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.change.newest_ns > case.now_ns + CLOCK_LAG_NS_MAX:
        yield ReviewReason(
            ReviewRequirement.CLOCK, "the clock is behind the records: it was set back, or another clock was ahead"
        )


def _find_acceptance_reasons(case: ApprovalCase, _rules: TrustRules) -> Iterator[ReviewReason]:
    if case.risk_objection is not None:
        yield ReviewReason(ReviewRequirement.CHANCE, case.risk_objection)


NEVERS: tuple[Callable[[ApprovalCase, TrustRules], Iterator[ReviewReason]], ...] = (
    _find_unknown_author_reasons,
    _find_record_reasons,
    _find_size_reasons,
    _find_budget_reasons,
    _find_path_reasons,
    _find_file_kind_reasons,
    _find_self_approval_reasons,
    _find_rejection_reasons,
    _find_log_damage_reasons,
    _find_clock_reasons,
    _find_acceptance_reasons,
)


def _join_review_paths(paths: list[str]) -> str:
    more = f" and {len(paths) - SHOWN_MAX} more" if len(paths) > SHOWN_MAX else ""
    return ", ".join(paths[:SHOWN_MAX]) + more
