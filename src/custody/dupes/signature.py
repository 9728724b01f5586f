"""Sketches of changes: signature and terms.

Tests and documents are sketched by their names and headings, not by their lines, so that a long test harness does not
hide what is tested.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field

from custody.core.ids import CommitSha
from custody.dupes.exact_hash import compute_exact_hashes
from custody.dupes.facts.model import FACTS_VERSION, Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import (
    ChangeDescription,
    ChangedPiece,
    ChangeSketch,
    ExactKind,
    HashVariant,
    Signature,
)
from custody.dupes.relations import (
    MessageReferences,
    find_message_references,
    is_release_title,
    is_routine_bot,
    strip_commit_pointers,
)
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import BottomSketch, compute_lsh_bands, hash32, hash64, make_bottom_sketch
from custody.sketch.minhash import MINHASH_VERSION, compute_minhash
from custody.sketch.tokens import (
    identifiers_from_tokens,
    mask_literals,
    normalize_line_spacing,
    shingle_tokens,
    split_message_words,
    tokenize_text,
)

SIGNATURE_VERSION = f"2.{FACTS_VERSION}.{MINHASH_VERSION}"
"""The version of signatures: changes with this module, the facts and MinHash, and then the index is rebuilt."""

PRODUCTION = ExactKind(Channel.PRODUCTION, HashVariant.PLAIN)
WHOLE = ExactKind(None, HashVariant.PLAIN)
INVERSE = ExactKind(None, HashVariant.INVERTED)

SCORED = (Channel.PRODUCTION, Channel.TESTS, Channel.DOCS)
"""The channels that are compared; meta, generated and vendored files are not."""

SHINGLE_TOKENS = 5
"""Tokens per shingle: document 002's k."""
MINHASH_VALUES = 128
"""Values of the MinHash of production code: document 002's n."""
INTENT_VALUES = 64
"""Values of the MinHash of tests and of documents; fewer, to keep signatures small."""
LSH_BANDS = 16
"""LSH bands of a MinHash; divides both numbers of values."""
LINE_CHARS_MIN = 6
"""Characters of a line to be compared: a bracket or an ``else`` is everywhere."""
KEPT_LINES, KEPT_IDENTIFIERS, KEPT_NAMES = 32, 48, 16
"""Sample sizes in a signature of about 1 kB; names are files, symbols, exports, imports and words."""
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
"""Terms per change and field: enough to tell changes apart, few enough for one search."""
SHORT_DIGITS = 7
"""Digits of an abbreviated commit id in a message, at least."""
COMMITS_MAX = 16
"""Commits per change that a signature stores."""


def sketch_change(change: ChangeDescription, rules: DedupeRules) -> ChangeSketch:
    """Return everything the index stores of a change."""
    exact = {str(kind): digest for kind, digest in compute_exact_hashes(change, rules).items()}
    source = _SketchInput(change, rules)
    return ChangeSketch(source.signature(exact), exact, source.terms())


def key_from_exact_hash(digest: str) -> int:
    """Return the prefix of an exact hash as the index stores it."""
    return int.from_bytes(bytes.fromhex(digest[:16]), "big", signed=True)


class _LineFeatures(Struct):
    """Shingles, lines and identifiers of changed lines."""

    shingles: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    identifiers: set[str] = field(default_factory=set)


class _SketchInput:
    """Values that several parts of a sketch are computed from."""

    def __init__(self, change: ChangeDescription, rules: DedupeRules) -> None:
        self._change = change
        self._pieces = change.select_channels(*SCORED)
        self._production = change.select_channels(Channel.PRODUCTION)
        self._code = _read_line_features(self._production, rules)
        self._rest = _read_line_features(change.select_channels(Channel.TESTS, Channel.DOCS), rules)
        self._facts = [facts for piece in self._production for facts in (piece.before, piece.after)]
        texts = (change.title, *change.messages)
        self._references: MessageReferences = find_message_references(texts)
        self._words = dict.fromkeys(word for text in texts for word in split_message_words(strip_commit_pointers(text)))
        self._minhash = compute_minhash(self._code.shingles, MINHASH_VALUES)
        self._intent_minhash = compute_minhash(
            _list_intent_features(change.select_channels(Channel.TESTS)), INTENT_VALUES
        )
        self._structure = list(_list_structure_features(change.select_channels(Channel.DOCS)))

    def signature(self, exact: Mapping[str, str]) -> Signature:
        """Return the signature."""
        change = self._change
        production, whole, inverse = (
            None if (digest := exact.get(str(kind))) is None else key_from_exact_hash(digest)
            for kind in (PRODUCTION, WHOLE, INVERSE)
        )
        return Signature(
            prod_hash=production,
            whole_hash=whole,
            inverse_hash=inverse,
            minhash=self._minhash,
            intent=self._intent_minhash,
            structure=compute_minhash(self._structure, INTENT_VALUES),
            prod_lines=_sketch_field_values("line", self._code.lines, KEPT_LINES),
            lines=_sketch_field_values("line", (*self._code.lines, *self._rest.lines), KEPT_LINES),
            identifiers=_sketch_field_values(
                "identifier", self._code.identifiers | self._rest.identifiers, KEPT_IDENTIFIERS
            ),
            prod_files=_sketch_field_values("path", list_piece_paths(self._production), KEPT_NAMES),
            files=_sketch_field_values("path", list_piece_paths(self._pieces), KEPT_NAMES),
            symbols=_sketch_field_values("symbol", self._symbols(), KEPT_NAMES),
            exports=_sketch_field_values(
                "export", (name for facts in self._facts for name in facts.exports), KEPT_NAMES
            ),
            imports=_sketch_field_values(
                "import", (name for facts in self._facts for name in facts.imports), KEPT_NAMES
            ),
            context=_sketch_field_values("symbol", _list_context_symbols(self._pieces), KEPT_NAMES),
            words=_sketch_field_values("word", self._words, KEPT_NAMES),
            references=frozenset(hash32("closing", number) for number in self._references.closing),
            added=sum(piece.added for piece in self._pieces),
            removed=sum(piece.removed for piece in self._pieces),
            prod_changed=sum(piece.added + piece.removed for piece in self._production),
            renamed=sum(piece.old_path is not None for piece in self._pieces),
            commits=frozenset(map(commit_sha_to_number, _select_commits(change.commits))),
            picked=frozenset(map(commit_sha_to_number, self._references.picked)),
            reverted=frozenset(map(commit_sha_to_number, self._references.reverted)),
            origins=frozenset(sorted({hash32("origin", origin) for origin in change.origins})[:COMMITS_MAX]),
            is_bot=is_routine_bot(change.author),
            is_release=is_release_title(change.title),
        )

    def terms(self) -> dict[str, tuple[int, ...]]:
        """Return the terms by field.

        Each field is sorted by hash, so that two changes with too many shared terms keep the same ones. ``named`` holds
        commits of other changes: searched for, but not indexed.
        """
        minhash, intent, references = self._minhash, self._intent_minhash, self._references
        paths = list(list_piece_paths(self._pieces))
        fields = {
            "commit": tuple(hash64("commit", sha[:SHORT_DIGITS]) for sha in self._change.commits),
            "named": tuple(
                hash64("commit", sha[:SHORT_DIGITS]) for sha in sorted(references.picked | references.reverted)
            ),
            "closing": _hash_field_terms("closing", references.closing),
            "mention": _hash_field_terms("mention", references.mentioned),
            "path": _hash_field_terms("path", paths),
            "band": () if minhash is None else tuple(compute_lsh_bands(minhash, LSH_BANDS)),
            "intent": () if intent is None else tuple(compute_lsh_bands(intent, LSH_BANDS, field="intent")),
            "symbol": _hash_field_terms("symbol", self._symbols()),
            "test": _hash_field_terms("test", (name for piece in self._pieces for name in _list_test_names(piece))),
            "folder": _hash_field_terms("folder", (path.rpartition("/")[0] for path in paths)),
            "line": _hash_field_terms("line", (*self._code.lines, *self._rest.lines)),
            "identifier": _hash_field_terms("identifier", self._code.identifiers | self._rest.identifiers),
            "word": _hash_field_terms("word", self._words),
        }
        return {name: terms[: FIELD_TERMS_MAX[name]] for name, terms in fields.items() if terms}

    def _symbols(self) -> Iterator[str]:
        return (name for facts in self._facts for name in facts.symbols)


def _select_commits(commits: Sequence[CommitSha]) -> Sequence[CommitSha]:
    """Return the head, the first commit and those with the smallest ids: branches with common commits share some."""
    if len(commits) <= COMMITS_MAX:
        return commits
    return (commits[0], *sorted(commits[1:-1])[: COMMITS_MAX - 2], commits[-1])


def commit_sha_to_number(sha: str) -> int:
    """Return the prefix of a commit id, as messages name it, as a number."""
    return int(sha[:SHORT_DIGITS], 16)


def _sketch_field_values(name: str, values: Iterable[str], size: int) -> BottomSketch:
    return make_bottom_sketch((hash32(name, value) for value in values), size)


def _hash_field_terms(name: str, values: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted({hash64(name, value) for value in values}))


def _read_line_features(pieces: Iterable[ChangedPiece], rules: DedupeRules) -> _LineFeatures:
    """Return the features of changed lines, each marked by its side: shingles are masked, the rest is literal."""
    features = _LineFeatures()
    for piece in pieces:
        for run in piece.runs:
            for mark, lines in (("-", run.removed), ("+", run.added)):
                if not lines:
                    continue
                literal = tokenize_text("\n".join(lines))
                masked = mask_literals(literal, numbers=rules.mask_numbers, strings=rules.mask_strings)
                features.shingles.extend(mark + shingle for shingle in shingle_tokens(masked, SHINGLE_TOKENS))
                features.identifiers.update(identifiers_from_tokens(literal))
                features.lines.extend(mark + line for line in _select_long_lines(lines))
    return features


def _select_long_lines(lines: Iterable[str]) -> Iterator[str]:
    return (text for line in lines if len(text := normalize_line_spacing(line)) >= LINE_CHARS_MIN)


def list_piece_paths(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Yield the paths of all files, both names of a moved file."""
    for piece in pieces:
        yield piece.path
        if piece.old_path is not None:
            yield piece.old_path


def _list_context_symbols(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Yield the declarations around the hunks, including tests."""
    for piece in pieces:
        yield from piece.before.symbols
        yield from piece.after.symbols


def _list_test_names(piece: ChangedPiece) -> Iterator[str]:
    for facts in (piece.before, piece.after):
        yield from facts.suites
        yield from facts.tests


def _list_intent_features(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Yield the intent of tests: words of their names, matchers, imports."""
    for facts in _list_touched_facts(pieces):
        for name in (*facts.suites, *facts.tests):
            yield from (f"name {word}" for word in name.split())
        yield from (f"matcher {name}" for name in facts.matchers)
        yield from (f"import {name}" for name in facts.imports)


def _list_structure_features(pieces: Iterable[ChangedPiece]) -> Iterator[str]:
    """Yield the structure of documents: headings, code blocks, references."""
    for facts in _list_touched_facts(pieces):
        yield from (f"heading {word}" for heading in facts.headings for word in split_message_words(heading))
        yield from (f"block {token}" for block in facts.blocks for token in block)
        yield from (f"reference {number}" for number in facts.references)


def _list_touched_facts(pieces: Iterable[ChangedPiece]) -> Iterator[TouchedFacts]:
    return (facts for piece in pieces for facts in (piece.before, piece.after))
