"""Where Cursor keeps its conversations: a database for all projects, and transcripts beside it that say less.

The database is ``User/globalStorage/state.vscdb`` in the application's folder: in ``cursorDiskKV`` a conversation is
``composerData:ID``, its messages ``bubbleId:ID:BUBBLE``, and since spring 2026 the texts of edits
``composer.content.HASH`` (seen: ``composerData`` 3 of 2025 to 16 of July 2026, Cursor 0.50 to 3.7; the layout is
nowhere documented). A conversation in it is named as if the database were a folder: ``state.vscdb/ID``. Transcripts are
``projects/SLUG/agent-transcripts/ID/ID.jsonl`` in ``~/.cursor``, subagents in ``subagents/`` beside them; older ones
are texts, ``agent-transcripts/ID.txt``.
"""

import errno
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from urllib.parse import unquote

from custody.capture.agents.cursor.tool_calls import FILE, json_in, model_of
from custody.capture.database_rows import (
    Database,
    DatabaseRow,
    RowSelection,
    is_database,
    json_line,
    line_of,
    open_agent_database,
    select_row,
)
from custody.capture.line_reader import (
    LINE_BYTES_MAX,
    FileLine,
    files_below,
    is_below,
    read_json_object,
    resolve_trees,
    root_session,
    small_file,
    user_folder,
)
from custody.capture.typed_field import Fields, fields, get_int, get_string, items, milliseconds
from custody.core.wire.canonical import Json

DATABASE = "state.vscdb"
TABLE, ITEMS = "cursorDiskKV", "ItemTable"
KEY_VALUE = ("key", "value")
COMPOSER, BUBBLE, CONTENT = "composerData:", "bubbleId:", "composer.content."
TRANSCRIPTS, SUBAGENTS = "agent-transcripts", "subagents"
SUFFIXES = (".jsonl", ".txt")
UNREAD = "conversations"
"""Stands for the conversations of a database that could not be looked through."""
USER_FOLDERS = (".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User")
"""Where the application keeps its data in the user's home, by system."""
LEFT_OUT = frozenset(("conversationState", "richText", "thinking", "allThinkingBlocks", "toolCallBinary"))
"""What of a message is never looked at: what a model thought, and what repeats or is sealed."""

_OTHER = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """What a conversation says of itself; ``root`` is the one whose subagent it is, ``call`` what started it there."""

    id: str
    folder: str | None = None
    parent: str | None = None
    call: str | None = None
    model: str | None = None
    created: int = 0
    version: int | None = None
    bubbles: tuple[str, ...] = ()
    inline: tuple[Fields, ...] = ()
    root: str = ""

    def line(self, number: int) -> FileLine:
        """The conversation's own line."""
        said: dict[str, Json] = {"id": self.id, "folder": self.folder, "model": self.model, "created": self.created}
        return json_line(
            number, {**said, "table": "composer", "call": self.call, "root": self.root, "version": self.version}
        )


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's Cursor folder."""
    return user_folder(environment, "CURSOR_CONFIG_DIR", ".cursor")


def files_at(place: Path) -> list[Path]:
    """The databases and transcripts at or below ``place``: the databases first, since they say more."""
    found = files_below(place, (DATABASE, *SUFFIXES))
    kept = [file for file in found if file == place or file.name == DATABASE or TRANSCRIPTS in file.parts]
    return sorted(kept, key=lambda file: file.name != DATABASE)


def find_conversations(home: Path, trees: Sequence[str]) -> list[Path]:
    """The conversations in one of these work trees, or below it, that the database and the transcripts have."""
    roots = resolve_trees(trees)
    users = [home.parent / name for name in USER_FOLDERS]
    found = [file for user in users for file in _conversations(user, roots)]
    slugs = {slug_of(root) for root in roots}
    projects = sorted(folder for folder in home.glob("projects/*") if folder.name in slugs)
    return found + [file for folder in projects for file in files_below(folder / TRANSCRIPTS, SUFFIXES)]


def slug_of(root: str) -> str:
    """The name of a project's folder in ``projects``: not every path can be told from it.

    >>> slug_of("/home/ana/my_shop")
    'home-ana-my-shop'
    """
    return _OTHER.sub("-", root).strip("-")


# --- the database -----------------------------------------------------------------------------------------------------


def _conversations(user: Path, roots: set[str]) -> list[Path]:
    file = user / "globalStorage" / DATABASE
    if not is_database(file):
        return []
    elsewhere = _by_workspace(user, roots)
    try:
        with open_agent_database(file) as database:
            kept = _all(database)
    except OSError:
        return [file / UNREAD]
    ours = {
        conversation.id for conversation in kept if is_below(conversation.folder, roots) or conversation.id in elsewhere
    }
    # A subagent's conversation does not always say where it worked.
    return [
        file / conversation.id
        for conversation in sorted(kept, key=lambda conversation: conversation.created)
        if conversation.id in ours or conversation.root in ours
    ]


def _by_workspace(user: Path, roots: set[str]) -> set[str]:
    """The conversations that a workspace's own database lists, as versions of 2025 keep them."""
    found: set[str] = set()
    for file in sorted(user.glob("workspaceStorage/*/workspace.json")):
        database = file.with_name(DATABASE)
        if not is_below(_path(read_json_object(small_file(file)).get("folder")), roots) or not is_database(database):
            continue
        try:
            with open_agent_database(database) as workspace:
                for row in workspace.rows(select_row(ITEMS, KEY_VALUE, "key", "composer.composerData")):
                    said = fields(json_in(get_string(row.values.get("value")) or ""))
                    found |= {str(fields(item).get("composerId")) for item in items(said.get("allComposers"))}
        except OSError:
            continue  # a workspace's own list is only one way to know
    return found


def rows_of(file: Path) -> Iterator[FileLine]:
    """The lines of all conversations of a database, or of the one that is named."""
    path, wanted = (file, None) if is_database(file) else (file.parent, file.name)
    number = count(1)
    with open_agent_database(path) as database:
        kept = _all(database) if wanted in (None, UNREAD) else _named(database, wanted)
        if wanted == UNREAD:
            raise OSError(errno.EAGAIN, "it could not be read a moment ago: import again", str(path))
        for conversation in sorted(kept, key=lambda conversation: conversation.created):
            yield conversation.line(next(number))
            yield from _bubbles(database, conversation, number)


def _all(database: Database) -> list[ConversationInfo]:
    """Every conversation, and for each whose subagent it is."""
    kept = [_read_conversation_info(key, said) for key, said in _values(database, *_span(COMPOSER))]
    parents = {conversation.id: conversation.parent for conversation in kept}
    return [replace(conversation, root=root_session(conversation.id, parents.get)) for conversation in kept]


def _named(database: Database, wanted: str) -> list[ConversationInfo]:
    """The conversation of this name, if there is one."""
    found: dict[str, ConversationInfo | None] = {}

    def parent(name: str) -> str | None:
        if name not in found:
            key = COMPOSER + name
            found[name] = next(
                (_read_conversation_info(key, said) for _, said in _values(database, key, f"{key}\0")), None
            )
        kept = found[name]
        return None if kept is None else kept.parent

    root = root_session(wanted, parent)
    kept = found[wanted]
    return [] if kept is None else [replace(kept, root=root)]


def _read_conversation_info(key: str, said: Fields) -> ConversationInfo:
    above = fields(said.get("subagentInfo"))
    place = fields(said.get("workspaceIdentifier"))
    uri = fields(place.get("uri"))
    tracked = [fields(item).get("repoPath") for item in items(said.get("trackedGitRepos"))]
    folders = (uri.get("fsPath"), uri.get("path"), uri.get("external"), place.get("fsPath"), *tracked)
    headers = [fields(item).get("bubbleId") for item in items(said.get("fullConversationHeadersOnly"))]
    return ConversationInfo(
        id=key.removeprefix(COMPOSER),
        folder=next((path for path in map(_path, folders) if path), None),
        parent=get_string(above.get("parentComposerId")) or None,
        call=get_string(above.get("toolCallId")) or None,
        model=model_of(fields(said.get("modelConfig")).get("modelName")),
        created=milliseconds(said.get("createdAt")),
        version=get_int(said.get("_v")),
        bubbles=tuple(name for name in headers if isinstance(name, str)),
        inline=tuple(map(fields, items(said.get("conversation")))),
    )


def _bubbles(database: Database, kept: ConversationInfo, number: Iterator[int]) -> Iterator[FileLine]:
    """A conversation's messages in the order that it says, then those that it does not list any more."""
    start = f"{BUBBLE}{kept.id}:"
    listed = RowSelection(table=TABLE, columns=("key",), where="key >= ? AND key < ?", values=_span(start), key="key")
    there = [str(row.values.get("key")).removeprefix(start) for row in database.rows(listed)]
    known = set(there)
    order = [name for name in dict.fromkeys(kept.bubbles) if name in known]
    for name in (*order, *(name for name in there if name not in set(order))):
        for row in database.rows(select_row(TABLE, KEY_VALUE, "key", start + name)):
            yield _bubble(database, name, row, next(number))
    for said in kept.inline:
        own = get_string(said.get("bubbleId"))
        if own is not None and own not in known:
            yield _line(next(number), own, dict(said))


def _bubble(database: Database, name: str, row: DatabaseRow, number: int) -> FileLine:
    if row.size > LINE_BYTES_MAX:
        return line_of(number, "bubble", row)
    said = get_string(row.values.get("value")) or ""
    value = json_in(said)
    if not isinstance(value, dict):
        return _line(number, name, said)
    slim = {key: item for key, item in value.items() if key not in LEFT_OUT}
    return _line(number, name, slim, **_contents(database, slim))


def _line(number: int, name: str, value: Json, **texts: Json) -> FileLine:
    return json_line(number, {"table": "bubble", "id": name, "value": value, **texts})


def _contents(database: Database, bubble: Fields) -> dict[str, Json]:
    """The whole texts that an edit names by their hashes, before and after it."""
    told = fields(bubble.get("toolFormerData")).get("result")
    result = fields(json_in(told) if isinstance(told, str) else told)
    found: dict[str, Json] = {}
    for name in ("before", "after"):
        key = get_string(result.get(f"{name}ContentId"))
        if key is None or not key.startswith(CONTENT):
            continue
        for row in database.rows(select_row(TABLE, KEY_VALUE, "key", key)):
            found[name] = get_string(row.values.get("value"))
    return found


def _values(database: Database, start: str, end: str) -> Iterator[tuple[str, Fields]]:
    wanted = RowSelection(table=TABLE, columns=KEY_VALUE, where="key >= ? AND key < ?", values=(start, end), key="key")
    for row in database.rows(wanted):
        key, said = get_string(row.values.get("key")), json_in(get_string(row.values.get("value")) or "")
        if key is not None and isinstance(said, dict):
            yield key, said


def _span(start: str) -> tuple[str, str]:
    """The keys that begin so, from the first to the one behind them."""
    return start, start[:-1] + chr(ord(start[-1]) + 1)


# --- both -------------------------------------------------------------------------------------------------------------


def _path(said: object) -> str | None:
    named = get_string(said)
    return named if named is None or not named.startswith(FILE) else unquote(named.removeprefix(FILE))
