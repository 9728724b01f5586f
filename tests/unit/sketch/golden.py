"""The sketches of some small texts, which must never change.

``python -m tests.unit.sketch.golden`` prints them; ``golden.json`` was written by it once. Everything except the
MinHash values is also computed by the slow reference implementations.
"""

import json
from collections.abc import Sequence

from custody.sketch.hashing import compute_lsh_bands, hash32, hash64, make_bottom_sketch
from custody.sketch.minhash import MINHASH_VERSION, compute_minhash
from custody.sketch.tokens import (
    identifiers_from_tokens,
    mask_literals,
    normalize_line_spacing,
    shingle_tokens,
    split_message_words,
    tokenize_text,
)
from custody.sketch.winnow import hash_token_runs, select_window_minima

TEXTS = {
    "typescript": "export const limit = (n: number): string => `${n ?? 10}ms`;\nif (a?.b !== c) { i += 0x1F; }\n",
    "python": "def größe(self, *, x_1=1_000.5e-3):\n    return self.path // 'a\\'b' + \"open\n",
    "prose": "Don't retry (see #1234): the server's HTTPHeader isn't read by parse_user_agent.",
    "bytes": "caf\udce9 = 'na\udcefve' -- \x00\x01 \u2603",
}


def placed(tokens: Sequence[str], k: int, window: int) -> list[tuple[int, int]]:
    """Return the fingerprints of tokens, each with the position of its first token."""
    if not tokens:
        return []
    runs = hash_token_runs(tokens, min(k, len(tokens)))
    return [(runs[at], at) for at in select_window_minima(runs, min(window, len(runs)))]


def vectors() -> dict[str, object]:
    """Return all sketches by text, in JSON types."""
    return {"minhash_version": MINHASH_VERSION, "texts": {name: of_text(text) for name, text in TEXTS.items()}}


def of_text(text: str) -> dict[str, object]:
    tokens = tokenize_text(text)
    shingles = shingle_tokens(tokens, 5)
    signature = compute_minhash(shingles, 128)
    assert signature is not None
    bottom = make_bottom_sketch([hash32("token", token) for token in tokens], 8)
    hashes = [hash32("token", token) for token in tokens]
    terms = [hash64("token", token) for token in tokens]
    return {
        "tokens": tokens,
        "masked": mask_literals(tokens),
        "identifiers": identifiers_from_tokens(tokens),
        "words": split_message_words(text),
        "lines": [normalize_line_spacing(line) for line in text.split("\n")],
        "shingles": shingles,
        "hash64": terms,
        "hash32": hashes,
        "minhash": signature.hex(),
        "bands": compute_lsh_bands(signature, 16),
        "bottom": b"".join(n.to_bytes(4, "little") for n in (bottom.size, *bottom.values)).hex(),
        "fingerprints": placed(tokens, 3, 4),
    }


def dumped() -> str:
    """Return the text of ``golden.json``; lone surrogates are escaped."""
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    print(dumped(), end="")
