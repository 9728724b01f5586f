"""Properties of any history of a file: each line appears once, and a person's line is never an agent's."""

import random
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.lineage import (
    BETWEEN,
    UNKNOWN,
    CapturedStep,
    LineOrigin,
    TracedText,
    carry_origins,
    replay_step,
)
from custody.attribution.origin_search import (
    AddingCommit,
    Donor,
    OpenLine,
    OpenVersion,
    RemovedRun,
    VersionLine,
    splice_commit_hunks,
)
from custody.attribution.rules import AttributeRules
from custody.attribution.text import (
    is_informative_lineage_line,
    make_lineage_keys,
    split_lineage_words,
    strip_lineage_whitespace,
)
from custody.core.ids import CommitSha
from custody.core.paths import Hunk
from tests.builders.drawn_lines import AGENTS_LINES, LOW_LINES, PERSONS_LINES, Turn, lives

RULES = AttributeRules()
COMMIT = AddingCommit(CommitSha("c" * 40), 10_000)
TEXTS = st.lists(st.sampled_from(AGENTS_LINES + PERSONS_LINES + LOW_LINES), max_size=8)
ORIGINS = st.sampled_from((UNKNOWN, BETWEEN, LineOrigin(1), LineOrigin(2), LineOrigin(3, 0.75)))


@st.composite
def known_texts(draw: st.DrawFn) -> TracedText:
    lines = draw(TEXTS)
    return TracedText(lines, [draw(ORIGINS) for _ in lines])


def states_of(life: Sequence[Turn]) -> list[TracedText]:
    """Return the states after each of the agent's turns."""
    found: list[TracedText] = []
    for turn in life:
        if turn.by_agent:
            step = CapturedStep(len(found) + 1, turn.before, turn.after)
            found.append(replay_step(step, found[-1] if found else None, RULES))
    return found


def donors_of(states: Sequence[TracedText]) -> list[Donor]:
    return [
        Donor(n, n, make_lineage_keys(known.lines), known.origins, lambda lines=known.lines: lines)  # type: ignore[misc]
        for n, known in enumerate(states, start=1)
    ]


def explained(lines: Sequence[str], donors: Sequence[Donor]) -> list[VersionLine]:
    hunk = Hunk.at_index(0, 0, (), tuple(lines))
    version = OpenVersion(splice_commit_hunks([], [hunk]), COMMIT, RULES)
    version.take_from(donors)
    version.take_words((), donors)
    version.follow()
    return version.closed()


@given(lives())
def test_a_persons_line_is_never_the_agents_and_every_line_has_one_origin(life: list[Turn]) -> None:
    for known in states_of(life):
        assert len(known.lines) == len(known.origins)
        for line, origin in zip(known.lines, known.origins, strict=True):
            assert not (origin.is_agent and line in PERSONS_LINES), line


@given(lives())
def test_if_only_the_agent_wrote_every_informative_line_is_the_agents(life: list[Turn]) -> None:
    texts: list[tuple[str, ...]] = [(), *(turn.after for turn in life)]
    for known in states_of([Turn(True, before, after) for before, after in pairwise(texts)]):
        for line, origin in zip(known.lines, known.origins, strict=True):
            assert origin.is_agent or line in LOW_LINES


@given(known_texts(), TEXTS, st.sampled_from((0.7, 0.95)))
def test_every_origin_is_carried_or_the_default(old: TracedText, new: list[str], words_share_min: float) -> None:
    newcomer = LineOrigin(99)
    known = carry_origins(old, new, newcomer, words_share_min)
    assert len(known.origins) == len(new)
    allowed = {origin.state for origin in old.origins} | {newcomer.state}
    assert {origin.state for origin in known.origins} <= allowed
    assert all(0.0 <= origin.share <= 1.0 for origin in known.origins)
    assert all(origin.share == 0.0 for origin in known.origins if not origin.is_agent)


@given(known_texts())
def test_informative_lines_of_an_unchanged_text_keep_their_origins(old: TracedText) -> None:
    known = carry_origins(old, old.lines, LineOrigin(99), 0.7)
    for line, before, after in zip(old.lines, old.origins, known.origins, strict=True):
        assert after == before or line in LOW_LINES


@given(lives(), TEXTS, st.randoms(use_true_random=False))
def test_every_line_of_a_commit_appears_once_and_the_order_of_donors_does_not_matter(
    life: list[Turn], committed: list[str], chance: random.Random
) -> None:
    donors = donors_of(states_of(life))
    lines = explained(committed, donors)
    assert [line.key for line in lines] == make_lineage_keys(committed)
    assert all(line.trail == (COMMIT.id,) for line in lines)
    chance.shuffle(donors)
    assert explained(committed, donors) == lines


@given(lives(), TEXTS)
def test_a_line_with_a_word_of_no_call_is_never_wholly_the_agents(life: list[Turn], committed: list[str]) -> None:
    states = states_of(life)
    left = {word for known in states for line in known.lines for word in split_lineage_words(line)}
    held = {strip_lineage_whitespace(line) for known in states for line in known.lines}
    texts = [*committed, "gamma = compute_gamma(alpha, never_captured)"]
    for text, line in zip(texts, explained(texts, donors_of(states)), strict=True):
        # An uninformative line follows its neighbors, whatever its words are.
        if (
            is_informative_lineage_line(text)
            and strip_lineage_whitespace(text) not in held
            and not left.issuperset(split_lineage_words(text))
        ):
            assert not (line.origin.is_agent and line.origin.share >= 1.0), text


@given(lives(), TEXTS)
def test_a_persons_line_in_a_commit_is_never_an_agents(life: list[Turn], committed: list[str]) -> None:
    for text, line in zip(committed, explained(committed, donors_of(states_of(life))), strict=True):
        assert not (line.origin.is_agent and text in PERSONS_LINES), text


@given(lives(), TEXTS, TEXTS)
def test_unrelated_donors_change_nothing(life: list[Turn], committed: list[str], foreign: list[str]) -> None:
    donors = donors_of(states_of(life))
    strange = [f"stranger_{n} = of_another_file_{n}" for n, _ in enumerate(foreign)]
    stranger = Donor(50, 50, make_lineage_keys(strange), [LineOrigin(50)] * len(strange), lambda: strange)
    assert explained(committed, [*donors, stranger]) == explained(committed, donors)


@given(known_texts(), TEXTS)
def test_unchanged_lines_keep_their_origins_beside_added_lines(old: TracedText, added: list[str]) -> None:
    lines: list[VersionLine | OpenLine] = list(splice_commit_hunks([], []))
    base = [
        VersionLine(key, True, origin, ())
        for key, origin in zip(make_lineage_keys(old.lines), old.origins, strict=True)
    ]
    lines = splice_commit_hunks(base, [Hunk.at_index(len(base), len(base), (), tuple(added))])
    version = OpenVersion(lines, COMMIT, RULES)
    version.take_moved(RemovedRun(TracedText(added, [LineOrigin(7)] * len(added)), [()] * len(added)))
    version.follow()
    assert version.closed()[: len(base)] == base
