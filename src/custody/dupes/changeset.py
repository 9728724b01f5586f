"""The production side of a change as a set, in the three forms in which one change can be part of another.

Documents and tests play no part: what a change is, is its production code.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import Enum

from custody.dupes.evidence import production_shingles
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece
from custody.dupes.rules import DedupeRules
from custody.sketch.tokens import mask_literals, tokens_of
from custody.sketch.winnow import fingerprints_of

WINNOW_TOKENS = 10
"""Tokens in a fingerprint of a rewrite: a line or two; a shorter run in common never shows."""
WINNOW_WINDOW = 6
"""Of so many runs in a row one is kept: 15 tokens in common always show."""


class Mode(Enum):
    """What of two changes is compared."""

    PATCH = "patch"
    """Shingles of the lines that were removed and added."""
    REWRITE = "rewrite"
    """Fingerprints of what was added, wherever it stands."""
    SYMBOLS = "symbols"
    """Names of changed declarations and exports; document 002 calls this ts mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """A change's production code in all three modes, with its size: ``lines`` removed and added, files, renames.

    ``paths`` holds both names of a file that moved.
    """

    opened_ns: int
    shingles: frozenset[str] = frozenset()
    fingerprints: frozenset[int] = frozenset()
    symbols: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    lines_changed: int = 0
    files_changed: int = 0
    files_renamed: int = 0

    def elements(self, mode: Mode) -> Set[str] | Set[int]:
        """The set that stands for the change in this mode; empty if it has nothing to compare there."""
        match mode:
            case Mode.PATCH:
                return self.shingles
            case Mode.REWRITE:
                return self.fingerprints
            case Mode.SYMBOLS:
                return self.symbols


def change_set(change: ChangeDescription, rules: DedupeRules) -> ChangeSet:
    """The set of a change; of files whose lines are not shown only name and number count."""
    pieces = change.of(Channel.PRODUCTION)
    return ChangeSet(
        opened_ns=change.opened_ns,
        shingles=production_shingles(change, rules),
        fingerprints=frozenset(print_ for piece in pieces for print_ in _prints(piece, rules)),
        symbols=frozenset(name for piece in pieces for name in _names(piece)),
        paths=frozenset(path for piece in pieces for path in (piece.path, piece.old_path) if path is not None),
        lines_changed=sum(piece.removed + piece.added for piece in pieces),
        files_changed=len(pieces),
        files_renamed=sum(piece.old_path is not None for piece in pieces),
    )


def _prints(piece: ChangedPiece, rules: DedupeRules) -> tuple[int, ...]:
    """What was added to a file is one stream: where a diff happens to cut it says nothing about what was written."""
    return fingerprints_of(_added_tokens(piece, rules), WINNOW_TOKENS, WINNOW_WINDOW)


def _added_tokens(piece: ChangedPiece, rules: DedupeRules) -> Iterator[str]:
    for run in piece.runs:
        for line in run.added:
            yield from mask_literals(tokens_of(line), numbers=rules.mask_numbers, strings=rules.mask_strings)


def _names(piece: ChangedPiece) -> Iterator[str]:
    for facts in (piece.before, piece.after):
        yield from (f"symbol {name}" for name in facts.symbols)
        yield from (f"export {name}" for name in facts.exports)
