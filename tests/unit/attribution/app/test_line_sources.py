"""The sources of the lines of many files at once are those that git blame names for each."""

import random
from pathlib import Path

import pytest

from custody.attribution.app import commit_messages
from custody.attribution.app.commit_texts import read_file_changes
from custody.attribution.app.line_sources import read_sources_of_lines
from custody.attribution.app.stats import compute_line_stats
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built, Files, a_repository

CLAUDE = b"Change it\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n"
Commits = dict[int, CommitSha]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


def by_git_blame(workspace: Workspace, head: CommitSha, path: RepoPath) -> Commits:
    sources = workspace.repository.line_sources(head, path)
    return {line: one.commit for one in sources for line in range(one.blamed.first, one.blamed.last + 1)}


def at_once(workspace: Workspace, head: CommitSha, paths: list[RepoPath], since: int = 0) -> dict[RepoPath, Commits]:
    repository = workspace.repository
    changes = read_file_changes(repository, head, since)
    found = read_sources_of_lines(repository, head, paths, changes)
    counts = {path: len(repository_lines(workspace, head, path)) for path in paths}
    return {
        path: {
            line: one.commit
            for one in sources
            for line in range(one.blamed.first, min(one.blamed.last, counts[path]) + 1)
        }
        for path, sources in found.items()
    }


def repository_lines(workspace: Workspace, head: CommitSha, path: RepoPath) -> list[bytes]:
    entries = workspace.repository.line_sources(head, path)
    return [b""] * max((one.blamed.last for one in entries), default=0)


def changed(chance: random.Random, text: bytes, number: int) -> bytes:
    """Return the text with some lines removed and some new ones; no two lines of a history are the same."""
    lines = text.splitlines(keepends=True)
    for n in range(chance.randint(1, 3)):
        at = chance.randint(0, len(lines))
        lines[at : at + chance.randint(0, 2)] = [b"line %d of commit %d\n" % (n, number)] * chance.randint(0, 1)
    return b"".join(lines) or b"only %d\n" % number


def random_history(built: Built, chance: random.Random) -> CommitSha:
    """Make commits on one or two branches with renames, deletions and merges; return the last one."""
    files: Files = {b"f%d.py" % n: b"".join(b"f%d line %d\n" % (n, k) for k in range(12)) for n in range(4)}
    tips = [(built.commit(files), files)]
    for number in range(chance.randint(4, 9)):
        at = chance.randrange(len(tips))
        parent, old = tips[at]
        new = dict(old)
        for name in chance.sample(sorted(new), k=min(2, len(new))):
            value = new[name]
            assert isinstance(value, bytes)
            new[name] = changed(chance, value, number)
        if chance.random() < 0.3:
            name = chance.choice(sorted(new))
            new[b"moved %d.py" % number] = new.pop(name)
        made = (built.commit(new, parent), new)
        if len(tips) == 1 and chance.random() < 0.5:
            tips.append(made)
        elif len(tips) > 1 and chance.random() < 0.4:
            both = {**tips[0][1], **tips[1][1]}
            tips = [(built.commit(both, tips[0][0], tips[1][0]), both)]
        else:
            tips[at] = made
    if len(tips) > 1:
        both = {**tips[0][1], **tips[1][1]}
        tips = [(built.commit(both, tips[0][0], tips[1][0]), both)]
    return tips[0][0]


@pytest.mark.parametrize("attempt", range(12))
def test_one_walk_names_the_commits_that_git_blame_names(built: Built, attempt: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    head = random_history(built, random.Random(seed))
    workspace = Workspace(built.path)
    with workspace.repository.tree(head, []) as entries:
        paths = [entry.path for entry in entries]
    found = at_once(workspace, head, paths)
    assert set(found) == set(paths), seed
    for path in paths:
        assert found[path] == by_git_blame(workspace, head, path), (seed, path)


def test_lines_older_than_the_commits_that_were_read_have_no_source(built: Built) -> None:
    first = built.commit({b"a.py": b"old 1\nold 2\n"}, at=1_700_000_000)
    head = built.commit({b"a.py": b"old 1\nnew\nold 2\n"}, first, at=1_700_009_000)
    path = RepoPath.of("a.py")
    assert at_once(Workspace(built.path), head, [path], since=1_700_005_000) == {path: {2: head}}


def test_a_content_that_a_partial_clone_lacks_costs_only_files_that_need_it(built: Built) -> None:
    lost = b"an old text of another file\n"
    first = built.commit({b"a.py": b"one\ntwo\n", b"lost.py": lost})
    second = built.commit({b"a.py": b"one\nsecond\ntwo\n", b"lost.py": lost + b"more\n"}, first)
    head = built.commit({b"a.py": b"one\nsecond\ntwo\nthird\n", b"lost.py": lost + b"more\n"}, second)
    built.lose(lost)
    paths = [RepoPath.of("a.py"), RepoPath.of("lost.py")]
    assert at_once(Workspace(built.path), head, paths) == {paths[0]: {1: first, 2: second, 3: first, 4: head}}


def test_stats_of_many_files_start_no_git_blame_and_count_the_same(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: Files = {b"f%d.py" % n: b"first %d\nlast %d\n" % (n, n) for n in range(9)}
    first = built.commit(texts)
    second = built.commit({name: b"first\nby claude %s\nlast\n" % name for name in texts}, first, message=CLAUDE)
    built.commit({name: b"first\nby claude %s\nby a person\nlast\n" % name for name in texts}, second)
    built.checkout()
    monkeypatch.setattr(commit_messages, "TOGETHER_MIN", 100)
    one_by_one = compute_line_stats(Workspace(built.path))
    monkeypatch.setattr(commit_messages, "TOGETHER_MIN", 0)
    monkeypatch.setattr("custody.git.blame.read_line_sources", pytest.fail)
    assert compute_line_stats(Workspace(built.path)) == one_by_one
    assert one_by_one.named_by_commit == 27
