"""Claude Code's transcripts: where they are, and what each of their lines holds.

One line is one record. What stands twice in a line is kept once, what a model thought is not kept, and what only the
lines before it can tell (which tool a result is of, who started a subagent) is put beside it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.claude.tool_calls import EDITS, edited_path, find_short_commit, input_needed
from custody.capture.agents.claude.views import find_shell_writes, is_failed, prompt_of, results_of, views_of
from custody.capture.line_reader import (
    FileLine,
    files_below,
    is_below,
    lines_of,
    read_json_object,
    small_file,
    user_folder,
)
from custody.capture.transcripts import (
    ChangedFile,
    LineProblem,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    SubagentLaunch,
    TranscriptLine,
    TranscriptReader,
    digest_id,
    is_id,
    newer_version,
    read_objects,
    timestamp_in,
)
from custody.capture.typed_field import Fields, fields, first_string, get_string, items, model
from custody.core.ids import AgentName
from custody.core.wire.body import EDITING, excerpt_long_texts
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from

KNOWN_MAJOR = 2
"""The newest version of the format that this reader was held to."""
SUFFIX = ".jsonl"
NAME_MAX = 200
"""Claude Code cuts the names of its project folders here."""
SIDE_LINES_MAX = 100_000
PEEK_LINES = 50

PASSED_OVER = frozenset(
    "progress system file-history-snapshot queue-operation custom-title ai-title last-prompt agent-name agent-color"
    " agent-setting attachment permission-mode mode worktree-state content-replacement tag task-summary"
    " speculation-accept x-error saved_hook_context started result".split()
)
"""Types that say nothing of what was done; another is counted in the report by its name."""
COMPACTING = "acompact"
"""How the ids of agents begin that only sum up their own session."""

_AGENT_IN_WORDS = re.compile(r"\bagentId: ([0-9A-Za-z_-]{1,100})")


def home_of(environment: Mapping[str, str]) -> Path:
    """``projects`` in the user's Claude folder."""
    return user_folder(environment, "CLAUDE_CONFIG_DIR", ".claude") / "projects"


def transcripts_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The transcripts in project folders named after one of these work trees or a folder in it."""
    found = []
    for file in files_below(home, SUFFIX):
        project = file.relative_to(home).parts[0]
        exact = any(project == project_name(tree) for tree in trees)
        if exact or any(project.startswith(project_name(tree)[:NAME_MAX]) for tree in trees):
            began = _is_in(file, trees)
            # A session that does not say where it began is told by its project's name alone.
            if began or (exact and began is None):
                found.append(file)
    return found


def transcripts_below(place: Path) -> list[Path]:
    """Every ``.jsonl`` at or below ``place``."""
    return files_below(place, SUFFIX)


def is_opening(first: bytes) -> bool:
    """Whether a line has a type and one of the fields that Claude Code's lines have."""
    line = read_json_object(first)
    marks = ("sessionId", "leafUuid", "messageId", "isSidechain")
    return isinstance(line.get("type"), str) and any(mark in line for mark in marks)


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From the repeated lines of subagents, from results that name them, and from the file beside a subagent's."""
    known: set[bytes] = set()
    for line in lines:
        if b"agentId" not in line.data or (b'"agent_progress"' not in line.data and b"tool_result" not in line.data):
            continue
        mark = _progress_mark(line.data)
        if mark is not None and mark in known:
            continue
        for started in _started(line.data):
            if mark is not None:
                known.add(mark)
            yield started
    yield from _beside(file)


def read_transcript(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each line holds."""
    state = _TranscriptState(starts, session=_session_by_name(file), at=text_from(file.stat().st_mtime_ns))
    yield from read_objects(lines, state.line)


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; results of editing tools are the texts of edits."""
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return event
    tools = {get_string(fields(call).get("name")) for call in items(event.get("calls"))}
    kept = dict(payload)
    if "toolUseResult" in kept and not tools & EDITING:
        kept["toolUseResult"] = excerpt_long_texts(kept["toolUseResult"])
    message = kept.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        blocks: list[Json] = [_cut_block(block) for block in items(message["content"])]
        kept["message"] = {**message, "content": blocks}
    return {**event, "payload": kept}


READER = TranscriptReader(
    agent=AgentName("claude-code"),
    home=home_of,
    of_trees=transcripts_of,
    files=transcripts_below,
    knows=is_opening,
    starts=starts_in,
    read=read_transcript,
    trimmed=trim_outputs,
    views=views_of,
)


def project_name(folder: str) -> str:
    """The project folder of sessions in ``folder``: everything but letters and digits made a dash.

    >>> project_name("/home/a.b/my repo")
    '-home-a-b-my-repo'
    """
    return re.sub("[^A-Za-z0-9]", "-", folder)


@dataclass
class _TranscriptState:
    """How far one file was read, and what later lines will ask of earlier ones."""

    starts: Starts
    session: str
    at: str
    opened: OpenedSessions = field(default_factory=OpenedSessions)
    waiting: PendingCalls = field(default_factory=PendingCalls)
    prompts: dict[str, str] = field(default_factory=dict)
    """By what a subagent was asked, the call that asked it: older files have subagents in them, without a name."""
    asked_by: dict[str, str] = field(default_factory=dict)
    """By the first line of a side chain, the call that asked it."""
    side: dict[str, str] = field(default_factory=dict)
    """By a side line, the first line of its chain."""
    versions: set[str] = field(default_factory=set)

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """What one line holds."""
        version = get_string(value.get("version"))
        if version is not None and version not in self.versions:
            self.versions.add(version)
            yield from newer_version(line.number, version, KNOWN_MAJOR)
        timestamp = timestamp_in(line.number, value.get("timestamp"))
        if isinstance(timestamp, LineProblem):
            yield timestamp
        else:
            self.at = timestamp or self.at
        self.session = get_string(value.get("sessionId")) or self.session
        yield self._found(line, value, version)

    def _found(self, line: FileLine, value: dict[str, Json], version: str | None) -> TranscriptLine | SkippedLine:
        kind = get_string(value.get("type")) or "(no type)"
        if (get_string(value.get("agentId")) or "").startswith(COMPACTING):
            return SkippedLine(kind, True, version)
        slim = SLIM.get(kind, _nothing)(value)
        subagent, parent = self._agent(value)
        spoken = None if subagent is not None else model(fields(value.get("message")).get("model"))
        # One model speaks in a file, whichever session its lines are of.
        opens = None if slim is None else self.opened.opens(self.session, spoken, speaker="")
        if slim is None or (kind == "assistant" and opens is None and not _says_something(slim)):
            return SkippedLine(kind, kind in PASSED_OVER or kind in SLIM, version)
        begun = self._begin(value, line.size) if kind == "assistant" else 0
        calls = self._finish(value) if kind == "user" else []
        return TranscriptLine(
            line=line.number,
            id=_id(value, line.data),
            session=self.session,
            at=self.at,
            payload=slim,
            version=version,
            cwd=get_string(value.get("cwd")),
            calls=calls,
            edits=tuple(_edits(slim, calls)),
            commits=tuple(filter(None, (find_short_commit(fields(value.get("toolUseResult"))),))),
            subagent=subagent,
            parent_call=parent,
            opens=opens,
            begun=begun,
        )

    def _agent(self, value: Fields) -> tuple[str | None, str | None]:
        """The subagent whose line this is, and the call that started it."""
        if value.get("type") == "progress":
            return get_string(fields(value.get("data")).get("agentId")), get_string(value.get("parentToolUseID"))
        if value.get("isSidechain") is not True:
            return None, None
        named = get_string(value.get("agentId"))
        if named is not None:
            return named, self.starts.get((self.session, named))
        uuid, before = get_string(value.get("uuid")), get_string(value.get("parentUuid"))
        first = self.side.get(before or "") or uuid
        if uuid is None or first is None:
            return None, None
        if len(self.side) < SIDE_LINES_MAX:
            self.side[uuid] = first
        if first == uuid and (asked := prompt_of(value)) is not None and _short(asked) in self.prompts:
            self.asked_by[first] = self.prompts[_short(asked)]
        return first, self.asked_by.get(first)

    def _begin(self, value: Fields, size: int) -> int:
        """Remember the calls that begin on a line, until their results come."""
        count = 0
        for block in map(fields, items(fields(value.get("message")).get("content"))):
            call, name = get_string(block.get("id")), get_string(block.get("name"))
            if block.get("type") == "tool_use" and call and name:
                count += 1
                given = fields(block.get("input"))
                asked = get_string(given.get("prompt"))
                if asked is not None and len(self.prompts) < SIDE_LINES_MAX:
                    self.prompts[_short(asked)] = call
                made = {"id": call, "name": name, "input": given, "cwd": get_string(value.get("cwd"))}
                self.waiting.put(call, made, size)
        return count

    def _finish(self, value: Fields) -> list[dict[str, Json]]:
        """The calls that a line has results of, each with as much of its input as the result does not repeat."""
        made: list[dict[str, Json]] = []
        results = results_of(value)
        response = fields(value.get("toolUseResult")) if len(results) == 1 else {}
        for result in results:
            named = get_string(result.get("tool_use_id")) or ""
            call = self.waiting.pop(named) or _by_answer(named, response, value)
            if call is not None:
                needed = _needed(call["name"], call["input"], response)
                joined = {**call, "input": None if needed is None else dict(needed)}
                made.append({name: item for name, item in joined.items() if item is not None})
        return made


# --- what of a line is kept -------------------------------------------------------------------------------------------


def _assistant(value: dict[str, Json]) -> dict[str, Json] | None:
    message = value.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return None
    blocks: list[Json] = [_without_thoughts(block) for block in items(message.get("content"))]
    return {**value, "message": {**message, "content": blocks}}


def _without_thoughts(block: Json) -> Json:
    kind = fields(block).get("type")
    return {"type": kind} if kind in ("thinking", "redacted_thinking") else block


def _says_something(value: Fields) -> bool:
    blocks = [fields(block) for block in items(fields(value.get("message")).get("content"))]
    return any(
        block.get("type") == "tool_use"
        or (block.get("type") == "text" and (get_string(block.get("text")) or "").strip())
        for block in blocks
    )


def _user(value: dict[str, Json]) -> dict[str, Json] | None:
    message = value.get("message")
    if not isinstance(message, dict):
        return None
    response = value.get("toolUseResult")
    if isinstance(response, str):
        # The same words as in the message.
        return {key: item for key, item in value.items() if key != "toolUseResult"}
    if not isinstance(response, dict | list) or len(results_of(value)) != 1:
        return value
    # What the model was shown is the answer itself, formatted: it is kept once.
    blocks: list[Json] = [_without_content(block) for block in items(message.get("content"))]
    answer = _without_patch(response) if isinstance(response, dict) else response
    return {**value, "message": {**message, "content": blocks}, "toolUseResult": answer}


def _without_patch(response: dict[str, Json]) -> dict[str, Json]:
    """An edit's answer with the places of its hunks alone, where its texts say what the hunks' lines say."""
    before, old, new = (response.get(name) for name in ("originalFile", "oldString", "newString"))
    told = isinstance(response.get("content"), str)
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        told = bool(old and new) and old in before
    if not told or "structuredPatch" not in response:
        return response
    hunks: list[Json] = [
        {key: item for key, item in fields(hunk).items() if key != "lines"}
        for hunk in items(response["structuredPatch"])
    ]
    return {**response, "structuredPatch": hunks}


def _without_content(block: Json) -> Json:
    if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error") is not True:
        return {key: item for key, item in block.items() if key != "content"}
    return block


def _system(value: dict[str, Json]) -> dict[str, Json] | None:
    return value if value.get("subtype") == "compact_boundary" else None


def _progress(value: dict[str, Json]) -> dict[str, Json] | None:
    """Which subagent made which calls for which call: the message itself is in the subagent's own file."""
    data = fields(value.get("data"))
    message = fields(fields(data.get("message")).get("message"))
    uses = [block for block in map(fields, items(message.get("content"))) if block.get("type") == "tool_use"]
    if data.get("type") != "agent_progress" or get_string(data.get("agentId")) is None or not uses:
        return None
    calls: list[Json] = [{"type": "tool_use", "id": block.get("id"), "name": block.get("name")} for block in uses]
    kept = ("uuid", "type", "sessionId", "timestamp", "version", "cwd", "parentToolUseID")
    facts: dict[str, Json] = {"type": "agent_progress", "agentId": data.get("agentId")}
    return {**{key: value[key] for key in kept if key in value}, "data": facts, "message": {"content": calls}}


def _whole(value: dict[str, Json]) -> dict[str, Json] | None:
    return value


def _nothing(_value: dict[str, Json]) -> dict[str, Json] | None:
    return None


SLIM = {
    "assistant": _assistant,
    "user": _user,
    "system": _system,
    "progress": _progress,
    "summary": _whole,
    "pr-link": _whole,
}


def _needed(tool: str, given: Fields, response: Fields) -> Fields | None:
    """As much of a call's input as its views need and its result does not say."""
    if tool not in EDITS:
        return input_needed(tool, given)
    before = any(response.get(key) is not None for key in ("originalFile", "originalFileContents", "original_file"))
    created = response.get("type") == "create"
    if (before or created) and response.get("userModified") is not True and tool != "MultiEdit":
        return {key: given[key] for key in ("file_path", "notebook_path") if key in given}
    return given


def _by_answer(call: str, response: Fields, value: Fields) -> dict[str, Any] | None:
    """A call whose own line was lost, by the shape of its answer."""
    tool = next((tool for tool, marks in ANSWERS.items() if marks <= response.keys()), None)
    if tool is None or not call:
        return None
    return {"id": call, "name": tool, "input": {}, "cwd": get_string(value.get("cwd"))}


ANSWERS = {
    "Edit": frozenset(("filePath", "oldString", "newString")),
    "MultiEdit": frozenset(("filePath", "edits")),
    "Write": frozenset(("filePath", "content", "structuredPatch")),
    "Bash": frozenset(("stdout", "stderr")),
}
"""The fields by which an answer is known where nothing else tells its tool."""


def _edits(value: Fields, calls: Sequence[Fields]) -> Iterator[ChangedFile]:
    """The files that a line's calls changed, as they were written."""
    results = {get_string(result.get("tool_use_id")): result for result in results_of(value)}
    response = fields(value.get("toolUseResult")) if len(results) == 1 else {}
    for call in calls:
        tool, given, cwd = str(call["name"]), fields(call.get("input")), get_string(call.get("cwd"))
        result = results.get(get_string(call["id"]), {})
        if tool == "Bash":
            yield from (ChangedFile(write.path, cwd) for write in find_shell_writes(given, result, response))
        elif not is_failed(tool, result) and (named := edited_path(tool, given, response)) is not None:
            yield ChangedFile(named, cwd)


def _cut_block(block: Json) -> Json:
    if not isinstance(block, dict):
        return block
    if block.get("type") == "tool_result" and "content" in block:
        return {**block, "content": excerpt_long_texts(block["content"])}
    return excerpt_long_texts(block) if block.get("type") in ("image", "document") else block


# --- subagents --------------------------------------------------------------------------------------------------------


def _progress_mark(data: bytes) -> bytes | None:
    """What is the same in all repeated lines of one subagent; None for other lines."""
    if b'"agent_progress"' not in data:
        return None
    at, by = data.rfind(b'"agentId":"'), data.rfind(b'"parentToolUseID":"')
    return data[at : at + 120].split(b",")[0] + data[by : by + 220].split(b",")[0] if at >= 0 and by >= 0 else None


def _started(data: bytes) -> Iterator[SubagentLaunch]:
    value = read_json_object(data)  # what is wrong with the line is named when it is read for good
    session = get_string(value.get("sessionId")) or ""
    named, call = get_string(fields(value.get("data")).get("agentId")), get_string(value.get("parentToolUseID"))
    if value.get("type") == "progress":
        if named is not None and call is not None:
            yield SubagentLaunch(session, named, call)
        return
    results = results_of(value)
    for result in results:
        named = get_string(fields(value.get("toolUseResult")).get("agentId")) if len(results) == 1 else None
        said = _AGENT_IN_WORDS.search(_join_text(result.get("content")))
        call = get_string(result.get("tool_use_id"))
        if named is None and said is not None and value.get("isSidechain") is True:
            # A subagent's own file has no structured results: there, only the words name the agents that it started.
            named = said[1]
        if named is not None and call is not None:
            yield SubagentLaunch(session, named, call)


def _beside(file: Path) -> Iterator[SubagentLaunch]:
    """What the small file beside a subagent's transcript says, in versions that write one."""
    meta = file.with_name(file.name.removesuffix(SUFFIX) + ".meta.json")
    # A courtesy: what it would say is mostly said elsewhere too.
    said = read_json_object(small_file(meta)) if file.name.startswith("agent-") else {}
    names = ("toolUseId", "toolUseID", "tool_use_id", "parentToolUseId", "parentToolUseID")
    call = first_string(said, names)
    if call is not None:
        agent = file.name.removeprefix("agent-").removesuffix(SUFFIX)
        yield SubagentLaunch(get_string(said.get("sessionId")) or _session_by_name(file), agent, call)


def _join_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return " ".join(get_string(fields(block).get("text")) or "" for block in items(content))


# --- files ------------------------------------------------------------------------------------------------------------


def _session_by_name(file: Path) -> str:
    """The session by the place of its file: ``<session>.jsonl`` or ``<session>/subagents/agent-….jsonl``."""
    named = file.parent.parent.name if file.parent.name == "subagents" else file.name.removesuffix(SUFFIX)
    return named if is_id(named) else "unknown"


def _is_in(file: Path, trees: Sequence[str]) -> bool | None:
    """Whether the session began in one of these work trees: two folders may have the same project name.

    None where its first lines do not say where it began.
    """
    try:
        for line in islice(lines_of(file), PEEK_LINES):
            cwd = get_string(read_json_object(line.data).get("cwd"))
            if cwd is not None:
                return is_below(cwd, trees)
    except OSError:
        return True  # named when it is read
    return None


def _id(value: Fields, data: bytes) -> str:
    uuid = get_string(value.get("uuid"))
    return uuid if uuid is not None and is_id(uuid) else digest_id(data)


def _short(asked: str) -> str:
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
