"""Relations of changes beyond similarity, in both directions: merge, stack, revert, reland, backport, part, series.

A relation explains why two changes are similar, so they are not duplicates.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.dupes.model import Relation, Signature
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
    r"^\s*(?:chore\(release\)|release|version bump|prepare(?: for)? release|v?\d+\.\d+(?:\.\d+)?\s*$"
    r"|(?:\w+(?:\([^)]{0,40}\))?!?: )?(?:bump(?:ed)? versions?\b|release v?\d))",
    re.IGNORECASE,
)
_SQUASHED = lazy_pattern(r"\(#(\d{1,7})\)\s*$")
_BOT = lazy_pattern(
    r"\[bot\]|(?:^|[^a-z])bot(?:$|[^a-z])|dependabot|renovate|pre-commit-ci|pyup|greenkeeper", re.IGNORECASE
)
_CODING_AGENT = lazy_pattern(
    r"\b(?:copilot|devin|codex|claude|cursor|jules|gemini|openhands|aider|amazon[ -]q|codegen|opencode|windsurf|cline"
    r"|roo|factory[ -]droid|sweep[ -]ai|grok|qwen|kilo[ -]?code)\b",
    re.IGNORECASE,
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


def is_routine_bot(author: str) -> bool:
    """Return whether a name is that of a bot with routine changes, such as new versions of dependencies.

    Coding agents are not routine: two agents can solve the same task.

    >>> [is_routine_bot(name) for name in ("dependabot[bot]", "copilot-swe-agent[bot]", "Devin AI", "Ana")]
    [True, False, False, False]
    """
    return bool(_BOT.search(author)) and not _CODING_AGENT.search(author)


def _join_commit_messages(texts: Iterable[str]) -> str:
    return "\n".join(texts)[:MESSAGE_CHARS_MAX]


PART_LINES_MIN = 5
"""Lines that a change needs to be called part of another: two imports are in many changes."""
PART_GROWTH_MIN = 0.5
"""A change has another as a part if it is larger by at least this share; below it, the two are alternatives."""

RelationReason = tuple[Relation, str]
"""A relation, and why it holds."""


class RelatedChange(Struct, frozen=True, kw_only=True):
    """What relations need to know of a change.

    ``numbers`` are those of its pull requests. ``target`` is the main branch that it targets, empty if unknown, and
    ``is_trunk`` says whether that is the default branch. ``was_reverted`` says that a later change reverted it.
    """

    head: CommitSha
    title: str
    author: str
    opened_ns: int
    on_main: bool
    signature: Signature
    numbers: frozenset[str] = frozenset()
    target: str = ""
    is_trunk: bool = True
    merged: str = ""
    is_closed: bool = False
    was_reverted: bool = False


class HistoryFacts(Struct, frozen=True, kw_only=True):
    """What git knows of a change and an ``other`` one.

    ``has_other``: its own commits include the head of the other. ``is_after_other``: its base includes it.
    ``target_has_other``: the branch that it targets includes it.
    """

    has_other: bool = False
    is_after_other: bool = False
    target_has_other: bool = False


NO_FACTS = HistoryFacts()


class ChangePair(Struct, frozen=True, kw_only=True):
    """Two changes, what git knows of each in the history of the other, and whether their content is the same."""

    this: RelatedChange
    other: RelatedChange
    this_facts: HistoryFacts = NO_FACTS
    other_facts: HistoryFacts = NO_FACTS
    is_same: bool = False

    def reverse(self) -> "ChangePair":
        """Return the same pair from the side of the other change."""
        return ChangePair(
            this=self.other,
            other=self.this,
            this_facts=self.other_facts,
            other_facts=self.this_facts,
            is_same=self.is_same,
        )


def find_change_relations(pair: ChangePair, rules: DedupeRules) -> tuple[RelationReason, ...]:
    """Return every relation of this change to the other, the most important first.

    From the other side, the relations are the same by their reverse names.
    """
    found = dict(_find_relations_of_later(pair, rules))
    for relation, why in _find_relations_of_later(pair.reverse(), rules):
        found.setdefault(relation.reverse, why)
    order = list(Relation)
    return tuple(sorted(found.items(), key=lambda reason: order.index(reason[0])))


def _find_relations_of_later(pair: ChangePair, rules: DedupeRules) -> Iterator[RelationReason]:
    """Yield the relations that this change has as the one that came later, or as the larger one."""
    merge = next(_find_merge_relation(pair), None)
    if merge is not None:
        yield merge
    else:
        yield from _find_repeat_relation(pair)
    yield from _find_revert_relation(pair)
    yield from _find_replacement(pair)
    yield from _find_part_relation(pair, rules)
    yield from _find_series_relation(pair)


def _find_merge_relation(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that this change has commits of the other: as its merge on main, stacked on it, or from a common branch."""
    this, other = pair.this, pair.other
    if other.on_main:
        return
    if pair.this_facts.has_other:
        if this.on_main:
            yield Relation.MERGE_OF, "it merged the head of the other"
        else:
            yield Relation.STACKED_ON, "its commits include the head of the other"
    elif this.on_main and not pair.other_facts.is_after_other:
        yield from ((Relation.MERGE_OF, why) for why in _find_signs_of_merge(pair))
    elif not this.on_main and not pair.other_facts.has_other:
        yield from _find_common_commits(pair)


def _find_signs_of_merge(pair: ChangePair) -> Iterator[str]:
    """Yield why a commit of main is the other change, squashed, picked or rebased."""
    this, other = pair.this, pair.other
    if other.merged == this.head:
        yield "it merged the other"
    if other.numbers and get_squash_number(this.title) in other.numbers:
        yield "its title names the pull request"
    if this.signature.origins & other.signature.origins and _has_same_target(this, other):
        yield "it is a commit of the other, picked or rebased"
    if pair.is_same and is_later_change(this, other) and _has_same_author(this, other):
        yield "the same change by the same author, merged after the last commit of the other"


def _find_common_commits(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that two branches have a commit in common; an exact copy does not count."""
    this, other = pair.this, pair.other
    shared = this.signature.commits & other.signature.commits
    rewritten = this.signature.origins & other.signature.origins
    if shared and this.head != other.head:
        yield Relation.SHARES_COMMITS, f"both contain {count_noun(len(shared), 'equal commit')}"
    elif rewritten and this.signature.whole_hash != other.signature.whole_hash and _has_same_target(this, other):
        yield Relation.SHARES_COMMITS, f"both contain {count_noun(len(rewritten), 'commit')}, rewritten in one"


def _find_repeat_relation(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that this change repeats the other on purpose: after a revert, or on another main branch."""
    this, other, facts = pair.this, pair.other, pair.this_facts
    is_named = bool(this.signature.picked & other.signature.commits)
    is_picked = is_named or bool(this.signature.origins & other.signature.origins)
    if not (pair.is_same or is_picked) or pair.other_facts.is_after_other:
        return
    is_elsewhere = bool(this.target and other.target and this.target != other.target)
    if is_named and not facts.is_after_other and not facts.target_has_other and (is_elsewhere or other.on_main):
        yield Relation.BACKPORT_OF, "its message names a commit of the other, which its target lacks"
    elif other.was_reverted and is_later_change(this, other):
        yield Relation.RELAND_OF, "the other was reverted since"
    elif is_reland_title(this.title) and other.on_main:
        yield Relation.RELAND_OF, "its title says so"
    elif is_elsewhere and not facts.target_has_other and _is_source(other, this):
        yield Relation.BACKPORT_OF, f"the same change for {other.target}"


def _is_source(this: RelatedChange, other: RelatedChange) -> bool:
    """Return whether a change for several branches was made first for this branch: the trunk, else by time."""
    if this.is_trunk != other.is_trunk:
        return this.is_trunk
    return is_later_change(other, this)


def _find_revert_relation(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that this change reverts the other; of two inverse changes, the later one is the revert."""
    this, other = pair.this.signature, pair.other.signature
    is_inverse = this.inverse_hash is not None and this.inverse_hash == other.whole_hash
    if is_inverse and _came_after(pair):
        yield Relation.REVERT_OF, "its diff is the inverse of the other"
    elif not is_inverse and this.reverted & other.commits:
        says = ", its title says so" if is_revert_title(pair.this.title) else ""
        yield Relation.REVERT_OF, f"its message names a commit of the other{says}"


def _find_replacement(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that an author opened a closed change again, under another name."""
    this, other = pair.this, pair.other
    is_again = pair.is_same or _fold(this.title) == _fold(other.title)
    if other.is_closed and not this.is_closed and is_again and _has_same_author(this, other):
        yield Relation.REPLACES, "its author closed the other"


def _find_part_relation(pair: ChangePair, rules: DedupeRules) -> Iterator[RelationReason]:
    """Yield that nearly all lines of the other are in this change, which is clearly larger."""
    whole, part = pair.this.signature.lines, pair.other.signature.lines
    growth = max(rules.contain_growth_min, PART_GROWTH_MIN)
    if pair.is_same or part.size < PART_LINES_MIN or whole.size < part.size * (1 + growth):
        return
    share = estimate_sketch_containment(part, whole)
    if share is not None and share > rules.contain_min:
        yield Relation.SUPERSET_OF, f"{share:.0%} of the changed lines of the smaller are in the larger"


def _find_series_relation(pair: ChangePair) -> Iterator[RelationReason]:
    """Yield that both are parts of a series: the same author and title, and no file in common."""
    this, other = pair.this, pair.other
    a, b = this.signature.files, other.signature.files
    is_apart = bool(a.size and b.size) and not set(a.values) & set(b.values)
    if is_apart and _has_same_author(this, other) and this.title and _fold(this.title) == _fold(other.title):
        yield Relation.SERIES_WITH, "the same author and title, other files"


def is_later_change(this: RelatedChange, other: RelatedChange) -> bool:
    """Return whether a change is not older than another by the times of their last commits."""
    return this.opened_ns >= other.opened_ns


def _came_after(pair: ChangePair) -> bool:
    """Return whether this change came after the other, by history and else by time."""
    if pair.this_facts.is_after_other or pair.this_facts.has_other:
        return True
    if pair.other_facts.is_after_other or pair.other_facts.has_other:
        return False
    return (pair.this.opened_ns, pair.this.head) > (pair.other.opened_ns, pair.other.head)


def _has_same_target(this: RelatedChange, other: RelatedChange) -> bool:
    return not this.target or not other.target or this.target == other.target


def _has_same_author(this: RelatedChange, other: RelatedChange) -> bool:
    return bool(this.author) and _fold(this.author) == _fold(other.author)


def get_squash_number(title: str) -> str | None:
    """Return the number of the pull request that a squashed commit names.

    >>> get_squash_number("Retry step 3 (#12)"), get_squash_number("Fix #12")
    ('12', None)
    """
    found = _SQUASHED.search(title)
    return None if found is None else found[1]


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
