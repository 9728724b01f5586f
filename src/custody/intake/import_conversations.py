"""Prompts of conversations that traces name by ``file://`` URLs, read while the traces are imported.

Only files in the work tree or in agents' own folders are read, never through a symbolic link. Their number and size are
limited, and secrets are removed. Questions never read a conversation.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from custody.capture import TRANSCRIPT_READERS, TranscriptLine, TranscriptReader, transcript_views
from custody.capture.claims.traces import foreign_trace_views
from custody.capture.line_reader import FileLine
from custody.core.errors import CustodyError, InputError
from custody.core.ids import EventId
from custody.core.paths import RepoPath
from custody.core.views import Prompt, TracedFile
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.core.wire.time import format_timestamp
from custody.git import NoWorkFile, read_work_file
from custody.intake.record import redact_event_payload
from custody.workspace.workspace import Workspace

FILE_URL = "file://"
CONVERSATIONS_MAX = 1_000
CONVERSATION_BYTES_MAX = 16 << 20
DETECTION_LINES_MAX = 50


class LocalConversations(Struct):
    """The conversations of the traces of one import: each file is read once."""

    workspace: Workspace
    report: Callable[[str, str], None]
    """Called with a URL and why it was not read."""
    prompts: dict[str, Prompt | None] = field(default_factory=dict)
    traces: set[tuple[str, str]] = field(default_factory=set)

    def arrivals(self, trace: dict[str, Json], key: Callable[[], bytes]) -> Iterator[Arrival]:
        """Yield the first prompt of a trace's conversation, as a prompt of its session."""
        agent, session = str(trace.get("agent")), str(trace.get("session"))
        if trace.get("kind") != "trace" or (agent, session) in self.traces:
            return
        self.traces.add((agent, session))
        for url in _list_conversations(trace):
            prompt = self._prompt(url)
            if prompt is None or prompt.text.content is None:
                continue
            event: dict[str, Json] = {
                "custody": 1,
                "kind": "prompt",
                "id": f"conversation-{hashlib.sha256(url.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}",
                "agent": agent,
                "session": session,
                "at": format_timestamp(prompt.at_ns) if prompt.at_ns else str(trace.get("at")),
                "text": prompt.text.content,
            }
            name = EventId(f"import-{hashlib.sha256(dump_canonical_json(event)).hexdigest()[:32]}")
            yield arrival_from_json(name, redact_event_payload(event, key))
            return

    def _prompt(self, url: str) -> Prompt | None:
        if url not in self.prompts:
            if len(self.prompts) >= CONVERSATIONS_MAX:
                return None
            self.prompts[url] = self._read(url)
        return self.prompts[url]

    def _read(self, url: str) -> Prompt | None:
        path = _path_from_file_url(url)
        if path is None:
            self.report(url, "not a local file")
            return None
        for root in self._roots():
            if not path.startswith(f"{str(root).rstrip('/')}/"):
                continue
            try:
                file = read_work_file(root, RepoPath.of(path[len(str(root).rstrip("/")) + 1 :]), CONVERSATION_BYTES_MAX)
            except CustodyError as error:
                self.report(url, error.message)
                return None
            if isinstance(file, NoWorkFile):
                self.report(url, f"it {file.reason}")
                return None
            prompt = _first_prompt(Path(path), file.content)
            if prompt is None:
                self.report(url, "no prompt in a known format")
            return prompt
        self.report(url, "outside the repository and the folders of agents")
        return None

    def _roots(self) -> Iterator[Path]:
        """Yield the folders whose files may be read."""
        work_tree = self.workspace.repository.work_tree
        if work_tree is not None:
            yield work_tree
        for reader in TRANSCRIPT_READERS.values():
            yield reader.home(os.environ)


def _list_conversations(trace: dict[str, Json]) -> list[str]:
    """Return the local conversations that a trace names, each once."""
    views = (view for view in foreign_trace_views(trace) if isinstance(view, TracedFile))
    urls = (traced.conversation for view in views for traced in view.ranges)
    return list(dict.fromkeys(url for url in urls if url is not None and url.startswith(FILE_URL)))


def _path_from_file_url(url: str) -> str | None:
    """Return the path of a ``file://`` URL; None for another machine's, or one that is not plain.

    >>> _path_from_file_url("file:///home/ana/my%20talk.jsonl"), _path_from_file_url("file://host/etc/passwd")
    ('/home/ana/my talk.jsonl', None)
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    path = unquote(parts.path)
    plain = parts.netloc in ("", "localhost") and path.startswith("/") and "\0" not in path
    return path if plain and os.path.normpath(path) == path else None


def _first_prompt(path: Path, content: bytes) -> Prompt | None:
    """Return the first prompt of a transcript that a reader knows."""
    lines = [FileLine(n, line, len(line) + 1, True) for n, line in enumerate(content.split(b"\n"), start=1)]
    first = lines[:DETECTION_LINES_MAX]
    reader = next((each for each in TRANSCRIPT_READERS.values() if any(each.knows(line.data) for line in first)), None)
    if reader is None:
        return None
    try:
        return next(_iterate_prompts(reader, path, lines), None)
    except (OSError, InputError):
        return None  # the file went away, or its lines are not what they seemed


def _iterate_prompts(reader: TranscriptReader, path: Path, lines: list[FileLine]) -> Iterator[Prompt]:
    for entry in reader.read(path, iter(lines), {}):
        if isinstance(entry, TranscriptLine):
            event: dict[str, Json] = {
                "custody": 1,
                "kind": "transcript",
                "id": entry.id,
                "agent": reader.agent,
                "session": entry.session,
                "at": entry.at,
                "payload": entry.payload,
            }
            if entry.subagent is None:
                yield from (view for view in transcript_views(event) if isinstance(view, Prompt))
