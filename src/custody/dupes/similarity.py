"""What two signatures have in common, signal by signal; a signal that one side cannot give is missing, never 0 or 1."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from custody.dupes.model import Signature, Similarities
from custody.sketch.bottom_k import BottomSketch, containment, jaccard
from custody.sketch.minhash import minhash_similarity

DOCUMENTS = (
    "prod_diff_exact",
    "prod_minhash_sim",
    "prod_files_sim",
    "prod_symbols_sim",
    "prod_exports_sim",
    "prod_imports_sim",
    "tests_intent_sim",
    "docs_struct_sim",
)
"""The eight signals of document 002."""

OURS = (
    "lines_sim",
    "lines_contained",
    "identifiers_sim",
    "identifiers_contained",
    "context_sim",
    "files_sim",
    "size_ratio",
    "words_sim",
    "references_sim",
)
"""Those that we add."""

SIGNALS = (*DOCUMENTS, *OURS)


def similarities(a: Signature, b: Signature) -> Similarities:
    """Every signal of a pair; the same whichever is asked first."""
    return {name: measure(a, b) for name, measure in _MEASURES.items()}


def _minhash(a: bytes | None, b: bytes | None) -> float | None:
    return None if a is None or b is None else minhash_similarity(a, b)


def _set(a: BottomSketch, b: BottomSketch) -> float | None:
    """How alike two sets are; that one is empty says nothing about the other."""
    return jaccard(a, b) if a.size and b.size else None


def _contained(a: BottomSketch, b: BottomSketch) -> float | None:
    """How much of the smaller set is in the larger one."""
    if not a.size or not b.size:
        return None
    if a.size != b.size:
        return containment(*sorted((a, b), key=lambda bottom: bottom.size))
    # Of two samples of equal sets, each has its own idea of the share.
    shares = [share for share in (containment(a, b), containment(b, a)) if share is not None]
    return max(shares, default=None)


def _exact(a: Signature, b: Signature) -> float | None:
    return None if a.prod_hash is None or b.prod_hash is None else float(a.prod_hash == b.prod_hash)


def _references(a: Signature, b: Signature) -> float | None:
    return float(bool(a.references & b.references)) if a.references and b.references else None


def _size_ratio(a: Signature, b: Signature) -> float | None:
    sizes = (a.added + a.removed, b.added + b.removed)
    return min(sizes) / max(sizes) if min(sizes) else None


_MEASURES: Mapping[str, Callable[[Signature, Signature], float | None]] = MappingProxyType(
    {
        "prod_diff_exact": _exact,
        "prod_minhash_sim": lambda a, b: _minhash(a.minhash, b.minhash),
        "prod_files_sim": lambda a, b: _set(a.prod_files, b.prod_files),
        "prod_symbols_sim": lambda a, b: _set(a.symbols, b.symbols),
        "prod_exports_sim": lambda a, b: _set(a.exports, b.exports),
        "prod_imports_sim": lambda a, b: _set(a.imports, b.imports),
        "tests_intent_sim": lambda a, b: _minhash(a.intent, b.intent),
        "docs_struct_sim": lambda a, b: _minhash(a.structure, b.structure),
        "lines_sim": lambda a, b: _set(a.lines, b.lines),
        "lines_contained": lambda a, b: _contained(a.lines, b.lines),
        "identifiers_sim": lambda a, b: _set(a.identifiers, b.identifiers),
        "identifiers_contained": lambda a, b: _contained(a.identifiers, b.identifiers),
        "context_sim": lambda a, b: _set(a.context, b.context),
        "files_sim": lambda a, b: _set(a.files, b.files),
        "size_ratio": _size_ratio,
        "words_sim": lambda a, b: _set(a.words, b.words),
        "references_sim": _references,
    }
)
