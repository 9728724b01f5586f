"""The patch identity of a change: the same for the same diff, whatever its commits, base, message or author."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.paths import Hunk
from custody.dupes.exact_hash import compute_exact_hashes
from custody.dupes.facts.model import Channel
from custody.dupes.model import NO_COMMIT, ChangeDescription, ChangedPiece, ExactKind, HashVariant, Shape
from custody.dupes.rules import DedupeRules
from custody.git import ChangeKind, FileDiff, HunkDetail

_WHOLE = ExactKind(None, HashVariant.PLAIN)
_RULES = DedupeRules(drop_comment_only_hunks=False, normalise_whitespace=False)
"""Fixed: an identity that a repository's rules changed would forget rejections, and a comment may be a directive."""
CONTEXT_LINES = 3
"""Unchanged lines that git shows around a change; changes whose context touches are one hunk to a reader."""


class IdentifiedHunk(Struct, frozen=True):
    """Neighboring changed lines of a file as a reader sees them, with their patch identity.

    ``id`` is the same for the same removed and added lines of the same path, on any commit. A repetition in one file
    has its number after a dash. A file without lines to show (binary, too large, renamed) is one hunk without ``runs``.
    """

    id: str
    runs: tuple[Hunk[bytes], ...]


def list_identified_hunks(file: FileDiff) -> list[IdentifiedHunk]:
    """Return the hunks of a changed file in the order of its lines, each with its patch identity."""
    times = Counter[str]()
    identified = []
    for runs in _group_neighboring_runs(file.hunks) or [()]:
        identity = compute_patch_identity([replace(file, hunks=runs)]) or ""
        times[identity] += 1
        number = f"-{times[identity]}" if times[identity] > 1 else ""
        identified.append(IdentifiedHunk(f"{identity}{number}", runs))
    return identified


def _group_neighboring_runs(runs: Sequence[Hunk[bytes]]) -> list[tuple[Hunk[bytes], ...]]:
    groups: list[list[Hunk[bytes]]] = []
    end = 0
    for run in runs:
        if groups and run.new_index - end <= 2 * CONTEXT_LINES:
            groups[-1].append(run)
        else:
            groups.append([run])
        end = run.new_index + len(run.added)
    return [tuple(group) for group in groups]


def compute_patch_identity(files: Iterable[FileDiff]) -> str | None:
    """Return the patch identity of a diff as 64 hexadecimal digits; None if it changes nothing."""
    pieces = tuple(_piece_from_diff(file) for file in files)
    change = ChangeDescription(base=NO_COMMIT, head=NO_COMMIT, opened_ns=0, pieces=pieces)
    return compute_exact_hashes(change, _RULES, kinds=(_WHOLE,)).get(_WHOLE)


def decode_file_hunks(file: FileDiff) -> Iterator[Hunk[str]]:
    """Yield the hunks of a file as text, without line ends."""
    for hunk in file.hunks:
        yield Hunk(
            hunk.old_first,
            hunk.new_first,
            tuple(_decode_diff_line(text) for text in hunk.removed),
            tuple(_decode_diff_line(text) for text in hunk.added),
        )


def _decode_diff_line(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def _piece_from_diff(file: FileDiff) -> ChangedPiece:
    change = file.change
    sides = [side for side in (change.old, change.new) if side is not None]
    return ChangedPiece(
        path=str(change.path),
        channel=Channel.PRODUCTION,
        shape=Shape.MODIFIED,
        old_path=str(change.old.path) if change.kind is ChangeKind.RENAMED and change.old is not None else None,
        runs=tuple(decode_file_hunks(file)),
        objects=("" if change.old is None else change.old.blob, "" if change.new is None else change.new.blob),
        modes=(sides[0].mode, sides[-1].mode) if len(sides) == 2 else (0, 0),
        opaque=None if file.shown is HunkDetail.WHOLE else file.shown.value,
    )
