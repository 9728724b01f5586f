"""What it is that somebody asks to import: told by its name or by its first lines."""

from enum import Enum
from itertools import islice
from pathlib import Path

from custody.capture import TRANSCRIPT_READERS, TranscriptReader, is_database, lines_for, lines_of
from custody.core.errors import InputError
from custody.core.wire.canonical import Json, parse
from custody.graph.otlp.span_file import is_otlp_file

LINES_LOOKED_AT = 50
WHOLE_BYTES_MAX = 64 << 20
TRACE_FILES = ("traces.jsonl", "commit-links.jsonl")


class ImportKind(Enum):
    """The kinds of things that can be imported."""

    AGENT = "agent"
    TRANSCRIPTS = "transcripts"
    EVENTS = "events"
    TRACES = "traces"
    OTLP = "otlp"
    GIT_AI = "git-ai"
    ENTIRE = "entire"
    EXPORT = "export"


TOOLS = {ImportKind.GIT_AI.value: ImportKind.GIT_AI, ImportKind.ENTIRE.value: ImportKind.ENTIRE}
"""Other attribution tools, whose claims are in references of git."""


def what_is(path: Path) -> tuple[ImportKind, TranscriptReader | None]:
    """What ``path`` names, and the reader if there is one for it; an export unless it is clearly something else."""
    named = TRANSCRIPT_READERS.get(str(path))
    if named is not None:
        return ImportKind.AGENT, named
    if str(path) in TOOLS:
        return TOOLS[str(path)], None
    if path.is_dir():
        return (ImportKind.TRACES, None) if _has_traces(path) else (ImportKind.TRANSCRIPTS, _reader_below(path))
    if not path.is_file():
        return ImportKind.EXPORT, None  # a pipe, which can be read only once, or nothing at all
    if is_database(path):
        known = next((reader for reader in TRANSCRIPT_READERS.values() if _first_lines(path, reader)), None)
        return (ImportKind.EXPORT, None) if known is None else (ImportKind.TRANSCRIPTS, known)
    try:
        lines = [line.data for line in islice(lines_of(path), LINES_LOOKED_AT)]
    except OSError:
        return ImportKind.EXPORT, None  # said there, with the reason
    if any(_is_event(line) for line in lines):
        return ImportKind.EVENTS, None
    if any(_is_trace(line) for line in lines) or _is_whole_trace(path):
        return ImportKind.TRACES, None
    if is_otlp_file(path):
        return ImportKind.OTLP, None
    reader = next((r for r in TRANSCRIPT_READERS.values() if any(r.knows(line) for line in lines)), None)
    return (ImportKind.EXPORT, None) if reader is None else (ImportKind.TRANSCRIPTS, reader)


def _reader_below(folder: Path) -> TranscriptReader:
    """The reader of the first file that one of them knows; where there is none, any will say so."""
    for reader in TRANSCRIPT_READERS.values():
        if any(_first_lines(file, reader) for file in reader.files(folder)):
            return reader
    return next(iter(TRANSCRIPT_READERS.values()))


def _first_lines(file: Path, reader: TranscriptReader) -> bool:
    try:
        return any(reader.knows(line.data) for line in islice(lines_for(reader, file), LINES_LOOKED_AT))
    except OSError:
        return False  # named when it is read


def _has_traces(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TRACE_FILES)


def _is_event(data: bytes) -> bool:
    value = _object(data)
    return "custody" in value and "kind" in value and "line" not in value


def _is_trace(data: bytes) -> bool:
    value = _object(data)
    is_trace = isinstance(value.get("files"), list) and bool({"id", "trace_id", "vcs", "tool"} & value.keys())
    return is_trace or ("commit_sha" in value and "trace_ids" in value)


def _is_whole_trace(path: Path) -> bool:
    """Whether the file is one trace, or a list of them, that is written over several lines."""
    if path.suffix != ".json" or path.stat().st_size > WHOLE_BYTES_MAX:
        return False
    data = path.read_bytes()
    try:
        value = parse(data)
    except InputError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("files"), list)


def _object(data: bytes) -> dict[str, Json]:
    try:
        value = parse(data)
    except InputError:
        return {}  # whoever reads the file says so
    return value if isinstance(value, dict) else {}
