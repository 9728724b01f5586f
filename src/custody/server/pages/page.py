"""What a page is: its name, what it can be asked, and how its view is made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custody.attribution.wire import StatsReport
from custody.core.errors import InputError
from custody.server.app.questions import Note
from custody.server.page_data.cache import StateCache
from custody.server.page_data.changes import ClusterMemory, VerdictTurns
from custody.server.page_data.graph import GraphMemory
from custody.server.page_data.sessions import SessionMemory
from custody.server.page_data.trust import EstimatorMemory, TrialMemory
from custody.workspace.workspace import Workspace

DIGITS_MAX = 9
WORD_SIGNS_MAX = 4096
SHARES_REMEMBERED_MAX = 8
"""Counts of whose lines there are: one takes long in a large repository, and changes with a commit or a record."""
DECISIONS_REMEMBERED_NS = 120 * 1_000_000_000
"""After this, what follows from every decision is worked out again, since time has passed."""


class PageMemory:
    """What the pages of one service or one report remember: answers that take seconds to make."""

    def __init__(self) -> None:
        self.shares: StateCache[StatsReport] = StateCache(most=SHARES_REMEMBERED_MAX)
        self.clusters: ClusterMemory = StateCache()
        self.verdicts = VerdictTurns()
        self.graph = GraphMemory()
        self.sessions: SessionMemory = StateCache()
        self.estimators: EstimatorMemory = StateCache(ns_max=DECISIONS_REMEMBERED_NS)
        self.trials: TrialMemory = StateCache(ns_max=DECISIONS_REMEMBERED_NS)


@dataclass(frozen=True, slots=True)
class PageParams:
    """What a page is asked: the words of its address, and who notes that a conversation is read (None: it may not)."""

    given: Mapping[str, str] = field(default_factory=dict)
    note: Note | None = None
    memory: PageMemory = field(default_factory=PageMemory)

    def text(self, name: str) -> str | None:
        """What was said of ``name``; None where nothing was."""
        found = self.given.get(name) or None
        if found is not None and len(found) > WORD_SIGNS_MAX:
            raise InputError(f"'{name}' has {len(found):,} signs", hint=f"at most {WORD_SIGNS_MAX:,} are taken")
        return found

    def needed(self, name: str) -> str:
        """What was said of ``name``, which has to be said."""
        found = self.text(name)
        if found is None:
            raise InputError(f"the address does not say which {name} is meant", hint="follow a link to this page")
        return found

    def number(self, name: str, usual: int, *, least: int, most: int) -> int:
        """A whole number; ``usual`` where it was not given."""
        found = self.text(name)
        return usual if found is None else parse_number(name, found, least, most)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of a few words; the first of them where none was given."""
        return parse_choice(name, self.text(name), choices)


def parse_number(name: str, text: str, least: int, most: int) -> int:
    """The whole number that a parameter is, within these bounds."""
    is_number = text.isdecimal() and text.isascii() and len(text) <= DIGITS_MAX
    if not is_number or not least <= int(text) <= most:
        raise InputError(f"'{name}' is a whole number from {least:,} to {most:,}")
    return int(text)


def parse_choice(name: str, text: str | None, choices: Sequence[str]) -> str:
    """Which of a few words a parameter is; the first of them where it was not given."""
    if text is not None and text not in choices:
        raise InputError(f"'{name}' is one of {', '.join(choices)}")
    return text or choices[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """What is shown: a template and what stands in it. ``scripts`` are the islands that it needs, by name.

    A view that says in words that there is ``nothing`` of the name that was asked for is answered as such.
    """

    title: str
    template: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    nothing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page; its address is its name.

    ``takes`` are the words that its address may have, each with what it means. A page with a ``label`` is in the
    navigation, one of a single object has as its ``section`` the page there that it belongs to, and one that is a
    ``part`` has no frame, since another page takes it in. One that is ``long`` works out something that follows from
    every record: the first time in a large store that takes long.
    """

    name: str
    view: Callable[[Workspace, PageParams], PageView]
    takes: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    section: str | None = None
    part: bool = False
    long: bool = False
