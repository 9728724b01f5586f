"""The longest equal runs are those of difflib, in a fraction of its steps."""

from difflib import SequenceMatcher
from itertools import chain

from hypothesis import example, given
from hypothesis import strategies as st

from custody.attribution.longest_runs import find_longest_runs

letters = st.text("abc", max_size=40) | st.text("ab", max_size=60)


def pairs(runs: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of equal positions, since difflib joins adjacent runs."""
    return list(chain.from_iterable(zip(range(i, i + n), range(j, j + n), strict=True) for i, j, n in runs))


@given(letters, letters)
@example("", "a")
@example("abab" * 9, "baba" * 9)
@example("aaaaaaa", "aaa")
def test_the_runs_are_those_of_difflib(old: str, new: str) -> None:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert pairs(find_longest_runs(old, new)) == pairs([(block.a, block.b, block.size) for block in blocks])
