"""Parsing references. Pure: pieces of bytes in, references out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git.chunk_reader import ChunkReader, object_id, rubbish

REF_FORMAT = "--format=%(refname)%00%(objectname)%00"
_PREFIX = re.compile(r"refs/([\w./@+=,%-]*/)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """HEAD: the ``branch`` it is on (None: detached) and its ``commit`` (None: the branch has none yet)."""

    branch: bytes | None
    commit: CommitSha | None


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference by its full name; ``id`` is a commit, or the tag object of an annotated tag."""

    name: bytes
    id: str


def parse_refs(chunks: Iterable[bytes]) -> Iterator[Ref]:
    """The references of ``git for-each-ref`` with ``REF_FORMAT``, by name."""
    reader = ChunkReader(chunks)
    while not reader.ended():
        name, sha = reader.until(b"\0"), object_id(reader.until(b"\0"))
        if end := reader.line():
            raise rubbish("the end of a reference is expected", end)
        yield Ref(name, sha)


def ref_prefix(typed: str) -> str:
    """``typed`` when it names a folder of references and nothing else."""
    if not _PREFIX.fullmatch(typed):
        raise InputError(f"{typed!a} is not a folder of references", hint="for example 'refs/heads/'")
    return typed
