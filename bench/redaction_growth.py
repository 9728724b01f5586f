"""Whether redaction takes twice the time for twice the text, on texts made to be slow for one rule each.

    python -m bench.redaction_growth [--characters N]

For every literal of every rule, and for every way to name a value: long runs of it, of it with what nearly matches
after it, and of a single sign class after it. The figure is the largest ratio of the processor time for 2 N
characters to that for N, each the better of two; 2 is linear, 4 would be quadratic.
"""

import argparse
import time
from collections.abc import Iterator

from custody.capture.hook.patterns import RULES
from custody.capture.hook.redact import RedactionError, redact_text
from custody.capture.hook.secret_scan import KEYWORDS, has_possible_secret

TAILS = ("", " ", "a", "A1", "A1b2C3d4E5f6G7h8I9j0", "=", ": ", '="', "/", ".", "\\", "\n", "-", " -p ", " -u a:")
"""What follows a literal: nothing, signs of tokens, and the beginnings of what a rule wants next."""
OPENINGS = ('"', "'''", "[", "://", "://a:", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----\n", "\\", "{", "=")
ROUNDS = 2
LARGER = 8
RATIO_MAX = 3.0
"""Between linear (2) and quadratic (4): times are noisy, growth is not."""


def seeds() -> Iterator[str]:
    """Return the parts of adversarial texts: one literal and one tail each."""
    literals = [literal for rule in RULES for literal in rule.literals] + [*KEYWORDS, *OPENINGS]
    for literal in dict.fromkeys(literals):
        for tail in TAILS:
            yield literal + tail


def adversarial(seed: str, characters: int) -> Iterator[str]:
    """Runs of ``seed``; and one of it before a long run of what it ends with."""
    yield (seed * (characters // len(seed) + 1))[:characters]
    yield seed + (seed[-1] * characters)[: characters - len(seed)]


def seconds(text: str) -> float:
    """Return the least time of a few to scan ``text`` and to redact it."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        has_possible_secret(text.encode())
        try:
            redact_text(text)
        except RedactionError:
            pass  # it never comes to rest: that too must be found out in linear time
        best = min(best, time.process_time() - began)
    return best


def growth(seed: str, characters: int) -> float:
    """Return how much longer twice the text takes, at worst; times below a millisecond count as one."""
    pairs = zip(adversarial(seed, characters), adversarial(seed, 2 * characters), strict=True)
    return max(seconds(twice) / max(seconds(once), 1e-3) for once, twice in pairs)


def worst(characters: int) -> list[tuple[float, str]]:
    """Return the growth of all adversarial texts, largest first."""
    return sorted(((growth(seed, characters), seed) for seed in seeds()), reverse=True)


def main() -> None:
    """Print the worst ratios, measured again at a larger size, because only growth that goes on counts."""
    words = argparse.ArgumentParser(prog="python -m bench.redaction_growth")
    words.add_argument("--characters", type=int, default=2_000)
    characters = words.parse_args().characters
    ratios = worst(characters)
    suspects = dict.fromkeys(seed for ratio, seed in ratios if ratio > RATIO_MAX)
    again = sorted(((growth(seed, LARGER * characters), seed) for seed in suspects), reverse=True)
    print(f"{len(ratios)} seeds at {characters} and {2 * characters} characters: {len(suspects)} over {RATIO_MAX}")
    print(f"of these over {RATIO_MAX} at {LARGER} times the size: {sum(ratio > RATIO_MAX for ratio, _ in again)}")
    print("worst of them: " + ", ".join(f"{ratio:.2f} {seed!r}" for ratio, seed in again[:5]))


if __name__ == "__main__":
    main()
