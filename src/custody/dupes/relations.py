"""What a change is to another beyond being like it: its backport, its revert, its return, a part of it, built on it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.dupes.model import Category, PairScore, Relation, Signature
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import containment

# What the messages of a change refer to: issues, pull requests, other commits. Who wrote them, if a machine did.


MESSAGE_CHARS_MAX = 20_000
"""Of longer messages only so much is read."""

_NUMBER = r"(?:[\w.-]{1,64}/[\w.-]{1,64})?(?:#|gh-|GH-)(\d{1,7})\b"
_CLOSING = re.compile(rf"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|ticket)\b[ :]{{0,3}}{_NUMBER}", re.IGNORECASE)
_MENTION = re.compile(_NUMBER)
_URL = re.compile(r"github\.com/[\w.-]{1,100}/[\w.-]{1,100}/(?:issues|pull)/(\d{1,7})\b")
_SHA = r"([0-9a-f]{7,64})\b"
_PICKED = re.compile(
    rf"(?:cherry[ -]picked from (?:commit )?|backport(?:ed)?(?: of| from)?(?: commit)? |\[PR #\d{{1,7}}/){_SHA}"
    r"[^\n\]]{0,80}",
    re.IGNORECASE,
)
_REVERTED = re.compile(rf"\breverts? (?:commit |changeset )?{_SHA}", re.IGNORECASE)
_REVERT_TITLE = re.compile(r'^\s*revert:? ["\']?', re.IGNORECASE)
_RELAND_TITLE = re.compile(r"^\s*(?:re-?land(?:ed)?|re-?apply|reapply)\b", re.IGNORECASE)
_RELEASE_TITLE = re.compile(
    r"^\s*(?:chore\(release\)|release|bump(?:ed)? version|version bump|prepare(?: for)? release"
    r"|v?\d+\.\d+(?:\.\d+)?\s*$)",
    re.IGNORECASE,
)
_BOT = re.compile(
    r"\[bot\]|(?:^|[^a-z])bot(?:$|[^a-z])|dependabot|renovate|pre-commit-ci|pyup|greenkeeper", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class MessageReferences:
    """What is referred to, as it is written: numbers of issues, starts of commit ids."""

    closing: frozenset[str]
    mentioned: frozenset[str]
    picked: frozenset[str]
    reverted: frozenset[str]


def referred(texts: Iterable[str]) -> MessageReferences:
    """Everything that messages refer to.

    >>> referred(["Fixed #12 -- a (#13)"]).closing, sorted(referred(["Fixed #12 -- a (#13)"]).mentioned)
    (frozenset({'12'}), ['12', '13'])
    """
    text = _read(texts)
    return MessageReferences(
        closing=frozenset(_CLOSING.findall(text)),
        mentioned=frozenset((*_MENTION.findall(text), *_URL.findall(text))),
        picked=frozenset(sha.lower() for sha in _PICKED.findall(text)),
        reverted=frozenset(sha.lower() for sha in _REVERTED.findall(text)),
    )


def without_pointers(text: str) -> str:
    """A message without the sentences that name the commit it was taken from: those are evidence of their own."""
    return _REVERTED.sub("", _PICKED.sub("", text[:MESSAGE_CHARS_MAX]))


def says_revert(title: str) -> bool:
    """Whether a title says that something is taken back."""
    return bool(_REVERT_TITLE.match(title))


def says_reland(title: str) -> bool:
    """Whether a title says that something comes again."""
    return bool(_RELAND_TITLE.match(title))


def is_release(title: str) -> bool:
    """Whether a title is that of a release or of a version bump: these are alike without being duplicates."""
    return bool(_RELEASE_TITLE.match(title))


def is_bot(author: str) -> bool:
    """Whether a name is that of a machine."""
    return bool(_BOT.search(author))


def _read(texts: Iterable[str]) -> str:
    return "\n".join(texts)[:MESSAGE_CHARS_MAX]


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
