"""A page: its name, its parameters, the function that makes its view, and parts of it that may fail."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from custody.attribution.wire import StatsReport
from custody.core.errors import InputError, WorldError
from custody.people.wire import ReadShareReport
from custody.server.app.questions import Note
from custody.server.page_data.cache import StateCache
from custody.server.page_data.changes import ClusterMemory, VerdictMemory
from custody.server.page_data.graph import GraphMemory
from custody.server.page_data.review import DiffMemory, ReviewMemory
from custody.server.page_data.session_lines import SessionLinesMemory
from custody.server.page_data.sessions import SessionMemory
from custody.server.page_data.site import RepositoryRow, SiteMemory
from custody.server.page_data.trust import EstimatorMemory, TrialMemory
from custody.server.page_data.work import WorkQueue
from custody.workspace.workspace import Workspace

T = TypeVar("T")

NOT_NOW, TRY_AGAIN = "the store is not available", "try again"
"""The only text about a failed store that leaves the service: its own messages name files and servers."""
DIGITS_MAX = 9
TEXT_CHARACTERS_MAX = 4096
SESSION_LINES_CACHED_MAX = 100
SHARES_CACHED_MAX = 8
"""Line counts that are cached: each takes long in a large repository, and changes with every commit and record."""
DECISIONS_CACHED_NS = 120 * 1_000_000_000
"""Maximum age of results that are computed from every decision, since scores decay with time."""

DIFFS_CACHED_NS = 10 * 1_000_000_000
"""Maximum age of the diff of a change: a name may mean another commit soon."""
REVIEWS_CACHED_MAX = 32
SITE_CACHED_NS = 30 * 1_000_000_000
"""Maximum age of the repository's name and whether agents are recorded."""

_LOG = logging.getLogger("custody.service")


class PageMemory:
    """The caches of one service or one report, for answers that take seconds; only a service has a ``work`` queue."""

    def __init__(self, work: WorkQueue | None = None) -> None:
        self.work = work
        """None in a report, which computes everything at once."""
        self.shares: StateCache[StatsReport] = StateCache(most=SHARES_CACHED_MAX)
        self.reads: StateCache[ReadShareReport] = StateCache(most=SHARES_CACHED_MAX)
        self.clusters: ClusterMemory = StateCache()
        self.verdicts = VerdictMemory()
        self.graph = GraphMemory()
        self.sessions: SessionMemory = StateCache()
        self.session_lines: SessionLinesMemory = StateCache(most=SESSION_LINES_CACHED_MAX)
        self.estimators: EstimatorMemory = StateCache(ns_max=DECISIONS_CACHED_NS)
        self.diffs: DiffMemory = StateCache(ns_max=DIFFS_CACHED_NS)
        self.reviews: ReviewMemory = StateCache(most=REVIEWS_CACHED_MAX)
        self.site: SiteMemory = StateCache(ns_max=SITE_CACHED_NS)
        self.trials: TrialMemory = StateCache(ns_max=DECISIONS_CACHED_NS)

    def require_work(self) -> WorkQueue:
        """Return the queue of a service."""
        if self.work is None:
            raise LookupError("a report has no queue of long work")
        return self.work


class PageParams(Struct, frozen=True):
    """The query parameters of a page; ``note`` logs that conversations are read (None: they may not be read)."""

    values: Mapping[str, str] = field(default_factory=dict)
    note: Note | None = None
    memory: PageMemory = field(default_factory=PageMemory)
    reader: str | None = None
    """The person that forms record; None if the reader may not write."""
    others: Sequence[RepositoryRow | str] = ()
    """The other projects of the service that the reader may read, for pages that list them."""

    def text(self, name: str) -> str | None:
        """Return the parameter; None if it is missing or empty."""
        text = self.values.get(name) or None
        if text is not None and len(text) > TEXT_CHARACTERS_MAX:
            raise InputError(
                f"'{name}' is too long: {len(text):,} characters", hint=f"the maximum is {TEXT_CHARACTERS_MAX:,}"
            )
        return text

    def require_text(self, name: str) -> str:
        """Return the parameter; an ``InputError`` if it is missing."""
        text = self.text(name)
        if text is None:
            raise InputError(f"missing parameter '{name}'", hint="follow a link to this page")
        return text

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return a whole number; ``default`` if it is missing."""
        text = self.text(name)
        return default if text is None else parse_number_param(name, text, least, most)

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return one of ``choices``; the first if it is missing."""
        return parse_choice_param(name, self.text(name), choices)


def parse_number_param(name: str, text: str, least: int, most: int) -> int:
    """Parse a whole number within these bounds."""
    is_number = text.isdecimal() and text.isascii() and len(text) <= DIGITS_MAX
    if not is_number or not least <= int(text) <= most:
        raise InputError(f"'{name}' must be a whole number from {least:,} to {most:,}")
    return int(text)


def parse_choice_param(name: str, text: str | None, choices: Sequence[str]) -> str:
    """Parse one of ``choices``; the first if it is missing."""
    if text is not None and text not in choices:
        raise InputError(f"'{name}' must be one of {', '.join(choices)}")
    return text or choices[0]


class PageView(Struct, frozen=True, kw_only=True):
    """A template, its fields, and the scripts and style sheets that it adds; ``is_missing`` makes the answer a 404."""

    title: str
    template: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    is_missing: bool = False


class Page(Struct, frozen=True, kw_only=True):
    """One page; its URL is its name.

    ``takes`` are its parameters, each with a description. A page with a ``label`` is in the navigation; the page of a
    single object names its ``section`` there. A ``part`` has no frame, since another page embeds it. A ``long`` page
    may take long the first time in a large store, so a service computes it in its queue. A page ``across`` projects
    lists the others that the reader may read.
    """

    name: str
    view: Callable[[Workspace, PageParams], PageView]
    takes: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    section: str | None = None
    part: bool = False
    long: bool = False
    across: bool = False


def attempt_page_part(question: Callable[[], T]) -> T | str:
    """Return the answer to ``question``, or a sentence that says why there is none and what to do.

    The rest of the page is shown either way. Messages of the store go to the service's log only.

    >>> attempt_page_part(lambda: 3)
    3
    """
    try:
        return question()
    except InputError as error:
        return _format_page_problem(error.message, error.hint)
    except WorldError as error:
        _LOG.warning("part of a page failed: %s", error.message)
        return _format_page_problem(NOT_NOW, TRY_AGAIN)


def _format_page_problem(message: str, hint: str | None) -> str:
    text = f"{message}; {hint}" if hint else message
    return f"{text[:1].upper()}{text[1:]}."
