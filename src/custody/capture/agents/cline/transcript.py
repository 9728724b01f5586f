"""The readers of the tasks of Cline and Roo Code."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from custody.capture.agent_event import empty_tool_use
from custody.capture.agents.cline.task_files import (
    CLINE,
    ROO,
    find_message_folder,
    find_project_tasks,
    is_cline_opening,
    is_roo_opening,
    list_task_files,
    read_shown_messages,
)
from custody.capture.agents.cline.tool_calls import (
    EDITING,
    PATHS,
    WRITE,
    find_written_operation,
    has_written_file,
    list_changed_paths,
)
from custody.capture.agents.cline.views import CALL, PROMPT, add_task_call, views_from_transcript_event
from custody.capture.line_reader import FileLine, locate_user_home
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
    excerpt_fields,
    read_transcript_document,
    to_transcript_id,
    transcript_id_from_digest,
)
from custody.capture.typed_field import (
    Fields,
    first_payload_string,
    get_fields,
    get_items,
    get_milliseconds,
    get_string,
)
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json, parse_json_bytes
from custody.core.wire.time import format_timestamp

# A task is one JSON list of messages in the shape of Anthropic's API (``src/core/storage/disk.ts`` of Cline,
# ``src/core/task-persistence`` of Roo Code). A call is a ``tool_use`` with an id since 2025, before that XML in the
# answer. Its result is in the next message of the user: a ``tool_result``, or a text that begins with
# "[write_to_file for 'a.py'] Result:", sometimes alone, with the result in the text after it. Messages have a time in
# Roo Code and in Cline since 2026; before, ``ui_messages.json`` has the times. A prompt is one record and each call
# with its result is another. Thinking and answers are not stored, and a call without a result waits for a later import.


NS_PER_MS = 1_000_000
TOOLS = (
    "access_mcp_resource apply_diff apply_patch attempt_completion browser_action codebase_search edit_file"
    " execute_command insert_content list_code_definition_names list_files new_task read_file replace_in_file"
    " search_and_replace search_files search_replace switch_mode update_todo_list use_mcp_tool web_fetch write_to_file"
).split()
"""Tools that an answer may call in XML."""
PARAMETERS = (
    "absolutePath args arguments command content cwd diff file_path file_pattern input line line_count new_string"
    " old_string patch path regex server_name tool_name uri url"
).split()
LONG = frozenset(("content", "diff", "args"))
"""Parameters whose text may contain their own closing tag, so the last one ends them."""
ASKING = frozenset(("ask_followup_question", "attempt_completion", "plan_mode_respond", "act_mode_respond", "new_task"))
"""Tools with an answer of the user as their result."""
CONTEXT, RESUMED = "<environment_details>", "[TASK RESUMPTION]"
"""Prefixes of the program's own texts."""
BY_PERSON = ("The user made the following updates to your content", '"user_edits"', "<user_edits>")

_FINAL = lazy_pattern(r"<final_file_content path=\"[^\"\n]*\">\n(.*)\n</final_file_content>", re.DOTALL)
_HEADER = lazy_pattern(r"\A\[([A-Za-z_]{1,100})(?: for .*?)?\] Result:[ \n]?", re.DOTALL)
_PROMPT = lazy_pattern(
    r"\A\s*(?:(?!<)[^\n]{0,400}\n)?<(task|feedback|user_message|answer)>\n?(.*?)\n?</\1>\s*\Z", re.DOTALL
)
_UTC = lazy_pattern(r"Current time in ISO 8601 UTC format: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)")
_MODEL = lazy_pattern(r"<slug>[^<\n]*</slug>\n<name>[^<\n]*</name>\n<model>([^<\n]{1,200})</model>")
_MILLISECONDS = lazy_pattern(r"1\d{12}")
_TOKEN = lazy_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|[\[\]{},]', re.DOTALL)
_OPENED_TAG = lazy_pattern(rf"<({'|'.join(TOOLS)})>")


class WaitingCall(Struct):
    """A call whose result is in the next message of the user."""

    id: str
    name: str
    input: dict[str, Json]
    at: str
    model: str | None
    place: int
    result: str | None = None


class TaskState:
    """State of reading one task."""

    def __init__(self, file: Path) -> None:
        self.session = to_transcript_id(file.parent.name)
        self.shown, self.problem = read_shown_messages(file.parent)
        self.at = format_timestamp(self._find_begin(file) * NS_PER_MS)
        self.cwd: str | None = None
        self.model: str | None = None
        self.opened = OpenedSessions()
        self.waiting: list[WaitingCall] = []
        self.ids: set[str] = set()

    def _find_begin(self, file: Path) -> int:
        """Return when the task began, in milliseconds: Cline names a task by that."""
        if _MILLISECONDS.fullmatch(self.session):
            return int(self.session)
        return self.shown.began or file.stat().st_mtime_ns // NS_PER_MS

    def read(self, lines: Iterable[FileLine]) -> Iterator[LineResult]:
        """Yield the records of the task."""
        if self.problem is not None:
            yield self.problem
        yield from read_transcript_document(lines, "task", self._read_messages, self._salvage)

    def _read_messages(self, value: Json) -> Iterator[LineResult]:
        if not isinstance(value, list):
            yield LineProblem(1, "not a list of messages")
            return
        for place, message in enumerate(value):
            yield from self._message(place, message)

    def _salvage(self, lines: Sequence[bytes]) -> Iterator[LineResult]:
        """Yield the records of the complete messages of a damaged task."""
        for place, data in enumerate(split_json_list(b"\n".join(lines))):
            try:
                message = parse_json_bytes(data)
            except InputError as error:
                yield LineProblem(1, f"message {place + 1} cannot be read: {error.message}")
                continue
            yield from self._message(place, message)

    # --- messages -----------------------------------------------------------------------------------------------------

    def _message(self, place: int, message: Json) -> Iterator[LineResult]:
        fields = get_fields(message)
        role = get_string(fields.get("role"))
        if role not in ("user", "assistant"):
            yield SkippedLine(role or get_string(fields.get("type")) or "(no type)", False)
            return
        content = fields.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else get_items(content)
        self._read_context(place, fields, blocks)
        if role == "assistant":
            self._read_answer(place, fields, [get_fields(block) for block in blocks])
            yield SkippedLine(role, True)
        else:
            records = [*self._read_user_message(place, [get_fields(block) for block in blocks])]
            yield from records or (SkippedLine(role, True),)

    def _read_context(self, place: int, fields: Fields, blocks: Sequence[object]) -> None:
        """Apply the time, the folder and the model that a message names."""
        stamp = get_milliseconds(fields.get("ts")) or self.shown.times.get(place, 0)
        model = get_string(get_fields(fields.get("modelInfo")).get("modelId")) or self.shown.models.get(place)
        if stamp:
            self.at = format_timestamp(stamp * NS_PER_MS)
        for text in list_context_texts(blocks):
            self.cwd = find_message_folder(text) or self.cwd
            spoken, clock = _MODEL.search(text), _UTC.search(text)
            model = model or (spoken[1] if spoken else None)
            if clock and not stamp:
                self.at = clock[1]
        self.model = model or self.model

    def _read_answer(self, place: int, fields: Fields, blocks: Sequence[Fields]) -> None:
        """Remember the calls of an answer; those of an answer that the user did not reply to had no effect."""
        self.waiting = []
        key = str(get_milliseconds(fields.get("ts")) or place)
        for block in blocks:
            text, name = get_string(block.get("text")), get_string(block.get("name"))
            if block.get("type") == "tool_use" and name:
                self._add_call(place, key, name, get_fields(block.get("input")), get_string(block.get("id")))
            elif block.get("type") == "text" and text is not None:
                called = parse_xml_call(text)
                if called is not None:
                    self._add_call(place, key, *called, None)

    def _add_call(self, place: int, key: str, name: str, given: Fields, named: str | None) -> None:
        call = to_transcript_id(named) if named else ""
        if not call or call in self.ids:
            call = self._make_id("call", key, str(len(self.waiting)), name, repr(sorted(given.items())))
        self.ids.add(call)
        self.waiting.append(WaitingCall(call, name, dict(given), self.at, self.model, place))

    def _read_user_message(self, place: int, blocks: Sequence[Fields]) -> Iterator[TranscriptLine]:
        prompts = list(self._match_results(blocks))
        for call in self.waiting:
            if call.result is not None:
                yield self._to_call_record(call)
        self.waiting = []
        for n, text in enumerate(prompts):
            name = self._make_id("prompt", str(place), str(n), text)
            if name not in self.ids:
                self.ids.add(name)
                yield self._to_prompt_record(text, name)

    def _match_results(self, blocks: Sequence[Fields]) -> Iterator[str]:
        """Give each waiting call its result; yield the prompts among the other texts."""
        expected: WaitingCall | None = None
        for n, block in enumerate(blocks):
            text = get_string(block.get("text"))
            if block.get("type") == "tool_result":
                text = _join_result_texts(block.get("content"))
                call = self._find_waiting(None, get_string(block.get("tool_use_id")))
                yield from self._set_result(call, text)
            elif block.get("type") == "text" and text is not None:
                header = _HEADER.match(text)
                if header is not None:
                    call = self._find_waiting(header[1], None)
                    rest = text[header.end() :]
                    expected = call if not rest.strip() else None
                    yield from self._set_result(call, rest)
                elif expected is not None and (not text.startswith(CONTEXT) or n + 1 < len(blocks)):
                    yield from self._set_result(expected, text)
                    expected = None
                else:
                    yield from _find_prompt(text)

    def _find_waiting(self, name: str | None, call: str | None) -> WaitingCall | None:
        named = None if call is None else to_transcript_id(call)
        unanswered = [waiting for waiting in self.waiting if waiting.result is None]
        if named is not None:
            return next((waiting for waiting in unanswered if waiting.id == named), None)
        # Some tools report their result under another name.
        return next((waiting for waiting in unanswered if waiting.name == name), unanswered[0] if unanswered else None)

    @staticmethod
    def _set_result(call: WaitingCall | None, text: str) -> Iterator[str]:
        if call is not None:
            call.result = text
            if call.name in ASKING:
                yield from _find_prompt(text)

    # --- records ------------------------------------------------------------------------------------------------------

    def _to_call_record(self, call: WaitingCall) -> TranscriptLine:
        payload = self._make_call_payload(call)
        use = add_task_call(empty_tool_use(CLINE), payload)
        names = dict.fromkeys(list_changed_paths(use))
        return TranscriptLine(
            line=1,
            id=to_transcript_id(f"{self.session}:{call.id}"),
            session=self.session,
            at=self.at,
            payload=payload,
            cwd=self.cwd,
            calls=[{"id": call.id, "name": call.name}],
            edits=tuple(ChangedFile(name, self.cwd) for name in names),
            commits=use.commits,
            opens=self.opened.opens(self.session, call.model),
            begun=1,
        )

    def _make_call_payload(self, call: WaitingCall) -> dict[str, Json]:
        """Return what a record holds of a call; the text of a written file is stored once."""
        result = call.result or ""
        payload: dict[str, Json] = {"type": CALL, "name": call.name, "input": call.input, "started": call.at}
        if call.model is not None:
            payload["model"] = call.model
        final = _FINAL.search(result)
        if final is not None and call.name in EDITING:
            if call.name == WRITE and final[1] != call.input.get("content"):
                payload["final"] = final[1]
            result = f"{result[: final.start()]}{result[final.end() :]}"
        if has_written_file(call.name, result):
            operation = find_written_operation(result)
            path = first_payload_string(call.input, PATHS) or ""
            existed = self.shown.find_existed(call.place, path) if operation is None else operation == "modified"
            facts = {"written": True, "existed": existed, "edited": any(mark in result for mark in BY_PERSON)}
            payload |= {name: True for name, is_fact in facts.items() if is_fact}
        return {**payload, "result": result}

    def _to_prompt_record(self, text: str, name: str) -> TranscriptLine:
        payload: dict[str, Json] = {"type": PROMPT, "text": text}
        opens = self.opened.opens(self.session, self.model)
        if self.model is not None:
            payload["model"] = self.model
        return TranscriptLine(
            line=1, id=name, session=self.session, at=self.at, payload=payload, cwd=self.cwd, opens=opens
        )

    def _make_id(self, *parts: str) -> str:
        return transcript_id_from_digest("\0".join((self.session, *parts)).encode("utf-8", "surrogatepass"))


def list_context_texts(blocks: Sequence[object]) -> list[str]:
    """Return the texts of a message in which the program names the folder, the model and the time.

    They are its last text, or a text that resumes a task. The text of a file may look the same: it follows the header
    of its result.
    """
    texts = [get_string(get_fields(block).get("text")) or "" for block in blocks]
    resumed = [
        text
        for before, text in zip(["", *texts], texts, strict=False)
        if text.startswith(RESUMED) and not _HEADER.match(before)
    ]
    return [*resumed, *(text for text in texts[-1:] if text.startswith(CONTEXT))]


def _find_prompt(text: str) -> Iterator[str]:
    """Yield the typed prompt that a text of the program wraps, if it wraps one."""
    match = _PROMPT.match(text)
    if match is not None and match[2].strip():
        yield match[2]


def _join_result_texts(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (get_string(get_fields(block).get("text")) for block in get_items(content))))


def parse_xml_call(text: str) -> tuple[str, dict[str, Json]] | None:
    """Return the tool and the input of the call that an answer has in XML; None for an answer without a complete call.

    >>> parse_xml_call("Reading.\\n<read_file>\\n<path>a.py</path>\\n</read_file>")
    ('read_file', {'path': 'a.py'})
    """
    start = _OPENED_TAG.search(text)
    end = -1 if start is None else text.rfind(f"</{start[1]}>")
    if start is None or end < start.end():
        return None
    inner, given = text[start.end() : end], dict[str, Json]()
    for name in PARAMETERS:
        begin = inner.find(f"<{name}>")
        close = inner.rfind(f"</{name}>") if name in LONG else inner.find(f"</{name}>", begin)
        if begin >= 0 and close > begin:
            value = inner[begin + len(name) + 2 : close]
            given[name] = value.removeprefix("\n").removesuffix("\n") if name in LONG else value.strip()
    return start[1], given


def split_json_list(data: bytes) -> Iterator[bytes]:
    """Yield the items of a JSON list as text, the last one even if it is cut off.

    >>> list(split_json_list(b'[{"a": "]"}, [1, 2], {"b"'))
    [b'{"a": "]"}', b'[1, 2]', b'{"b"']
    """
    depth, start = 0, 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in (b"[", b"{"):
            depth += 1
            start = token.end() if depth == 1 else start
        elif (mark == b"," and depth == 1) or (mark in (b"]", b"}") and depth <= 1):
            if data[start : token.start()].strip():
                yield data[start : token.start()].strip()
            start = token.end()
        if mark in (b"]", b"}"):
            depth -= 1
    if depth > 0 and data[start:].strip():
        yield data[start:].strip()


def read_task(file: Path, lines: Iterable[FileLine], _starts: Starts) -> Iterator[LineResult]:
    """Yield the records of a task."""
    yield from TaskState(file).read(lines)


def find_subagent_launches(_file: Path, _lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield nothing: a subtask is a task of its own, and no file of it names the call that started it."""
    yield from ()


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with a long result cut; the input of the call and the written file stay whole."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or payload.get("type") != CALL:
        return event
    return {**event, "payload": excerpt_fields(payload, ("result",))}


def _make_reader(agent: AgentName, knows: Callable[[bytes], bool]) -> TranscriptReader:
    return TranscriptReader(
        agent=agent,
        home=locate_user_home,
        of_trees=partial(find_project_tasks, agent),
        files=partial(list_task_files, agent),
        knows=knows,
        starts=find_subagent_launches,
        read=read_task,
        trimmed=trim_event_outputs,
        views=views_from_transcript_event,
    )


READER = _make_reader(CLINE, is_cline_opening)
ROO_READER = _make_reader(ROO, is_roo_opening)
