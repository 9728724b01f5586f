"""Where Cursor stores its conversations: a database for all projects, and less detailed transcripts beside it.

The database is ``User/globalStorage/state.vscdb`` in the application's folder. In ``cursorDiskKV`` a conversation is
``composerData:ID``, its messages are ``bubbleId:ID:BUBBLE``, and since spring 2026 the texts of edits are
``composer.content.HASH``. The layout is undocumented; tested with ``composerData`` 3 of 2025 to 16 of July 2026 (Cursor
0.50 to 3.7). A conversation is addressed as if the database were a folder: ``state.vscdb/ID``. Transcripts are
``projects/SLUG/agent-transcripts/ID/ID.jsonl`` in ``~/.cursor``, subagents in ``subagents/`` beside them; older ones
are texts, ``agent-transcripts/ID.txt``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.agents.cursor.tool_calls import parse_agent_model, parse_bubble_json, path_from_file_uri
from custody.capture.database_rows import (
    UNREAD,
    Database,
    DatabaseRow,
    RowSelection,
    is_sqlite_transcript,
    json_to_transcript_line,
    open_agent_database,
    read_database_sessions,
    row_to_transcript_line,
    select_agent_row,
)
from custody.capture.line_reader import (
    LINE_BYTES_MAX,
    FileLine,
    find_root_session,
    is_path_in_trees,
    list_transcript_files,
    locate_agent_folder,
    read_json_object,
    read_small_agent_file,
    resolve_work_trees,
)
from custody.capture.typed_field import Fields, get_fields, get_int, get_items, get_milliseconds, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

DATABASE = "state.vscdb"
TABLE, ITEMS = "cursorDiskKV", "ItemTable"
KEY_VALUE = ("key", "value")
COMPOSER, BUBBLE, CONTENT = "composerData:", "bubbleId:", "composer.content."
TRANSCRIPTS, SUBAGENTS = "agent-transcripts", "subagents"
SUFFIXES = (".jsonl", ".txt")
USER_FOLDERS = (".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User")
"""The application's data folder in the user's home, by system."""
DROPPED_FIELDS = frozenset(("conversationState", "richText", "thinking", "allThinkingBlocks", "toolCallBinary"))
"""Fields of a message that are never read: thinking, and repeated or encrypted content."""

_OTHER = lazy_pattern(r"[^A-Za-z0-9]+")


class ConversationInfo(Struct, frozen=True):
    """A conversation's metadata; ``root`` is the conversation above it, ``call`` the call that started it."""

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
        """Return the conversation's own line."""
        fields: dict[str, Json] = {"id": self.id, "folder": self.folder, "model": self.model, "created": self.created}
        return json_to_transcript_line(
            number, {**fields, "table": "composer", "call": self.call, "root": self.root, "version": self.version}
        )


def locate_cursor_home(environment: Mapping[str, str]) -> Path:
    """Return the user's Cursor folder."""
    return locate_agent_folder(environment, "CURSOR_CONFIG_DIR", ".cursor")


def list_cursor_files(place: Path) -> list[Path]:
    """Return the databases and transcripts at or below ``place``: databases first, because they have more detail."""
    files = list_transcript_files(place, (DATABASE, *SUFFIXES))
    matches = [file for file in files if file == place or file.name == DATABASE or TRANSCRIPTS in file.parts]
    return sorted(matches, key=lambda file: file.name != DATABASE)


def find_conversations(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the conversations in or below one of these work trees, from the database and the transcripts."""
    roots = resolve_work_trees(trees)
    users = [home.parent / name for name in USER_FOLDERS]
    matches = [file for user in users for file in _list_database_conversations(user, roots)]
    slugs = {project_slug_from_path(root) for root in roots}
    projects = sorted(folder for folder in home.glob("projects/*") if folder.name in slugs)
    return matches + [file for folder in projects for file in list_transcript_files(folder / TRANSCRIPTS, SUFFIXES)]


def project_slug_from_path(root: str) -> str:
    """Return the name of a project's folder in ``projects``; different paths may share one.

    >>> project_slug_from_path("/home/ana/my_shop")
    'home-ana-my-shop'
    """
    return _OTHER.sub("-", root).strip("-")


# --- the database -----------------------------------------------------------------------------------------------------


def _list_database_conversations(user: Path, roots: set[str]) -> list[Path]:
    file = user / "globalStorage" / DATABASE
    if not is_sqlite_transcript(file):
        return []
    elsewhere = _list_workspace_conversations(user, roots)
    try:
        with open_agent_database(file) as database:
            conversations = _read_all_conversations(database)
    except OSError:
        return [file / UNREAD]
    ours = {
        conversation.id
        for conversation in conversations
        if is_path_in_trees(conversation.folder, roots) or conversation.id in elsewhere
    }
    # A subagent's conversation does not always name its folder.
    return [
        file / conversation.id
        for conversation in sorted(conversations, key=lambda conversation: conversation.created)
        if conversation.id in ours or conversation.root in ours
    ]


def _list_workspace_conversations(user: Path, roots: set[str]) -> set[str]:
    """Return the conversations that a workspace's own database lists, in versions of 2025."""
    matches: set[str] = set()
    for file in sorted(user.glob("workspaceStorage/*/workspace.json")):
        database = file.with_name(DATABASE)
        if not is_path_in_trees(
            path_from_file_uri(read_json_object(read_small_agent_file(file)).get("folder")), roots
        ) or not is_sqlite_transcript(database):
            continue
        try:
            with open_agent_database(database) as workspace:
                for row in workspace.rows(select_agent_row(ITEMS, KEY_VALUE, "key", "composer.composerData")):
                    fields = get_fields(parse_bubble_json(get_string(row.values.get("value")) or ""))
                    matches |= {
                        str(get_fields(item).get("composerId")) for item in get_items(fields.get("allComposers"))
                    }
        except OSError:
            continue  # a workspace's list is optional
    return matches


def read_conversation_rows(file: Path) -> Iterator[FileLine]:
    """Yield the lines of all conversations of a database, or of the named conversation."""
    return read_database_sessions(file, _read_conversations, _read_bubble_lines)


def _read_conversations(database: Database, name: str | None) -> list[ConversationInfo]:
    return _read_all_conversations(database) if name is None else _find_named_conversation(database, name)


def _read_all_conversations(database: Database) -> list[ConversationInfo]:
    """Return every conversation, each with its root."""
    conversations = [
        _read_conversation_info(key, fields)
        for key, fields in _scan_conversation_keys(database, *_key_range_from_prefix(COMPOSER))
    ]
    parents = {conversation.id: conversation.parent for conversation in conversations}
    return [
        replace(conversation, root=find_root_session(conversation.id, parents.get)) for conversation in conversations
    ]


def _find_named_conversation(database: Database, wanted: str) -> list[ConversationInfo]:
    """Return the conversation of this name, if it exists."""
    result: dict[str, ConversationInfo | None] = {}

    def parent(name: str) -> str | None:
        if name not in result:
            key = COMPOSER + name
            result[name] = next(
                (
                    _read_conversation_info(key, fields)
                    for _, fields in _scan_conversation_keys(database, key, f"{key}\0")
                ),
                None,
            )
        conversation = result[name]
        return None if conversation is None else conversation.parent

    root = find_root_session(wanted, parent)
    conversation = result[wanted]
    return [] if conversation is None else [replace(conversation, root=root)]


def _read_conversation_info(key: str, fields: Fields) -> ConversationInfo:
    above = get_fields(fields.get("subagentInfo"))
    place = get_fields(fields.get("workspaceIdentifier"))
    uri = get_fields(place.get("uri"))
    tracked = [get_fields(item).get("repoPath") for item in get_items(fields.get("trackedGitRepos"))]
    folders = (uri.get("fsPath"), uri.get("path"), uri.get("external"), place.get("fsPath"), *tracked)
    headers = [get_fields(item).get("bubbleId") for item in get_items(fields.get("fullConversationHeadersOnly"))]
    return ConversationInfo(
        id=key.removeprefix(COMPOSER),
        folder=next((path for path in map(path_from_file_uri, folders) if path), None),
        parent=get_string(above.get("parentComposerId")) or None,
        call=get_string(above.get("toolCallId")) or None,
        model=parse_agent_model(get_fields(fields.get("modelConfig")).get("modelName")),
        created=get_milliseconds(fields.get("createdAt")),
        version=get_int(fields.get("_v")),
        bubbles=tuple(name for name in headers if isinstance(name, str)),
        inline=tuple(map(get_fields, get_items(fields.get("conversation")))),
    )


def _read_bubble_lines(database: Database, conversation: ConversationInfo, number: Iterator[int]) -> Iterator[FileLine]:
    """Yield a conversation's messages in its own order, then those that it does not list any more."""
    start = f"{BUBBLE}{conversation.id}:"
    listed = RowSelection(
        table=TABLE, columns=("key",), where="key >= ? AND key < ?", values=_key_range_from_prefix(start), key="key"
    )
    there = [str(row.values.get("key")).removeprefix(start) for row in database.rows(listed)]
    known = set(there)
    order = [name for name in dict.fromkeys(conversation.bubbles) if name in known]
    for name in (*order, *(name for name in there if name not in set(order))):
        for row in database.rows(select_agent_row(TABLE, KEY_VALUE, "key", start + name)):
            yield _bubble_row_to_line(database, name, row, next(number))
    for message in conversation.inline:
        own = get_string(message.get("bubbleId"))
        if own is not None and own not in known:
            yield _make_bubble_line(next(number), own, dict(message))


def _bubble_row_to_line(database: Database, name: str, row: DatabaseRow, number: int) -> FileLine:
    if row.size > LINE_BYTES_MAX:
        return row_to_transcript_line(number, "bubble", row)
    text = get_string(row.values.get("value")) or ""
    value = parse_bubble_json(text)
    if not isinstance(value, dict):
        return _make_bubble_line(number, name, text)
    slim = {key: item for key, item in value.items() if key not in DROPPED_FIELDS}
    return _make_bubble_line(number, name, slim, **_read_edit_contents(database, slim))


def _make_bubble_line(number: int, name: str, value: Json, **texts: Json) -> FileLine:
    return json_to_transcript_line(number, {"table": "bubble", "id": name, "value": value, **texts})


def _read_edit_contents(database: Database, bubble: Fields) -> dict[str, Json]:
    """Return the whole texts before and after an edit, which it names by their hashes."""
    value = get_fields(bubble.get("toolFormerData")).get("result")
    result = get_fields(parse_bubble_json(value) if isinstance(value, str) else value)
    results: dict[str, Json] = {}
    for name in ("before", "after"):
        key = get_string(result.get(f"{name}ContentId"))
        if key is None or not key.startswith(CONTENT):
            continue
        for row in database.rows(select_agent_row(TABLE, KEY_VALUE, "key", key)):
            results[name] = get_string(row.values.get("value"))
    return results


def _scan_conversation_keys(database: Database, start: str, end: str) -> Iterator[tuple[str, Fields]]:
    wanted = RowSelection(table=TABLE, columns=KEY_VALUE, where="key >= ? AND key < ?", values=(start, end), key="key")
    for row in database.rows(wanted):
        key, value = get_string(row.values.get("key")), parse_bubble_json(get_string(row.values.get("value")) or "")
        if key is not None and isinstance(value, dict):
            yield key, value


def _key_range_from_prefix(start: str) -> tuple[str, str]:
    """Return the range of keys with this prefix: the first, and the first after it."""
    return start, start[:-1] + chr(ord(start[-1]) + 1)
