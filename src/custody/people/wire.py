"""The JSON of people's statements.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

ReadVia = Literal["page", "command", "approval"]


class HunkReader(msgspec.Struct, frozen=True, kw_only=True):
    """A person who read a hunk, how that is known, and who vouches for it; ``head`` is the change as it was read."""

    person: str
    at: str
    via: str
    assurance: Literal["self-reported", "enrolled", "witnessed"]
    head: str
    record: str


class HunkReadState(msgspec.Struct, frozen=True, kw_only=True):
    """A hunk of a change, its patch identity, and the people who read it; without any it is unread.

    ``first`` and ``last`` are its lines in the new file, None where it only removes lines or has no text.
    """

    id: str
    path: str
    first: int | None
    last: int | None
    added: int
    removed: int
    readers: list[HunkReader]


class ReadReport(Report, frozen=True, kw_only=True, tag="read"):
    """The hunks of a change in order with the people who read them; ``recorded`` counts the new records."""

    base: str
    head: str
    hunks: list[HunkReadState]
    read: int
    recorded: int


class ReadShareReport(Report, frozen=True, kw_only=True, tag="read-share"):
    """The agents' lines that commits added on main since a date, and how many of them a person read.

    ``witnessed`` are those that a second party vouches for. ``commits`` were counted; ``left_out`` could not be.
    """

    head: str
    since: str
    commits: int
    agent_lines: int
    read_lines: int
    witnessed_lines: int
    left_out: int
    notes: list[str]


class AuthorReport(Report, frozen=True, kw_only=True, tag="author"):
    """A person's statement that they wrote lines of a file by hand; always self-reported.

    ``record`` is None if the same statement was recorded before. ``contradicted`` counts the lines that evidence gives
    to ``agents``: that evidence stays.
    """

    person: str
    path: str
    first: int
    last: int
    lines: int
    record: str | None
    contradicted: int
    agents: list[str]
