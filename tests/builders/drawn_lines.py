"""Random histories of a file: an agent and a person take turns, with so few lines that many are equal."""

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

AGENTS_LINES = (
    "alpha = compute_alpha(total, 1)",
    "beta = compute_beta(alpha, total)",
    "gamma = compute_gamma(alpha, beta)",
    "    gamma = compute_gamma(alpha, beta)",
    "log_the_result(gamma)",
)
PERSONS_LINES = (
    "first_thing: Reader = open_reader(name)",
    "second_thing: Writer = open_writer(name)",
    "second_thing: Writer = open_writer(name, mode)",
    "    close_everything()",
)
LOW_LINES = ("", "}", "    return None", "else:")
"""Low-information lines, which both write."""


@dataclass(frozen=True)
class Turn:
    """The author of a change, and the file after it."""

    by_agent: bool
    before: tuple[str, ...]
    after: tuple[str, ...]


@st.composite
def lives(draw: st.DrawFn, *, turns_max: int = 5) -> list[Turn]:
    """Draw turns of an agent and a person; each inserts its own lines, possibly over existing ones."""
    text: tuple[str, ...] = tuple(draw(st.lists(st.sampled_from(PERSONS_LINES + LOW_LINES), max_size=4)))
    turns = []
    for by_agent in draw(st.lists(st.booleans(), min_size=1, max_size=turns_max)):
        lines = draw(_lines(AGENTS_LINES if by_agent else PERSONS_LINES))
        first = draw(st.integers(0, len(text)))
        last = draw(st.integers(first, min(len(text), first + 2)))
        after = (*text[:first], *lines, *text[last:])
        turns.append(Turn(by_agent, text, after))
        text = after
    return turns


def _lines(own: tuple[str, ...]) -> SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(own + LOW_LINES), max_size=3)
