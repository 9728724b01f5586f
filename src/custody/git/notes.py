"""Writing notes of our own into a repository: the one place where custody adds to what a user's git holds.

Nothing is written that was not asked for by the name of its reference. Objects are written as git writes loose ones;
the reference moves by compare-and-swap, so that whoever wrote meanwhile loses nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git.argument import full_id
from custody.git.loose_object import OUR_EMAIL, OUR_NAME, commit_content, keep_loose
from custody.git.object_parser import NoObject, Object
from custody.git.tree_objects import write_trees
from custody.git.tree_parser import TreeEntry

FILE = 0o100644
NAME_SIGNS_MAX = 200
FANOUT = 2
"""git reads notes in folders of any depth; one level serves some ten thousand."""

_REF = re.compile(r"refs/notes/[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
_NEVER = re.compile(r"\.\.|\.(lock)?(/|$(?!\n))")
_NOTE = re.compile(rb"[0-9a-f/]{40,128}")

AS_OURSELVES = MappingProxyType({"GIT_COMMITTER_NAME": OUR_NAME, "GIT_COMMITTER_EMAIL": OUR_EMAIL})
"""Who git notes down as the one who moved a reference; else it would ask the machine, and perhaps the name service."""


@dataclass(frozen=True, slots=True)
class NoteWriteCount:
    """What became of notes: ``written`` anew, ``unchanged`` since last time; on ``kept_on`` another's is and stays."""

    written: int
    unchanged: int
    kept_on: tuple[CommitSha, ...]


def notes_ref(typed: str) -> str:
    """``typed`` when it is the full name of a reference for notes and git can take it for nothing else.

    >>> notes_ref("refs/notes/custody")
    'refs/notes/custody'
    """
    if not _REF.fullmatch(typed) or _NEVER.search(typed) or len(typed) > NAME_SIGNS_MAX:
        raise InputError(f"{typed[:80]!a} is no reference for notes", hint="for example 'refs/notes/custody'")
    return typed


class NotesTree:
    """The notes of a reference, as they are and as they will be."""

    def __init__(self, objects: Path, object_format: str, entries: Iterable[TreeEntry]) -> None:
        self._keep = partial(keep_loose, objects, object_format)
        self._entries = {entry.path.raw: (entry.mode, entry.id) for entry in entries}
        notes = (raw for raw in self._entries if _NOTE.fullmatch(raw))
        self._by_commit = {raw.replace(b"/", b"").decode("ascii"): raw for raw in notes}

    def put_all(
        self,
        notes: Mapping[CommitSha, bytes],
        read: Callable[[str], Object | NoObject],
        is_ours: Callable[[bytes], bool],
    ) -> NoteWriteCount:
        """Put notes on commits that have none or one of ours; what is somebody else's stays."""
        written = unchanged = 0
        kept_on: list[CommitSha] = []
        for commit, content in sorted(notes.items()):
            old = self._by_commit.get(full_id(commit))
            there = None if old is None else read(self._entries[old][1])
            if isinstance(there, Object) and there.content == content:
                unchanged += 1
            elif there is not None and not (isinstance(there, Object) and is_ours(there.content)):
                kept_on.append(commit)
            else:
                self._put(commit, content, old)
                written += 1
        return NoteWriteCount(written, unchanged, tuple(kept_on))

    def _put(self, commit: CommitSha, content: bytes, old: bytes | None) -> None:
        if old is not None:
            del self._entries[old]
        name = f"{commit[:FANOUT]}/{commit[FANOUT:]}".encode("ascii")
        self._entries[name] = (FILE, self._keep("blob", content))
        self._by_commit[commit] = name

    def commit(self, parent: str | None, message: str, at_seconds: int) -> str:
        """A commit of the notes as they will be; its id."""
        entries = ((raw, mode, sha) for raw, (mode, sha) in self._entries.items())
        tree = write_trees(entries, partial(self._keep, "tree"))
        return self._keep("commit", commit_content(tree, [] if parent is None else [parent], message, at_seconds))
