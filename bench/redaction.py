"""How many secrets redaction finds, and how much harmless text it damages: by kind, seen and unseen.

    python -m bench.redaction [--samples N] [--seed S]

The unseen kinds live in a folder that nothing under ``src`` and no rule's test imports; only these figures read it.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.redaction_corpus import harmless as seen_harmless
from bench.redaction_corpus import seen
from bench.redaction_corpus.frame import HarmlessKind, Kind, harmless_texts, samples
from bench.redaction_unseen import harmless as unseen_harmless
from bench.redaction_unseen import secrets as unseen
from custody.capture.hook.redact import redact_text, redact_value
from custody.capture.hook.secret_scan import has_possible_secret

KEY = bytes(32)
EVENT_CHARACTERS = 20_000
PIECE = 4
"""A secret counts as found when no quarter of it is left."""


@dataclass(slots=True)
class Figures:
    """Counts over one half of the corpus."""

    secrets: int = 0
    found: int = 0
    texts: int = 0
    damaged: int = 0
    characters: int = 0
    characters_damaged: int = 0
    ids_damaged: int = 0


def measure(kinds: Sequence[Kind], harmless: Sequence[HarmlessKind], count: int, seed: int) -> Figures:
    """Redact every sample as the hook would and count."""
    figures = Figures()
    for kind in kinds:
        for sample in samples(kind, seed, count):
            clean = _redacted(sample.text)
            figures.secrets += len(sample.secrets)
            figures.found += sum(not _left(secret, clean) for secret in sample.secrets)
    for other in harmless:
        for text in harmless_texts(other, seed, count):
            clean, lines = (
                redact_text(text.text) if has_possible_secret(json.dumps(text.text).encode()) else (text.text, ())
            )
            before = text.text.split("\n")
            figures.texts += 1
            figures.damaged += bool(lines)
            figures.characters += len(text.text)
            figures.characters_damaged += sum(len(before[line]) for line in lines)
            figures.ids_damaged += sum(kept not in clean for kept in text.kept)
    return figures


def _redacted(text: str) -> str:
    event = {"tool_input": {"content": text}}
    clean = redact_value(event, KEY)[0] if has_possible_secret(json.dumps(event).encode()) else event
    return str(clean["tool_input"]["content"])


def rate(kinds: Sequence[Kind], harmless: Sequence[HarmlessKind], seed: int) -> float:
    """Measure redacted megabytes per second of processor time: events of 20 kB with one secret."""
    filling = "\n".join(text.text for kind in harmless for text in harmless_texts(kind, seed, 2))
    total, began = 0, time.process_time()
    for n, kind in enumerate(kinds):
        (sample,) = samples(kind, seed, 1)
        start = n * EVENT_CHARACTERS % max(1, len(filling) - EVENT_CHARACTERS)
        text = filling[start : start + EVENT_CHARACTERS] + "\n" + sample.text
        _redacted(text)
        total += len(text.encode())
    return total / (time.process_time() - began) / 1e6


def _left(secret: str, text: str) -> bool:
    piece = max(PIECE, len(secret) // PIECE)
    return any(secret[at : at + piece] in text for at in range(len(secret) - piece + 1))


def main() -> None:
    """Print the figures of both halves."""
    words = argparse.ArgumentParser(prog="python -m bench.redaction")
    words.add_argument("--samples", type=int, default=10, help="of each kind")
    words.add_argument("--seed", type=int, default=20260131)
    wanted = words.parse_args()
    halves = {"seen": (seen.KINDS, seen_harmless.HARMLESS), "unseen": (unseen.KINDS, unseen_harmless.HARMLESS)}
    print(f"seed {wanted.seed}, {wanted.samples} of each kind")
    for name, (kinds, harmless) in halves.items():
        f = measure(kinds, harmless, wanted.samples, wanted.seed)
        speed = rate(kinds, harmless, wanted.seed)
        print(
            f"{name}: recall {f.found}/{f.secrets} = {f.found / f.secrets:.4f} over {len(kinds)} kinds;"
            f" harmless texts damaged {f.damaged}/{f.texts}, characters {f.characters_damaged / f.characters:.4%};"
            f" ids and hashes damaged {f.ids_damaged}; {speed:.1f} MB/s when it redacts"
        )


if __name__ == "__main__":
    main()
