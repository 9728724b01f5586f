"""Exact identity: two changes with the same hash did the same, whatever commit or branch they are on.

Headers and positions play no part, paths and changed lines do. Each channel has hashes of its own, so that a change of
documents or tests alone has an identity too.
"""

import hashlib
from collections.abc import Iterator, Mapping

from custody.dupes.comments import is_comment
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece, ExactKind, HashVariant, LineRun
from custody.dupes.rules import DedupeRules

CHANNELS: tuple[Channel | None, ...] = (None, *Channel)
KINDS = tuple(ExactKind(channel, likeness) for channel in CHANNELS for likeness in HashVariant)
"""Every kind of exact hash; the index stores a kind by its place here, so new ones go to the end."""
STORED = tuple(kind for kind in KINDS if kind.likeness is not HashVariant.INVERTED)
"""What the index holds: a change that takes another back has, inverted, the other's plain hash."""


def exact_hashes(change: ChangeDescription, rules: DedupeRules) -> Mapping[ExactKind, str]:
    """Every exact hash that the change has; a channel that it does not touch has none."""
    found = {}
    for kind in KINDS:
        pieces = change.pieces if kind.channel is None else change.of(kind.channel)
        if texts := [text for piece in pieces if (text := _canonical(piece, kind.likeness, rules))]:
            found[kind] = _digest(texts)
    return found


def _digest(texts: list[str]) -> str:
    """The order of files says nothing: a path-free hash must not know it, and the others hold the paths."""
    each = sorted(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
    return hashlib.sha256(b"".join(each)).hexdigest()


def _canonical(piece: ChangedPiece, likeness: HashVariant, rules: DedupeRules) -> str:
    """What a change did to a file, as text; empty where there is nothing that could be alike."""
    backwards = likeness is HashVariant.INVERTED
    lines = list(_lines(piece, likeness, rules))
    if likeness is HashVariant.PATH_FREE:
        return "\n".join(lines)
    return "\n".join([*_names(piece, backwards=backwards), *_outside(piece, backwards=backwards), *lines])


def _names(piece: ChangedPiece, *, backwards: bool) -> Iterator[str]:
    """Where the file was and is; both alike unless it moved."""
    names = (piece.old_path or piece.path, piece.path)
    yield "\0".join(reversed(names) if backwards else names)


def _outside(piece: ChangedPiece, *, backwards: bool) -> Iterator[str]:
    """What became of the file beside its lines: its mode, and its objects where no lines are shown."""
    before, after = piece.modes
    if before and after and before != after:
        yield f"mode {after if backwards else before:o} {before if backwards else after:o}"
    if piece.opaque is not None:
        old, new = piece.objects
        yield f"object {new if backwards else old} {old if backwards else new}"


def _lines(piece: ChangedPiece, likeness: HashVariant, rules: DedupeRules) -> Iterator[str]:
    for run in piece.runs:
        if rules.drop_comment_only_hunks and _is_comment(piece.path, run):
            continue
        gone, come = (run.added, run.removed) if likeness is HashVariant.INVERTED else (run.removed, run.added)
        yield from (f"-{_alike(line, likeness, rules)}" for line in gone)
        yield from (f"+{_alike(line, likeness, rules)}" for line in come)


def _alike(line: str, likeness: HashVariant, rules: DedupeRules) -> str:
    if likeness is HashVariant.SPACELESS:
        return "".join(line.split())
    return line.rstrip() if rules.normalise_whitespace else line


def _is_comment(path: str, run: LineRun) -> bool:
    return all(is_comment(path, line) for line in (*run.removed, *run.added))
