"""The last change of a line, and who removed text since a revision."""

from pathlib import Path

import pytest

from custody.attribution.app.blame import blame, list_removed_lines
from custody.attribution.wire import LastChange, RemovedLine
from custody.core.ids import CommitSha
from tests.builders.lines import Scene, text

GUARD = "    if user.is_known and user.may_pay(total_price):"
SHORT = "    if user.is_known:"
BASE = [
    "import alpha_module",
    "def pay(user, total_price):",
    GUARD,
    "        raise Refused(user, total_price)",
    "    settle_account(user)",
]
WEAKENED = [*BASE[:2], SHORT, *BASE[3:]]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repository")


def base_commit(scene: Scene, lines: list[str] = BASE) -> CommitSha:
    return scene.committed(at=-100, app__py=text(*lines))


def last_changes(scene: Scene) -> dict[int, LastChange]:
    report = blame(scene.workspace, "app.py", with_changes=True).report
    return {change.start_line: change for one in report.attributions for change in one.last_changes}


def removed(scene: Scene, since: str = "HEAD~1", revision: str | None = None) -> list[RemovedLine]:
    return list_removed_lines(scene.workspace, "app.py", since, revision=revision).removed


def facts(lines: list[RemovedLine]) -> list[tuple[int, list[str], str | None]]:
    return [(line.line, line.words, line.tool_call_id) for line in lines]


def test_a_call_that_only_deleted_words_wrote_the_line_and_is_its_last_change(scene: Scene) -> None:
    base = base_commit(scene)
    scene.edited("app.py", text(*BASE), text(*WEAKENED), at=10, head=base)
    commit = scene.committed(base, at=20, app__py=text(*WEAKENED))
    assert scene.marks() == "..A.."
    change = last_changes(scene)[3]
    assert (change.tool_call_id, change.commit, change.words_added, change.words_removed) == ("c10", commit, 0, 4)
    assert change.removed == ["and", "user", "may_pay", "total_price"]
    assert facts(removed(scene)) == [(3, change.removed, "c10")]


def test_every_line_has_one_last_change(scene: Scene) -> None:
    base = base_commit(scene)
    after = [*WEAKENED, "    notify_everybody(user)", "    return total_price"]
    scene.edited("app.py", text(*BASE), text(*after), at=10, head=base)
    scene.committed(base, at=20, app__py=text(*after))
    changes = last_changes(scene)
    assert [(line, change.end_line, change.words_added) for line, change in sorted(changes.items())] == [
        (1, 2, None),
        (3, 3, 0),
        (4, 5, None),
        (6, 7, 4),
    ]


def test_a_person_who_shortens_an_agents_line_is_not_the_agents_last_change(scene: Scene) -> None:
    base = base_commit(scene, BASE[:2])
    line = "    total_price = net_price + shipping + vat + handling"
    scene.edited("app.py", text(*BASE[:2]), text(*BASE[:2], line), at=10, head=base)
    first = scene.committed(base, at=20, app__py=text(*BASE[:2], line))
    second = scene.committed(first, at=30, app__py=text(*BASE[:2], line.removesuffix(" + handling")))
    assert scene.marks() == "..m"
    assert scene.said()[-1].share == 0.8
    change = last_changes(scene)[3]
    assert (change.tool_call_id, change.commit) == (None, second)
    (gone,) = removed(scene)
    assert (gone.words, gone.commit, gone.agent) == (["handling"], second, None)


def test_a_deleted_guard_is_listed_with_its_call_and_commit(scene: Scene) -> None:
    base = base_commit(scene)
    after = [*BASE[:2], BASE[4]]
    scene.edited("app.py", text(*BASE), text(*after), at=10, head=base)
    commit = scene.committed(base, at=20, app__py=text(*after))
    lines = removed(scene)
    assert facts(lines) == [(3, [], "c10"), (4, [], "c10")]
    assert {(line.commit, line.agent, line.session_id, line.grade, line.now) for line in lines} == {
        (commit, "robot", "s1", "claimed", None)
    }


def test_uncommitted_removals_count_and_name_no_commit(scene: Scene) -> None:
    base = base_commit(scene)
    scene.edited("app.py", text(*BASE), text(*WEAKENED), at=10, head=base)
    scene.wrote("app.py", text(*WEAKENED[:-1]))
    lines = removed(scene, "HEAD")
    assert [(line.line, line.commit, line.tool_call_id) for line in lines] == [(3, None, "c10"), (5, None, None)]


def test_what_a_person_removed_names_the_commit_only(scene: Scene) -> None:
    base = base_commit(scene)
    first = scene.committed(base, at=20, app__py=text(*BASE[:4]))
    scene.committed(first, at=30, app__py=text(*BASE[:4], "another_line = of_a_person()"))
    (line,) = removed(scene, base)
    assert (line.line, line.commit, line.agent, line.tool_call_id) == (5, first, None, None)


def test_a_call_whose_deletion_was_discarded_did_not_delete_the_line(scene: Scene) -> None:
    base = base_commit(scene)
    scene.edited("app.py", text(*BASE), text(*BASE[:4]), at=10, head=base)
    kept = scene.committed(base, at=20, app__py=text(*BASE, "a_persons_line = kept(user)"))
    scene.committed(kept, at=90, app__py=text(*BASE[:4], "a_persons_line = kept(user)"))
    (line,) = removed(scene)
    assert line.agent is None


def test_a_line_that_disappeared_between_two_calls_names_neither(scene: Scene) -> None:
    base = base_commit(scene)
    scene.edited("app.py", text(*BASE), text(*BASE, "first_call = 1"), at=10, head=base)
    without = [*BASE[:4], "first_call = 1"]
    after = [*without, "second_call = 2"]
    scene.edited("app.py", text(*without), text(*after), at=12, head=base)
    scene.committed(base, at=20, app__py=text(*after))
    assert facts(removed(scene)) == [(5, [], None)]


def test_moved_lines_and_restored_lines_were_not_removed(scene: Scene) -> None:
    base = base_commit(scene)
    first = scene.committed(base, at=20, app__py=text(*BASE[1:]))
    scene.committed(first, at=30, app__py=text(BASE[0], BASE[1], *BASE[4:], *BASE[2:4]))
    assert removed(scene, base) == []


def test_a_merge_removes_what_one_of_its_sides_removed(scene: Scene) -> None:
    base = base_commit(scene)
    side = scene.committed(base, at=20, checkout=False, app__py=text(*BASE[:4]))
    other = scene.committed(base, at=25, checkout=False, app__py=text("alpha_header = 1", *BASE))
    merge = scene.committed(other, side, at=30, app__py=text("alpha_header = 1", *BASE[:4]))
    assert [(line.line, line.commit) for line in removed(scene, base)] == [(5, side)]
    assert [(line.line, line.commit) for line in removed(scene, other)] in ([(6, merge)], [(6, side)])


def test_a_deleted_file_lost_every_line(scene: Scene) -> None:
    base = scene.committed(at=-100, app__py=text(*BASE), other__py="other_text = 1\n")
    gone = scene.committed(base, at=20, other__py="other_text = 1\n")
    lines = removed(scene, base, "HEAD")
    assert ([line.line for line in lines], {line.commit for line in lines}) == ([1, 2, 3, 4, 5], {gone})


def test_a_bracket_was_removed_by_the_call_that_removed_the_lines_around_it(scene: Scene) -> None:
    block = ["    for item in every_item:", "        }", "    settle_every(item)"]
    base = base_commit(scene, [*BASE, "    {", "        }", *block])
    after = [*BASE, "    {", "        }"]
    scene.edited("app.py", text(*after, *block), text(*after), at=10, head=base)
    scene.committed(base, at=20, app__py=text(*after))
    assert facts(removed(scene)) == [(8, [], "c10"), (9, [], "c10"), (10, [], "c10")]


def test_a_line_that_changed_before_it_was_removed_names_the_call_that_removed_it(scene: Scene) -> None:
    base = base_commit(scene)
    first = scene.committed(base, at=20, app__py=text(*BASE[:4], "    settle_account(user, currency)"))
    scene.edited("app.py", text(*BASE[:4], "    settle_account(user, currency)"), text(*BASE[:4]), at=30, head=first)
    scene.committed(first, at=40, app__py=text(*BASE[:4]))
    (line,) = removed(scene, base)
    assert (line.text, line.tool_call_id) == (BASE[4], "c30")
