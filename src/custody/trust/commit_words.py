"""Commit messages: which commits they revert or repair, and which agents they name as authors."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from custody.core.commit_agents import (
    UNNAMED,
    agent_from_author,
    is_bot_committer,
    list_named_agents,
    operator_from_author,
)
from custody.core.patterns import lazy_pattern
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY

ID_DIGITS_MIN = 8
"""The least digits that identify a commit."""
NAMED_MAX = 100
"""The most claims read from one message."""
MESSAGE_CHARACTERS_MAX = 100_000
"""The rest of a longer message is not read."""
TITLE_CHARACTERS_MAX = 1000

_ID = r"[0-9a-f]{7,64}"
_PART = r"partial(?:ly)?|partly|in part"
# Every run of white space is bounded, so that a message of only spaces is fast.
_GAP, _MAY = r"\s{1,8}", r"\s{0,8}"
_SAYS = lazy_pattern(
    rf"(?:^[ \t]{{0,8}}(?:[-*][ \t]{{1,8}})?|--[ \t]{{1,8}}|\bThis{_GAP}(?:commit{_GAP})?|\bThis{_GAP}is{_GAP}a{_GAP})"
    rf"(?P<part>{_PART})?{_MAY}(?:reverts?|reverted|reverting|rollback|rolls{_GAP}back)\b{_GAP}"
    rf"(?:of{_GAP})?(?P<piece>(?:a{_GAP})?parts?{_GAP}of{_GAP})?(?:the{_GAP})?(?:merge{_GAP})?"
    rf"(?:commits?|changesets?|changes?{_GAP}(?:in|from|of))?{_MAY}:?{_MAY}[-*`(\[]{{0,4}}{_MAY}(?P<id>{_ID})\b",
    re.IGNORECASE | re.MULTILINE,
)
_MAINLINE = lazy_pattern(rf",?{_GAP}reversing{_GAP}changes{_GAP}made{_GAP}to{_GAP}({_ID})\b", re.IGNORECASE)
_MORE = lazy_pattern(
    rf"`?[ \t]{{0,8}}(?:,{_MAY}and{_GAP}|,{_MAY}|{_GAP}and{_GAP}|{_MAY}&{_MAY}|\n[ \t]{{0,8}}[-*]?[ \t]{{0,8}})"
    rf"(?:commits?{_GAP})?`?({_ID})\b",
    re.IGNORECASE,
)
_TITLE = lazy_pattern(
    rf"^(?:\[[^\]]{{0,40}}\]{_MAY}|\w{{1,20}}(?:\([^)]{{0,40}}\))?!?:{_MAY})?"
    rf"(?P<part>partial(?:ly)?{_GAP})?(?P<verb>revert(?:s|ed)?|reapply){_GAP}[\"“](?P<title>.{{1,{TITLE_CHARACTERS_MAX}}})[\"”]"
    rf"(?:{_MAY}\(#\d{{1,9}}\)){{0,4}}[ .]{{0,8}}$",
    re.IGNORECASE,
)
_PULL = lazy_pattern(
    rf"^(?:This{_GAP})?(?P<part>{_PART})?{_MAY}reverts?{_GAP}(?:PR|pull{_GAP}request)?{_MAY}"
    rf"(?:[\w.-]{{1,100}}/[\w.-]{{1,100}})?#(?P<number>\d{{1,9}})\b",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = lazy_pattern(r"\(#(\d{1,9})\)$|^Merge pull request #(\d{1,9}) ")


class Claim(Struct, frozen=True):
    """A commit that a message claims to revert, identified by ``id``, else by ``number``, else by ``title``.

    ``mainline`` is the parent that the revert of a merge names. ``partly``: the message says that it is partial.
    """

    id: str | None = None
    number: int | None = None
    title: str | None = None
    mainline: str | None = None
    partly: bool = False

    @property
    def name(self) -> str:
        """Return the name of the commit as in the message."""
        return self.id or (f"#{self.number}" if self.number is not None else f'"{self.title}"')


def parse_revert_claims(message: str) -> tuple[Claim, ...]:
    """Return the commits that a message claims to revert: by id, else by number, else by title.

    >>> [claim.id for claim in parse_revert_claims('Revert "x"\\n\\nThis reverts commits 0123456789 and abcdef0123.')]
    ['0123456789', 'abcdef0123']
    >>> parse_revert_claims('Reapply "x"')
    (Claim(id=None, number=None, title='Revert "x"', mainline=None, partly=False),)
    """
    for parse in (_parse_revert_ids, _parse_revert_numbers, _parse_revert_titles):
        if claims := {claim.name: claim for claim in parse(message[:MESSAGE_CHARACTERS_MAX])}:
            return tuple(claims.values())[:NAMED_MAX]
    return ()


def parse_revertible_pull_number(subject: str) -> int | None:
    """Return the pull request of a squashed or merge commit by its subject; None if it names none.

    >>> subjects = ("Add a cache (#12)", "Merge pull request #7 from ana/cache", "Fix #7")
    >>> [parse_revertible_pull_number(subject) for subject in subjects]
    [12, 7, None]
    """
    match = _NUMBERED.search(subject)
    return None if match is None else int(match[1] or match[2])


def _parse_revert_ids(message: str) -> Iterator[Claim]:
    for match in _SAYS.finditer(message):
        partly = match["part"] is not None or match["piece"] is not None
        at, name = match.end(), match["id"]
        while name:
            mainline = _MAINLINE.match(message, at)
            if _is_revert_commit_id(name):
                yield Claim(id=name.lower(), mainline=None if mainline is None else mainline[1].lower(), partly=partly)
            more = _MORE.match(message, at if mainline is None else mainline.end())
            at, name = (0, "") if more is None else (more.end(), more[1])


def _parse_revert_numbers(message: str) -> Iterator[Claim]:
    return (Claim(number=int(match["number"]), partly=match["part"] is not None) for match in _PULL.finditer(message))


def _parse_revert_titles(message: str) -> Iterator[Claim]:
    match = _TITLE.match(message.lstrip("\n").partition("\n")[0])
    if match is not None:
        # git names the revert of a revert "Reapply": the reverted commit has "Revert" in its title.
        title = f'Revert "{match["title"]}"' if match["verb"].lower() == "reapply" else match["title"]
        yield Claim(title=title, partly=match["part"] is not None)


def _is_revert_commit_id(word: str) -> bool:
    """Return whether hex digits are an id: ``defaced`` is a word."""
    return any(character.isdigit() for character in word)


# Which earlier commits a message says are reverted or repaired. Only messages count: that a later commit touches the
# same file is not evidence.


DIGITS_MIN = 7
"""The least digits that identify a commit in a repair."""

_FIXES = lazy_pattern(r"^fixes:[ \t]*([0-9a-f]{7,64})\b", re.IGNORECASE | re.MULTILINE)
_AMENDS = lazy_pattern(r"^(?:fixup|squash|amend)! (.+)$")
_MENDS = lazy_pattern(
    r"\b(?:fix(?:es|ed|ing|up)?|hot-?fix|oops|typo|regression|broke(?:n)?|follow[- ]?up)\b", re.IGNORECASE
)
_NAMED = lazy_pattern(r"\b([0-9a-f]{7,64})\b")


class CommitText(Struct, frozen=True):
    """The parts of a commit that labels need: its message, its time, and the files that it touches."""

    sha: str
    subject: str
    message: str
    at_ns: int
    files: frozenset[str] = frozenset()


class Labels(Struct, frozen=True):
    """The reverted and the quickly repaired commits, each with the first commit that says so."""

    reverted: Mapping[str, CommitText] = field(default_factory=dict)
    mended: Mapping[str, CommitText] = field(default_factory=dict)


def label_reverted_commits(commits: Iterable[CommitText], rules: TrustRules) -> Labels:
    """Label commits by the messages of later ones; the commits may come in any order."""
    known = _CommitIndex(sorted(commits, key=lambda commit: (commit.at_ns, commit.sha)))
    reverted: dict[str, CommitText] = {}
    mended: dict[str, CommitText] = {}
    for later in known.ordered:
        for earlier in known.find_reverted(later):
            reverted.setdefault(earlier.sha, later)
        for earlier in known.find_repaired(later, round(rules.fix_days_max * NS_PER_DAY)):
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

    def find_reverted(self, later: CommitText) -> Iterator[CommitText]:
        """Yield the commits that ``later`` says it reverts as a whole: by id where it names one, else by subject."""
        ids = [claim.id for claim in parse_revert_claims(later.message) if claim.id is not None and not claim.partly]
        texts = [commit for name in ids for commit in self._find_by_id(name, later)]
        if texts:
            yield from texts
            return
        for claim in _parse_revert_titles(later.subject):
            if claim.title is not None and not claim.partly:
                yield from self._find_by_subject(claim.title, later)

    def find_repaired(self, later: CommitText, within_ns: int) -> Iterator[CommitText]:
        """Yield the commits that ``later`` repairs: it says so, names them, touches one of their files, and is quick.

        A trailer ``Fixes:`` is enough by itself.
        """
        for name in _FIXES.findall(later.message):
            yield from self._find_by_id(name, later)
        amends = _AMENDS.match(later.subject)
        if amends is not None:
            yield from self._find_by_subject(amends[1], later)
        if _MENDS.search(later.message):
            for name in _NAMED.findall(later.message):
                for earlier in self._find_by_id(name, later):
                    if later.at_ns - earlier.at_ns <= within_ns and later.files & earlier.files:
                        yield earlier

    def _find_by_id(self, name: str, later: CommitText) -> Iterator[CommitText]:
        name = name.lower()
        fitting = [commit for commit in self._by_start.get(name[:DIGITS_MIN], ()) if commit.sha.startswith(name)]
        # An ambiguous id identifies no commit.
        if len(fitting) == 1 and _can_be_reverted_by(fitting[0], later):
            yield fitting[0]

    def _find_by_subject(self, subject: str, later: CommitText) -> Iterator[CommitText]:
        fitting = [commit for commit in self._by_subject.get(subject, ()) if _can_be_reverted_by(commit, later)]
        yield from fitting[-1:]


def _can_be_reverted_by(earlier: CommitText, later: CommitText) -> bool:
    return earlier.sha != later.sha and earlier.at_ns <= later.at_ns


# The author of a commit by its own metadata: an agent, a bot, or the person named as its author. This is a claim, not
# evidence, and is used only where nothing was captured.


def trust_author_from_commit(name: str, email: str, message: str) -> tuple[str, str | None]:
    """Return the agent of a commit and its operator; for a person's own commit the person and None.

    >>> trust_author_from_commit("Ana", "ana@example.org", "Fix it\\n\\nCo-Authored-By: Claude <noreply@anthropic.com>")
    ('claude-code', 'Ana')
    >>> trust_author_from_commit("dependabot[bot]", "1+dependabot[bot]@users.noreply.github.com", "Bump")
    ('dependabot[bot]', None)
    >>> trust_author_from_commit("Claude Monet", "claude@example.org", "Water lilies")
    ('Claude Monet', None)
    """
    person = operator_from_author(name) or email.strip() or "unknown"
    own = agent_from_author(name, email)
    if own is not None and person != name.strip():
        return own, person
    if own is not None or is_bot_committer(person):
        return own or person, None
    named = next((named.agent for named in list_named_agents(name, email, message)), UNNAMED)
    return (person, None) if named == UNNAMED else (named, person)
