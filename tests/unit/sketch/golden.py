"""What every sketch of some small texts must be, for ever.

``python -m tests.unit.sketch.golden`` prints it; ``golden.json`` was written by it once. Everything but the MinHash
values is also worked out by the slow code beside this file.
"""

import json
from collections.abc import Sequence

from custody.sketch.hashing import bands_of, bottom_of, hash32, hash64
from custody.sketch.minhash import MINHASH_VERSION, minhash_of
from custody.sketch.tokens import (
    identifiers_of,
    mask_literals,
    normalised_line,
    shingles_of,
    split_message_words,
    tokens_of,
)
from custody.sketch.winnow import chosen_runs, run_hashes

TEXTS = {
    "typescript": "export const limit = (n: number): string => `${n ?? 10}ms`;\nif (a?.b !== c) { i += 0x1F; }\n",
    "python": "def größe(self, *, x_1=1_000.5e-3):\n    return self.path // 'a\\'b' + \"open\n",
    "prose": "Don't retry (see #1234): the server's HTTPHeader isn't read by parse_user_agent.",
    "bytes": "caf\udce9 = 'na\udcefve' -- \x00\x01 \u2603",
}


def placed(tokens: Sequence[str], k: int, window: int) -> list[tuple[int, int]]:
    """The fingerprints of tokens, each with the place of its first token, from 0."""
    if not tokens:
        return []
    runs = run_hashes(tokens, min(k, len(tokens)))
    return [(runs[at], at) for at in chosen_runs(runs, min(window, len(runs)))]


def vectors() -> dict[str, object]:
    """Everything by text, in JSON's own types."""
    return {"minhash_version": MINHASH_VERSION, "texts": {name: of_text(text) for name, text in TEXTS.items()}}


def of_text(text: str) -> dict[str, object]:
    tokens = tokens_of(text)
    shingles = shingles_of(tokens, 5)
    signature = minhash_of(shingles, 128)
    assert signature is not None
    bottom = bottom_of([hash32("token", token) for token in tokens], 8)
    hashes = [hash32("token", token) for token in tokens]
    terms = [hash64("token", token) for token in tokens]
    return {
        "tokens": tokens,
        "masked": mask_literals(tokens),
        "identifiers": identifiers_of(tokens),
        "words": split_message_words(text),
        "lines": [normalised_line(line) for line in text.split("\n")],
        "shingles": shingles,
        "hash64": terms,
        "hash32": hashes,
        "minhash": signature.hex(),
        "bands": bands_of(signature, 16),
        "bottom": b"".join(n.to_bytes(4, "little") for n in (bottom.size, *bottom.values)).hex(),
        "fingerprints": placed(tokens, 3, 4),
    }


def dumped() -> str:
    """The text of ``golden.json``; lone surrogates are escaped."""
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    print(dumped(), end="")
