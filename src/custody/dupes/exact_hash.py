"""Exact hashes of changes, by which the same diff is recognized on any commit or branch."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from custody.core.paths import Hunk
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece, ExactKind, HashVariant
from custody.dupes.rules import DedupeRules

# Markers of comment lines by file extension.


_SLASHES = ("//", "/*", "*/", "* ")
_HASH = ("#",)
_COMMENT_MARKERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("c", "cc", "cpp", "cs", "go", "h", "hpp", "java", "js", "jsx", "kt", "mjs"), _SLASHES),
        **dict.fromkeys(("php", "rs", "scala", "scss", "swift", "ts", "tsx"), _SLASHES),
        **dict.fromkeys(("py", "pyi", "rb", "sh", "bash", "toml", "yaml", "yml", "pl", "r", "cfg", "ini"), _HASH),
        **dict.fromkeys(("sql", "lua", "hs"), ("--",)),
        **dict.fromkeys(("html", "xml", "svg", "vue", "md"), ("<!--", "-->")),
    }
)


def is_comment_line(path: str, line: str) -> bool:
    """Return whether a line is blank or a comment; in unknown files only blank lines count.

    >>> is_comment_line("a.py", "  # why"), is_comment_line("a.py", "x = 1  # why"), is_comment_line("a.txt", "# why")
    (True, False, False)
    """
    text = line.strip()
    return not text or text == "*" or text.startswith(_COMMENT_MARKERS.get(path.rpartition(".")[2].lower(), ("\0",)))


# Exact hashes: equal for equal diffs on any commit or branch.
# They cover paths and changed lines, but no positions. Each channel has its own hashes, so that a change of
# documents or tests only has an identity, too.


CHANNELS: tuple[Channel | None, ...] = (None, *Channel)
KINDS = tuple(ExactKind(channel, variant) for channel in CHANNELS for variant in HashVariant)
"""Every kind of exact hash; the index stores a kind by its position, so new kinds go to the end."""
KIND_NUMBERS: Mapping[ExactKind, int] = MappingProxyType({kind: number for number, kind in enumerate(KINDS)})
STORED = tuple(kind for kind in KINDS if kind.variant is not HashVariant.INVERTED)
"""The kinds in the index; the inverted hash of a revert is looked up among the plain hashes."""


def compute_exact_hashes(
    change: ChangeDescription, rules: DedupeRules, kinds: Sequence[ExactKind] = KINDS
) -> Mapping[ExactKind, str]:
    """Return the exact hashes of a change, by default all; an untouched channel has none."""
    hashes = {}
    for kind in kinds:
        pieces = change.pieces if kind.channel is None else change.select_channels(kind.channel)
        if texts := [text for piece in pieces if (text := _canonicalize_piece(piece, kind.variant, rules))]:
            hashes[kind] = _digest_piece_texts(texts)
    return hashes


def _digest_piece_texts(texts: list[str]) -> str:
    """Return the digest of all texts in any order: path-free hashes must not depend on the order of files."""
    digests = sorted(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _canonicalize_piece(piece: ChangedPiece, variant: HashVariant, rules: DedupeRules) -> str:
    """Return the canonical text of a changed file; empty if nothing can be compared."""
    backwards = variant is HashVariant.INVERTED
    lines = list(_normalize_piece_lines(piece, variant, rules))
    if variant is HashVariant.PATH_FREE:
        return "\n".join(lines)
    return "\n".join(
        [*_format_piece_paths(piece, backwards=backwards), *_format_piece_modes(piece, backwards=backwards), *lines]
    )


def _format_piece_paths(piece: ChangedPiece, *, backwards: bool) -> Iterator[str]:
    """Yield the old and the new path, which differ if the file moved."""
    names = (piece.old_path or piece.path, piece.path)
    yield "\0".join(reversed(names) if backwards else names)


def _format_piece_modes(piece: ChangedPiece, *, backwards: bool) -> Iterator[str]:
    """Yield changes of the mode, and the blobs if the lines are opaque."""
    before, after = piece.modes
    if before and after and before != after:
        yield f"mode {after if backwards else before:o} {before if backwards else after:o}"
    if piece.opaque is not None:
        old, new = piece.objects
        yield f"object {new if backwards else old} {old if backwards else new}"


def _normalize_piece_lines(piece: ChangedPiece, variant: HashVariant, rules: DedupeRules) -> Iterator[str]:
    for run in piece.runs:
        if rules.drop_comment_only_hunks and _is_comment_run(piece.path, run):
            continue
        removed, added = (run.added, run.removed) if variant is HashVariant.INVERTED else (run.removed, run.added)
        yield from (f"-{_normalize_hunk_line(line, variant, rules)}" for line in removed)
        yield from (f"+{_normalize_hunk_line(line, variant, rules)}" for line in added)


def _normalize_hunk_line(line: str, variant: HashVariant, rules: DedupeRules) -> str:
    if variant is HashVariant.SPACELESS:
        return "".join(line.split())
    return line.rstrip() if rules.normalise_whitespace else line


def _is_comment_run(path: str, run: Hunk[str]) -> bool:
    return all(is_comment_line(path, line) for line in (*run.removed, *run.added))
