"""What the messages of a change refer to: issues, pull requests, other commits. Who wrote them, if a machine did."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

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
