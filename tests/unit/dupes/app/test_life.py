"""The life of a change in a real repository: pushes, names, states, and what explains its matches."""

from pathlib import Path

import pytest

from custody.core.ids import CommitSha
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.dupes.app.labels import dupes_label
from custody.dupes.app.select import find_indexed_change
from custody.dupes.model import ChangeRow
from custody.dupes.queries import DupesTables
from custody.dupes.wire import DupesEvidence
from custody.gate.app.gate import GateRequest, gate
from tests.unit.dupes.app.test_dupes import BASE, INDEX, RETRY, RETRY_WITH_LOG, STRICT, World

BEN = b"Ben <ben@example.invalid>"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repo")


def find(world: World, name: str) -> ChangeRow:
    with world.workspace.reading() as store:
        return find_indexed_change(store, name)


def evidence(world: World, head: str, base: str = "main") -> dict[str, DupesEvidence]:
    return {item.evidence.other.head: item.evidence for item in world.check(head, base).suggestions}


def relations(world: World, head: str, base: str = "main") -> dict[str, list[str]]:
    found = evidence(world, head, base)
    assert not any(item.duplicate for item in found.values() if item.relations)
    return {other: [relation.relation for relation in item.relations] for other, item in found.items()}


def test_a_new_push_supersedes_the_earlier_one(world: World) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    world.index()
    second = world.propose(1, {b"src/app.py": RETRY_WITH_LOG}, "Retry step 3")
    assert evidence(world, second) == {}, "its earlier push is known by the ref, before it is indexed"
    world.index()
    assert (find(world, "#1").head, find(world, first).superseded_by) == (second, find(world, second).id)
    assert evidence(world, second) == {}
    assert dupes_cluster(world.workspace, (), with_landed=True).clusters == []
    world.built.git("update-ref", "refs/pull/1/head", first)
    world.index()
    assert (find(world, "#1").head, find(world, first).superseded_by) == (first, 0)


def test_one_head_with_several_names_is_one_change(world: World) -> None:
    head = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    world.index()
    for name in ("refs/heads/topic", "refs/remotes/origin/topic"):
        world.built.git("update-ref", name, head)
    assert dupes_index(world.workspace, INDEX).indexed == 0
    assert {find(world, name).head for name in ("#1", "topic", "origin/topic")} == {head}
    assert evidence(world, "topic") == {}
    world.propose(1, {b"src/app.py": RETRY_WITH_LOG}, "Retry step 3")
    world.index()
    assert find(world, head).superseded_by == 0, "another name still has it"


def test_changes_are_open_closed_or_merged(world: World) -> None:
    merged = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3", on=world.main)
    squashed = world.propose(2, {b"src/parser.py": STRICT}, "Refuse NaN")
    closed = world.propose(3, {b"src/extra.py": b"extra = compute_extra()\n"}, "Add extra")
    world.propose(4, {b"src/open.py": b"open_it = compute_open()\n"}, "Add open")
    world.index()
    merge = world.built.commit({**BASE, b"src/app.py": RETRY}, world.main, merged, message=b"Merge it")
    squash = world.built.commit({**BASE, b"src/app.py": RETRY, b"src/parser.py": STRICT}, merge, message=b"NaN (#2)")
    world.built.git("update-ref", "-d", "refs/pull/3/head")
    world.index()
    states = {number: (find(world, f"#{number}").state, find(world, f"#{number}").merged) for number in range(1, 5)}
    assert states == {1: ("merged", merge), 2: ("merged", squash), 3: ("closed", ""), 4: ("open", "")}
    assert find(world, closed).head == closed
    assert relations(world, merged)[merge] == ["already merged as"]
    assert relations(world, merge, f"{merge}^")[merged] == ["merge of"]
    assert relations(world, squashed)[squash] == ["already merged as"]


def test_what_was_merged_from_main_is_not_part_of_a_change(world: World) -> None:
    topic = world.built.commit({**BASE, b"a.py": b"a = 1\n"}, world.root, message=b"Add a", ref="refs/pull/1/head")
    files = {**BASE, b"LICENSE": b"free\n", b"a.py": b"a = 1\n"}
    world.built.commit(files, topic, world.main, message=b"Merge branch 'main' into topic", ref="refs/pull/1/head")
    other = world.built.commit({**BASE, b"b.py": b"b = 2\n"}, world.root, message=b"Add b", ref="refs/pull/2/head")
    files = {**BASE, b"LICENSE": b"free\n", b"b.py": b"b = 2\n"}
    world.built.commit(files, other, world.main, message=b"Merge branch 'main' into other", ref="refs/pull/2/head")
    world.index()
    assert (find(world, "#1").base, find(world, "#1").title) == (world.main, "Add a")
    assert evidence(world, "refs/pull/1/head") == {}


def test_stacks_squashes_and_copies_differ_from_both_sides(world: World) -> None:
    base = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    above = world.propose(2, {b"src/app.py": RETRY_WITH_LOG}, "Log it", on=base)
    copy = world.built.commit(
        {**BASE, b"src/app.py": RETRY}, world.root, message=b"Robust", author=BEN, ref="refs/pull/3/head"
    )
    world.index()
    assert relations(world, above)[base] == ["stacked on"]
    assert relations(world, base)[above] == ["base of"]
    assert evidence(world, base)[copy].duplicate
    squash = world.built.commit({**BASE, b"LICENSE": b"free\n", b"src/app.py": RETRY}, world.main, message=b"Bring it")
    world.index()
    assert relations(world, base)[squash] == ["already merged as"]
    assert relations(world, squash, f"{squash}^")[base] == ["merge of"]
    assert evidence(world, copy)[squash].duplicate, "another author repeats what is on main"


def test_the_answer_of_a_person_binds_its_pair_at_once_but_not_the_gate(world: World) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)
    far = world.propose(3, {b"src/parser.py": STRICT}, "Refuse NaN")
    world.index()
    dupes_label(world.workspace, "#1", "#2", "different", actor="ana", reason=None)
    item = evidence(world, second)[first]
    assert (item.duplicate, item.category, item.answer is not None and item.answer.actor) == (
        False,
        "SAME_CHANGE",
        "ana",
    )
    assert dupes_cluster(world.workspace, (), with_landed=False).clusters == []
    reasons = gate(world.workspace, GateRequest(change=f"main..{second}")).reasons
    assert any(reason.code == "DUPE-SAME" for reason in reasons)
    dupes_label(world.workspace, "#2", "#1", "duplicate", actor="ben", reason=None)
    again = evidence(world, second)[first]
    assert (again.duplicate, again.chance) == (True, 1.0)
    assert again.answer is not None and (again.answer.actor, again.answer.disputed) == ("ben", True)
    dupes_label(world.workspace, "#3", "#1", "duplicate", actor="ana", reason=None)
    assert evidence(world, far)[first].duplicate, "an answered pair is compared even if nothing is similar"
    (cluster,) = dupes_cluster(world.workspace, (), with_landed=False).clusters
    assert {member.change.head for member in cluster.members} == {first, second, far}


def test_an_answer_about_a_change_that_is_gone_does_no_harm(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)
    world.index()
    dupes_label(world.workspace, "#1", "#2", "duplicate", actor="ana", reason=None)
    world.built.git("update-ref", "-d", "refs/pull/1/head")
    dupes_index(world.workspace, IndexRequest(workers=1, rebuild=True))
    assert evidence(world, second) == {}
    assert dupes_cluster(world.workspace, (), with_landed=False).clusters == []


def test_an_empty_change_has_no_duplicate(world: World) -> None:
    empty = world.built.commit(BASE, world.root, message=b"Retry step 3", ref="refs/heads/empty")
    world.built.commit(BASE, world.root, message=b"Retry step 3", author=BEN, ref="refs/heads/again")
    report = world.index().check(empty, str(world.root))
    assert (report.suggestions, report.outcome) == ([], "fine")


def test_a_branch_that_is_checked_out_is_not_main(world: World) -> None:
    head = world.built.commit({**BASE, b"src/app.py": RETRY}, world.root, message=b"Retry", ref="refs/heads/topic")
    world.built.checkout("topic")
    world.index()
    assert (find(world, "topic").head, find(world, "topic").on_main) == (head, False)
    with world.workspace.reading() as store:
        on_main = {row.head for row in DupesTables(store).iterate_changes() if row.on_main}
    assert on_main == {world.root, world.main}


def test_a_merged_branch_is_checked_as_it_was_before_the_merge(world: World) -> None:
    head = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    merge = world.built.commit(
        {**BASE, b"LICENSE": b"free\n", b"src/app.py": RETRY}, world.main, head, message=b"Merge"
    )
    world.index()
    report = world.check(head)
    assert (report.this.base, report.outcome) == (world.root, "fine")
    assert [item.evidence.other.head for item in report.suggestions] == [CommitSha(merge)]
