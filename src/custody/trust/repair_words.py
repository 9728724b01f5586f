"""What commits say about earlier ones: that they take them back, or that they mend them.

Only what a message states counts. That a later commit touches the same file says nothing by itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY

DIGITS_MIN = 7
"""A commit may be named by so many of its first digits."""

_TAKES_BACK = re.compile(r"\bThis reverts commit ([0-9a-f]{7,64})", re.IGNORECASE)
_ALSO = re.compile(r"\breverts? (?:commits? )?([0-9a-f]{7,64})\b", re.IGNORECASE)
_TITLE = re.compile(r'^Revert "(.+)"[ .]*(?:\(#\d+\))?$', re.IGNORECASE)
_FIXES = re.compile(r"^fixes:[ \t]*([0-9a-f]{7,64})\b", re.IGNORECASE | re.MULTILINE)
_AMENDS = re.compile(r"^(?:fixup|squash|amend)! (.+)$")
_MENDS = re.compile(
    r"\b(?:fix(?:es|ed|ing|up)?|hot-?fix|oops|typo|regression|broke(?:n)?|follow[- ]?up)\b", re.IGNORECASE
)
_NAMED = re.compile(r"\b([0-9a-f]{7,64})\b")


@dataclass(frozen=True, slots=True)
class CommitText:
    """A commit as far as labels need it: its message, when it was made, and the files that it touches."""

    sha: str
    subject: str
    message: str
    at_ns: int
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Labels:
    """Which commits were taken back or quickly mended, by which commit; the first that says so counts."""

    reverted: Mapping[str, CommitText] = field(default_factory=dict)
    mended: Mapping[str, CommitText] = field(default_factory=dict)


def labels_of(commits: Iterable[CommitText], rules: TrustRules) -> Labels:
    """What later commits say about earlier ones; in whatever order the commits come."""
    known = _CommitIndex(sorted(commits, key=lambda commit: (commit.at_ns, commit.sha)))
    reverted: dict[str, CommitText] = {}
    mended: dict[str, CommitText] = {}
    for later in known.ordered:
        for earlier in known.taken_back(later):
            reverted.setdefault(earlier.sha, later)
        for earlier in known.mended(later, round(rules.fix_days_max * NS_PER_DAY)):
            mended.setdefault(earlier.sha, later)
    return Labels(reverted, {sha: by for sha, by in mended.items() if sha not in reverted})


class _CommitIndex:
    """Commits by id, by its first digits and by subject."""

    def __init__(self, ordered: Sequence[CommitText]) -> None:
        self.ordered = ordered
        self._by_start: dict[str, list[CommitText]] = {}
        self._by_subject: dict[str, list[CommitText]] = {}
        for commit in ordered:
            self._by_start.setdefault(commit.sha[:DIGITS_MIN], []).append(commit)
            self._by_subject.setdefault(commit.subject, []).append(commit)

    def taken_back(self, later: CommitText) -> Iterator[CommitText]:
        """The commits that ``later`` says it takes back: by id where it names one, else by their subject."""
        title = _TITLE.match(later.subject)
        names = _TAKES_BACK.findall(later.message) + (_ALSO.findall(later.message) if title else [])
        texts = [commit for name in names for commit in self._named(name, later)]
        if texts or title is None:
            yield from texts
            return
        yield from self._titled(title[1], later)

    def mended(self, later: CommitText, within_ns: int) -> Iterator[CommitText]:
        """The commits that ``later`` mends: it says that it mends, names them, touches a file of theirs, and is quick.

        A trailer ``Fixes:`` says all of it by itself.
        """
        for name in _FIXES.findall(later.message):
            yield from self._named(name, later)
        amends = _AMENDS.match(later.subject)
        if amends is not None:
            yield from self._titled(amends[1], later)
        if _MENDS.search(later.message):
            for name in _NAMED.findall(later.message):
                for earlier in self._named(name, later):
                    if later.at_ns - earlier.at_ns <= within_ns and later.files & earlier.files:
                        yield earlier

    def _named(self, name: str, later: CommitText) -> Iterator[CommitText]:
        name = name.lower()
        fitting = [commit for commit in self._by_start.get(name[:DIGITS_MIN], ()) if commit.sha.startswith(name)]
        # A name that fits two commits names neither.
        if len(fitting) == 1 and _is_before(fitting[0], later):
            yield fitting[0]

    def _titled(self, subject: str, later: CommitText) -> Iterator[CommitText]:
        fitting = [commit for commit in self._by_subject.get(subject, ()) if _is_before(commit, later)]
        yield from fitting[-1:]


def _is_before(earlier: CommitText, later: CommitText) -> bool:
    return earlier.sha != later.sha and earlier.at_ns <= later.at_ns
