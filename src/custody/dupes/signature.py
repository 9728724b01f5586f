"""From a change as it was read to what is kept of it: its signature, its exact hashes, its terms.

Tests and documents are sketched by what they say, not by their lines: eight hundred lines of harness must not drown
the three names that tell what is tested.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.dupes.facts.model import FACTS_VERSION, Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import (
    ChangeDescription,
    ChangedPiece,
    ChangeSketch,
    ExactKind,
    HashVariant,
    LineRun,
    Signature,
)
from custody.dupes.relations import MessageReferences, is_bot, is_release, referred, without_pointers
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import BottomSketch, bands_of, bottom_of, hash32, hash64
from custody.sketch.minhash import MINHASH_VERSION, minhash_of
from custody.sketch.tokens import (
    identifiers_of,
    mask_literals,
    normalised_line,
    shingles_of,
    split_message_words,
    tokens_of,
)

# Which lines are comments and nothing else, by the ending of their file.


_SLASHES = ("//", "/*", "*/", "* ")
_HASH = ("#",)
_ENDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("c", "cc", "cpp", "cs", "go", "h", "hpp", "java", "js", "jsx", "kt", "mjs"), _SLASHES),
        **dict.fromkeys(("php", "rs", "scala", "scss", "swift", "ts", "tsx"), _SLASHES),
        **dict.fromkeys(("py", "pyi", "rb", "sh", "bash", "toml", "yaml", "yml", "pl", "r", "cfg", "ini"), _HASH),
        **dict.fromkeys(("sql", "lua", "hs"), ("--",)),
        **dict.fromkeys(("html", "xml", "svg", "vue", "md"), ("<!--", "-->")),
    }
)


def is_comment(path: str, line: str) -> bool:
    """Whether a line is blank or only comment; of an unknown kind of file only blank lines are.

    >>> is_comment("a.py", "  # why"), is_comment("a.py", "x = 1  # why"), is_comment("a.txt", "# why")
    (True, False, False)
    """
    said = line.strip()
    return not said or said == "*" or said.startswith(_ENDINGS.get(path.rpartition(".")[2].lower(), ("\0",)))


# Exact identity: two changes with the same hash did the same, whatever commit or branch they are on.
# Headers and positions play no part, paths and changed lines do. Each channel has hashes of its own, so that a change
# of documents or tests alone has an identity too.


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


SIGNATURE_VERSION = f"1.{FACTS_VERSION}.{MINHASH_VERSION}"
"""Made anew when this, the reading of syntax or the sketching changes; a signature holds the version that made it."""

PRODUCTION = ExactKind(Channel.PRODUCTION, HashVariant.PLAIN)
WHOLE = ExactKind(None, HashVariant.PLAIN)

SCORED = (Channel.PRODUCTION, Channel.TESTS, Channel.DOCS)
"""What is compared; meta, generated and vendored files are not."""

SHINGLE_TOKENS = 5
"""Tokens in a shingle: document 002's k."""
MINHASH_VALUES = 128
"""Values of the MinHash of production code: document 002's n."""
INTENT_VALUES = 64
"""Values of the MinHash of tests and of documents: fewer than of code, so that a signature stays small."""
LSH_BANDS = 16
"""Bands into which a MinHash is cut for look-ups; divides both numbers of values."""
LINE_CHARS_MIN = 6
"""A changed line with fewer characters is not compared: a bracket or an ``else`` is everywhere."""
KEPT_LINES, KEPT_IDENTIFIERS, KEPT_NAMES = 32, 48, 16
"""Sample sizes of a signature (names: of files, symbols, exports, imports and words each): it stays about 1 kB."""
FIELD_TERMS_MAX = MappingProxyType(
    {
        "commit": 16,
        "named": 16,
        "closing": 8,
        "mention": 8,
        "path": 32,
        "band": LSH_BANDS,
        "intent": LSH_BANDS,
        "symbol": 64,
        "test": 64,
        "folder": 8,
        "line": 160,
        "identifier": 160,
        "word": 48,
    }
)
"""Terms of a change by field: enough to tell two changes apart, few enough for one search."""
SHORT_DIGITS = 7
"""Messages name commits by so many digits and more."""
COMMITS_MAX = 16
"""Of a change with more commits, only so many are remembered by id."""


def sketch_change(change: ChangeDescription, rules: DedupeRules) -> ChangeSketch:
    """Everything the index keeps of a change."""
    exact = {str(kind): digest for kind, digest in exact_hashes(change, rules).items()}
    seen = _SketchInput(change, rules)
    return ChangeSketch(seen.signature(exact), exact, seen.terms())


def key_of(digest: str) -> int:
    """The start of an exact hash, as the index stores it."""
    return int.from_bytes(bytes.fromhex(digest[:16]), "big", signed=True)


@dataclass(slots=True)
class _LineFeatures:
    """What the changed lines of some pieces hold."""

    shingles: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    identifiers: set[str] = field(default_factory=set)


class _SketchInput:
    """A change while it is sketched: everything that more than one part of the sketch needs."""

    def __init__(self, change: ChangeDescription, rules: DedupeRules) -> None:
        self._change = change
        self._pieces = change.of(*SCORED)
        self._production = change.of(Channel.PRODUCTION)
        self._code = _read(self._production, rules)
        self._rest = _read(change.of(Channel.TESTS, Channel.DOCS), rules)
        self._facts = [facts for piece in self._production for facts in (piece.before, piece.after)]
        texts = (change.title, *change.messages)
        self._referred: MessageReferences = referred(texts)
        self._words = dict.fromkeys(word for text in texts for word in split_message_words(without_pointers(text)))
        self._minhash = minhash_of(self._code.shingles, MINHASH_VALUES)
        self._intent_minhash = minhash_of(_intent(change.of(Channel.TESTS)), INTENT_VALUES)
        self._structure = list(_structure(change.of(Channel.DOCS)))

    def signature(self, exact: Mapping[str, str]) -> Signature:
        """The signature."""
        change = self._change
        production, whole = exact.get(str(PRODUCTION)), exact.get(str(WHOLE))
        return Signature(
            prod_hash=None if production is None else key_of(production),
            whole_hash=None if whole is None else key_of(whole),
            minhash=self._minhash,
            intent=self._intent_minhash,
            structure=minhash_of(self._structure, INTENT_VALUES),
            prod_lines=_bottom("line", self._code.lines, KEPT_LINES),
            lines=_bottom("line", (*self._code.lines, *self._rest.lines), KEPT_LINES),
            identifiers=_bottom("identifier", self._code.identifiers | self._rest.identifiers, KEPT_IDENTIFIERS),
            prod_files=_bottom("path", paths_of(self._production), KEPT_NAMES),
            files=_bottom("path", paths_of(self._pieces), KEPT_NAMES),
            symbols=_bottom("symbol", self._symbols(), KEPT_NAMES),
            exports=_bottom("export", (name for facts in self._facts for name in facts.exports), KEPT_NAMES),
            imports=_bottom("import", (name for facts in self._facts for name in facts.imports), KEPT_NAMES),
            context=_bottom("symbol", _context(self._pieces), KEPT_NAMES),
            words=_bottom("word", self._words, KEPT_NAMES),
            references=frozenset(hash32("closing", number) for number in self._referred.closing),
            added=sum(piece.added for piece in self._pieces),
            removed=sum(piece.removed for piece in self._pieces),
            prod_changed=sum(piece.added + piece.removed for piece in self._production),
            renamed=sum(piece.old_path is not None for piece in self._pieces),
            commits=frozenset(map(short_id, change.commits[:COMMITS_MAX])),
            picked=frozenset(map(short_id, self._referred.picked)),
            reverted=frozenset(map(short_id, self._referred.reverted)),
            is_bot=is_bot(change.author),
            is_release=is_release(change.title),
        )

    def terms(self) -> dict[str, tuple[int, ...]]:
        """The terms of each field that has any.

        Each field is in the order of its hashes: two changes that share more terms than can be kept keep the same ones.
        ``named`` are other changes' commits, to be searched for and not to be found by.
        """
        minhash, intent, said = self._minhash, self._intent_minhash, self._referred
        paths = list(paths_of(self._pieces))
        found = {
            "commit": tuple(hash64("commit", sha[:SHORT_DIGITS]) for sha in self._change.commits),
            "named": tuple(hash64("commit", sha[:SHORT_DIGITS]) for sha in sorted(said.picked | said.reverted)),
            "closing": _terms("closing", said.closing),
            "mention": _terms("mention", said.mentioned),
            "path": _terms("path", paths),
            "band": () if minhash is None else tuple(bands_of(minhash, LSH_BANDS)),
            "intent": () if intent is None else tuple(bands_of(intent, LSH_BANDS, field="intent")),
            "symbol": _terms("symbol", self._symbols()),
            "test": _terms("test", (name for piece in self._pieces for name in _test_names(piece))),
            "folder": _terms("folder", (path.rpartition("/")[0] for path in paths)),
            "line": _terms("line", (*self._code.lines, *self._rest.lines)),
            "identifier": _terms("identifier", self._code.identifiers | self._rest.identifiers),
            "word": _terms("word", self._words),
        }
        return {name: terms[: FIELD_TERMS_MAX[name]] for name, terms in found.items() if terms}

    def _symbols(self) -> Iterator[str]:
        return (name for facts in self._facts for name in facts.symbols)


def short_id(sha: str) -> int:
    """A commit by its first digits, as messages name it."""
    return int(sha[:SHORT_DIGITS], 16)


def _bottom(name: str, values: Iterable[str], kept: int) -> BottomSketch:
    return bottom_of((hash32(name, value) for value in values), kept)


def _terms(name: str, values: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted({hash64(name, value) for value in values}))


def _read(pieces: Iterable[ChangedPiece], rules: DedupeRules) -> _LineFeatures:
    """Changed lines, literally for identity and masked for likeness; which side a line is on is part of both."""
    read = _LineFeatures()
    for piece in pieces:
        for run in piece.runs:
            for sign, side in (("-", run.removed), ("+", run.added)):
                if not side:
                    continue
                text = "\n".join(side)
                literal = tokens_of(text)
                alike = mask_literals(literal, numbers=rules.mask_numbers, strings=rules.mask_strings)
                read.shingles.extend(sign + shingle for shingle in shingles_of(alike, SHINGLE_TOKENS))
                read.identifiers.update(identifiers_of(literal))
                read.lines.extend(sign + line for line in _telling(side))
    return read


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """The lines that say something: a bracket or an ``else`` is everywhere."""
    return (text for line in lines if len(text := normalised_line(line)) >= LINE_CHARS_MIN)


def paths_of(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Both names of a file that moved: the other change may know only one."""
    for piece in pieces:
        yield piece.path
        if piece.old_path is not None:
            yield piece.old_path


def _context(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Where the change is: the declarations around its hunks, tests included."""
    for piece in pieces:
        yield from piece.before.symbols
        yield from piece.after.symbols


def _test_names(piece: ChangedPiece) -> Iterator[str]:
    for facts in (piece.before, piece.after):
        yield from facts.suites
        yield from facts.tests


def _intent(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """What tests are about: the words of their names, their matchers, what they import."""
    for facts in _each(pieces):
        for name in (*facts.suites, *facts.tests):
            yield from (f"name {word}" for word in name.split())
        yield from (f"matcher {name}" for name in facts.matchers)
        yield from (f"import {name}" for name in facts.imports)


def _structure(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """What documents are made of: headings, code blocks, references."""
    for facts in _each(pieces):
        yield from (f"heading {word}" for heading in facts.headings for word in split_message_words(heading))
        yield from (f"block {token}" for block in facts.blocks for token in block)
        yield from (f"reference {number}" for number in facts.references)


def _each(pieces: Iterable[ChangedPiece]) -> Iterator[TouchedFacts]:
    return (facts for piece in pieces for facts in (piece.before, piece.after))
