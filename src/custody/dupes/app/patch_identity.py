"""The identity of a patch: what a change does, whatever its message, its author and its base are."""

import hashlib
from collections.abc import Iterator, Sequence

from custody.git import DiffSide, FileDiff, HunkDetail

_PURPOSE = b"custody patch 1"


def identify_patch(files: Sequence[FileDiff]) -> str:
    """Return the SHA-256 of a change's paths, modes, and removed and added lines, as hex digits.

    An amended message and a rebase that leaves the changed lines alone give the same identity. White space counts, the
    place of a line in its file does not. A file without readable lines counts by its objects.
    """
    digests = sorted(_digest_fields(_list_file_fields(file)) for file in files)
    return hashlib.sha256(_digest_fields((_PURPOSE, *digests))).hexdigest()


def _list_file_fields(file: FileDiff) -> Iterator[bytes]:
    for side in (file.change.old, file.change.new):
        yield from _list_side_fields(side, has_lines=file.shown is HunkDetail.WHOLE)
    for hunk in file.hunks:
        yield from (b"-" + line for line in hunk.removed)
        yield from (b"+" + line for line in hunk.added)


def _list_side_fields(side: DiffSide | None, *, has_lines: bool) -> tuple[bytes, ...]:
    if side is None:
        return (b"", b"", b"")
    return side.path.raw, b"%o" % side.mode, b"" if has_lines else side.blob.encode()


def _digest_fields(fields: Sequence[bytes] | Iterator[bytes]) -> bytes:
    """Return one digest of some fields, each with its length."""
    digest = hashlib.sha256()
    for field in fields:
        digest.update(len(field).to_bytes(8, "big"))
        digest.update(field)
    return digest.digest()
