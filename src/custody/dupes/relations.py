"""Relations of changes beyond similarity: backport, revert, reland, part, stacked."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from custody.core.patterns import lazy_pattern
from custody.dupes.model import Category, PairScore, Relation, Signature
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import estimate_sketch_containment

# References in the messages of a change: issues, pull requests, other commits.


MESSAGE_CHARS_MAX = 20_000
"""Maximum characters read from all messages of a change together."""

_NUMBER = r"(?:[\w.-]{1,64}/[\w.-]{1,64})?(?:#|gh-|GH-)(\d{1,7})\b"
_CLOSING = lazy_pattern(
    rf"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|ticket)\b[ :]{{0,3}}{_NUMBER}", re.IGNORECASE
)
_MENTION = lazy_pattern(_NUMBER)
_URL = lazy_pattern(r"github\.com/[\w.-]{1,100}/[\w.-]{1,100}/(?:issues|pull)/(\d{1,7})\b")
_SHA = r"([0-9a-f]{7,64})\b"
_PICKED = lazy_pattern(
    rf"(?:cherry[ -]picked from (?:commit )?|backport(?:ed)?(?: of| from)?(?: commit)? |\[PR #\d{{1,7}}/){_SHA}"
    r"[^\n\]]{0,80}",
    re.IGNORECASE,
)
_REVERTED = lazy_pattern(rf"\breverts? (?:commit |changeset )?{_SHA}", re.IGNORECASE)
_REVERT_TITLE = lazy_pattern(r'^\s*revert:? ["\']?', re.IGNORECASE)
_RELAND_TITLE = lazy_pattern(r"^\s*(?:re-?land(?:ed)?|re-?apply|reapply)\b", re.IGNORECASE)
_RELEASE_TITLE = lazy_pattern(
    r"^\s*(?:chore\(release\)|release|bump(?:ed)? version|version bump|prepare(?: for)? release"
    r"|v?\d+\.\d+(?:\.\d+)?\s*$)",
    re.IGNORECASE,
)
_BOT = lazy_pattern(
    r"\[bot\]|(?:^|[^a-z])bot(?:$|[^a-z])|dependabot|renovate|pre-commit-ci|pyup|greenkeeper", re.IGNORECASE
)


class MessageReferences(Struct, frozen=True):
    """References as written: numbers of issues, prefixes of commit ids."""

    closing: frozenset[str]
    mentioned: frozenset[str]
    picked: frozenset[str]
    reverted: frozenset[str]


def find_message_references(texts: Iterable[str]) -> MessageReferences:
    """Return everything that messages refer to.

    >>> references = find_message_references(["Fixed #12 -- a (#13)"])
    >>> references.closing, sorted(references.mentioned)
    (frozenset({'12'}), ['12', '13'])
    """
    text = _join_commit_messages(texts)
    return MessageReferences(
        closing=frozenset(_CLOSING.findall(text)),
        mentioned=frozenset((*_MENTION.findall(text), *_URL.findall(text))),
        picked=frozenset(sha.lower() for sha in _PICKED.findall(text)),
        reverted=frozenset(sha.lower() for sha in _REVERTED.findall(text)),
    )


def strip_commit_pointers(text: str) -> str:
    """Return a message without references to picked or reverted commits, which are separate evidence."""
    return _REVERTED.sub("", _PICKED.sub("", text[:MESSAGE_CHARS_MAX]))


def is_revert_title(title: str) -> bool:
    """Return whether a title announces a revert."""
    return bool(_REVERT_TITLE.match(title))


def is_reland_title(title: str) -> bool:
    """Return whether a title announces a reland."""
    return bool(_RELAND_TITLE.match(title))


def is_release_title(title: str) -> bool:
    """Return whether a title announces a release or version bump: these are similar but not duplicates."""
    return bool(_RELEASE_TITLE.match(title))


def is_bot_change_author(author: str) -> bool:
    """Return whether a name is that of a bot."""
    return bool(_BOT.search(author))


def _join_commit_messages(texts: Iterable[str]) -> str:
    return "\n".join(texts)[:MESSAGE_CHARS_MAX]


class GitRelations(Struct, frozen=True, kw_only=True):
    """What git knows about a change and an ``other`` one.

    ``other_on_target``: it is merged into the branch that this one targets. ``reverts_other``: this one is the inverse
    of the other. ``other_reverted``: a later change reverted the other.
    """

    other_on_main: bool = False
    other_below_base: bool = False
    other_on_target: bool = False
    other_in_branch: bool = False
    reverts_other: bool = False
    other_reverted: bool = False


PART_LINES_MIN = 5
"""Lines that a change needs to be called part of another: two imports are in many changes."""

RelationReason = tuple[Relation, str]
"""A relation, and why it holds."""


def find_change_relations(
    title: str, this: Signature, other: Signature, score: PairScore, git: GitRelations, rules: DedupeRules
) -> tuple[RelationReason, ...]:
    """Return every relation of this change to the other, the most important first."""
    same = score.category is Category.SAME_CHANGE or bool(this.picked & other.commits)
    return (
        *_find_revert_relation(title, this, other, git),
        *(_find_repeat_relation(title, this, other, git) if same else ()),
        *_find_stack_relation(git),
        *_find_containment_relations(this, other, score, rules),
    )


def _find_revert_relation(title: str, this: Signature, other: Signature, git: GitRelations) -> Iterator[RelationReason]:
    if git.reverts_other:
        yield Relation.REVERT_OF, "its diff is the inverse of the other"
    elif this.reverted & other.commits:
        yield (
            Relation.REVERT_OF,
            "its message names a commit of the other" + (", its title says so" * is_revert_title(title)),
        )


def _find_repeat_relation(title: str, this: Signature, other: Signature, git: GitRelations) -> Iterator[RelationReason]:
    """Yield how the same change is repeated: merged again, backported, or already merged."""
    picked = bool(this.picked & other.commits)
    if is_reland_title(title) or (git.other_reverted and not picked):
        yield Relation.RELAND_OF, "the other was reverted since" if git.other_reverted else "its title says so"
    elif git.other_below_base:
        yield Relation.ALREADY_ON_MAIN, "the other is an ancestor of its base"
    elif git.other_on_target:
        yield Relation.ALREADY_ON_MAIN, "the other was merged there after its base"
    elif picked:
        yield Relation.BACKPORT_OF, "its message names a commit of the other"
    elif git.other_on_main:
        yield Relation.BACKPORT_OF, "the other is merged on another branch"


def _find_stack_relation(git: GitRelations) -> Iterator[RelationReason]:
    if git.other_in_branch and not git.other_below_base:
        yield Relation.STACKED_ON, "its commits include the head of the other"


def _find_containment_relations(
    this: Signature, other: Signature, score: PairScore, rules: DedupeRules
) -> Iterator[RelationReason]:
    """Yield containment: nearly all lines of one change are in the clearly larger other."""
    if score.category is Category.SAME_CHANGE or min(this.lines.size, other.lines.size) < PART_LINES_MIN:
        return
    for relation, part, whole in (
        (Relation.SUPERSET_OF, other, this),
        (Relation.SUBSET_OF, this, other),
    ):
        share = estimate_sketch_containment(part.lines, whole.lines)
        is_larger = whole.lines.size >= part.lines.size * (1 + rules.contain_growth_min)
        if share is not None and share > rules.contain_min and is_larger:
            yield relation, f"{share:.0%} of the changed lines of the smaller are in the larger"
