import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.paths import Hunk
from custody.dupes.exact_hash import KINDS, compute_exact_hashes
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangedPiece, ExactKind, HashVariant, Shape
from custody.dupes.rules import DedupeRules
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
    return dict(compute_exact_hashes(a_described(*pieces), rules))


# Conformance: 002-009
def test_positions_and_the_order_of_files_are_ignored() -> None:
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
def test_path_line_side_and_indent_count(other: ChangedPiece) -> None:
    assert hashed(a_piece("a.py", ["x = 1"]))[WHOLE] != hashed(other)[WHOLE]


def test_every_channel_has_its_own_hash() -> None:
    code, test = a_piece("a.py", ["x = 1"]), a_piece("test_a.py", ["assert x"], channel=Channel.TESTS)
    both, alone = hashed(code, test), hashed(code)
    assert both[PRODUCTION] == alone[PRODUCTION]
    assert both[WHOLE] != alone[WHOLE]
    assert ExactKind(Channel.TESTS, HashVariant.PLAIN) in both
    assert not any(kind.channel is Channel.DOCS for kind in both)


# Conformance: 002-010
def test_trailing_white_space_is_ignored_unless_the_rules_say_otherwise() -> None:
    plain, trailing = a_piece("a.py", ["x = 1"]), a_piece("a.py", ["x = 1 \t"])
    assert hashed(plain) == hashed(trailing)
    strict = DedupeRules(normalise_whitespace=False)
    assert hashed(plain, rules=strict)[WHOLE] != hashed(trailing, rules=strict)[WHOLE]


def test_the_spaceless_hash_ignores_indentation() -> None:
    spaceless = ExactKind(None, HashVariant.SPACELESS)
    assert hashed(a_piece("a.py", ["  x = 1"]))[spaceless] == hashed(a_piece("a.py", ["x=1"]))[spaceless]


def test_the_path_free_hash_of_a_moved_change_is_equal() -> None:
    free = ExactKind(None, HashVariant.PATH_FREE)
    assert hashed(a_piece("a.py", ["x = 1"]))[free] == hashed(a_piece("lib/b.py", ["x = 1"]))[free]


def test_a_pure_rename_has_no_path_free_hash() -> None:
    renamed = hashed(a_piece("b.py", old_path="a.py"))
    assert renamed[WHOLE] != hashed(a_piece("c.py", old_path="a.py"))[WHOLE]
    assert ExactKind(None, HashVariant.PATH_FREE) not in renamed


def test_binary_files_and_modes_are_hashed() -> None:
    def binary(old: str, new: str) -> ChangedPiece:
        return replace(a_piece("a.png"), opaque="a binary file", objects=(old, new))

    assert hashed(binary("1", "2")) == hashed(binary("1", "2"))
    assert hashed(binary("1", "2"))[WHOLE] != hashed(binary("1", "3"))[WHOLE]
    script = replace(a_piece("run.sh"), modes=(0o100644, 0o100755))
    assert hashed(script)[WHOLE] != hashed(replace(script, modes=(0o100755, 0o100644)))[WHOLE]


# Conformance: 002-011
def test_comment_only_hunks_can_be_ignored() -> None:
    with_comment = ChangedPiece(
        path="a.py",
        channel=Channel.PRODUCTION,
        shape=Shape.MODIFIED,
        runs=(Hunk(0, 1, (), ("# why",)), Hunk(9, 10, ("x = 1",), ("x = 2",))),
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
                runs=tuple(Hunk(run.new_first, run.old_first, run.added, run.removed) for run in piece.runs),
                objects=piece.objects[::-1],
                modes=piece.modes[::-1],
            )
            for piece in change.pieces
        ),
    )


@given(st.lists(pieces, max_size=4))
def test_a_revert_has_the_inverted_hash(changed: list[ChangedPiece]) -> None:
    change = a_described(*changed)
    forth, back = compute_exact_hashes(change, RULES), compute_exact_hashes(backwards(change), RULES)
    for kind in KINDS:
        if kind.variant is HashVariant.PLAIN:
            inverted = ExactKind(kind.channel, HashVariant.INVERTED)
            assert forth.get(inverted) == back.get(kind)
            assert back.get(inverted) == forth.get(kind)


@given(st.lists(pieces, max_size=4), st.randoms(use_true_random=False))
def test_hashes_do_not_depend_on_the_order_of_files(changed: list[ChangedPiece], chance: object) -> None:
    shuffled = list(changed)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hashed(*changed) == hashed(*shuffled)
