import pytest

from bench.attribution.formatter import formatted, joined, tabs, two_spaces
from bench.attribution.histories import Hunk, author, edit_strings, hunks_between
from bench.attribution.truth import (
    EITHER,
    PERSON,
    Declared,
    Line,
    Page,
    lines_of,
    overwritten,
    page_of,
    replaced,
    softened,
    the_agent,
)
from bench.bars import BenchError

AGENT = the_agent("s1")
OTHER = the_agent("s2")


def authors(lines: list[Line] | tuple[Line, ...]) -> str:
    return "".join({PERSON: "p", AGENT: "a", OTHER: "o", EITHER: "e"}[line.who] for line in lines)


def test_context_at_both_ends_of_a_replacement_stays_whose_it_was() -> None:
    page = replaced(page_of("one\ntwo\nthree\n", PERSON), "one\ntwo", "one\nadded\ntwo", AGENT)
    assert page.text == "one\nadded\ntwo\nthree\n"
    assert authors(page.lines) == "papp"


def test_part_of_a_line_can_be_replaced() -> None:
    page = replaced(
        page_of("total = first + second\n", PERSON),
        "second",
        "third",
        AGENT,
        Declared(either=["total = first + third"]),
    )
    assert authors(page.lines) == "e"


def test_lines_said_to_be_kept_stay_whose_they_were() -> None:
    lines = overwritten(
        lines_of("alpha\nbeta\ngamma", PERSON), ["new 1", "beta", "new 2"], AGENT, Declared(keeps=["beta"])
    )
    assert authors(lines) == "apa"


def test_a_line_that_was_not_there_cannot_be_kept() -> None:
    with pytest.raises(BenchError, match="declared as kept"):
        overwritten(lines_of("alpha\nbeta", PERSON), ["gamma", "delta"], AGENT, Declared(keeps=["gamma"]))


def test_a_text_that_stands_twice_cannot_be_replaced() -> None:
    with pytest.raises(BenchError, match="2 times"):
        replaced(page_of("same\nsame\n", PERSON), "same", "other", AGENT)


def test_a_blank_line_between_two_authors_is_nobodys_and_between_one_it_is_theirs() -> None:
    lines = [
        Line("first line", AGENT),
        Line("", AGENT),
        Line("second line", AGENT),
        Line("", AGENT),
        Line("third", PERSON),
    ]
    assert authors(softened(lines)) == "aaaep"


def test_the_ends_of_lines_are_kept() -> None:
    assert page_of("one\ntwo\n", PERSON, "\r\n").text == "one\r\ntwo\r\n"
    assert Page(tuple(lines_of("one", PERSON)), ended=False).text == "one"


def test_the_formatter_gives_every_piece_of_a_line_to_its_author() -> None:
    page = Page((Line("x = call('a', second, third)", AGENT), Line("short('b')", PERSON)))
    made = formatted(page, width=20)
    assert made.text == 'x = call(\n    "a",\n    second,\n    third,\n)\nshort("b")\n'
    assert authors(made.lines) == "aaaaap"


def test_lines_of_two_authors_joined_are_nobodys() -> None:
    page = Page((Line("call(", AGENT), Line("    one,", PERSON), Line(")", AGENT), Line("rest = 1", PERSON)))
    made = joined(page)
    assert made.text == "call(one)\nrest = 1\n"
    assert authors(made.lines) == "ep"


def test_indents_change_and_authors_do_not() -> None:
    page = Page((Line("def f():", PERSON), Line("    return 1", AGENT)))
    assert [line.text for line in two_spaces(page).lines] == ["def f():", "  return 1"]
    assert [line.text for line in tabs(page).lines] == ["def f():", "\treturn 1"]
    assert authors(tabs(page).lines) == "pa"


@pytest.mark.parametrize(
    ("text", "old", "gone", "back", "expected"),
    [
        ("a wholly different statement", [Line("x = compute(y)", PERSON)], [], set(), AGENT),
        ("        x = compute(y)", [Line("    x = compute(y)", PERSON)], [], set(), PERSON),
        ("x = compute(y, extra)", [Line("x = compute(y)", PERSON)], [], set(), EITHER),
        ("x = compute(y, extra)", [Line("x = compute(y)", AGENT)], [], set(), AGENT),
        ("moved(here)", [], [Line("moved(here)", PERSON)], set(), EITHER),
        ("came(back)", [], [], {"came(back)"}, EITHER),
    ],
)
def test_a_hunk_is_its_authors_unless_somebody_elses_words_are_in_it(text, old, gone, back, expected) -> None:  # type: ignore[no-untyped-def]
    assert author(text, AGENT, old, gone, back) == expected


def test_the_strings_of_an_edit_stand_once_in_the_file() -> None:
    page = page_of("same\nfirst\nsame\nsecond\n", PERSON)
    strings = edit_strings(page, Hunk(2, 3, ("changed",)))
    assert strings is not None
    assert page.text.count(strings[0]) == 1
    assert replaced(page, *strings, AGENT).text == "same\nfirst\nchanged\nsecond\n"


def test_hunks_make_one_text_of_the_other() -> None:
    old, new = page_of("a\nb\nc\nd\n", PERSON), page_of("a\nx\nc\n", PERSON)
    assert hunks_between(old, new) == [Hunk(1, 2, ("x",)), Hunk(3, 4, ())]
