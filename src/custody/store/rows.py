"""Index rows for views: a table finds the record, and the view is read from the record."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import RecordRef
from custody.core.run_summary import format_run_summaries
from custody.core.views import (
    AuthorClaim,
    Change,
    CommandRecord,
    CommitLink,
    Decision,
    DuplicateAnswer,
    FileEdit,
    FileState,
    HunkRead,
    Observation,
    ObservedCommit,
    ObservedSpan,
    Prompt,
    PullRequestFact,
    Session,
    Source,
    SourceAccess,
    ToolCall,
    TracedFile,
    View,
)
from custody.store.db import Row, SqlValue


def make_storable_name(name: str | None) -> str | None:
    """Return a name for a column that no question searches: empty if a database cannot store it."""
    return None if name is None else name if _is_storable_text(name) else ""


class ViewTable(Struct, frozen=True):
    """One view's table: its columns after (store_id, seq, n), and how a view fills them."""

    name: str
    columns: tuple[str, ...]
    fill: Callable[[Any], tuple[SqlValue, ...]]


TABLES: Mapping[type[object], ViewTable] = MappingProxyType(
    {
        Session: ViewTable(
            "session",
            ("agent", "session", "revision", "started_ns", "model"),
            lambda v: (v.agent, v.id, v.revision, v.started_ns, make_storable_name(v.model)),
        ),
        Prompt: ViewTable("prompt", ("session", "at_ns"), lambda v: (v.session, v.at_ns)),
        ToolCall: ViewTable(
            "tool_call",
            ("session", "call", "started_ns", "agent", "model", "prompt"),
            lambda v: (
                v.session,
                v.id,
                v.started_ns,
                v.agent,
                make_storable_name(v.model),
                make_storable_name(v.prompt),
            ),
        ),
        CommandRecord: ViewTable(
            "command_record",
            ("agent", "session", "call", "at_ns", "command", "folder", "root", "code", "ended", "summaries"),
            lambda v: (
                v.agent,
                v.session,
                v.call,
                v.at_ns,
                v.command,
                v.folder,
                v.root,
                v.code,
                v.end.value,
                format_run_summaries(v.summaries),
            ),
        ),
        FileEdit: ViewTable(
            "file_edit",
            ("session", "path", "at_ns", "revision"),
            lambda v: (v.session, v.path.raw, v.at_ns, v.revision),
        ),
        TracedFile: ViewTable(
            "traced_file",
            ("session", "path", "at_ns", "revision"),
            lambda v: (v.session, v.path.raw, v.at_ns, v.revision),
        ),
        SourceAccess: ViewTable(
            "source_read", ("session", "locator", "at_ns"), lambda v: (v.session, v.locator, v.at_ns)
        ),
        CommitLink: ViewTable("commit_link", ("commit_sha", "session"), lambda v: (v.commit, v.session)),
        PullRequestFact: ViewTable("pull_request_fact", ("number", "session"), lambda v: (v.number, v.session)),
        ObservedCommit: ViewTable("commit_seen", ("commit_sha", "at_ns"), lambda v: (v.commit, v.at_ns)),
        Decision: ViewTable(
            "decision",
            ("agent", "at_ns", "id", "target", "commit_sha", "head", "unreviewed", "patch"),
            lambda v: (
                v.agent,
                v.at_ns,
                v.id,
                v.overrides if v.overrides is not None else v.reverts,
                v.commit if v.commit is not None else v.commit_name,
                v.head,
                int(v.unreviewed),
                v.patch,
            ),
        ),
        DuplicateAnswer: ViewTable(
            "duplicate_answer", ("head", "other", "at_ns"), lambda v: (v.head, v.other_head, v.at_ns)
        ),
        HunkRead: ViewTable("hunk_read", ("hunk", "head", "at_ns"), lambda v: (v.hunk, v.head, v.at_ns)),
        AuthorClaim: ViewTable("author_claim", ("path", "at_ns"), lambda v: (v.path.raw, v.at_ns)),
        Source: ViewTable("source", ("url",), lambda v: (v.url,)),
        Change: ViewTable("change", ("base", "head"), lambda v: (v.base, v.head)),
        FileState: ViewTable("file_state", ("session", "path", "at_ns"), lambda v: (v.session, v.path.raw, v.at_ns)),
        ObservedSpan: ViewTable(
            "span",
            ("execution", "span", "parent", "session", "at_ns"),
            lambda v: (v.execution, v.id, v.parent, v.session, v.ended_ns if v.started_ns is None else v.started_ns),
        ),
        Observation: ViewTable(
            "observation",
            ("agent", "session", "event", "at_ns"),
            lambda v: (v.agent, v.session, v.event, v.at_ns),
        ),
    }
)

INT_MAX = 2**63 - 1

ALL_TABLES = tuple(table.name for table in TABLES.values())


def view_rows_from_record(ref: RecordRef, views: tuple[View, ...]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of one record's views, each with its table."""
    for n, view in enumerate(views):
        position: Row = (ref.store, int(ref.seq), n)
        table = TABLES[type(view)]
        yield table.name, (*position, *table.fill(view))


def check_storable_row(row: Row) -> None:
    """Raise an error for a value that a database cannot store, so that it does not stop the other rows."""
    for value in row:
        if isinstance(value, str):
            if not _is_storable_text(value):
                raise InputError("a text has characters that a database cannot store")
        elif isinstance(value, int) and not -INT_MAX - 1 <= value <= INT_MAX:
            raise InputError("a number is too large to be stored")


def _is_storable_text(text: str) -> bool:
    """Return whether the text has no NUL and no lone surrogate."""
    if text.isascii():  # known without reading it
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def view_table_columns(name: str) -> str:
    """Return the columns of table ``name``, in the order of its rows."""
    table = next(table for table in TABLES.values() if table.name == name)
    return ", ".join(("store_id", "seq", "n", *table.columns))


def make_view_insert_sql(name: str) -> str:
    """Return the statement that inserts one row into table ``name``."""
    columns = view_table_columns(name)
    return f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(columns.split(', ')))})"
