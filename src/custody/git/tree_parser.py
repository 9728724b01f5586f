"""Parsing ``git ls-tree -z``: the files of a commit. Pure: pieces of bytes in, entries out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.paths import RepoPath
from custody.git.chunk_reader import ChunkReader, object_id, repo_path, rubbish

_ENTRY = re.compile(rb"([0-7]{6}) (blob|tree|commit) ([0-9a-f]+)\t(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One name in a commit; ``kind`` is ``blob``, ``tree`` or ``commit`` (a submodule)."""

    path: RepoPath
    mode: int
    kind: str
    id: str


def parse_tree(chunks: Iterable[bytes]) -> Iterator[TreeEntry]:
    """The entries of ``git ls-tree -z`` in git's order (by bytes)."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        raw = reader.until(b"\0")
        match = _ENTRY.fullmatch(raw)
        if not match:
            raise rubbish("an entry of a tree is expected", raw)
        mode, kind, sha, path = match.groups()
        yield TreeEntry(repo_path(path), int(mode, 8), kind.decode("ascii"), object_id(sha))
