"""What a note of git-ai says, in whichever of its versions it was written; and whose the lines of a file then are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from custody.capture.claims.agent_trace import MODEL_SIGNS_MAX
from custody.core.errors import InputError
from custody.core.lines import Lines

OURS = "custody"
"""A custom attribute of every session that we write: a note in which each has it, and all else is theirs, is ours."""
UNKNOWN_MODEL = "unknown"
KEY_SIGNS_MAX = 200
NAME_SIGNS_MAX = 1000

TOOLS: Mapping[str, str] = MappingProxyType(
    {"claude": "claude-code", "github-copilot": "copilot", "gemini-cli": "gemini", "codex-cli": "codex"}
)
"""What git-ai calls an agent that has another name here."""

_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_VERSION = re.compile(r"authorship/([0-9]{1,4})\.[0-9.]{1,20}", re.ASCII)
_NO_MODEL = frozenset(("", UNKNOWN_MODEL, "<synthetic>"))
_PERSONS = ("h_", "human")


@dataclass(frozen=True, slots=True)
class NoteAuthor:
    """An agent's session, as a note names it: our name of the agent, the session's own id, the model if it is told.

    ``share`` is how much of its lines is the agent's, which only our own notes tell.
    """

    agent: str
    session: str
    model: str | None = None
    call: str | None = None
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """Lines of a file that a note gives to somebody; who, is told by the key."""

    key: str
    lines: tuple[Lines, ...]

    @property
    def name(self) -> str:
        """The key under which the note describes a session; the rest of the key names a single edit of it.

        >>> NoteEntry("s_c9883b05a2487d::t_9f8e7d6c5b4a32", ()).name
        's_c9883b05a2487d'
        """
        return self.key.partition("::")[0]

    @property
    def is_persons(self) -> bool:
        """Whether the note says that a person wrote the lines."""
        return self.key.startswith(_PERSONS)


@dataclass(frozen=True, slots=True)
class GitAiNote:
    """What a note says: entries by file in its order, the sessions that it describes, what of it could not be read."""

    version: str
    files: Mapping[str, tuple[NoteEntry, ...]]
    authors: Mapping[str, NoteAuthor]
    """By the key of an edit, else by that of its session."""
    ours: bool = False
    """Whether custody wrote all of it."""
    problems: tuple[str, ...] = ()

    def author(self, entry: NoteEntry) -> NoteAuthor | None:
        """Who is described under an entry's key."""
        return self.authors.get(entry.key) or self.authors.get(entry.name)


def major_of(version: str) -> int:
    """The first number of a version; an ``InputError`` for what is none.

    >>> major_of("authorship/3.0.0")
    3
    """
    shape = _VERSION.fullmatch(version)
    if shape is None:
        raise InputError(f"'{version[:40]}' is no version of an authorship log")
    return int(shape[1])


def author_of(
    tool: str, session: str, model: str | None, attributes: Mapping[str, object] | None = None
) -> NoteAuthor | None:
    """An agent's session as we name it; None when its names cannot stand in a record."""
    said = (attributes or {}).get(f"{OURS}.agent")
    agent = said if isinstance(said, str) else TOOLS.get(tool, tool)
    if not all(_NAME.fullmatch(name) and len(name) <= NAME_SIGNS_MAX for name in (agent, session)):
        return None
    return NoteAuthor(agent, session, model_of(model))


def model_of(told: str | None) -> str | None:
    """A model under its name; None where a tool says that it does not know."""
    named = (told or "").strip('"')
    return None if named in _NO_MODEL or not _NAME.fullmatch(named) else named[:MODEL_SIGNS_MAX]


def assign_claimed_lines(entries: Sequence[NoteEntry], count: int) -> tuple[dict[str, list[Lines]], bool]:
    """The lines of a file with ``count`` lines by key, and whether some are claimed that it has not.

    Of entries that claim the same line the last one counts, as in git-ai's own answers.

    >>> assign_claimed_lines([NoteEntry("a", (Lines(1, 4),)), NoteEntry("b", (Lines(3, 9),))], 5)
    ({'a': [Lines(first=1, last=2)], 'b': [Lines(first=3, last=5)]}, True)
    """
    whose: dict[int, str] = {}
    free = list(range(count + 2))  # from each line, where the next one may be that nobody has yet
    beyond = False
    for entry in reversed(entries):
        for lines in entry.lines:
            beyond |= lines.last > count
            number = _next(free, min(lines.first, count + 1))
            while number <= min(lines.last, count):
                whose[number] = entry.key
                free[number] = number + 1
                number = _next(free, number + 1)
    return _by_key(whose), beyond


def _next(free: list[int], number: int) -> int:
    """The first line from ``number`` on that nobody has; the way there becomes shorter each time."""
    while free[number] != number:
        free[number] = free[free[number]]
        number = free[number]
    return number


def _by_key(whose: Mapping[int, str]) -> dict[str, list[Lines]]:
    made: dict[str, list[Lines]] = {}
    for number, key in sorted(whose.items()):
        runs = made.setdefault(key, [])
        if runs and runs[-1].last == number - 1:
            runs[-1] = Lines(runs[-1].first, number)
        else:
            runs.append(Lines(number, number))
    return made
