"""Where a change begins: the merge base, without what its branch merged from main."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import CommitSha
from custody.dupes.history import ChangeHistory, Graph


def a_graph(text: str) -> Graph:
    """Return a graph from ``child:parent,parent`` words, children last."""
    rows = [word.partition(":") for word in reversed(text.split())]
    return {CommitSha(child): tuple(map(CommitSha, filter(None, parents.split(",")))) for child, _, parents in rows}


def fork(text: str, head: str, *tips: str) -> str | None:
    return ChangeHistory(a_graph(text), map(CommitSha, tips)).find_fork(CommitSha(head))


def own(text: str, head: str, *tips: str, limit: int = 32) -> list[str]:
    return list(ChangeHistory(a_graph(text), map(CommitSha, tips)).list_own_commits(CommitSha(head), limit))


UPDATED = "1: 2:1 3:2 4:3 a:1 b:a,3 c:b"
"""A branch from 1 that merged main at 3."""


def test_what_was_merged_from_main_is_not_part_of_the_change() -> None:
    assert fork(UPDATED, "c", "4") == "3"
    assert own(UPDATED, "c", "4") == ["c", "b", "a"]


def test_a_merged_change_is_compared_with_main_as_it_was_before_the_merge() -> None:
    merged = f"{UPDATED} 5:4,c 6:5"
    assert fork(merged, "c", "6") == "3"
    assert own(merged, "c", "6") == ["c", "b", "a"]
    assert fork(merged, "5", "6") == "4"
    assert own(merged, "5", "6") == ["5"]


def test_a_stack_whose_base_was_merged_begins_at_its_base() -> None:
    stack = "1: 2:1 a:1 b:a 3:2,a 4:3"
    assert fork(stack, "b", "4") == "a"
    assert fork("1: 2:1 a:1 b:a 3:2", "b", "3") == "1"


def test_a_branch_from_a_commit_that_main_has_beside_its_line_begins_there() -> None:
    assert fork("1: x:1 2:1 3:x,2 a:2", "a", "3") == "2"


def test_main_never_becomes_part_of_a_stack_that_merged_it() -> None:
    assert fork("1: a:1 b:a 2:1 c:b,2 3:2,a 4:3", "c", "4") in ("2", "a")
    assert fork("1: a:1 b:a 2:1 3:2,a 4:3 c:b,4", "c", "4") == "4"


def test_the_first_commit_names_the_change_and_merges_never_do() -> None:
    assert own(UPDATED, "c", "4", limit=2) == ["c", "a"]
    assert own("1: 2:1 a:1,2 b:a", "b", "2") == ["b", "a"]


def test_a_release_line_owns_what_main_lacks() -> None:
    history = ChangeHistory(a_graph("1: 2:1 r:1 s:r a:s b:1"), map(CommitSha, ("2", "s")))
    assert [history.find_line(CommitSha(sha)) for sha in ("1", "2", "r", "s", "a")] == ["2", "2", "s", "s", None]


def test_unrelated_histories_have_no_fork() -> None:
    assert fork("1: a: b:a", "b", "1") is None


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, CommitSha, CommitSha]:
    """Return a graph, the tip of main and the head of a branch."""
    count = draw(st.integers(2, 12))
    names = [CommitSha(f"{number:02}") for number in range(count)]
    parents = [
        tuple(dict.fromkeys(draw(st.lists(st.sampled_from(names[:at]), min_size=1, max_size=2)))) if at else ()
        for at in range(count)
    ]
    graph = dict(reversed(list(zip(names, parents, strict=True))))
    return graph, draw(st.sampled_from(names)), draw(st.sampled_from(names))


def ancestors(graph: Graph, commit: CommitSha) -> set[CommitSha]:
    found, ends = {commit}, [commit]
    while ends:
        fresh = set(graph[ends.pop()]) - found
        found |= fresh
        ends += fresh
    return found


@given(graphs())
def test_an_open_change_begins_on_main_and_its_commits_are_what_main_lacks(
    drawn: tuple[Graph, CommitSha, CommitSha],
) -> None:
    graph, tip, head = drawn
    main = ancestors(graph, tip)
    if head in main:
        return
    history = ChangeHistory(graph, [tip])
    base = history.find_fork(head)
    assert base in main & ancestors(graph, head)
    assert set(history.list_own_commits(head, 99)) == ancestors(graph, head) - main
    newer = [sha for sha in main & ancestors(graph, head) if sha != base and base in ancestors(graph, sha)]
    assert not newer, "a common ancestor that is newer than the base would be part of the change"
