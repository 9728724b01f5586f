"""A blamed file as a page holds it: its first rows as they are read, and all of it for the island that draws it."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from custody.attribution.wire import TIER_WORDS, Attribution, CompetingClaim, SignalReport
from custody.server.page_data.files import BlamePageFile
from custody.server.pages.charts import BarPart
from custody.server.pages.phrases import SIGNS_MAX, count, day, escape_control_characters, percent

ROWS = 150
"""Lines that are in the page itself, for readers without script."""
LINES_MAX = 20_000
"""Lines that an island is handed at once; a longer file comes in pieces."""
PIECE_SIGNS_MAX, LINE_SIGNS_LEAST = 4_000_000, 200
"""Signs that an island is handed at once. Where lines have more, each is cut at its share, but never below so many."""
STRIPES = 60
"""Pieces of the picture of a whole file."""
CHAINS_MAX = 10
"""Chains behind lines of one file that a report has."""
CLASSES = {
    "agent": "an agent's",
    "mixed": "partly an agent's",
    "person": "a person's, as a record says",
    "none": "not known",
}


@dataclass(frozen=True, slots=True)
class BlameRow:
    """A line as it stands in the page; ``about`` says whose it is, and ``first`` that this begins with it."""

    number: int
    text: str
    about: dict[str, Any]
    first: bool
    faded: bool


@dataclass(frozen=True, slots=True)
class LineCount:
    """How many lines somebody has."""

    name: str
    lines: int
    share: float

    @property
    def shown(self) -> str:
        """The name as an island has it."""
        return escape_control_characters(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineHighlight:
    """Which lines stand out: those of a class, of an agent; the others fade."""

    kind: str | None = None
    agent: str | None = None

    def fades(self, about: dict[str, Any]) -> bool:
        """Whether lines of which this is known are others."""
        return not (
            self.kind in (None, about["kind"])
            and (self.agent is None or escape_control_characters(self.agent) == about.get("agent"))
        )


class FileLines:
    """What a page shows of a file, of which every number and text is worked out once."""

    def __init__(self, blamed: BlamePageFile, start: int, only: LineHighlight) -> None:
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
        """What an island says of a stretch, in words that are fit to be shown; nothing where there is nothing."""
        told: dict[str, Any] = {
            "kind": attribution.kind,
            "agent": attribution.agent,
            "model": attribution.model_id,
            "share": percent(attribution.share) if attribution.kind == "mixed" else None,
            "sure": None if attribution.tier is None else TIER_WORDS[attribution.tier - 1],
            "tier": attribution.tier,
            "confidence": None if attribution.tier is None else f"{attribution.confidence:.2f}",
            "grade": attribution.grade,
            "call": attribution.tool_call_id,
            "reason": attribution.reason,
            "searched": _searched(attribution),
            "signals": [self._signal(signal) for signal in attribution.evidence],
            "claims": [_claim(claim) for claim in attribution.claims],
            "commits": list(dict.fromkeys((*attribution.commits[:1], *attribution.commits[-1:]))),
            "session": self._session(attribution),
        }
        return {name: _clean(value) for name, value in told.items() if value is not None and value != []}

    def _signal(self, seen: SignalReport) -> int:
        """Where a signal stands among those of the file: most are seen again and again."""
        return self._signals.setdefault((seen.name, f"{seen.points:+g}", seen.why), len(self._signals))

    def _session(self, attribution: Attribution) -> int | None:
        if attribution.agent is None or attribution.session_id is None:
            return None
        pair = (attribution.agent, attribution.session_id)
        if pair not in self.sessions:
            self.sessions.append(pair)
        return self.sessions.index(pair)

    # --- what is shown ------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Iterator[BlameRow]:
        """The lines that are in the page itself."""
        for first, last, place in self._runs:
            for number in range(max(first, self.start), min(last, self.end) + 1):
                about = self._about[place]
                text = escape_control_characters(self._blamed.texts[number - 1])
                yield BlameRow(number, text, about, number in (first, self.start), self.only.fades(about))

    @property
    def end(self) -> int:
        """The last of the lines that are in the page itself."""
        return min(self.total, self.start + ROWS - 1)

    @property
    def chains(self) -> list[int]:
        """The first lines of the first stretches of which something is known: a report has the chains behind these."""
        known = (first for first, _, place in self._runs if self._about[place]["kind"] != "none")
        return list(islice(known, CHAINS_MAX))

    @property
    def before(self) -> int | None:
        """Where the rows before these begin."""
        return max(1, self.start - ROWS) if self.start > 1 else None

    @property
    def after(self) -> int | None:
        """Where the rows after these begin."""
        return self.start + ROWS if self.start + ROWS <= self.total else None

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """The stretches that a long file comes in."""
        return [(first, min(self.total, first + LINES_MAX - 1)) for first in range(1, self.total + 1, LINES_MAX)]

    @property
    def data(self) -> dict[str, Any]:
        """All lines of this piece for the island, with runs of those of which the same is known."""
        texts = self._blamed.texts[self.first - 1 : self.last]
        most = _line_signs(texts)
        return {
            "first": self.first,
            "total": self.total,
            "texts": [escape_control_characters(text, most) for text in texts],
            "runs": [
                [max(first, self.first), min(last, self.last), place]
                for first, last, place in self._runs
                if first <= self.last and last >= self.first
            ],
            "about": self._about,
            "signals": [[escape_control_characters(words) for words in signal] for signal in self._signals],
            "sessions": [escape_control_characters(session) for _, session in self.sessions],
        }

    @property
    def stripes(self) -> list[BarPart]:
        """The whole file from its first line to its last, in pieces; in each the classes that its lines are."""
        step = max(1, -(-self.total // STRIPES))
        pieces = [Counter[str]() for _ in range(0, self.total, step)]
        for first, last, place in self._runs:
            for piece in range((first - 1) // step, (last - 1) // step + 1):
                lines = min(last, (piece + 1) * step) - max(first, piece * step + 1) + 1
                pieces[piece][str(self._about[place]["kind"])] += lines
        found: list[BarPart] = []
        for held in pieces:
            for kind in filter(held.__getitem__, CLASSES):
                colour, size = f"k-{kind}", held[kind]
                if found and found[-1].colour == colour:
                    size += int(found.pop().size)
                found.append(BarPart(CLASSES[kind], size, colour))
        return found


def _line_signs(texts: Sequence[str]) -> int:
    """How much of a line is shown: the lines together may not be more than a browser can take in without a pause."""
    if sum(min(len(text), SIGNS_MAX) for text in texts) <= PIECE_SIGNS_MAX:
        return SIGNS_MAX
    return max(LINE_SIGNS_LEAST, PIECE_SIGNS_MAX // len(texts))


def _searched(attribution: Attribution) -> str | None:
    if attribution.searched is None:
        return None
    since = (
        "nothing has been captured here"
        if attribution.searched.since is None
        else f"since {day(attribution.searched.since)}"
    )
    records = count(attribution.searched.records, "record")
    return f"looked in {records} of this file and {count(attribution.searched.commits, 'commit')}; {since}"


def _claim(claim: CompetingClaim) -> str:
    by = claim.producer or "a trace that does not say by which tool"
    return f"{claim.agent}, {claim.model_id or 'model unknown'}, session {claim.session_id}; says {by}"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return escape_control_characters(value)
    return [_clean(entry) for entry in value] if isinstance(value, list) else value
