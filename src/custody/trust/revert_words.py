"""What a message says it takes back: commits by id, a merge by its id and parent, a pull request, or a title.

Every spelling that git and GitHub make, and those that people write themselves. What a message says is a claim: whoever
reads it looks whether the commit is there and whether its lines are gone (``undoing``).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
