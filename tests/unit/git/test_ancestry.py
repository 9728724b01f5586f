"""Ancestry: equal to following parents by hand, in three processes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.git import Ancestry, discover_repository
from custody.git.commit_log import filter_ancestor_pairs
from tests.builders.repo import NOON, Built, a_clone, a_history, a_repository

# Parents by position; each commit may have up to three earlier ones.
_GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        *(
            st.lists(st.integers(0, place - 1), max_size=3, unique=True) if place else st.just([])
            for place in range(size)
        )
    )
)


def ancestors_by_hand(parents: tuple[list[int], ...]) -> list[set[int]]:
    found: list[set[int]] = []
    for place, direct in enumerate(parents):
        found.append({place}.union(*(found[parent] for parent in direct)))
    return found


@given(_GRAPHS, st.data())
@settings(max_examples=40)
def test_any_history_with_any_clocks(shared: Built, parents: tuple[list[int], ...], data: st.DataObject) -> None:
    commits: list[CommitSha] = []
    for place, direct in enumerate(parents):
        at = NOON + data.draw(st.integers(-10, 10)) * 86_400  # clocks may go backwards
        commits.append(shared.commit({b"x": b"%d" % place}, *(commits[parent] for parent in direct), at=at))
    places = st.integers(0, len(commits) - 1)
    pairs = data.draw(st.lists(st.tuples(places, places), max_size=8))
    wanted = [Ancestry(commits[old], commits[new]) for old, new in pairs]
    truth = ancestors_by_hand(parents)
    true = {Ancestry(commits[old], commits[new]) for old, new in pairs if old in truth[new]}
    assert discover_repository(shared.path).ancestries(wanted) == true


@given(_GRAPHS)
def test_the_walk_ends_when_all_ancestors_are_reached(parents: tuple[list[int], ...]) -> None:
    names = [CommitSha(f"{place:040x}") for place in range(len(parents))]
    walk = [(names[place], tuple(names[p] for p in parents[place])) for place in reversed(range(len(parents)))]
    pairs = [Ancestry(old, new) for old in names for new in names]
    truth = ancestors_by_hand(parents)
    assert filter_ancestor_pairs(pairs, walk) == {
        Ancestry(names[old], names[new]) for new, olds in enumerate(truth) for old in olds
    }


def test_three_processes_for_any_number_of_pairs(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    commits = a_history(a_repository(tmp_path), *({b"x": b"%d" % n} for n in range(30)))
    repository = discover_repository(tmp_path)
    pairs = [Ancestry(old, new) for old in commits[:20] for new in commits]
    repository.ancestries(pairs[:1])  # the version of git is looked up once
    started.clear()
    assert len(repository.ancestries(pairs)) == sum(30 - place for place in range(20))
    assert len(started) == 3


def test_more_ancestors_than_are_searched_for_a_common_one(tmp_path: Path) -> None:
    commits = a_history(a_repository(tmp_path), *({b"x": b"%d" % n} for n in range(50)))
    pairs = [Ancestry(old, commits[40]) for old in commits]
    assert len(discover_repository(tmp_path).ancestries(pairs)) == 41


def test_missing_commits_have_no_ancestors(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "here")
    first, second, third = a_history(built, {b"x": b"1"}, {b"x": b"2"}, {b"x": b"3"})
    nowhere = CommitSha("1" * 40)
    blob = CommitSha(built.git("rev-parse", f"{first}:x").decode().strip())
    ask = discover_repository(built.path).ancestries
    true = Ancestry(first, third)
    assert ask([true, Ancestry(nowhere, third), Ancestry(first, nowhere), Ancestry(blob, third)]) == {true}
    assert ask([Ancestry(nowhere, nowhere)]) == ask([Ancestry(first, nowhere)]) == ask([]) == frozenset()
    clone = a_clone(built, tmp_path / "clone", "--depth=2")
    assert discover_repository(clone.path).ancestries([true, Ancestry(second, third)]) == {Ancestry(second, third)}


def test_invalid_ids_are_input_errors(tmp_path: Path) -> None:
    (commit,) = a_history(a_repository(tmp_path), {b"x": b"1"})
    for bad in (Ancestry(commit, CommitSha("--all")), Ancestry(CommitSha("--all"), commit)):
        with pytest.raises(InputError):
            discover_repository(tmp_path).ancestries([bad])
