"""Reversing edits: exact where nothing changed since, and never a line of somebody else's."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.carry import align_carried_items
from custody.attribution.text import is_informative_lineage_line, make_lineage_key
from custody.undo.reverse import EditTexts, Reversal, UndoLine, reverse_edit

WORDS = ("alpha = compute(1)", "beta = compute(2)", "    beta = compute(2)", "gamma(alpha, beta)", "}", "", "return x")
LINES = st.lists(st.sampled_from(WORDS), max_size=8)


def reversed_in(
    current: Sequence[str],
    owners: Sequence[bool],
    before: Sequence[str],
    after: Sequence[str],
    *,
    has_text: bool = True,
) -> Reversal:
    lines = [_line(text, n, is_own=own) for n, (text, own) in enumerate(zip(current, owners, strict=True), 1)]
    olds = [_line(text, None, is_own=False) for text in before]
    edit = EditTexts(olds, [_line(text, None, is_own=False) for text in after], align_carried_items(before, after))
    matches = dict(align_carried_items([make_lineage_key(text) for text in after], [line.key for line in lines]))
    return reverse_edit(lines, edit, matches, lambda old: [olds[i] for i in old] if has_text else None)


def _line(text: str, number: int | None, *, is_own: bool) -> UndoLine:
    return UndoLine(text, make_lineage_key(text), number, is_own, is_informative_lineage_line(text))


def _own(before: Sequence[str], after: Sequence[str]) -> list[bool]:
    kept = {j for _, j in align_carried_items(before, after)}
    return [j not in kept for j in range(len(after))]


@given(LINES, LINES)
def test_an_edit_with_nothing_after_it_is_reversed_exactly(before: list[str], after: list[str]) -> None:
    reversal = reversed_in(after, _own(before, after), before, after)
    assert [line.text for line in reversal.lines] == before
    assert reversal.spared == ()


@given(LINES, LINES, LINES, st.integers(0, 8))
def test_no_line_of_somebody_else_is_lost(before: list[str], after: list[str], theirs: list[str], place: int) -> None:
    own = _own(before, after)
    current, owners = [*after[:place], *theirs, *after[place:]], [*own[:place], *[False] * len(theirs), *own[place:]]
    reversal = reversed_in(current, owners, before, after)
    others = Counter(
        make_lineage_key(text) for text, is_own in zip(current, owners, strict=True) if not is_own and text
    )
    left = Counter(line.key for line in reversal.lines)
    lost = others - left
    informative = {make_lineage_key(word) for word in WORDS if is_informative_lineage_line(word)}
    assert not {key for key in lost if key in informative}


@given(LINES, LINES, LINES)
def test_only_lines_of_the_edit_go_whatever_the_text_is_now(
    before: list[str], after: list[str], current: list[str]
) -> None:
    reversal = reversed_in(current, [False] * len(current), before, after)
    informative = Counter(text.strip() for text in current if is_informative_lineage_line(text))
    left = Counter(line.text.strip() for line in reversal.lines)
    assert not informative - left


@given(LINES, LINES)
def test_without_the_former_text_nothing_is_replaced(before: list[str], after: list[str]) -> None:
    reversal = reversed_in(after, _own(before, after), before, after, has_text=False)
    assert all(line.number is not None for line in reversal.lines)


def test_a_replaced_block_with_a_changed_line_stays_whole() -> None:
    before, after = ["price = 1"], ["price = first_price()", "price += second_price()"]
    current = ["price = first_price()", "price -= rebate_of_a_person()"]
    reversal = reversed_in(current, [True, False], before, after)
    assert [line.text for line in reversal.lines] == current
    assert [(place.reason.value, place.numbers, place.former) for place in reversal.spared] == [("changed", (1, 2), 1)]


def test_an_added_block_goes_around_a_line_of_somebody_else() -> None:
    after = ["def made():", "    first_step()", "    second_step()"]
    current = [after[0], after[1], "    step_of_a_person()", after[2]]
    reversal = reversed_in(current, [True, True, False, True], [], after)
    assert [line.text for line in reversal.lines] == ["    step_of_a_person()"]


def test_deleted_lines_do_not_come_back_where_their_place_is_not_recognized() -> None:
    before = ["keep_this_line()", "deleted_line(1)", "keep_that_line()"]
    after = [before[0], before[2]]
    current = ["another_file()", "with_other_lines()"]
    reversal = reversed_in(current, [False, False], before, after)
    assert [line.text for line in reversal.lines] == current
    assert [place.reason.value for place in reversal.spared] == ["changed"]


def test_moved_lines_do_not_come_back_while_they_stay_where_they_are_now() -> None:
    moved = ["moved_line_one(1)", "moved_line_two(2)"]
    before, after = [*moved, "middle_line(0)", "last_line(9)"], ["middle_line(0)", "last_line(9)", *moved]
    current = ["middle_line(0)", "last_line(9)", moved[0], "line_of_a_person()", moved[1]]
    reversal = reversed_in(current, [False] * 5, before, after)
    texts = [line.text for line in reversal.lines]
    assert Counter(texts) == Counter(current)
