"""Counts as people write them: ``1 line``, ``1,204 lines``."""


def count_noun(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``count`` with thousands separators and ``noun`` in the right number; ``plural`` is for irregular nouns.

    >>> count_noun(1, "line"), count_noun(0, "file"), count_noun(1204, "line")
    ('1 line', '0 files', '1,204 lines')
    >>> count_noun(2, "query"), count_noun(2, "match"), count_noun(2, "person", "people"), count_noun(2, "day")
    ('2 queries', '2 matches', '2 people', '2 days')
    """
    return f"{count:,} {noun_for_count(count, noun, plural)}"


def noun_for_count(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``noun`` in the number that fits ``count``, without the count.

    >>> noun_for_count(1, "is", "are"), noun_for_count(3, "is", "are")
    ('is', 'are')
    """
    if count == 1:
        return noun
    if plural is not None:
        return plural
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"
