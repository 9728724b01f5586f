"""Claude Code's transcripts: where they are, and what each of their lines holds.

One line is one record. Repeated content is stored once, and thinking is not stored. What only earlier lines show (the
tool of a result, the call that started a subagent) is stored beside the line.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from custody.capture.agent_event import PendingCalls
from custody.capture.agents.claude.subagents import (
    SUFFIX,
    find_subagent_launches,
    list_started_calls,
    session_from_file_name,
    unwrap_progress_line,
)
from custody.capture.agents.claude.tool_calls import EDITS, find_edited_path, find_short_commit, select_source_input
from custody.capture.agents.claude.views import (
    extract_answer_text,
    extract_prompt_text,
    has_tool_failed,
    list_message_blocks,
    list_tool_results,
    read_shell_run,
    views_from_transcript_event,
)
from custody.capture.command_facts import find_written_files
from custody.capture.line_reader import (
    FileLine,
    is_file_in_trees,
    list_transcript_files,
    locate_agent_folder,
    read_json_object,
)
from custody.capture.transcripts import (
    ChangedFile,
    LineResult,
    OpenedSessions,
    SkippedLine,
    Starts,
    TranscriptLine,
    TranscriptReader,
    check_agent_version,
    find_first_timestamp,
    is_transcript_id,
    read_transcript_objects,
    transcript_id_from_digest,
    update_timestamp,
)
from custody.capture.typed_field import Fields, get_agent_model, get_fields, get_items, get_string
from custody.core.ids import AgentName
from custody.core.wire.body import EDITING, excerpt_long_texts
from custody.core.wire.canonical import Json

KNOWN_MAJOR = 2
"""The newest major version that this reader was tested with."""
NAME_MAX = 200
"""Claude Code cuts the names of its project folders to this length."""
SIDE_LINES_MAX = 100_000

SKIPPED_TYPES = frozenset(
    "progress system file-history-snapshot queue-operation custom-title ai-title last-prompt agent-name agent-color"
    " agent-setting attachment permission-mode mode worktree-state content-replacement tag task-summary"
    " speculation-accept x-error saved_hook_context started result".split()
)
"""Types without effects. Other unknown types are counted in the report by name."""
COMPACTING = "acompact"
"""Prefix of the ids of agents that only summarize their own session."""


def locate_claude_projects(environment: Mapping[str, str]) -> Path:
    """Return ``projects`` in the user's Claude folder."""
    return locate_agent_folder(environment, "CLAUDE_CONFIG_DIR", ".claude") / "projects"


def find_project_transcripts(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the transcripts in project folders named after one of these work trees or a folder in it."""
    matches = []
    for file in list_transcript_files(home, SUFFIX):
        project = file.relative_to(home).parts[0]
        exact = any(project == claude_project_from_folder(tree) for tree in trees)
        if exact or any(project.startswith(claude_project_from_folder(tree)[:NAME_MAX]) for tree in trees):
            # Two folders may share a project name, so the session's own folder decides if it is known.
            began = is_file_in_trees(file, trees, _read_line_folder)
            if began or (exact and began is None):
                matches.append(file)
    return matches


def list_transcripts(place: Path) -> list[Path]:
    """Return every ``.jsonl`` at or below ``place``."""
    return list_transcript_files(place, SUFFIX)


def is_claude_transcript_line(first: bytes) -> bool:
    """Return whether a line has a type and one of the fields of Claude Code's lines."""
    line = read_json_object(first)
    marks = ("sessionId", "leafUuid", "messageId", "isSidechain")
    return isinstance(line.get("type"), str) and any(mark in line for mark in marks)


def read_transcript(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """Yield the result of each line; lines before the first one with a time have its time."""
    at, together = find_first_timestamp(lines)
    state = _TranscriptState(starts, session=session_from_file_name(file), at=at)
    yield from read_transcript_objects(together, state.line)


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with long outputs cut; results of editing tools stay whole."""
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return event
    tools = {get_string(get_fields(call).get("name")) for call in get_items(event.get("calls"))}
    trimmed = dict(payload)
    if "toolUseResult" in trimmed and not tools & EDITING:
        trimmed["toolUseResult"] = excerpt_long_texts(trimmed["toolUseResult"])
    message = trimmed.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        blocks: list[Json] = [_trim_message_block(block) for block in get_items(message["content"])]
        trimmed["message"] = {**message, "content": blocks}
    return {**event, "payload": trimmed}


READER = TranscriptReader(
    agent=AgentName("claude-code"),
    home=locate_claude_projects,
    of_trees=find_project_transcripts,
    files=list_transcripts,
    knows=is_claude_transcript_line,
    starts=find_subagent_launches,
    read=read_transcript,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
    answer=extract_answer_text,
)


def claude_project_from_folder(folder: str) -> str:
    """Return the name of the project folder for ``folder``: every character but letters and digits becomes a dash.

    >>> claude_project_from_folder("/home/a.b/my repo")
    '-home-a-b-my-repo'
    """
    return re.sub("[^A-Za-z0-9]", "-", folder)


class _TranscriptState(Struct):
    """State of reading one file: what later lines need from earlier ones."""

    starts: Starts
    session: str
    at: str | None
    opened: OpenedSessions = field(default_factory=OpenedSessions)
    waiting: PendingCalls = field(default_factory=PendingCalls)
    prompts: dict[str, str] = field(default_factory=dict)
    """The call of each subagent's prompt digest: older files contain subagents without a name."""
    asked_by: dict[str, str] = field(default_factory=dict)
    """The call that started each side chain, by the chain's first line."""
    side: dict[str, str] = field(default_factory=dict)
    """The first line of its chain for each side line."""
    versions: set[str] = field(default_factory=set)

    def line(self, line: FileLine, value: dict[str, Json]) -> Iterator[LineResult]:
        """Yield the result of one line."""
        version = get_string(value.get("version"))
        if version is not None and version not in self.versions:
            self.versions.add(version)
            yield from check_agent_version(line.number, version, KNOWN_MAJOR)
        value = unwrap_progress_line(value)
        self.at, problems = update_timestamp(line.number, value.get("timestamp"), self.at)
        yield from problems
        self.session = get_string(value.get("sessionId")) or self.session
        yield self._make_transcript_line(line, value, version)

    def _make_transcript_line(
        self, line: FileLine, value: dict[str, Json], version: str | None
    ) -> TranscriptLine | SkippedLine:
        kind = get_string(value.get("type")) or "(no type)"
        subagent, parent = self._agent(value)
        if (subagent or get_string(value.get("agentId")) or "").startswith(COMPACTING):
            return SkippedLine(kind, True, version)
        slim = SLIM.get(kind, _skip_transcript_line)(value)
        spoken = None if subagent is not None else get_agent_model(get_fields(value.get("message")).get("model"))
        # One model speaks in a file, whichever session its lines belong to.
        opens = None if slim is None else self.opened.opens(self.session, spoken, speaker="")
        has_content = slim is not None and (kind != "assistant" or opens is not None or _has_message_content(slim))
        if slim is None or self.at is None or not has_content:
            return SkippedLine(kind, kind in SKIPPED_TYPES or kind in SLIM, version)
        begun = self._begin(value, line.size) if kind in ("assistant", "progress") else 0
        calls = self._finish(value) if kind in ("user", "progress") else []
        return TranscriptLine(
            line=line.number,
            id=_transcript_line_id(value, line.data),
            session=self.session,
            at=self.at,
            payload=slim,
            version=version,
            cwd=get_string(value.get("cwd")),
            calls=calls,
            edits=tuple(_list_changed_files(slim, calls)),
            commits=tuple(filter(None, (find_short_commit(get_fields(value.get("toolUseResult"))),))),
            subagent=subagent,
            parent_call=parent,
            opens=opens,
            begun=begun,
            subagent_calls=()
            if subagent is None
            else (*list_started_calls(value), *(str(call["id"]) for call in calls)),
            is_repeated=kind == "progress",
        )

    def _agent(self, value: Fields) -> tuple[str | None, str | None]:
        """Return the subagent of a line, and the call that started it."""
        if value.get("type") == "progress":
            return get_string(get_fields(value.get("data")).get("agentId")), get_string(value.get("parentToolUseID"))
        if value.get("isSidechain") is not True:
            return None, None
        name = get_string(value.get("agentId"))
        if name is not None:
            return name, self.starts.get((self.session, name))
        uuid, before = get_string(value.get("uuid")), get_string(value.get("parentUuid"))
        first = self.side.get(before or "") or uuid
        if uuid is None or first is None:
            return None, None
        if len(self.side) < SIDE_LINES_MAX:
            self.side[uuid] = first
        if (
            first == uuid
            and (prompt := extract_prompt_text(value)) is not None
            and _digest_prompt(prompt) in self.prompts
        ):
            self.asked_by[first] = self.prompts[_digest_prompt(prompt)]
        return first, self.asked_by.get(first)

    def _begin(self, value: Fields, size: int) -> int:
        """Remember the calls that start on a line until their results come; return their number."""
        count = 0
        for block in list_message_blocks(value):
            call, name = get_string(block.get("id")), get_string(block.get("name"))
            if block.get("type") == "tool_use" and call and name:
                count += 1
                arguments = get_fields(block.get("input"))
                prompt = get_string(arguments.get("prompt"))
                if prompt is not None and len(self.prompts) < SIDE_LINES_MAX:
                    self.prompts[_digest_prompt(prompt)] = call
                entry = {"id": call, "name": name, "input": arguments, "cwd": get_string(value.get("cwd"))}
                self.waiting.put(call, entry, size)
        return count

    def _finish(self, value: Fields) -> list[dict[str, Json]]:
        """Return the calls that a line has results for, each with the input that the result does not repeat."""
        calls: list[dict[str, Json]] = []
        results = list_tool_results(value)
        response = get_fields(value.get("toolUseResult")) if len(results) == 1 else {}
        for result in results:
            call_id = get_string(result.get("tool_use_id")) or ""
            call = self.waiting.pop(call_id) or _call_from_tool_result(call_id, response, value)
            if call is not None:
                needed = _select_call_input(call["name"], call["input"], response)
                joined = {**call, "input": None if needed is None else dict(needed)}
                calls.append({name: item for name, item in joined.items() if item is not None})
        return calls


# --- stored parts of a line -------------------------------------------------------------------------------------------


def _slim_assistant_line(value: dict[str, Json]) -> dict[str, Json] | None:
    message = value.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return None
    blocks: list[Json] = [_drop_thinking_block(block) for block in get_items(message.get("content"))]
    return {**value, "message": {**message, "content": blocks}}


def _drop_thinking_block(block: Json) -> Json:
    kind = get_fields(block).get("type")
    return {"type": kind} if kind in ("thinking", "redacted_thinking") else block


def _has_message_content(value: Fields) -> bool:
    blocks = list_message_blocks(value)
    return any(
        block.get("type") == "tool_use"
        or (block.get("type") == "text" and (get_string(block.get("text")) or "").strip())
        for block in blocks
    )


def _slim_user_line(value: dict[str, Json]) -> dict[str, Json] | None:
    message = value.get("message")
    if not isinstance(message, dict):
        return None
    response = value.get("toolUseResult")
    if isinstance(response, str):
        # The message has the same text.
        return {key: item for key, item in value.items() if key != "toolUseResult"}
    if not isinstance(response, dict | list) or len(list_tool_results(value)) != 1:
        return value
    # The model was shown the same result, formatted: store it once.
    blocks: list[Json] = [_drop_tool_result_content(block) for block in get_items(message.get("content"))]
    answer = _drop_patch_lines(response) if isinstance(response, dict) else response
    return {**value, "message": {**message, "content": blocks}, "toolUseResult": answer}


def _drop_patch_lines(response: dict[str, Json]) -> dict[str, Json]:
    """Return an edit's result without the lines of its hunks, if its texts contain them."""
    before, old, new = (response.get(name) for name in ("originalFile", "oldString", "newString"))
    is_repeated = isinstance(response.get("content"), str)
    if isinstance(before, str) and isinstance(old, str) and isinstance(new, str):
        is_repeated = bool(old and new) and old in before
    if not is_repeated or "structuredPatch" not in response:
        return response
    hunks: list[Json] = [
        {key: item for key, item in get_fields(hunk).items() if key != "lines"}
        for hunk in get_items(response["structuredPatch"])
    ]
    return {**response, "structuredPatch": hunks}


def _drop_tool_result_content(block: Json) -> Json:
    if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error") is not True:
        return {key: item for key, item in block.items() if key != "content"}
    return block


def _slim_system_line(value: dict[str, Json]) -> dict[str, Json] | None:
    return value if value.get("subtype") == "compact_boundary" else None


def _slim_progress_line(value: dict[str, Json]) -> dict[str, Json] | None:
    """Return a call of a subagent, or the result of one, as the parent's file repeats it."""
    if get_string(get_fields(value.get("data")).get("agentId")) is None:
        return None
    if list_tool_results(value):
        return _slim_user_line(value)
    uses: list[Json] = [dict(block) for block in list_message_blocks(value) if block.get("type") == "tool_use"]
    return {**value, "message": {**get_fields(value["message"]), "content": uses}} if uses else None


def _keep_transcript_line(value: dict[str, Json]) -> dict[str, Json] | None:
    return value


def _skip_transcript_line(_value: dict[str, Json]) -> dict[str, Json] | None:
    return None


SLIM = {
    "assistant": _slim_assistant_line,
    "user": _slim_user_line,
    "system": _slim_system_line,
    "progress": _slim_progress_line,
    "summary": _keep_transcript_line,
    "pr-link": _keep_transcript_line,
}


def _select_call_input(tool: str, arguments: Fields, response: Fields) -> Fields | None:
    """Return the part of a call's input that its views need and its result does not contain."""
    if tool not in EDITS:
        return select_source_input(tool, arguments)
    before = any(response.get(key) is not None for key in ("originalFile", "originalFileContents", "original_file"))
    created = response.get("type") == "create"
    if (before or created) and response.get("userModified") is not True and tool != "MultiEdit":
        return {key: arguments[key] for key in ("file_path", "notebook_path") if key in arguments}
    return arguments


def _call_from_tool_result(call: str, response: Fields, value: Fields) -> dict[str, Any] | None:
    """Return a call without a line of its own, recognized by its result's fields."""
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
"""Fields that identify a tool by its result."""


def _list_changed_files(value: Fields, calls: Sequence[Fields]) -> Iterator[ChangedFile]:
    """Yield the files that a line's calls changed, as written."""
    results = {get_string(result.get("tool_use_id")): result for result in list_tool_results(value)}
    response = get_fields(value.get("toolUseResult")) if len(results) == 1 else {}
    for call in calls:
        tool, arguments, cwd = str(call["name"]), get_fields(call.get("input")), get_string(call.get("cwd"))
        result = results.get(get_string(call["id"]), {})
        if tool == "Bash":
            yield from (
                ChangedFile(write.path, cwd)
                for write in find_written_files(read_shell_run(arguments, result, response))
            )
        elif not has_tool_failed(tool, result) and (name := find_edited_path(tool, arguments, response)) is not None:
            yield ChangedFile(name, cwd)


def _trim_message_block(block: Json) -> Json:
    if not isinstance(block, dict):
        return block
    if block.get("type") == "tool_result" and "content" in block:
        return {**block, "content": excerpt_long_texts(block["content"])}
    return excerpt_long_texts(block) if block.get("type") in ("image", "document") else block


# --- files ------------------------------------------------------------------------------------------------------------


def _read_line_folder(data: bytes) -> str | None:
    return get_string(read_json_object(data).get("cwd"))


def _transcript_line_id(value: Fields, data: bytes) -> str:
    uuid = get_string(value.get("uuid"))
    return uuid if uuid is not None and is_transcript_id(uuid) else transcript_id_from_digest(data)


def _digest_prompt(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
