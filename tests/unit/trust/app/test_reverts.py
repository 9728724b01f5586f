"""Which commits revert which, in real repositories: messages are compared with git diffs."""

from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.ledger.records import list_newest_records
from custody.trust.app.reverts import trust_reverts
from custody.trust.app.show import trust_show, trust_why
from custody.trust.wire import RevertReport, TrustRevertsReport
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built, Files, a_clone, a_repository
from tests.builders.trust import TrustWorld

BASE = b"".join(b"base line %d\n" % n for n in range(5))
ADDED = b"".join(b"value_%d = compute(%d)\n" % (n, n) for n in range(10))
OTHER = b"".join(b"other_%d = compute(%d)\n" % (n, n) for n in range(10))


class Line:
    """A history of one branch under construction."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.head = self.built.commit({b"a.py": BASE}, message=b"begin")
        self.built.checkout()

    def commit(self, text: bytes, message: str, **more: bytes) -> CommitSha:
        files: Files = {b"a.py": text, **{name.encode(): content for name, content in more.items()}}
        self.head = self.built.commit(files, self.head, message=message.encode())
        return self.head

    def find(self, typed: str | None = None) -> TrustRevertsReport:
        return trust_reverts(Workspace(self.built.path), typed)

    def only(self) -> RevertReport:
        (found,) = self.find().found
        return found


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path / "repository")


def test_a_revert_by_git_is_found_whole(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    by = line.commit(BASE, f'Revert "add values"\n\nThis reverts commit {target}.')
    found = line.only()
    assert (found.by, found.target, found.how, found.state) == (by, target, "id", "whole")
    assert (found.changed, found.left, found.undone) == (10, 10, 10)


def test_a_revert_is_found_behind_later_edits_of_the_same_file(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    line.commit(b"first\n" + BASE + ADDED.replace(b"value_3 =", b"value_three ="), "edit around")
    by = line.commit(b"first\n" + BASE + b"value_three = compute(3)\n", f"This reverts commit {target[:8]}")
    found = line.only()
    assert (found.by, found.target, found.state, found.left, found.undone) == (by, target, "whole", 9, 9)


def test_a_message_that_lies_is_named_and_does_not_count(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    line.commit(BASE + ADDED + b"more = 1\n", f'Revert "add values"\n\nThis reverts commit {target}.')
    assert (line.only().target, line.only().state, line.only().undone) == (target, "untrue", 0)
    assert line.find().counts == {"untrue": 1}


def test_a_part_that_is_reverted_is_a_part(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    half = b"".join(ADDED.splitlines(keepends=True)[:5])
    line.commit(BASE + half, f"Partially reverts commit {target}.")
    assert (line.only().state, line.only().undone, line.only().left) == ("partial", 5, 10)


def test_who_says_that_it_is_a_part_is_believed(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    line.commit(BASE, f"This partially reverts commit {target}.")
    assert line.only().state == "partial"


@pytest.mark.parametrize(
    ("named", "state"), [("1" * 40, "unknown"), ("12345678", "unknown"), ("1234567", "short"), ("{7}", "short")]
)
def test_a_name_of_nothing_is_reported_and_not_believed(line: Line, named: str, state: str) -> None:
    target = line.commit(BASE + ADDED, "add values")
    named = target[:7] if named == "{7}" else named
    if not any(sign.isdigit() for sign in named):
        pytest.skip("these digits are a word")
    line.commit(BASE + OTHER, f"something else\n\nThis reverts commit {named}.")
    found = line.only()
    assert (found.said, found.state, found.target) == (named, state, None)


def test_a_commit_of_another_branch_cannot_be_reverted_here(line: Line) -> None:
    aside = line.built.commit({b"a.py": BASE + ADDED}, line.head, message=b"aside", ref="refs/heads/aside")
    later = line.commit(BASE + OTHER, f"This reverts commit {aside}.")
    line.commit(BASE + OTHER + b"x = 1\n", f"x\n\nThis reverts commit {later[:-1]}{'0' if later[-1] != '0' else '1'}.")
    assert [one.state for one in line.find().found] == ["elsewhere", "unknown"]


def test_a_later_commit_is_not_an_ancestor(line: Line) -> None:
    first = line.head
    built = line.built
    side = built.commit({b"a.py": BASE + ADDED}, first, message=b"side", ref="refs/heads/side")
    by = built.commit({b"a.py": BASE + OTHER}, first, message=f"This reverts commit {side}.".encode())
    built.commit({b"a.py": BASE + OTHER + ADDED}, by, side, message=b"merge side")
    (found,) = line.find().found
    assert (found.by, found.state, found.target) == (by, "elsewhere", None)


def test_a_revert_that_is_reapplied_is_cancelled_and_counts_again_when_that_is_reverted(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    first = line.commit(BASE, f'Revert "add values"\n\nThis reverts commit {target}.')
    again = line.commit(BASE + ADDED, f'Reapply "add values"\n\nThis reverts commit {first}.')
    states = {one.by: (one.target, one.state, one.cancelled_by) for one in line.find().found}
    assert states == {first: (target, "cancelled", again), again: (first, "whole", None)}
    last = line.commit(BASE, f'Revert "Reapply "add values""\n\nThis reverts commit {again}.')
    states = {one.by: (one.target, one.state, one.cancelled_by) for one in line.find().found}
    assert states == {
        first: (target, "whole", None),
        again: (first, "cancelled", last),
        last: (again, "whole", None),
    }


def test_several_commits_are_reverted_by_one(line: Line) -> None:
    one = line.commit(BASE + ADDED, "add values")
    two = line.commit(BASE + ADDED + OTHER, "add others")
    by = line.commit(BASE, f"Revert both\n\nThis reverts commits {one} and {two}.")
    assert {(found.by, found.target, found.state) for found in line.find().found} == {
        (by, one, "whole"),
        (by, two, "whole"),
    }


def test_a_merge_is_reverted_against_the_parent_that_is_named(line: Line) -> None:
    base, built = line.head, line.built
    side = built.commit({b"a.py": BASE, b"b.py": ADDED}, base, message=b"side", ref="refs/heads/side")
    main = line.commit(BASE + OTHER, "main goes on")
    merge = built.commit({b"a.py": BASE + OTHER, b"b.py": ADDED}, main, side, message=b"Merge branch 'side'")
    line.head = merge
    by = line.commit(BASE + OTHER, f"Revert merge\n\nThis reverts commit {merge}, reversing\nchanges made to {main}.")
    found = line.only()
    assert (found.by, found.target, found.base, found.state, found.undone) == (by, merge, main, "whole", 10)
    line.commit(BASE + OTHER, f"x\n\nThis reverts commit {merge}, reversing\nchanges made to {base}.")
    assert line.find().counts == {"whole": 1, "unknown": 1}


def test_github_names_the_pull_request_or_the_title(line: Line) -> None:
    numbered = line.commit(BASE + ADDED, "Add values (#12)")
    first = line.commit(BASE, 'Revert "Add values" (#13)\n\nReverts ana/house#12')
    titled = line.commit(BASE + OTHER, "Add others (#14)")
    second = line.commit(BASE, 'Revert "Add others" (#15)')
    assert [(one.by, one.target, one.how, one.state) for one in line.find().found] == [
        (first, numbered, "number", "whole"),
        (second, titled, "title", "whole"),
    ]


def test_what_is_undone_without_a_word_is_found_by_its_diff(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    line.commit(b"first\n" + BASE + ADDED, "edit above")
    by = line.commit(b"first\n" + BASE, "tidy up")
    found = line.only()
    assert (found.by, found.target, found.how, found.state, found.said) == (by, target, "diff", "whole", None)


def test_a_few_lines_that_go_back_and_forth_say_nothing(line: Line) -> None:
    line.commit(BASE + b"version = 1\n", "release")
    line.commit(BASE, "after the release")
    assert line.find().found == []


def test_what_was_undone_before_it_merged_does_not_count(line: Line) -> None:
    base, built = line.head, line.built
    tried = built.commit({b"a.py": BASE + ADDED}, base, message=b"try", ref="refs/heads/topic")
    undone = built.commit(
        {b"a.py": BASE}, tried, message=f"This reverts commit {tried}.".encode(), ref="refs/heads/topic"
    )
    done = built.commit({b"a.py": BASE, b"b.py": OTHER}, undone, message=b"do", ref="refs/heads/topic")
    line.head = built.commit({b"a.py": BASE, b"b.py": OTHER}, base, done, message=b"Merge topic")
    found = line.only()
    assert (found.target, found.state) == (tried, "unlanded")


def test_lines_that_only_moved_are_compared_by_the_whole_file(line: Line) -> None:
    lines = BASE.splitlines(keepends=True)
    target = line.commit(b"".join(reversed(lines)), "turn around")
    line.commit(BASE, f"This reverts commit {target}.")
    assert line.only().state == "whole"


def test_a_binary_file_is_reverted_when_it_is_what_it_was(line: Line) -> None:
    line.commit(BASE, "add", picture=b"\0one")
    target = line.commit(BASE, "change", picture=b"\0two")
    line.commit(BASE, f"This reverts commit {target}.", picture=b"\0one")
    assert (line.only().state, line.only().undone) == ("whole", 1)


def test_only_the_range_is_asked_about_and_its_targets_may_be_older(line: Line) -> None:
    target = line.commit(BASE + ADDED, "add values")
    line.commit(BASE, f"This reverts commit {target}.")
    middle = line.head
    again = line.commit(BASE + OTHER, "add others")
    line.commit(BASE, f"This reverts commit {again}.")
    assert [one.target for one in line.find(f"{middle}..HEAD").found] == [again]
    assert [one.target for one in line.find(f"{again}..HEAD").found] == [again]
    assert [one.target for one in line.find(middle).found] == [target]
    assert line.find("HEAD..HEAD").found == []


@pytest.mark.parametrize("typed", ["nowhere", "..HEAD", "--all", "nowhere..HEAD"])
def test_a_range_of_nothing_is_refused(line: Line, typed: str) -> None:
    with pytest.raises(InputError):
        line.find(typed)


def test_an_empty_repository_has_no_reverts(tmp_path: Path) -> None:
    report = trust_reverts(Workspace(a_repository(tmp_path / "empty").path))
    assert (report.commits, report.found, report.tip) == (0, [], None)


def test_a_shallow_clone_says_what_it_cannot_see(line: Line, tmp_path: Path) -> None:
    line.commit(BASE + OTHER, "others")
    target = line.commit(BASE + OTHER + ADDED, "add values")
    line.commit(BASE + OTHER, f"This reverts commit {target}.")
    shallow = a_clone(line.built, tmp_path / "shallow", "--depth=2")
    (found,) = trust_reverts(Workspace(shallow.path)).found
    assert found.state == "unseen"


def test_a_found_revert_of_an_agents_lines_is_recorded_once(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repository").proven()
    before = dict(world.files)
    world.agent_wrote(12, model="m1")
    target = world.head
    world.later(hours=1)
    world.head = world.built.commit(
        before, world.head, message=f"Revert it\n\nThis reverts commit {target}.".encode(), at=world.at
    )
    asked = trust_reverts(world.workspace)
    assert (asked.recorded, asked.recording, asked.found[0].outcomes) == (0, False, [])
    done = trust_reverts(world.workspace, record=True, actor="ana")
    ((outcome,),) = [one.outcomes for one in done.found]
    assert (done.recorded, outcome.agent, outcome.model, outcome.state) == (1, "claude-code", "m1", "recorded")
    assert outcome.taken is not None
    assert (outcome.taken.kind, outcome.taken.decision, outcome.taken.lines) == ("revert", "rejected", 12)
    assert outcome.taken.reason == f"reverted by {world.head[:12]}: Revert it"
    total = list_newest_records(world.workspace, limit=1).total
    again = trust_reverts(world.workspace, record=True, actor="ana")
    assert (again.recorded, again.found[0].outcomes[0].state) == (0, "known")
    assert list_newest_records(world.workspace, limit=1).total == total
    assert trust_why(world.workspace, "claude-code").steps[-1].kind == "revert"


def test_nothing_is_recorded_of_lies_and_of_what_persons_wrote(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repository").proven()
    world.agent_wrote(12)
    lied_about, files = world.head, dict(world.files)
    liar = world.built.commit(
        files | {b"b.py": OTHER}, world.head, message=f"This reverts commit {lied_about}.".encode(), at=world.at
    )
    person = world.built.commit(files | {b"b.py": OTHER + ADDED}, liar)
    world.built.commit(files | {b"b.py": OTHER}, person, message=f"This reverts commit {person}.".encode())
    report = trust_reverts(world.workspace, record=True, actor="ana")
    assert sorted(report.counts) == ["untrue", "whole"]
    assert (report.recorded, trust_show(world.workspace, "claude-code", limit=0).standing.rejected) == (0, 0)
