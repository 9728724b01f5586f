"""Labels of commits by later messages: only what a message states, and only backwards in time."""

from random import Random

import pytest

from custody.trust.commit_words import CommitText, label_reverted_commits, trust_author_from_commit
from custody.trust.rules import TrustRules
from tests.builders.table import table
from tests.unit.trust.builders import DAY, NOON

RULES = TrustRules()
FIRST = "a1b2c3d" + "0" * 33
OTHER = "b7c8d9e" + "1" * 33
LATER = "cafebab" + "2" * 33


def a_commit(
    sha: str = FIRST,
    message: str = "Add a thing",
    *,
    day: float = 0,
    files: tuple[str, ...] = ("a.py",),
) -> CommitText:
    return CommitText(sha, message.partition("\n")[0], message, NOON + round(day * DAY), frozenset(files))


def reverted(*commits: CommitText) -> dict[str, str]:
    return {sha: by.sha for sha, by in label_reverted_commits(commits, RULES).reverted.items()}


def mended(*commits: CommitText) -> dict[str, str]:
    return {sha: by.sha for sha, by in label_reverted_commits(commits, RULES).mended.items()}


@pytest.mark.parametrize(
    "message",
    [
        f'Revert "Add a thing"\n\nThis reverts commit {FIRST}.',
        f'Revert "Something else"\n\nThis reverts commit {FIRST[:9]}.',
        f"Back out the thing\n\nThis reverts commit {FIRST.upper()}",
        'Revert "Add a thing"',
        'Revert "Add a thing" (#512)',
        f'Revert "Something"\n\nReverts {FIRST[:12]}',
    ],
)
def test_a_revert_names_its_commit_or_its_subject(message: str) -> None:
    assert reverted(a_commit(), a_commit(LATER, message, day=90)) == {FIRST: LATER}


@pytest.mark.parametrize(
    "message",
    [
        "Add a thing",
        f"Explain why {FIRST} was not reverted",
        'Revert "Add another thing"',
        "This reverts commit 1234567",
        f"Talk about reverts {FIRST[:12]}",
    ],
)
def test_other_words_than_a_revert_revert_nothing(message: str) -> None:
    assert reverted(a_commit(), a_commit(LATER, message, day=1)) == {}


def test_nothing_is_reverted_before_it_was_made() -> None:
    assert reverted(a_commit(day=2), a_commit(LATER, f"This reverts commit {FIRST}", day=1)) == {}


def test_of_two_commits_with_one_subject_the_last_before_is_meant() -> None:
    commits = (a_commit(), a_commit(OTHER, day=1), a_commit(LATER, 'Revert "Add a thing"', day=2))
    assert reverted(*commits) == {OTHER: LATER}


def test_first_digits_that_fit_two_commits_name_neither() -> None:
    twin = FIRST[:8] + "f" * 32
    assert reverted(a_commit(), a_commit(twin), a_commit(LATER, f"This reverts commit {FIRST[:8]}", day=1)) == {}


def test_the_revert_of_a_revert_takes_the_revert_back() -> None:
    back = a_commit(OTHER, f'Revert "Add a thing"\n\nThis reverts commit {FIRST}.', day=1)
    again = a_commit(LATER, f'Revert "Revert "Add a thing""\n\nThis reverts commit {OTHER}.', day=2)
    assert reverted(a_commit(), back, again) == {FIRST: OTHER, OTHER: LATER}


@pytest.mark.parametrize(
    ("message", "day", "files"),
    [
        (f"Fix crash\n\nFixes: {FIRST[:12]} (\"Add a thing\")", 300, ("b.py",)),
        ("fixup! Add a thing", 1, ("b.py",)),
        (f"Fixed a typo in {FIRST[:10]}", 1, ("a.py", "b.py")),
        (f"Oops, regression in {FIRST}.", 6.9, ("a.py",)),
    ],
)  # fmt: skip
def test_a_quick_fix_mends_what_it_names(message: str, day: float, files: tuple[str, ...]) -> None:
    assert mended(a_commit(), a_commit(LATER, message, day=day, files=files)) == {FIRST: LATER}


@pytest.mark.parametrize(
    ("message", "day", "files"),
    [
        (f"Fixed a typo in {FIRST[:10]}", 8, ("a.py",)),  # not quick
        (f"Fixed a typo in {FIRST[:10]}", 1, ("b.py",)),  # elsewhere
        (f"Build on {FIRST[:10]}", 1, ("a.py",)),  # mends nothing
        ("Fixed a typo", 1, ("a.py",)),  # names nothing
    ],
)
def test_what_does_not_say_that_it_mends_a_commit_quickly_mends_none(
    message: str, day: float, files: tuple[str, ...]
) -> None:
    assert mended(a_commit(), a_commit(LATER, message, day=day, files=files)) == {}


def test_what_was_reverted_is_not_also_mended() -> None:
    fixed = a_commit(OTHER, f"Fixes: {FIRST}", day=1)
    back = a_commit(LATER, f"Fix it all\n\nThis reverts commit {FIRST}", day=2)
    labels = label_reverted_commits((a_commit(), fixed, back), RULES)
    assert (set(labels.reverted), set(labels.mended)) == ({FIRST}, set())


def test_the_order_of_the_commits_does_not_matter() -> None:
    commits = [a_commit(f"{n:07x}" + "0" * 33, f"Change {n}", day=n) for n in range(20)]
    commits += [a_commit(f"{n:07x}" + "1" * 33, f'Revert "Change {n - 100}"', day=n) for n in range(100, 120)]
    shuffled = list(commits)
    Random(4).shuffle(shuffled)
    assert label_reverted_commits(shuffled, RULES) == label_reverted_commits(commits, RULES)
    assert len(reverted(*commits)) == 20


@table(
    ("name", "email", "message", "agent", "operator"),
    [
        ("Ana", "ana@x.org", "Fix", "Ana", None),
        ("", "ana@x.org", "Fix", "ana@x.org", None),
        ("", "", "Fix", "unknown", None),
        ("Claude Monet", "claude@x.org", "Co-Authored-By: Claude Debussy <claude.d@x.org>", "Claude Monet", None),
        ("Claude", "noreply@anthropic.com", "Fix", "claude-code", None),
        ("Ana", "ana@x.org", "Fix\n\nCo-authored-by: Claude Opus <noreply@anthropic.com>", "claude-code", "Ana"),
        ("Ana", "ana@x.org", "Fix\n\n🤖 Generated with [Claude Code](https://claude.ai/code)", "claude-code", "Ana"),
        ("Ana", "ana@x.org", "Fix\n\nGenerated with love", "Ana", None),
        ("Ana", "ana@x.org", "Fix\n\nCo-authored-by: Copilot <198982749+Copilot@users.noreply.github.com>", "copilot",
         "Ana"),
        ("copilot-swe-agent[bot]", "198982749+Copilot@users.noreply.github.com", "Fix", "copilot", None),
        ("Cursor Agent", "cursoragent@cursor.com", "Fix", "cursor", None),
        ("Ana (aider)", "ana@x.org", "Fix", "aider", "Ana"),
        ("devin-ai-integration[bot]", "1+devin-ai-integration[bot]@users.noreply.github.com", "Fix", "devin", None),
        ("renovate[bot]", "29139614+renovate[bot]@users.noreply.github.com", "Bump", "renovate[bot]", None),
        ("Ana", "7+ana@users.noreply.github.com", "Fix", "Ana", None),
    ],
)  # fmt: skip
def test_a_commit_is_whose_it_says(name: str, email: str, message: str, agent: str, operator: str | None) -> None:
    assert trust_author_from_commit(name, email, message) == (agent, operator)
