"""Which commits a message claims to revert, in every spelling, and what only looks like a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.trust.commit_words import NAMED_MAX, Claim, parse_revert_claims, parse_revertible_pull_number
from tests.builders.table import table

A, B, C = "1" * 8 + "a" * 32, "2" * 8 + "b" * 32, "3" * 8 + "c" * 32


@table(
    ("message", "claims"),
    [
        (f'Revert "x"\n\nThis reverts commit {A}.', [Claim(id=A)]),
        (f"Revert x\n\nThis reverts commit {A},\nreversing changes made to {B}.", [Claim(id=A, mainline=B)]),
        (f"Revert x\n\nThis reverts commit {A}, reversing\nchanges made to {B}.", [Claim(id=A, mainline=B)]),
        (f"Revert two\n\nThis reverts commits {A} and {B}.", [Claim(id=A), Claim(id=B)]),
        (f"Revert three\n\nThis reverts commits {A}, {B}, and {C}.", [Claim(id=A), Claim(id=B), Claim(id=C)]),
        (f"x\n\nThis reverts commit {A}.\nThis reverts commit {B}.", [Claim(id=A), Claim(id=B)]),
        (f"x\n\nThis reverts commits:\n- {A[:10]}\n- {B[:10]}\n", [Claim(id=A[:10]), Claim(id=B[:10])]),
        (f"Reverted {A[:10]}, for reasons", [Claim(id=A[:10])]),
        (f"Fixed #1 -- Reverted {A[:10]} and {B[:10]}.", [Claim(id=A[:10]), Claim(id=B[:10])]),
        (f"revert: feat: x\n\nThis reverts commit {A.upper()}.", [Claim(id=A)]),
        (f"x\n\nThis partially reverts commit {A}.", [Claim(id=A, partly=True)]),
        (f"Partial revert of {A[:12]}", [Claim(id=A[:12], partly=True)]),
        (f"x\n\nReverts part of commit {A}.", [Claim(id=A, partly=True)]),
        (f'Reapply "x"\n\nThis reverts commit {A}.', [Claim(id=A)]),
        (f"x\n\nThis reverts commit {A}.\n\n(cherry picked from commit {B})", [Claim(id=A)]),
        ("x\n\nReverts 1234567", [Claim(id="1234567")]),
        ('Revert "Add a door"', [Claim(title="Add a door")]),
        ('Revert "Add a door" (#13)', [Claim(title="Add a door")]),
        ('[3.8] Revert "Add a door (#12)" (#13)', [Claim(title="Add a door (#12)")]),
        ('Revert "Revert "Add a door""', [Claim(title='Revert "Add a door"')]),
        ('Reapply "Add a door"', [Claim(title='Revert "Add a door"')]),
        ('Revert "Add a door" (#13)\n\nReverts ana/house#12', [Claim(number=12)]),
        ("Close it (#13)\n\nReverts #12 and more", [Claim(number=12)]),
        ('Partially revert "Add a door"', [Claim(title="Add a door", partly=True)]),
    ],
)
def test_every_spelling_is_read(message: str, claims: list[Claim]) -> None:
    assert list(parse_revert_claims(message)) == claims


@pytest.mark.parametrize(
    "message",
    [
        "Add a door",
        f"Fix what {A} broke",
        f"x\n\n(cherry picked from commit {A})",
        "Revert defaced walls",
        "Revert to the old door",
        f"We could not do without: see the revert in {A}",
        f"Do not merge before we know whether it reverts {A}",
        "",
    ],
)
def test_what_takes_nothing_back_is_left_alone(message: str) -> None:
    assert parse_revert_claims(message) == ()


def test_what_is_named_twice_is_one_claim_and_there_are_never_too_many() -> None:
    assert len(parse_revert_claims(f"This reverts commit {A}.\nThis reverts commit {A}.")) == 1
    many = "".join(f"This reverts commit {number:040d}.\n" for number in range(500))
    assert len(parse_revert_claims(many)) == NAMED_MAX


@table(
    "piece",
    [
        " ",
        "\n",
        '"',
        "--",
        "-- ",
        "This ",
        "reverts ",
        "Revert ",
        "\nThis reverts commit",
        "partial ",
        "#1",
        "(#1)",
        "a",
    ],
)
@table("start", ["", "--", "This reverts", "Revert ", 'Revert "x', "Reverts ", f"This reverts commit {A}"])
def test_a_message_made_to_take_long_does_not(start: str, piece: str) -> None:
    assert len(parse_revert_claims(start + piece * 200_000)) <= NAMED_MAX


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_can_be_read(text: str) -> None:
    for claim in parse_revert_claims(f'Revert "{text}"\n\nThis reverts commit {text}'):
        assert claim.name
    parse_revertible_pull_number(text)
