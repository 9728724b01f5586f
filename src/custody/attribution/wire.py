"""The JSON of attribution: reports of blame and stats, and shared origins of lines.

May import ``core``, msgspec and value tools of the standard library.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.wire.canonical import describe_conversion_error, dump_canonical_json, parse_json_bytes
from custody.core.wire.report import Report

if TYPE_CHECKING:
    from custody.core.wire.sarif import SarifRule

# The report of ``custody blame``: every line in order, with its author and the evidence.


Class = Literal["agent", "mixed", "person", "none"]


class SignalReport(msgspec.Struct, frozen=True):
    """One signal: its name, its points, an explanation and its records."""

    name: str
    points: float
    why: str
    records: list[str]


class SearchScope(msgspec.Struct, frozen=True):
    """The extent of a search without a result: since when, and how many records of the file and commits."""

    since: str | None
    records: int
    commits: int


class CompetingClaim(msgspec.Struct, frozen=True):
    """A claim for another author: ``producer`` is the tool that claims it, null for a trace that names none.

    Its grade is never better than ``claimed``, and it does not change the answer.
    """

    producer: str | None
    agent: str
    model_id: str | None
    session_id: str
    grade: str
    record: str


class LastChange(msgspec.Struct, frozen=True, kw_only=True):
    """The last change of adjacent lines: its commit, its call if a call made it, and the words added and removed.

    ``commit`` is null while it is not committed. The counts are null where the text before it is unknown. ``removed``
    are the removed words, in order.
    """

    start_line: int
    end_line: int
    commit: str | None
    session_id: str | None
    tool_call_id: str | None
    words_added: int | None
    words_removed: int | None
    removed: list[str]


class AuthorStatementReport(msgspec.Struct, frozen=True):
    """A person's own statement that they wrote the lines by hand; always self-reported."""

    person: str
    at: str
    message: str | None
    record: str


class Attribution(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "class"}):
    """Adjacent lines with the same answer; ``share`` is the part of each line that an agent wrote.

    ``commits`` are the commits that the lines came through, the latest last; empty while they are not committed, and
    for lines older than all commits that were searched.
    ``claims`` are other tools' claims for another author. ``last_changes`` has every line once, if it was asked for.
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
    certainty: str
    last_changes: list[LastChange] = []
    said_by: list[AuthorStatementReport] | msgspec.UnsetType = msgspec.UNSET
    """People who say that they wrote the lines; left out without any."""


class BlameReport(Report, frozen=True, kw_only=True, tag="blame"):
    """Every line of a file, or of the requested line ranges, in order."""

    path: str
    revision: str | None
    profile: str
    rules_digest: str
    attributions: list[Attribution]
    notes: list[str]


class RemovedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the older revision that is gone, or that lost ``words``; ``now`` is its line number now, null if gone.

    ``commit`` removed it, null while that is not committed. The call is null where no captured call shows the removal.
    """

    line: int
    text: str
    words: list[str]
    now: int | None
    commit: str | None
    agent: str | None
    model_id: str | None
    session_id: str | None
    tool_call_id: str | None
    grade: str | None
    record: str | None


class RemovedReport(Report, frozen=True, kw_only=True, tag="removed"):
    """The lines and words removed from a file since the commit ``since``, in the order of its lines there."""

    path: str
    since: str
    revision: str | None
    rules_digest: str
    removed: list[RemovedLine]
    notes: list[str]


class CommitTrailers(msgspec.Struct, frozen=True, kw_only=True):
    """The agents of one commit: who wrote lines of it by the records, and whom its ``Assisted-by`` trailers name.

    ``trailers`` are those that the commit should have. ``missing`` are those that it lacks, ``unbacked`` those of its
    own that no record supports. ``lines`` counts the lines that agents wrote, wholly or in part.
    """

    commit: str
    subject: str
    lines: int
    trailers: list[str]
    missing: list[str]
    unbacked: list[str]


class TrailerReport(Report, frozen=True, kw_only=True, tag="trailer"):
    """The ``Assisted-by`` trailers of commits, oldest first; ``found`` if a check found one missing or unbacked."""

    commits: list[CommitTrailers]
    written: str | None = None
    """The file of the message that got the missing trailers."""


# Agents' lines of a file in the formats that code hosts and editors display.


AGENT, MIXED, CONTESTED = "ATTR-LINES-AGENT", "ATTR-LINES-MIXED", "ATTR-LINES-CONTESTED"


def encode_blame_sarif(report: BlameReport, version: str) -> bytes:
    """Return SARIF with a note for each block that an agent wrote wholly or partly."""
    from custody.core.wire.sarif import SarifResult, encode_sarif

    rules = _list_sarif_rules()
    results = [
        SarifResult(code, message, report.path, attribution.start_line, 1, "note", attribution.end_line)
        for attribution in report.attributions
        for code, message in _render_attribution(attribution)
    ]
    return encode_sarif(version, rules, results)


def _list_sarif_rules() -> "tuple[SarifRule, ...]":
    """Return the rules of a block; people's lines and lines without evidence are not reported."""
    from custody.core.wire.sarif import SarifRule

    return (
        SarifRule(
            AGENT, "agent wrote lines", "An agent wrote these lines, as far as records show.", "custody why FILE:LINE"
        ),
        SarifRule(MIXED, "agent wrote parts of lines", "An agent wrote parts of these lines.", "custody why FILE:LINE"),
        SarifRule(
            CONTESTED,
            "conflicting claims",
            "Another tool claims these lines for another author.",
            "custody blame FILE -v shows both claims",
        ),
    )


def encode_blame_annotations(report: BlameReport) -> bytes:
    """Return the same notes as annotations for a build log."""
    from custody.core.wire.sarif import Annotation, encode_annotations

    return encode_annotations(
        Annotation(
            level="notice",
            title=code,
            message=message,
            file=report.path,
            first=attribution.start_line,
            last=attribution.end_line,
        )
        for attribution in report.attributions
        for code, message in _render_attribution(attribution)
    )


def _render_attribution(attribution: Attribution) -> Iterator[tuple[str, str]]:
    if attribution.kind in ("agent", "mixed"):
        author = f"{attribution.agent or 'an agent'}, {attribution.model_id or 'model unknown'}"
        certainty = "" if attribution.tier is None else f", {attribution.certainty}"
        part = "" if attribution.kind == "agent" else f", {attribution.share:.0%} of each line"
        session = "" if attribution.session_id is None else f"; session {attribution.session_id}"
        yield AGENT if attribution.kind == "agent" else MIXED, f"{author}{part}{certainty}{session}"
    for claim in attribution.claims:
        yield (
            CONTESTED,
            f"{claim.producer or 'a trace'} claims them for {claim.agent}, {claim.model_id or 'model unknown'}",
        )


# The report of ``custody stats``: lines by author, and the agents' share.


class LineShare(msgspec.Struct, frozen=True, kw_only=True):
    """One row of counts: lines by class.

    ``share`` is the part of these lines that agents wrote, mixed lines by their share. ``part`` is these lines as a
    part of all lines.
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
    """Lines first committed on one day or in one month; ``models`` counts those that agents wrote.

    The period ``before`` has lines older than the first capture, ``unknown`` those without a known commit date.
    """

    models: dict[str, int]


class AgentModelShare(LineShare, frozen=True, kw_only=True):
    """Lines that the agent ``name`` wrote with ``model``."""

    model: str


class UncountedFile(msgspec.Struct, frozen=True):
    """A tracked file that was not counted, and the reason."""

    path: str
    why: str


class UnknownFile(msgspec.Struct, frozen=True):
    """A file with ``lines`` of an unknown author, which are the part ``share`` of its lines."""

    path: str
    lines: int
    share: float


class StatsReport(Report, frozen=True, kw_only=True, tag="stats"):
    """The lines of a file or folder as of a commit; ``path`` is null for the whole repository.

    ``months`` count the lines that agents wrote wholly or partly, by first commit. ``growth`` counts all lines by day,
    or by month if there are many days. Nothing before ``since`` was searched; it is null if nothing was captured.
    ``left_out`` lists the first 1,000 skipped files. With an ``agent``, shares, models, tiers, certainties and months
    are of its lines; classes and agents are of all lines. ``agent_models`` has the models of each agent, the largest
    agent first. ``self_reported`` counts the lines of people whom only self-reported records name, ``named_by_commit``
    those of agents that only a commit's own author, message or note names. ``unknown_files`` lists the files with
    unknown lines, those with the most first; null unless it was asked for.

    ``evidence`` has the agents' lines by how that is known: recorded live, imported, named by a commit. ``at_least`` is
    the share of agents without what only a commit says of itself. ``coverage`` is the part of lines with evidence. With
    ``base`` only lines that were added since then are counted.
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
    agent_models: list[AgentModelShare] = msgspec.field(default_factory=list)
    self_reported: int = 0
    named_by_commit: int = 0
    certainties: list[LineShare] = msgspec.field(default_factory=list)
    unknown_files: list[UnknownFile] | None = None
    evidence: list[LineShare] = msgspec.field(default_factory=list)
    at_least: float = 0.0
    coverage: float = 0.0
    base: str | None = None


# The origins of the lines of one file, as stores share them: keys of lines and origins, never text.
# A key is a hash of a line without white space, so a guessed line can be confirmed.


NOT_WRITTEN_BY_US = "custody did not write this file; it was made or changed by something else"
FILE_BYTES_MAX = 64 * 1024 * 1024
LINES_MAX = 5_000_000
"""Maximum lines of one state."""
KEY_BYTES = 8
KEYS_MAX = 50_000_000
"""Maximum lines of all states of one file, since a short packed list can expand to any length."""

PackedOrigins = list[tuple[int, int] | str]
"""Keys: runs of the previous state (start, length), and others in base64, 8 bytes each."""
StatePlace = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word = Annotated[str, Meta(pattern=r"^[^\x00\ud800-\udfff]*$(?!\n)")]
"""Text that every database can store: without NUL and lone surrogates."""
ShareValue = Annotated[float, Meta(ge=0, le=1)]
Run = tuple[Annotated[int, Meta(ge=1, le=LINES_MAX)], Word, ShareValue]
"""The count of lines, the name of their origin (see ``app.foreign_states``), and the agent's share."""


class StateOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One captured state of the file; ``seq`` and ``n`` are the record and its view."""

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
    """The keys of the lines that its call wrote, without lines that say little, such as a lone bracket."""
    order: StatePlace
    """Its position in the replay order of its chain."""
    redacted: bool = False


class MatchedLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a commit that are similar to lines of a state: position, similarity, origin and the agent's share."""

    commit: Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    n: StatePlace
    lines: list[tuple[StatePlace, float, Word, ShareValue]]


class FileOrigins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its states in replay order, and similar lines in later commits."""

    version: Annotated[int, Meta(ge=1, le=1)]
    path: str
    states: list[StateOrigin]
    likes: list[MatchedLines]


def encode_line_origins(file_origins: FileOrigins) -> bytes:
    """Return the canonical bytes."""
    return dump_canonical_json(msgspec.to_builtins(file_origins))


def decode_line_origins(data: bytes) -> FileOrigins:
    """Decode the bytes of ``encode_line_origins``, or raise an ``InputError``."""
    try:
        file_origins = msgspec.convert(parse_json_bytes(data, bytes_max=FILE_BYTES_MAX), FileOrigins)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot read line origins: {describe_conversion_error(error)}", hint="upgrade custody"
        ) from error
    RepoPath.of(file_origins.path)
    return file_origins


def unpack_state_origins(file_origins: FileOrigins) -> Iterator[tuple[StateOrigin, list[int], list[int]]]:
    """Yield every state with the keys of its lines and of those before its call; raise an ``InputError`` if invalid."""
    last: list[int] = []
    total = 0
    for state in file_origins.states:
        before, keys = unpack_origin_keys(state.before, last), unpack_origin_keys(state.keys, last)
        total += len(before) + len(keys)
        if total > KEYS_MAX:
            raise InputError(f"the line origins of one file have more than {KEYS_MAX:,} lines", hint=NOT_WRITTEN_BY_US)
        if sum(count for count, _, _ in state.runs) != len(keys):
            raise InputError("line origins do not match their state", hint=NOT_WRITTEN_BY_US)
        yield state, keys, before
        last = keys


def pack_origin_keys(keys: Sequence[int], same: Iterable[tuple[int, int, int]]) -> PackedOrigins:
    """Pack keys as runs of the previous state, given as (start there, start here, length), and the others.

    >>> pack_origin_keys([1, 2, 9, 3], [(0, 0, 2), (2, 3, 1)])
    [(0, 2), 'CQAAAAAAAAA=', (2, 1)]
    """
    packed: PackedOrigins = []
    at = 0
    for old, new, length in same:
        if new > at:
            packed.append(origin_keys_to_text(keys[at:new]))
        packed.append((old, length))
        at = new + length
    if at < len(keys):
        packed.append(origin_keys_to_text(keys[at:]))
    return packed


def unpack_origin_keys(packed: PackedOrigins, last: Sequence[int]) -> list[int]:
    """Return the keys that ``pack_origin_keys`` packed.

    >>> unpack_origin_keys([(0, 2), "CQAAAAAAAAA=", (2, 1)], [1, 2, 3])
    [1, 2, 9, 3]
    """
    keys: list[int] = []
    for piece in packed:
        if isinstance(piece, str):
            keys.extend(origin_keys_from_text(piece))
        else:
            first, count = piece
            if first < 0 or count < 1 or first + count > len(last):
                raise InputError("line origins refer to missing lines", hint=NOT_WRITTEN_BY_US)
            keys.extend(last[first : first + count])
        if len(keys) > LINES_MAX:
            raise InputError(f"a state has more than {LINES_MAX:,} lines", hint=NOT_WRITTEN_BY_US)
    return keys


def origin_keys_to_text(keys: Sequence[int]) -> str:
    """Return keys in base64, each in little-endian order."""
    return b64encode(b"".join(key.to_bytes(KEY_BYTES, "little", signed=True) for key in keys)).decode()


def origin_keys_from_text(text: str) -> list[int]:
    """Return the keys that ``origin_keys_to_text`` encoded."""
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"cannot read line keys: {error}", hint=NOT_WRITTEN_BY_US) from error
    if len(data) % KEY_BYTES:
        raise InputError("line keys are truncated", hint=NOT_WRITTEN_BY_US)
    return [int.from_bytes(data[at : at + KEY_BYTES], "little", signed=True) for at in range(0, len(data), KEY_BYTES)]
