"""What a change is to another beyond being like it: its backport, its revert, its return, a part of it, built on it."""

from collections.abc import Iterator
from dataclasses import dataclass

from custody.dupes.category import Category, Relation
from custody.dupes.model import PairScore, Signature
from custody.dupes.references import says_reland, says_revert
from custody.dupes.rules import DedupeRules
from custody.sketch.bottom_k import containment


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRelations:
    """What git tells about two changes: ``other`` is the earlier one.

    ``other_on_its_line``: it has landed where this one is to land.
    ``takes_back``: this one is the other one inverted. ``taken_back``: another change has undone the other since.
    """

    other_on_main: bool = False
    other_below_base: bool = False
    other_on_its_line: bool = False
    other_in_branch: bool = False
    takes_back: bool = False
    taken_back: bool = False


PART_LINES_MIN = 5
"""A change with fewer telling lines is not called a part of another: two imports are in many changes."""

RelationReason = tuple[Relation, str]
"""A relation, and why it holds."""


def relations(
    title: str, this: Signature, other: Signature, scored: PairScore, around: GitRelations, rules: DedupeRules
) -> tuple[RelationReason, ...]:
    """Every relation that holds, the most telling first."""
    same = scored.category is Category.SAME_CHANGE or bool(this.picked & other.commits)
    return (
        *_revert(title, this, other, around),
        *(_again(title, this, other, around) if same else ()),
        *_stacked(around),
        *_parts(this, other, scored, rules),
    )


def _revert(title: str, this: Signature, other: Signature, around: GitRelations) -> Iterator[RelationReason]:
    if around.takes_back:
        yield Relation.REVERT_OF, "its diff is the other one's, backwards"
    elif this.reverted & other.commits:
        yield Relation.REVERT_OF, "its message names the other one's commit" + (" and its title" * says_revert(title))


def _again(title: str, this: Signature, other: Signature, around: GitRelations) -> Iterator[RelationReason]:
    """The same once more: after it was taken back, on another line, or where it is already."""
    picked = bool(this.picked & other.commits)
    if says_reland(title) or (around.taken_back and not picked):
        yield Relation.RELAND_OF, "the other one was taken back since" if around.taken_back else "its title says so"
    elif around.other_below_base:
        yield Relation.ALREADY_ON_MAIN, "the other one is below its base"
    elif around.other_on_its_line:
        yield Relation.ALREADY_ON_MAIN, "the other one has landed there since its base"
    elif picked:
        yield Relation.BACKPORT_OF, "its message names the other one's commit"
    elif around.other_on_main:
        yield Relation.BACKPORT_OF, "the other one has landed on another line"


def _stacked(around: GitRelations) -> Iterator[RelationReason]:
    if around.other_in_branch and not around.other_below_base:
        yield Relation.STACKED_ON, "the other one's head is one of its commits"


def _parts(this: Signature, other: Signature, scored: PairScore, rules: DedupeRules) -> Iterator[RelationReason]:
    """Where nearly all lines of one are in the other, which has clearly more."""
    if scored.category is Category.SAME_CHANGE or min(this.lines.size, other.lines.size) < PART_LINES_MIN:
        return
    for relation, part, whole in (
        (Relation.SUPERSET_OF, other, this),
        (Relation.SUBSET_OF, this, other),
    ):
        share = containment(part.lines, whole.lines)
        is_larger = whole.lines.size >= part.lines.size * (1 + rules.contain_growth_min)
        if share is not None and share > rules.contain_min and is_larger:
            yield relation, f"{share:.0%} of the changed lines of the smaller one are in the larger one"
