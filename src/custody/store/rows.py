"""Which row stands for which view: the tables are an index, the view itself is read again from its record."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from custody.core.errors import InputError
from custody.core.ids import RecordRef
from custody.core.views import (
    Change,
    CommitLink,
    Decision,
    DuplicateAnswer,
    FileEdit,
    FileState,
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


@dataclass(frozen=True, slots=True)
class ViewTable:
    """One view's table: its columns after (store_id, seq, n), and how a view fills them."""

    name: str
    columns: tuple[str, ...]
    fill: Callable[[Any], tuple[SqlValue, ...]]


TABLES: Mapping[type[object], ViewTable] = MappingProxyType(
    {
        Session: ViewTable(
            "session",
            ("agent", "session", "revision", "started_ns"),
            lambda v: (v.agent, v.id, v.revision, v.started_ns),
        ),
        Prompt: ViewTable("prompt", ("session", "at_ns"), lambda v: (v.session, v.at_ns)),
        ToolCall: ViewTable("tool_call", ("session", "call", "started_ns"), lambda v: (v.session, v.id, v.started_ns)),
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
            ("agent", "at_ns", "id", "target", "commit_sha", "head", "unreviewed"),
            lambda v: (
                v.agent,
                v.at_ns,
                v.id,
                v.overrides if v.overrides is not None else v.reverts,
                v.commit if v.commit is not None else v.commit_name,
                v.head,
                int(v.unreviewed),
            ),
        ),
        DuplicateAnswer: ViewTable(
            "duplicate_answer", ("head", "other", "at_ns"), lambda v: (v.head, v.other_head, v.at_ns)
        ),
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

HASH_TABLE = ViewTable("edit_hash", ("hash",), lambda _: ())
"""Filled from edits, one row per hash."""

ALL_TABLES = (*(table.name for table in TABLES.values()), HASH_TABLE.name)


def rows_of(ref: RecordRef, views: tuple[View, ...]) -> Iterator[tuple[str, Row]]:
    """The rows of one record's views, each with its table."""
    for n, view in enumerate(views):
        place: Row = (ref.store, int(ref.seq), n)
        table = TABLES[type(view)]
        yield table.name, (*place, *table.fill(view))
        if isinstance(view, FileEdit):
            for digits in dict.fromkeys(hash_digits(value) for value in view.hashes):
                yield HASH_TABLE.name, (*place, digits)


def check_storable(row: Row) -> None:
    """Refuse what a database could not hold: one odd value must not stop everything behind it."""
    for value in row:
        if isinstance(value, int) and not -INT_MAX - 1 <= value <= INT_MAX:
            raise InputError("a number is too large to be kept in a view")
        if isinstance(value, str) and ("\0" in value or not _is_whole(value)):
            raise InputError("a text holds signs that no database keeps")


def _is_whole(text: str) -> bool:
    """Whether no half of a pair of signs stands alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def hash_digits(content_hash: str) -> str:
    """A content hash as it is indexed: its digits alone, in lower case."""
    return content_hash.lower().removeprefix("sha256:")


def columns_of(name: str) -> str:
    """The columns of table ``name``, in the order of its rows."""
    table = next(table for table in (*TABLES.values(), HASH_TABLE) if table.name == name)
    return ", ".join(("store_id", "seq", "n", *table.columns))


def insert_sql(name: str) -> str:
    """The statement that puts one row into table ``name``."""
    columns = columns_of(name)
    return f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(columns.split(', ')))})"
