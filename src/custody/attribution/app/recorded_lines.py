"""What records say of single lines: which agents brought them, and how many of their words a text holds."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from custody.attribution.app.context import AttributionContext
from custody.attribution.text import is_informative, key_of, lines_of, split_line_words
from custody.core.paths import RepoPath


def find_agents_by_line(
    evidence: AttributionContext, path: RepoPath, texts: Sequence[str], lines: Sequence[str]
) -> Mapping[str, frozenset[str]]:
    """Return the agents recorded to have brought each of ``lines`` into a file that holds ``texts``.

    Lines that say little or that occur more than once in the file are left out: anybody may have brought them.
    """
    counts = Counter(map(key_of, texts))
    single = {key_of(line): line for line in lines if is_informative(line) and counts[key_of(line)] == 1}
    agents_by_key = evidence.lineage.tables.brought_by(path, list(single))
    return {single[key]: agents for key, agents in agents_by_key.items()}


def words_in(text: str) -> frozenset[str]:
    """Return the words that occur in a text."""
    return frozenset(word for line in lines_of(text) for word in split_line_words(line))


def compute_word_share(lines: Sequence[str], words: Container[str]) -> float:
    """Return the share of the words of ``lines`` that are among ``words``; 1 for lines without words.

    >>> compute_word_share(["total = price", "}"], words_in("price = 3")), compute_word_share(["}"], ())
    (0.5, 1.0)
    """
    wanted = [word for line in lines for word in split_line_words(line)]
    return sum(word in words for word in wanted) / len(wanted) if wanted else 1.0
