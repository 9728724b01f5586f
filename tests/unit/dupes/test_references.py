import pytest

from custody.dupes.relations import is_bot, is_release, referred, says_reland, says_revert, without_pointers

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("message", "closing"),
    [
        ("Fixes #12", {"12"}),
        ("closes: #7 and resolved #8", {"7", "8"}),
        ("Fixed #36032 -- made it work.", {"36032"}),
        ("Refs #5", {"5"}),
        ("fix owner/repo#9", {"9"}),
        ("see #12", set()),
        ("prefixes #12", set()),
        ("Fixes #", set()),
    ],
)
def test_closing_references(message: str, closing: set[str]) -> None:
    assert referred([message]).closing == closing


def test_mentions_are_numbers_and_addresses() -> None:
    said = referred(["Add it (#13)", "https://github.com/o/r/pull/14 and GH-15"])
    assert said.mentioned == {"13", "14", "15"}


@pytest.mark.parametrize(
    "message",
    [
        f"(cherry picked from commit {SHA})",
        f"Backport of {SHA} from main.",
        f"Backported from {SHA}.",
        "[PR #12655/01234567 backport][3.13] Fix",
    ],
)
def test_where_a_change_was_taken_from_is_read_and_cut_out(message: str) -> None:
    (picked,) = referred([message]).picked
    assert SHA.startswith(picked)
    assert "0123456" not in without_pointers(f"Fix\n\n{message}")


def test_what_a_change_takes_back_is_read() -> None:
    message = f'Revert "Add it"\n\nThis reverts commit {SHA}.'
    assert referred([message]).reverted == {SHA}
    assert says_revert(message)
    assert not says_revert("Add revert button")


def test_titles_of_returns_releases_and_names_of_machines() -> None:
    assert says_reland("Reland: faster parser")
    assert not says_reland("Relandscape the garden")
    assert is_release("Bumped version for 6.0.8 release.")
    assert is_release("v1.2.3")
    assert is_release("Release 3.1")
    assert not is_release("Fix release notes link")
    assert is_bot("dependabot[bot]")
    assert is_bot("patchback[bot]")
    assert not is_bot("Robot Chicken")
    assert not is_bot("Abbott")


def test_a_message_without_end_is_read_in_part() -> None:
    assert referred(["x" * 10**6 + " Fixes #12"]).closing == frozenset()
