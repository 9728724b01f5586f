"""What commits say about others and about their authors: reverts, repairs, agents' signatures."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY

ID_DIGITS_MIN = 8
"""A commit may be named by so many of its first digits; fewer name nothing."""
NAMED_MAX = 100
"""No more are read of one message."""
MESSAGE_SIGNS_MAX = 100_000
"""What a longer message says behind them is not read."""
TITLE_SIGNS_MAX = 1000

_ID = r"[0-9a-f]{7,64}"
_PART = r"partial(?:ly)?|partly|in part"
# Every run of white space has a bound: a message of nothing but spaces must not take long.
_GAP, _MAY = r"\s{1,8}", r"\s{0,8}"
_SAYS = re.compile(
    rf"(?:^[ \t]{{0,8}}(?:[-*][ \t]{{1,8}})?|--[ \t]{{1,8}}|\bThis{_GAP}(?:commit{_GAP})?|\bThis{_GAP}is{_GAP}a{_GAP})"
    rf"(?P<part>{_PART})?{_MAY}(?:reverts?|reverted|reverting|rollback|rolls{_GAP}back)\b{_GAP}"
    rf"(?:of{_GAP})?(?P<piece>(?:a{_GAP})?parts?{_GAP}of{_GAP})?(?:the{_GAP})?(?:merge{_GAP})?"
    rf"(?:commits?|changesets?|changes?{_GAP}(?:in|from|of))?{_MAY}:?{_MAY}[-*`(\[]{{0,4}}{_MAY}(?P<id>{_ID})\b",
    re.IGNORECASE | re.MULTILINE,
)
_MAINLINE = re.compile(rf",?{_GAP}reversing{_GAP}changes{_GAP}made{_GAP}to{_GAP}({_ID})\b", re.IGNORECASE)
_MORE = re.compile(
    rf"`?[ \t]{{0,8}}(?:,{_MAY}and{_GAP}|,{_MAY}|{_GAP}and{_GAP}|{_MAY}&{_MAY}|\n[ \t]{{0,8}}[-*]?[ \t]{{0,8}})"
    rf"(?:commits?{_GAP})?`?({_ID})\b",
    re.IGNORECASE,
)
_TITLE = re.compile(
    rf"^(?:\[[^\]]{{0,40}}\]{_MAY}|\w{{1,20}}(?:\([^)]{{0,40}}\))?!?:{_MAY})?"
    rf"(?P<part>partial(?:ly)?{_GAP})?(?P<verb>revert(?:s|ed)?|reapply){_GAP}[\"“](?P<title>.{{1,{TITLE_SIGNS_MAX}}})[\"”]"
    rf"(?:{_MAY}\(#\d{{1,9}}\)){{0,4}}[ .]{{0,8}}$",
    re.IGNORECASE,
)
_PULL = re.compile(
    rf"^(?:This{_GAP})?(?P<part>{_PART})?{_MAY}reverts?{_GAP}(?:PR|pull{_GAP}request)?{_MAY}"
    rf"(?:[\w.-]{{1,100}}/[\w.-]{{1,100}})?#(?P<number>\d{{1,9}})\b",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = re.compile(r"\(#(\d{1,9})\)$|^Merge pull request #(\d{1,9}) ")


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a message says it takes back, named by ``id``, else by ``number``, else by ``title``.

    ``mainline`` is the parent that the revert of a merge names. ``partly``: the message itself says that it is not all.
    """

    id: str | None = None
    number: int | None = None
    title: str | None = None
    mainline: str | None = None
    partly: bool = False

    @property
    def name(self) -> str:
        """The name, as it was given."""
        return self.id or (f"#{self.number}" if self.number is not None else f'"{self.title}"')


def claims_in(message: str) -> tuple[Claim, ...]:
    """What a commit's message says it takes back, each once; the weaker names only where there is no stronger one.

    >>> [claim.id for claim in claims_in('Revert "x"\\n\\nThis reverts commits 0123456789 and abcdef0123.')]
    ['0123456789', 'abcdef0123']
    >>> claims_in('Reapply "x"')
    (Claim(id=None, number=None, title='Revert "x"', mainline=None, partly=False),)
    """
    for read in (_by_id, _by_number, _by_title):
        if found := {claim.name: claim for claim in read(message[:MESSAGE_SIGNS_MAX])}:
            return tuple(found.values())[:NAMED_MAX]
    return ()


def number_of(subject: str) -> int | None:
    """The pull request that a commit says it is: at the end of a squashed subject, or in a merge's.

    >>> number_of("Add a door (#12)"), number_of("Merge pull request #7 from ana/door"), number_of("Fix #7")
    (12, 7, None)
    """
    found = _NUMBERED.search(subject)
    return None if found is None else int(found[1] or found[2])


def _by_id(message: str) -> Iterator[Claim]:
    for found in _SAYS.finditer(message):
        partly = found["part"] is not None or found["piece"] is not None
        at, name = found.end(), found["id"]
        while name:
            mainline = _MAINLINE.match(message, at)
            if _is_id(name):
                yield Claim(id=name.lower(), mainline=None if mainline is None else mainline[1].lower(), partly=partly)
            more = _MORE.match(message, at if mainline is None else mainline.end())
            at, name = (0, "") if more is None else (more.end(), more[1])


def _by_number(message: str) -> Iterator[Claim]:
    return (Claim(number=int(match["number"]), partly=match["part"] is not None) for match in _PULL.finditer(message))


def _by_title(message: str) -> Iterator[Claim]:
    found = _TITLE.match(message.lstrip("\n").partition("\n")[0])
    if found is not None:
        # Of the revert of a revert git makes a reapplying: what it takes back is called a revert.
        title = f'Revert "{found["title"]}"' if found["verb"].lower() == "reapply" else found["title"]
        yield Claim(title=title, partly=found["part"] is not None)


def _is_id(word: str) -> bool:
    """Whether hex digits are meant as an id: ``defaced`` is a word."""
    return any(sign.isdigit() for sign in word)


# What commits say about earlier ones: that they take them back, or that they mend them.
# Only what a message states counts. That a later commit touches the same file says nothing by itself.


DIGITS_MIN = 7
"""A commit may be named by so many of its first digits."""

_TAKES_BACK = re.compile(r"\bThis reverts commit ([0-9a-f]{7,64})", re.IGNORECASE)
_ALSO = re.compile(r"\breverts? (?:commits? )?([0-9a-f]{7,64})\b", re.IGNORECASE)
_REPAIR_TITLE = re.compile(r'^Revert "(.+)"[ .]*(?:\(#\d+\))?$', re.IGNORECASE)
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
        title = _REPAIR_TITLE.match(later.subject)
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


# Whose a commit is, as the commit itself says: an agent that signed it, a bot, else the person named as its author.
# A claim, not evidence: it serves where nothing was captured. A name alone makes nobody an agent, for people have
# names like theirs; an address, an account, or the line that a tool leaves in a message does.


ADDRESSES = MappingProxyType(
    {
        "noreply@anthropic.com": "claude-code",
        "copilot@github.com": "copilot",
        "copilot": "copilot",
        "copilot-swe-agent": "copilot",
        "cursoragent@cursor.com": "cursor",
        "codex@openai.com": "codex",
        "chatgpt-codex-connector": "codex",
        "devin-ai-integration": "devin",
        "gemini-code-assist": "gemini-cli",
        "gemini-cli": "gemini-cli",
        "google-labs-jules": "jules",
        "aider@aider.chat": "aider",
        "noreply@aider.chat": "aider",
        "noreply@opencode.ai": "opencode",
        "amp@ampcode.com": "amp",
    }
)
"""Agents by the addresses, and by the accounts at GitHub, that they sign with."""
TOOLS = MappingProxyType(
    {
        "claude code": "claude-code",
        "github copilot": "copilot",
        "cursor": "cursor",
        "codex": "codex",
        "codex cli": "codex",
        "openai codex": "codex",
        "devin": "devin",
        "gemini cli": "gemini-cli",
        "jules": "jules",
        "aider": "aider",
        "opencode": "opencode",
        "amp": "amp",
    }
)
"""Agents by the names under which they say that they made something."""

_CO_AUTHOR = re.compile(r"^co-authored-by:([^<\n]*)<([^>\n]*)>", re.IGNORECASE | re.MULTILINE)
_GENERATED = re.compile(
    r"^[^\w\n]{0,20}(?:generated|created|written) (?:with|by) \[?([\w .-]{1,40})", re.IGNORECASE | re.MULTILINE
)
_BOT = re.compile(r"\[bot\]$", re.IGNORECASE)
_AT_GITHUB = re.compile(r"(?:\d+\+)?(.+)@users\.noreply\.github\.com", re.IGNORECASE)
_AIDER = re.compile(r"(.*) \(aider\)")


def signed_by(name: str, email: str, message: str) -> tuple[str, str | None]:
    """The agent of a commit and who runs it; of a person's own commit the person, whom nobody runs.

    >>> signed_by("Ana", "ana@example.org", "Fix it\\n\\nCo-Authored-By: Claude <noreply@anthropic.com>")
    ('claude-code', 'Ana')
    >>> signed_by("dependabot[bot]", "1+dependabot[bot]@users.noreply.github.com", "Bump")
    ('dependabot[bot]', None)
    >>> signed_by("Claude Monet", "claude@example.org", "Water lilies")
    ('Claude Monet', None)
    """
    person = name.strip() or email.strip() or "nobody"
    if by_aider := _AIDER.fullmatch(person):
        return "aider", by_aider[1]
    own = _agent_at(email)
    if own is not None or is_bot(person):
        return own or person, None
    return next(((agent, person) for agent in _signatures(message)), (person, None))


def is_bot(name: str) -> bool:
    """Whether a name is a bot's."""
    return bool(_BOT.search(name))


def _agent_at(email: str) -> str | None:
    address = email.strip().lower()
    account = _AT_GITHUB.fullmatch(address)
    return ADDRESSES.get(_BOT.sub("", account[1]) if account else address)


def _signatures(message: str) -> Iterator[str]:
    """The agents that a message is signed with, those of trailers first."""
    for trailer in _CO_AUTHOR.finditer(message):
        agent = _agent_at(trailer[2])
        if agent is not None:
            yield agent
    for line in _GENERATED.finditer(message):
        agent = TOOLS.get(line[1].strip(" .-").lower())
        if agent is not None:
            yield agent
