from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece, ExactKind, HashVariant, LineRun, Shape
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import KINDS, exact_hashes
from tests.unit.dupes.changes import a_described, a_piece

RULES = DedupeRules()
WHOLE = ExactKind(None, HashVariant.PLAIN)
PRODUCTION = ExactKind(Channel.PRODUCTION, HashVariant.PLAIN)

lines = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12), max_size=5)
pieces = st.builds(
    lambda path, removed, added, channel, first: a_piece(path, added, removed=removed, channel=channel, first=first),
    st.sampled_from(["a.py", "b/c.py", "b/d.md"]),
    lines,
    lines,
    st.sampled_from(Channel),
    st.integers(1, 99),
)


def hashed(*pieces: ChangedPiece, rules: DedupeRules = RULES) -> dict[ExactKind, str]:
    return dict(exact_hashes(a_described(*pieces), rules))


# Conformance: 002-009
def test_the_place_in_a_file_and_the_order_of_files_say_nothing() -> None:
    a, b = a_piece("a.py", ["x = 1"], first=3), a_piece("b.py", ["y = 2"], removed=["y = 1"])
    moved = replace(a, runs=(replace(a.runs[0], new_first=77, old_first=70),))
    assert hashed(a, b) == hashed(b, moved)


# Conformance: 002-009
@pytest.mark.parametrize(
    "other",
    [
        a_piece("b.py", ["x = 1"]),
        a_piece("a.py", ["x = 2"]),
        a_piece("a.py", [], removed=["x = 1"]),
        a_piece("a.py", ["x = 1", "x = 1"]),
        a_piece("a.py", [" x = 1"]),
    ],
)
def test_a_path_a_line_a_side_or_an_indent_makes_another_change(other: ChangedPiece) -> None:
    assert hashed(a_piece("a.py", ["x = 1"]))[WHOLE] != hashed(other)[WHOLE]


def test_every_channel_has_a_hash_of_its_own() -> None:
    code, test = a_piece("a.py", ["x = 1"]), a_piece("test_a.py", ["assert x"], channel=Channel.TESTS)
    both, alone = hashed(code, test), hashed(code)
    assert both[PRODUCTION] == alone[PRODUCTION]
    assert both[WHOLE] != alone[WHOLE]
    assert ExactKind(Channel.TESTS, HashVariant.PLAIN) in both
    assert not any(kind.channel is Channel.DOCS for kind in both)


# Conformance: 002-010
def test_white_space_at_the_end_and_the_line_end_say_nothing_unless_they_shall() -> None:
    plain, trailing = a_piece("a.py", ["x = 1"]), a_piece("a.py", ["x = 1 \t"])
    assert hashed(plain) == hashed(trailing)
    strict = DedupeRules(normalise_whitespace=False)
    assert hashed(plain, rules=strict)[WHOLE] != hashed(trailing, rules=strict)[WHOLE]


def test_without_any_white_space_an_indent_says_nothing() -> None:
    spaceless = ExactKind(None, HashVariant.SPACELESS)
    assert hashed(a_piece("a.py", ["  x = 1"]))[spaceless] == hashed(a_piece("a.py", ["x=1"]))[spaceless]


def test_a_moved_change_is_found_without_its_paths() -> None:
    free = ExactKind(None, HashVariant.PATH_FREE)
    assert hashed(a_piece("a.py", ["x = 1"]))[free] == hashed(a_piece("lib/b.py", ["x = 1"]))[free]


def test_a_rename_alone_has_an_identity_but_none_without_paths() -> None:
    renamed = hashed(a_piece("b.py", old_path="a.py"))
    assert renamed[WHOLE] != hashed(a_piece("c.py", old_path="a.py"))[WHOLE]
    assert ExactKind(None, HashVariant.PATH_FREE) not in renamed


def test_a_binary_file_is_known_by_its_objects_and_a_mode_by_its_change() -> None:
    def binary(old: str, new: str) -> ChangedPiece:
        return replace(a_piece("a.png"), opaque="a binary file", objects=(old, new))

    assert hashed(binary("1", "2")) == hashed(binary("1", "2"))
    assert hashed(binary("1", "2"))[WHOLE] != hashed(binary("1", "3"))[WHOLE]
    script = replace(a_piece("run.sh"), modes=(0o100644, 0o100755))
    assert hashed(script)[WHOLE] != hashed(replace(script, modes=(0o100755, 0o100644)))[WHOLE]


# Conformance: 002-011
def test_hunks_of_comments_alone_can_be_left_out() -> None:
    with_comment = ChangedPiece(
        path="a.py",
        channel=Channel.PRODUCTION,
        shape=Shape.MODIFIED,
        runs=(LineRun(0, 1, (), ("# why",)), LineRun(9, 10, ("x = 1",), ("x = 2",))),
    )
    without = replace(with_comment, runs=with_comment.runs[1:])
    assert hashed(with_comment)[WHOLE] != hashed(without)[WHOLE]
    dropping = DedupeRules(drop_comment_only_hunks=True)
    assert hashed(with_comment, rules=dropping)[WHOLE] == hashed(without, rules=dropping)[WHOLE]


def backwards(change: ChangeDescription) -> ChangeDescription:
    return replace(
        change,
        pieces=tuple(
            replace(
                piece,
                path=piece.old_path or piece.path,
                old_path=piece.path if piece.old_path else None,
                runs=tuple(LineRun(run.new_first, run.old_first, run.added, run.removed) for run in piece.runs),
                objects=piece.objects[::-1],
                modes=piece.modes[::-1],
            )
            for piece in change.pieces
        ),
    )


@given(st.lists(pieces, max_size=4))
def test_what_takes_a_change_back_has_its_inverted_hash(some: list[ChangedPiece]) -> None:
    change = a_described(*some)
    forth, back = exact_hashes(change, RULES), exact_hashes(backwards(change), RULES)
    for kind in KINDS:
        if kind.likeness is HashVariant.PLAIN:
            inverted = ExactKind(kind.channel, HashVariant.INVERTED)
            assert forth.get(inverted) == back.get(kind)
            assert back.get(inverted) == forth.get(kind)


@given(st.lists(pieces, max_size=4), st.randoms(use_true_random=False))
def test_hashes_do_not_depend_on_the_order_of_files(some: list[ChangedPiece], chance: object) -> None:
    shuffled = list(some)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hashed(*some) == hashed(*shuffled)
