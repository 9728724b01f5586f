"""Slow reference implementations: one character, one set, one window at a time."""

from collections.abc import Sequence
from fractions import Fraction
from hashlib import blake2b

OPERATORS = set(
    ">>>= <<= >>= >>> === !== **= &&= ||= ??= //= ... ..= <=> => -> :: == != <= >= && || ?? ?. ++ -- += -= *= /= %= &="
    " |= ^= ~= << >> ** // /* */ := .. <- |> =~ @@".split()
)
CONTRACTIONS = ("t", "s", "d", "m", "re", "ve", "ll")
PRIME, BASE = 2**61 - 1, 0x1B87_3593_CC9E_2D51


def is_word(character: str) -> bool:
    return character.isalnum() or character in "_$" or "\udc80" <= character <= "\udcff"


def is_plain_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def digit(text: str, at: int) -> bool:
    return text[at : at + 1] in set("0123456789")


def tokens(text: str) -> list[str]:
    result: list[str] = []
    at = 0
    while at < len(text):
        end = at + 1 if text[at].isspace() else token_end(text, at)
        if not text[at].isspace():
            result.append(text[at:end])
        at = end
    return result


def token_end(text: str, at: int) -> int:
    if digit(text, at):
        return number_end(text, at)
    if is_word(text[at]):
        return run_end(text, at, is_word)
    if text[at] in "'\"`":
        return at + 1 if is_contraction(text, at) else string_end(text, at)
    for length in (4, 3, 2):
        if text[at : at + length] in OPERATORS:
            return at + length
    return at + 1


def run_end(text: str, at: int, fits: object) -> int:
    assert callable(fits)
    while at < len(text) and fits(text[at]):
        at += 1
    return at


def number_end(text: str, at: int) -> int:
    if text[at : at + 2].lower() == "0x":
        return run_end(text, at + 2, is_plain_word)
    end = run_end(text, at, is_plain_word)
    while text[end : end + 1] == "." and digit(text, end + 1):
        end = run_end(text, end + 1, is_plain_word)
    exponent = text[end - 1] in "eE" and digit(text, end - 2) and text[end : end + 1] in ("+", "-")
    if exponent and end + 1 < len(text) and is_plain_word(text[end + 1]):
        end = run_end(text, end + 1, is_plain_word)
    return end


def string_end(text: str, at: int) -> int:
    quote, at = text[at], at + 1
    while at < len(text) and text[at] not in "\r\n":
        if text[at] == quote:
            return at + 1
        at += 2 if text[at] == "\\" and text[at + 1 : at + 2] not in ("\r", "\n", "") else 1
    return at


def is_contraction(text: str, at: int) -> bool:
    if text[at] != "'" or at < 2 or not (is_plain_word(text[at - 1]) and is_plain_word(text[at - 2])):
        return False
    end = run_end(text, at + 1, is_plain_word)
    return text[at + 1 : end] in CONTRACTIONS and text[end : end + 1] != "'"


def shingles(tokens: Sequence[str], k: int) -> list[str]:
    if not tokens:
        return []
    return ["\n".join(tokens[at : at + k]) for at in range(max(1, len(tokens) - k + 1))]


def hash64(field: str, value: bytes) -> int:
    digest = blake2b(digest_size=8)
    for part in (field.encode(), b"\x00", value):
        digest.update(part)
    number = sum(byte << 8 * place for place, byte in enumerate(reversed(digest.digest())))
    return number - 2**64 if number >= 2**63 else number


def similarity(a: bytes, b: bytes) -> float:
    values = [(a[at : at + 2], b[at : at + 2]) for at in range(0, len(a), 2)]
    return float(Fraction(sum(one == other for one, other in values), len(values)))


def run_hashes(tokens: Sequence[str], k: int) -> list[int]:
    k = min(k, len(tokens))
    numbers = [hash64("winnow", token.encode("utf-8", "surrogatepass")) for token in tokens]
    return [
        sum(number * BASE ** (k - 1 - place) for place, number in enumerate(numbers[at : at + k])) % PRIME
        for at in range(len(tokens) - k + 1)
    ]


def winnowed(tokens: Sequence[str], k: int, window: int) -> list[tuple[int, int]]:
    """Return the chosen hashes with the positions of their runs, by a search of every window."""
    if not tokens:
        return []
    runs = run_hashes(tokens, k)
    window = min(window, len(runs))
    chosen: list[int] = []
    for start in range(len(runs) - window + 1):
        least = min(runs[start : start + window])
        if not (chosen and chosen[-1] >= start and runs[chosen[-1]] == least):
            chosen.append(max(at for at in range(start, start + window) if runs[at] == least))
    return [(runs[at], at) for at in chosen]
