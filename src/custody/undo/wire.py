"""The report of ``custody undo``."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report


class UndoneFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the patch changes; ``old_path`` is its path in the work tree if the patch renames it.

    ``removed`` and ``restored`` count lines. ``exact``: nothing of the work is left in the file, and it is again as it
    was before.
    """

    path: str
    change: Literal["modified", "deleted", "restored", "renamed"]
    old_path: str | None = None
    removed: int
    restored: int
    exact: bool


class SparedBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that were left as they are, with the reason and, if known, who changed them.

    ``start_line`` and ``end_line`` are null if the block has no lines in the work tree: then ``former`` lines before it
    were not restored below line ``below``.
    """

    path: str
    start_line: int | None
    end_line: int | None
    below: int | None = None
    former: int = 0
    reason: str
    why: str
    by: str | None = None


class UndoReport(Report, frozen=True, kw_only=True, tag="undo"):
    """What undoing a session, a call or a prompt changes; ``name`` is what the caller asked for.

    ``patch`` is null if it is not UTF-8; ``patch_base64`` is then the same in base64. ``base`` is the commit of HEAD.
    ``applied``: the work tree was changed. ``imported``: lines with imported evidence were included.
    """

    name: str
    kind: Literal["session", "call", "prompt"]
    agent: str
    session: str
    calls: int | None
    base: str | None
    files: list[UndoneFile]
    removed_lines: int
    restored_lines: int
    spared: list[SparedBlock]
    patch: str | None
    patch_base64: str | None = None
    imported: bool
    applied: bool
    notes: list[str]
