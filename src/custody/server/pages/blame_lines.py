"""A blamed file on a page: its first rows as HTML, and all lines as data for the script."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from markupsafe import Markup
from msgspec import Struct

from custody.attribution.wire import Attribution, CompetingClaim, SignalReport
from custody.core.plural import count_noun
from custody.server.page_data.files import BlamePageFile, FileCommit
from custody.server.pages.charts import BarPart
from custody.server.pages.code import render_code_line
from custody.server.pages.phrases import (
    TEXT_CHARACTERS_MAX,
    escape_page_text,
    format_agent_title,
    format_day,
    format_percent,
    shorten_page_text,
)
from custody.terminal.syntax import color_code_lines

ROWS = 150
"""Lines in the HTML itself, for readers without JavaScript."""
LINES_MAX = 20_000
"""Maximum lines in the data of one page; a longer file is split."""
PIECE_CHARACTERS_MAX, LINE_CHARACTERS_LEAST = 4_000_000, 200
"""Maximum characters in the data of one page. Longer lines are cut, but never below ``LINE_CHARACTERS_LEAST``."""
STRIPES = 60
"""Parts of the bar that shows a whole file."""
CHAINS_MAX = 10
"""Maximum chains of lines of one file in a report."""
CLASSES = {
    "agent": "agent",
    "mixed": "both",
    "person": "person",
    "none": "unknown",
}


class BlameRow(Struct, frozen=True):
    """A line of the page; ``about`` describes its author, ``first`` marks the first line of a block."""

    number: int
    text: str
    code: Markup
    about: dict[str, Any]
    first: bool
    faded: bool


class LineCount(Struct, frozen=True):
    """The number and share of lines of an author or a class."""

    name: str
    lines: int
    share: float

    @property
    def shown(self) -> str:
        """The name as the script has it."""
        return escape_page_text(self.name)


class LineHighlight(Struct, frozen=True, kw_only=True):
    """The lines to highlight, by class or agent; the others fade."""

    kind: str | None = None
    agent: str | None = None

    def fades(self, about: dict[str, Any]) -> bool:
        """Return whether lines with this author fade."""
        return not (
            self.kind in (None, about["kind"])
            and (self.agent is None or escape_page_text(self.agent) == about.get("agent"))
        )


class FileLines:
    """The lines of a file with their authors, computed once for a page."""

    def __init__(self, blamed: BlamePageFile, start: int, only: LineHighlight, now: int = 0) -> None:
        self._now = now
        self.total = len(blamed.texts)
        self.start = max(1, min(start, self.total))
        self.first = (self.start - 1) // LINES_MAX * LINES_MAX + 1
        self.last = min(self.total, self.first + LINES_MAX - 1)
        self.only = only
        self.sessions: list[tuple[str, str]] = []
        self.agents: list[LineCount] = []
        self.classes: list[LineCount] = []
        self._blamed = blamed
        self._signals: dict[tuple[str, str, str], int] = {}
        self._about: list[dict[str, Any]] = []
        self._runs: list[tuple[int, int, int]] = []
        self._read(blamed.report.attributions)

    def _read(self, attributions: Sequence[Attribution]) -> None:
        places: dict[str, int] = {}
        kinds, agents = Counter[str](), Counter[str]()
        for attribution in attributions:
            about = self._describe_attribution(attribution)
            key = json.dumps(about)
            if key not in places:
                places[key] = len(self._about)
                self._about.append(about)
            self._runs.append((attribution.start_line, attribution.end_line, places[key]))
            lines = attribution.end_line - attribution.start_line + 1
            kinds[attribution.kind] += lines
            if attribution.agent is not None:
                agents[attribution.agent] += lines
        whole = self.total or 1
        self.classes = [LineCount(kind, kinds[kind], kinds[kind] / whole) for kind in CLASSES]
        self.agents = [
            LineCount(name, n, n / whole) for name, n in sorted(agents.items(), key=lambda item: (-item[1], item))
        ]

    def _describe_attribution(self, attribution: Attribution) -> dict[str, Any]:
        """Describe a block for the script, with escaped text and without empty values."""
        facts: dict[str, Any] = {
            "kind": attribution.kind,
            "agent": attribution.agent,
            "title": _name_author(attribution),
            "model": attribution.model_id,
            "share": format_percent(attribution.share) if attribution.kind == "mixed" else None,
            "sure": None if attribution.tier is None else attribution.certainty,
            "tier": attribution.tier,
            "confidence": None if attribution.tier is None else f"{attribution.confidence:.2f}",
            "grade": attribution.grade,
            "call": attribution.tool_call_id,
            "reason": attribution.reason,
            "searched": _describe_search_for_page(attribution),
            "signals": [self._signal(signal) for signal in attribution.evidence],
            "claims": [_describe_claim_for_page(claim) for claim in attribution.claims],
            "commits": list(dict.fromkeys((*attribution.commits[:1], *attribution.commits[-1:]))),
            "session": self._session(attribution),
        }
        return {name: _escape_page_values(value) for name, value in facts.items() if value is not None and value != []}

    def _signal(self, signal: SignalReport) -> int:
        """Return the index of a signal; most signals repeat, so each is stored once."""
        return self._signals.setdefault((signal.name, f"{signal.points:+g}", signal.why), len(self._signals))

    def _session(self, attribution: Attribution) -> int | None:
        if attribution.agent is None or attribution.session_id is None:
            return None
        pair = (attribution.agent, attribution.session_id)
        if pair not in self.sessions:
            self.sessions.append(pair)
        return self.sessions.index(pair)

    @property
    def rows(self) -> Iterator[BlameRow]:
        """The lines in the HTML itself."""
        colored = color_code_lines(self._blamed.file, list(self._blamed.texts[self.start - 1 : self.end]))
        for first, last, place in self._runs:
            for number in range(max(first, self.start), min(last, self.end) + 1):
                about = self._about[place]
                text, code = self._blamed.texts[number - 1], render_code_line(colored[number - self.start])
                yield BlameRow(
                    number, escape_page_text(text), code, about, number in (first, self.start), self.only.fades(about)
                )

    @property
    def end(self) -> int:
        """The last line in the HTML itself."""
        return min(self.total, self.start + ROWS - 1)

    @property
    def chains(self) -> list[int]:
        """The first lines of the first attributed blocks; a report has the chains of these."""
        known = (first for first, _, place in self._runs if self._about[place]["kind"] != "none")
        return list(islice(known, CHAINS_MAX))

    @property
    def before(self) -> int | None:
        """The first line of the previous rows."""
        return max(1, self.start - ROWS) if self.start > 1 else None

    @property
    def after(self) -> int | None:
        """The first line of the next rows."""
        return self.start + ROWS if self.start + ROWS <= self.total else None

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """The line ranges that a long file is split into."""
        return [(first, min(self.total, first + LINES_MAX - 1)) for first in range(1, self.total + 1, LINES_MAX)]

    @property
    def data(self) -> dict[str, Any]:
        """All lines of this piece for the script, and the blocks with the same author."""
        texts = self._blamed.texts[self.first - 1 : self.last]
        most = _limit_page_line_length(texts)
        return {
            "first": self.first,
            "total": self.total,
            "texts": [escape_page_text(text, most) for text in texts],
            "runs": [
                [max(first, self.first), min(last, self.last), place]
                for first, last, place in self._runs
                if first <= self.last and last >= self.first
            ],
            "about": self._about,
            "signals": [[escape_page_text(text) for text in signal] for signal in self._signals],
            "colors": _encode_colors(self._blamed.file, texts, most),
            "commits": self.commits,
            "sessions": [escape_page_text(session) for _, session in self.sessions],
        }

    @property
    def commits(self) -> dict[str, list[str]]:
        """The commits of these lines: message, author, age and the class of the age."""
        named = {commit for about in self._about for commit in about.get("commits", ())}
        return {
            id_: [shorten_page_text(commit.subject, 60), shorten_page_text(commit.author, 40), *self._age(commit)]
            for id_, commit in self._blamed.history.items()
            if id_ in named
        }

    def _age(self, commit: FileCommit) -> tuple[str, str]:
        return ("", "0") if commit.seconds is None else describe_commit_age(max(self._now - commit.seconds, 0))

    @property
    def stripes(self) -> list[BarPart]:
        """The whole file from top to bottom as parts of a bar, by class."""
        step = max(1, -(-self.total // STRIPES))
        pieces = [Counter[str]() for _ in range(0, self.total, step)]
        for first, last, place in self._runs:
            for piece in range((first - 1) // step, (last - 1) // step + 1):
                lines = min(last, (piece + 1) * step) - max(first, piece * step + 1) + 1
                pieces[piece][str(self._about[place]["kind"])] += lines
        parts: list[BarPart] = []
        for counts in pieces:
            for kind in filter(counts.__getitem__, CLASSES):
                color, size = f"k-{kind}", counts[kind]
                if parts and parts[-1].color == color:
                    size += int(parts.pop().size)
                parts.append(BarPart(CLASSES[kind], size, color))
        return parts


def describe_commit_age(seconds: int) -> tuple[str, str]:
    """Return the age of a commit in words, and its class: 1 is new, 5 is old.

    >>> [describe_commit_age(days * 86_400) for days in (0, 1, 40, 400, 4000)]
    [('today', '1'), ('1 day', '1'), ('40 days', '3'), ('13 months', '5'), ('10 years', '5')]
    """
    days = seconds // 86_400
    step = str(next((n for n, most in enumerate((7, 30, 180, 365), 1) if days < most), 5))
    if days < 1:
        return "today", step
    if days < 60:
        return count_noun(days, "day"), step
    return count_noun(days // 30 if days < 730 else days // 365, "month" if days < 730 else "year"), step


def _encode_colors(path: str, texts: Sequence[str], most: int) -> list[str]:
    """Return for each line the styles of its parts with their lengths, such as ``4k,1,3f``; empty if it is plain."""
    return [
        ",".join(f"{len(escape_page_text(part.text, most))}{part.style}" for part in line)
        if any(part.style for part in line)
        else ""
        for line in color_code_lines(path, list(texts))
    ]


def _limit_page_line_length(texts: Sequence[str]) -> int:
    """Return the maximum characters of a line, so that a browser can load all lines without a pause."""
    if sum(min(len(text), TEXT_CHARACTERS_MAX) for text in texts) <= PIECE_CHARACTERS_MAX:
        return TEXT_CHARACTERS_MAX
    return max(LINE_CHARACTERS_LEAST, PIECE_CHARACTERS_MAX // len(texts))


def _name_author(attribution: Attribution) -> str:
    """Return the author of a block as a person reads it."""
    title = "Agent" if attribution.agent is None else format_agent_title(attribution.agent)
    return {"agent": title, "mixed": f"{title} + person", "person": "Person"}.get(attribution.kind, "Unknown")


def _describe_search_for_page(attribution: Attribution) -> str | None:
    if attribution.searched is None:
        return None
    since = (
        "nothing recorded yet"
        if attribution.searched.since is None
        else f"since {format_day(attribution.searched.since)}"
    )
    records = count_noun(attribution.searched.records, "record")
    return f"searched {records} of this file and {count_noun(attribution.searched.commits, 'commit')}; {since}"


def _describe_claim_for_page(claim: CompetingClaim) -> str:
    by = claim.producer or "a trace of an unknown tool"
    return f"{claim.agent}, {claim.model_id or 'model unknown'}, session {claim.session_id}, according to {by}"


def _escape_page_values(value: Any) -> Any:
    if isinstance(value, str):
        return escape_page_text(value)
    return [_escape_page_values(entry) for entry in value] if isinstance(value, list) else value
