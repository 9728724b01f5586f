"""Where Cline and Roo Code store their tasks, and what the files of one task say about its times and files."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from custody.capture.line_reader import (
    is_path_in_trees,
    list_transcript_files,
    list_vscode_user_folders,
    read_jsonl_lines,
    resolve_work_trees,
)
from custody.capture.transcripts import LineProblem, collect_transcript_document, parse_transcript_document
from custody.capture.typed_field import Fields, get_fields, get_int, get_items, get_milliseconds, get_string
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

# Both extensions of VS Code store a task in ``globalStorage/<extension>/tasks/<task>``: the conversation with the model
# in ``api_conversation_history.json``, and what the user saw, with times, in ``ui_messages.json``. Cline outside VS
# Code stores the same in ``~/.cline/data/tasks``. The first message of a task names its folder.


CLINE, ROO = AgentName("cline"), AgentName("roo-code")
CONVERSATION, SHOWN = "api_conversation_history.json", "ui_messages.json"
EXTENSIONS: Mapping[str, str] = {CLINE: "saoudrizwan.claude-dev", ROO: "rooveterinaryinc.roo-cline"}
OUTSIDE_VSCODE = ".cline/data/tasks"
HEAD_BYTES = 1 << 20
ROO_MARKS = (b"# VSCode Visible Files", b"<slug>")
"""Words in the context of every prompt of Roo Code; Cline writes "Visual Studio Code"."""
CLINE_MARKS = (b"# Visual Studio Code Visible Files", b'"<task>\\n')

_FOLDER = lazy_pattern(r"# Current Work(?:ing|space) Directory \(([^\n]{1,4096}?)\) Files\n")
_RESUMED = lazy_pattern(r"\A\[TASK RESUMPTION\][^\n]*The current working directory is now '([^'\n]{1,4096})'")
_RAW_FOLDER = lazy_pattern(rb"# Current Work(?:ing|space) Directory \(([^\n]{1,4096}?)\) Files\\n")


def find_project_tasks(agent: AgentName, home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the tasks of an agent in or below one of these work trees, last written last."""
    roots = resolve_work_trees(trees)
    places = [user / "globalStorage" / EXTENSIONS[agent] / "tasks" for user in list_vscode_user_folders(home)]
    places += [home / OUTSIDE_VSCODE] if agent == CLINE else []
    files = [file for place in places for file in list_transcript_files(place, CONVERSATION)]
    return [file for file in files if is_path_in_trees(_find_task_folder(read_task_head(file)), roots)]


def list_task_files(agent: AgentName, place: Path) -> list[Path]:
    """Return the agent's tasks at or below ``place``, last written last."""
    files = list_transcript_files(place, CONVERSATION)
    return [file for file in files if file == place or _find_task_agent(file) == agent]


def is_roo_opening(data: bytes) -> bool:
    """Return whether a line is among the first lines of a task of Roo Code."""
    return _is_message_text(data) and any(mark in data for mark in ROO_MARKS)


def is_cline_opening(data: bytes) -> bool:
    """Return whether a line is among the first lines of a task of Cline."""
    return _is_message_text(data) and any(mark in data for mark in CLINE_MARKS) and not is_roo_opening(data)


def _is_message_text(data: bytes) -> bool:
    """Return whether a line is a list of messages, or the text of one in a formatted file."""
    line = data.lstrip()
    return (line.startswith(b"[") and b'"role"' in line) or line.startswith((b'"text"', b'"content"'))


def _find_task_agent(file: Path) -> AgentName:
    extension = file.parent.parent.parent.name
    named = next((AgentName(agent) for agent, name in EXTENSIONS.items() if name == extension), None)
    return named or (ROO if any(mark in read_task_head(file) for mark in ROO_MARKS) else CLINE)


def read_task_head(file: Path) -> bytes:
    """Return the beginning of a task; empty for an unreadable one."""
    try:
        with file.open("rb") as handle:
            return handle.read(HEAD_BYTES)
    except OSError:
        return b""  # its import reports the reason


def _find_task_folder(head: bytes) -> str | None:
    start = head.find(b'"<environment_details>')
    match = None if start < 0 else _RAW_FOLDER.search(head, start)
    return None if match is None else _unescape(match[1].decode("utf-8", "surrogateescape"))


def _unescape(text: str) -> str:
    value = parse_transcript_document([f'"{text}"'.encode("utf-8", "surrogateescape")], "text")
    return value if isinstance(value, str) else text


def find_message_folder(text: str) -> str | None:
    """Return the working folder that a text of the program names.

    >>> find_message_folder("# Current Working Directory (/w/shop) Files\\nREADME.md")
    '/w/shop'
    """
    match = _FOLDER.search(text) or _RESUMED.match(text)
    return None if match is None else match[1]


# --- what the user saw ------------------------------------------------------------------------------------------------


class ShownMessages(Struct):
    """The messages of a task that the user saw: their times and written files, by the place in the conversation."""

    times: dict[int, int] = field(default_factory=dict)
    """The time in milliseconds of the last message before the conversation's ``n``-th."""
    written: dict[int, list[tuple[str, bool]]] = field(default_factory=dict)
    """The files written by the conversation's ``n``-th message, and whether each existed."""
    models: dict[int, str] = field(default_factory=dict)
    began: int = 0

    def find_existed(self, place: int, path: str) -> bool | None:
        """Return whether a file that a message wrote existed; None if that is not reported."""
        named = posixpath.normpath(path.replace("\\", "/"))
        return next(
            (known for name, known in self.written.get(place, ()) if named == name or named.endswith(f"/{name}")), None
        )


def read_shown_messages(folder: Path) -> tuple[ShownMessages, LineProblem | None]:
    """Return the messages of a task that the user saw, and why they cannot be read; a task may have none."""
    file, shown = folder / SHOWN, ShownMessages()
    if not file.is_file() or file.is_symlink():
        return shown, None
    try:
        lines = collect_transcript_document(read_jsonl_lines(file), "list of messages")
        value = lines if isinstance(lines, LineProblem) else parse_transcript_document(lines, "list of messages")
    except OSError as error:
        value = LineProblem(1, error.strerror or str(error))
    if isinstance(value, LineProblem):
        return shown, LineProblem(1, f"'{SHOWN}' is not used: {value.what}")
    for message in map(get_fields, get_items(value)):
        _add_shown_message(shown, message)
    return shown, None


def _add_shown_message(shown: ShownMessages, message: Fields) -> None:
    at, place = get_milliseconds(message.get("ts")), get_int(message.get("conversationHistoryIndex"))
    shown.began = shown.began or at
    if place is None:
        return
    following = place + 1
    shown.times[following] = max(shown.times.get(following, 0), at)
    model = get_string(get_fields(message.get("modelInfo")).get("modelId"))
    if model:
        shown.models[following] = model
    if message.get("say") == "tool" or message.get("ask") == "tool":
        shown.written.setdefault(following, []).extend(_list_written_files(message.get("text")))


def _list_written_files(text: Json) -> Iterator[tuple[str, bool]]:
    data = (get_string(text) or "").encode("utf-8", "replace")
    tool = get_fields(parse_transcript_document([data], "tool"))
    path, kind = get_string(tool.get("path")), get_string(tool.get("tool"))
    if path and kind in ("newFileCreated", "editedExistingFile"):
        yield posixpath.normpath(path.replace("\\", "/")), kind == "editedExistingFile"
