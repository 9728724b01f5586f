import pytest

from custody.dupes.relations import (
    find_message_references,
    is_reland_title,
    is_release_title,
    is_revert_title,
    is_routine_bot,
    strip_commit_pointers,
)

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
    assert find_message_references([message]).closing == closing


def test_mentions_are_numbers_and_urls() -> None:
    references = find_message_references(["Add it (#13)", "https://github.com/o/r/pull/14 and GH-15"])
    assert references.mentioned == {"13", "14", "15"}


@pytest.mark.parametrize(
    "message",
    [
        f"(cherry picked from commit {SHA})",
        f"Backport of {SHA} from main.",
        f"Backported from {SHA}.",
        "[PR #12655/01234567 backport][3.13] Fix",
    ],
)
def test_picked_commits_are_found_and_stripped(message: str) -> None:
    (picked,) = find_message_references([message]).picked
    assert SHA.startswith(picked)
    assert "0123456" not in strip_commit_pointers(f"Fix\n\n{message}")


def test_reverted_commits_are_found() -> None:
    message = f'Revert "Add it"\n\nThis reverts commit {SHA}.'
    assert find_message_references([message]).reverted == {SHA}
    assert is_revert_title(message)
    assert not is_revert_title("Add revert button")


def test_titles_of_relands_and_releases_and_names_of_bots() -> None:
    assert is_reland_title("Reland: faster parser")
    assert not is_reland_title("Relandscape the garden")
    assert is_release_title("Bumped version for 6.0.8 release.")
    assert is_release_title("v1.2.3")
    assert is_release_title("Release 3.1")
    assert is_release_title("feat: bump versions to 1.5.0")
    assert is_release_title("chore(core): release 2.0")
    assert not is_release_title("Fix release notes link")
    assert not is_release_title("fix: release the lock")
    assert is_routine_bot("dependabot[bot]")
    assert is_routine_bot("patchback[bot]")
    agents = ("copilot-swe-agent[bot]", "google-labs-jules[bot]", "devin-ai-integration[bot]", "cursor[bot]", "Claude")
    assert not any(map(is_routine_bot, agents))
    assert not is_routine_bot("Robot Chicken")
    assert not is_routine_bot("Abbott")


def test_a_long_message_is_read_in_part() -> None:
    assert find_message_references(["x" * 10**6 + " Fixes #12"]).closing == frozenset()
