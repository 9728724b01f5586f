"""The JSON of attribution: reports of blame and stats, and origins that are shared.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.wire.canonical import dump, parse, problem
from custody.core.wire.report import Report
from custody.core.wire.sarif import Annotation, SarifResult, SarifRule, encode_annotations, encode_sarif

# What ``custody blame`` answers: every line in order, who wrote it as far as can be shown, and on what evidence.


Class = Literal["agent", "mixed", "person", "none"]
TIER_WORDS = ("provably certain", "effectively certain", "very high", "high", "medium", "suggestive")
"""How sure an answer is, from tier 1 to tier 6."""


class SignalReport(msgspec.Struct, frozen=True):
    """One signal: its name, the points it adds, a sentence saying why, the records that show it."""

    name: str
    points: float
    why: str
    records: list[str]


class SearchScope(msgspec.Struct, frozen=True):
    """What a negative answer rests on: since when, in how many records of the file and commits it was looked for."""

    since: str | None
    records: int
    commits: int


class CompetingClaim(msgspec.Struct, frozen=True):
    """Somebody else who is said to have written the lines: by which tool (null: a trace that does not say), and where.

    A claim beside an answer is never better than ``claimed``, and does not change the answer.
    """

    producer: str | None
    agent: str
    model_id: str | None
    session_id: str
    grade: str
    record: str


class Attribution(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    """Neighbouring lines with the same answer; ``share`` is the part of each line that is an agent's.

    ``commits`` is the path of the lines through commits, the one that holds them now last; empty while they are not
    committed. ``claims`` are those of other tools that name somebody else.
    """

    start_line: int
    end_line: int
    kind: Class
    share: float
    tier: int | None
    confidence: float
    score: float
    grade: str | None
    trace_id: str | None
    agent: str | None
    model_id: str | None
    session_id: str | None
    tool_call_id: str | None
    conversation_url: str | None
    conversation_summary: str | None
    signals: list[str]
    evidence: list[SignalReport]
    commits: list[str]
    reason: str | None
    searched: SearchScope | None
    claims: list[CompetingClaim]


class BlameReport(Report, frozen=True, kw_only=True, tag="blame"):
    """Every line of a file, or of the stretches asked for, in order."""

    path: str
    revision: str | None
    profile: str
    rules_digest: str
    attributions: list[Attribution]
    notes: list[str]


# Who wrote the lines of a file, in the shapes that code hosts and editors show beside them.


AGENT, MIXED, CONTESTED = "ATTR-LINES-AGENT", "ATTR-LINES-MIXED", "ATTR-LINES-CONTESTED"
RULES = (
    SarifRule(
        AGENT, "an agent's lines", "An agent wrote these lines, as far as records show.", "custody why FILE:LINE"
    ),
    SarifRule(MIXED, "partly an agent's lines", "An agent and a person wrote these lines.", "custody why FILE:LINE"),
    SarifRule(
        CONTESTED,
        "claimed by two",
        "Another tool claims these lines for somebody else.",
        "custody blame FILE -v shows both claims",
    ),
)
"""What a stretch of a file can be beside nobody's: people's lines and those without evidence are not told."""


def encode_blame_sarif(report: BlameReport, version: str) -> bytes:
    """A note for each stretch that is an agent's or partly one's."""
    results = [
        SarifResult(code, words, report.path, attribution.start_line, 1, "note", attribution.end_line)
        for attribution in report.attributions
        for code, words in _render_attribution(attribution)
    ]
    return encode_sarif(version, RULES, results)


def encode_blame_annotations(report: BlameReport) -> bytes:
    """The same as lines that a build prints."""
    return encode_annotations(
        Annotation(
            level="notice",
            title=code,
            message=words,
            file=report.path,
            first=attribution.start_line,
            last=attribution.end_line,
        )
        for attribution in report.attributions
        for code, words in _render_attribution(attribution)
    )


def _render_attribution(attribution: Attribution) -> Iterator[tuple[str, str]]:
    if attribution.kind in ("agent", "mixed"):
        who = f"{attribution.agent or 'an agent'}, {attribution.model_id or 'model unknown'}"
        sure = "" if attribution.tier is None else f", {TIER_WORDS[attribution.tier - 1]}"
        part = "" if attribution.kind == "agent" else f", {attribution.share:.0%} of each line"
        session = "" if attribution.session_id is None else f"; session {attribution.session_id}"
        yield AGENT if attribution.kind == "agent" else MIXED, f"{who}{part}{sure}{session}"
    for claim in attribution.claims:
        yield (
            CONTESTED,
            f"{claim.producer or 'a trace'} claims them for {claim.agent}, {claim.model_id or 'model unknown'}",
        )


# What ``custody stats`` answers: how many lines are whose, and which share of them is agents'.


class LineShare(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that have something in common, by class.

    ``share`` is the part of them that is agents', mixed lines by their share; ``part`` is what they are of all lines.
    """

    name: str
    lines: int
    agent: int
    mixed: int
    person: int
    none: int
    share: float
    part: float


class StatsPeriod(LineShare, frozen=True, kw_only=True):
    """Lines that were first committed on one day or in one month; ``models`` counts those that agents wrote.

    ``before`` has what is older than anything that was captured, ``unknown`` what no commit's moment is known of.
    """

    models: dict[str, int]


class UncountedFile(msgspec.Struct, frozen=True):
    """A tracked file that was not counted, and why."""

    path: str
    why: str


class StatsReport(Report, frozen=True, kw_only=True, tag="stats"):
    """The lines of a file or folder as of a commit; ``path`` is null for the whole repository.

    ``months`` are those in which lines that are an agent's or partly so were first committed; ``growth`` has all
    lines by day, or by month where the days are many, in their order. Nothing was looked for before ``since``, which is
    null when nothing was captured. Of the files left out the first 1,000 are named. With an ``agent``, shares, models,
    tiers and months are of its lines; classes and agents are of all.
    """

    path: str | None
    agent: str | None = None
    revision: str
    rules_digest: str
    since: str | None
    files: int
    totals: LineShare
    classes: list[LineShare]
    models: list[LineShare]
    agents: list[LineShare]
    tiers: list[LineShare]
    folders: list[LineShare]
    months: list[LineShare]
    growth: list[StatsPeriod]
    left_out: list[UncountedFile]
    left_out_count: int
    notes: list[str]


# Where the lines of one file come from, as one store tells another: keys of lines and origins, never a text.
# A key stands for a line without its white space; whoever guesses a line can confirm the guess.


FILE_BYTES_MAX = 64 * 1024 * 1024
LINES_MAX = 5_000_000
"""Of one state: no file that anybody wrote has as many."""
KEY_BYTES = 8
KEYS_MAX = 50_000_000
"""Lines of all states of one file: a few words could stand for any number."""

PackedOrigins = list[tuple[int, int] | str]
"""Keys: stretches of the state before (from where, how many), and others in base64, 8 bytes each."""
StatePlace = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word = Annotated[str, Meta(pattern=r"^[^\x00\ud800-\udfff]*$(?!\n)")]
"""What every database holds: no zero sign, no half of a pair."""
ShareValue = Annotated[float, Meta(ge=0, le=1)]
Run = tuple[Annotated[int, Meta(ge=1, le=LINES_MAX)], Word, ShareValue]
"""How many lines, whose they are (see ``app.origin_names``), and the agent's share."""


class StateOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One state of the file after a captured moment; ``seq`` and ``n`` say which view of which record shows it."""

    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    n: StatePlace
    at_ns: Annotated[int, Meta(ge=-(2**63 - 1), le=2**63 - 1)]
    observed: Word
    agent: Word
    session: Word | None
    call: Word | None
    revision: Word | None
    kind: Word
    keys: PackedOrigins
    before: PackedOrigins
    runs: list[Run]
    brought: str
    """The keys of lines that say something and that its call wrote."""
    order: StatePlace
    """When it was replayed, among all states of its chain."""
    redacted: bool = False


class MatchedLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lines of a commit that are like lines of a state: their place, how like, whose, and with what share."""

    commit: Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    n: StatePlace
    lines: list[tuple[StatePlace, float, Word, ShareValue]]


class FileOrigins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its states in the order in which they were replayed, and what later commits have like them."""

    version: Annotated[int, Meta(ge=1, le=1)]
    path: str
    states: list[StateOrigin]
    likes: list[MatchedLines]


def encode_origins(told: FileOrigins) -> bytes:
    """The canonical bytes."""
    return dump(msgspec.to_builtins(told))


def decode_origins(data: bytes) -> FileOrigins:
    """Read what ``encode_origins`` wrote, or raise an ``InputError`` that says what it is instead."""
    try:
        told = msgspec.convert(parse(data, bytes_max=FILE_BYTES_MAX), FileOrigins)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"origins of lines cannot be read: {problem(error)}", hint="upgrade custody") from error
    RepoPath.of(told.path)
    return told


def unpacked_states(told: FileOrigins) -> Iterator[tuple[StateOrigin, list[int], list[int]]]:
    """Every state with the keys of its lines and of those before its call; an ``InputError`` if they do not fit."""
    last: list[int] = []
    total = 0
    for state in told.states:
        before, keys = unpack_keys(state.before, last), unpack_keys(state.keys, last)
        total += len(before) + len(keys)
        if total > KEYS_MAX:
            raise InputError(f"origins of one file tell of more than {KEYS_MAX:,} lines", hint="no custody writes this")
        if sum(count for count, _, _ in state.runs) != len(keys):
            raise InputError("origins of lines do not fit their state", hint="no custody writes this")
        yield state, keys, before
        last = keys


def pack_keys(keys: Sequence[int], same: Iterable[tuple[int, int, int]]) -> PackedOrigins:
    """Keys as stretches that the state before has too (from where there, from where here, how many), and the rest.

    >>> pack_keys([1, 2, 9, 3], [(0, 0, 2), (2, 3, 1)])
    [(0, 2), 'CQAAAAAAAAA=', (2, 1)]
    """
    packed: PackedOrigins = []
    at = 0
    for old, new, length in same:
        if new > at:
            packed.append(keys_text(keys[at:new]))
        packed.append((old, length))
        at = new + length
    if at < len(keys):
        packed.append(keys_text(keys[at:]))
    return packed


def unpack_keys(packed: PackedOrigins, last: Sequence[int]) -> list[int]:
    """The keys that ``pack_keys`` packed.

    >>> unpack_keys([(0, 2), "CQAAAAAAAAA=", (2, 1)], [1, 2, 3])
    [1, 2, 9, 3]
    """
    keys: list[int] = []
    for piece in packed:
        if isinstance(piece, str):
            keys.extend(text_keys(piece))
        else:
            first, count = piece
            if first < 0 or count < 1 or first + count > len(last):
                raise InputError("origins of lines name lines that are not there", hint="no custody writes this")
            keys.extend(last[first : first + count])
        if len(keys) > LINES_MAX:
            raise InputError("a state has too many lines", hint="no custody writes this")
    return keys


def keys_text(keys: Sequence[int]) -> str:
    """Keys in base64, the lowest byte of each first."""
    return b64encode(b"".join(key.to_bytes(KEY_BYTES, "little", signed=True) for key in keys)).decode()


def text_keys(text: str) -> list[int]:
    """The keys that ``keys_text`` wrote."""
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"keys of lines cannot be read: {error}", hint="no custody writes this") from error
    if len(data) % KEY_BYTES:
        raise InputError("keys of lines are cut short", hint="no custody writes this")
    return [int.from_bytes(data[at : at + KEY_BYTES], "little", signed=True) for at in range(0, len(data), KEY_BYTES)]
