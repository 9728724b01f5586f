"""Stored origins: a new commit costs what it changed, and late records give the answers of a fresh store."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame import blame
from custody.attribution.app.commit_texts import find_last_touches
from custody.attribution.app.history import History
from custody.attribution.app.stats import compute_line_stats
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.wire.report import encode_report
from custody.git import Comparison, discover_repository
from tests.builders.events import an_event
from tests.builders.lines import SESSION, Scene, an_edit_event, moment, text
from tests.builders.repo import NOON, a_repository

EARLY = text("import alpha_module", "price = read_price(source)")
OLD = EARLY + text("print_the_price(price)")
DISCOUNT = text("def discount_of(prices, percent):", "    return total_of(prices) * percent", "", "x")
TAX = text("def tax_of(prices, country):", "    return rates_of(country) * total_of(prices)")
REPORT = text("def report_on(prices):", "    print_table(sorted(prices))")
REWORDED = DISCOUNT.replace("* percent", "* percent / hundred")
DAY = 86_400


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return commits that add, reword, move between files, rename and merge lines of several agents."""
    made = Scene(tmp_path / "repository")
    base = made.committed(at=-20 * DAY, a__py=OLD)
    first = made.committed(base, at=100, a__py=OLD + DISCOUNT)
    second = made.committed(first, at=200, a__py=OLD + REWORDED, b__py=TAX)
    moved = made.committed(second, at=300, a__py=OLD, b__py=TAX + REWORDED)
    side = made.committed(moved, at=350, a__py=OLD + REPORT, b__py=TAX + REWORDED)
    renamed = made.committed(moved, at=360, a__py=OLD, c__py=TAX + REWORDED)
    made.committed(side, renamed, at=400, a__py=OLD + REPORT, c__py=TAX + REWORDED)
    return made


def events() -> list[bytes]:
    """Return the records of the agents, oldest first; the last but one is about text from before everything else."""
    return [
        an_edit_event("a.py", OLD, OLD + DISCOUNT, at=10),
        an_edit_event("a.py", OLD + DISCOUNT, OLD + REWORDED, at=150, session="s2"),
        an_edit_event("notes.py", None, TAX, at=160, session="s3"),
        an_edit_event("b.py", None, TAX, at=170, session="s4"),
        an_edit_event("a.py", OLD, OLD + REPORT, at=310, session="s5"),
        an_event("session", session=SESSION, model="maker/model-1", at=moment(1)),
        an_edit_event("a.py", None, EARLY, at=-20 * DAY - 10, session="s6", id="early"),
        an_edit_event("other.py", None, DISCOUNT + REPORT, at=305, session="s7"),
    ]


def ask(scene: Scene) -> list[Any]:
    """Return the answers about every file of several commits, without the names of records."""
    found = []
    for revision in ("HEAD", "HEAD~2"):
        names = scene.built.git("ls-tree", "--name-only", revision).decode().split()
        found += [json.loads(encode_report(blame(scene.workspace, name, revision=revision).report)) for name in names]
        found.append(json.loads(encode_report(compute_line_stats(scene.workspace, revision=revision))))
    return [_without_records(answer) for answer in found]


def _without_records(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_records(part) for name, part in value.items() if name != "records"}
    return [_without_records(part) for part in value] if isinstance(value, list) else value


def ask_fresh(scene: Scene, recorded: Sequence[bytes]) -> list[Any]:
    shutil.rmtree(scene.built.path / ".git" / "custody", ignore_errors=True)
    return ask(scene.saw(*recorded))


def splits(count: int) -> Iterator[tuple[int, ...]]:
    """Yield which records are late: each alone, some pairs, and all but the first or the last."""
    yield from combinations(range(count), 1)
    yield from random.Random().sample([*combinations(range(count), 2)], 2)
    yield tuple(range(1, count))
    yield tuple(range(count - 1))


def test_answers_after_a_late_import_are_those_of_a_fresh_store(scene: Scene) -> None:
    fresh = ask_fresh(scene, events())
    assert {attribution["class"] for answer in fresh for attribution in answer.get("attributions", ())} >= {
        "agent",
        "none",
    }
    for late in splits(len(events())):
        ask_fresh(scene, [event for n, event in enumerate(events()) if n not in late])
        scene.saw(*(events()[n] for n in late))
        assert ask(scene) == fresh, f"late: {late}"
        assert ask(scene) == fresh, f"asked again, late: {late}"


WITHOUT_REPLAY = {
    "words of the same file": an_edit_event("a.py", None, text("    return total_of(prices) * percent / 100"), at=150),
    "lines of another file": an_edit_event("notes.py", None, TAX, at=160, session="s3"),
    "a time before all others": an_edit_event("unrelated.py", None, text("nothing = here()"), at=-20 * DAY - 10),
}
"""Records of files without a state: they change answers, and no state has to be replayed."""


def test_late_records_of_files_without_any_count_as_well(scene: Scene) -> None:
    first = an_edit_event("first.py", None, text("first_of_all = 1"), at=5, session="s0")
    nothing = ask_fresh(scene, [first])
    for what, late in WITHOUT_REPLAY.items():
        fresh = ask_fresh(scene, [first, late])
        assert fresh != nothing, what
        ask_fresh(scene, [first])
        scene.saw(late)
        assert ask(scene) == fresh, what


def test_a_commit_costs_only_the_files_that_it_changed(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[CommitSha, RepoPath]] = []
    real = History._make_version

    def make_version(self: History, walk: Any, commit: CommitSha) -> None:
        made.append((commit, walk.path))
        real(self, walk, commit)

    monkeypatch.setattr(History, "_make_version", make_version)
    scene.saw(*events())
    compute_line_stats(scene.workspace)
    assert {str(path) for _, path in made} >= {"a.py", "c.py"}
    made.clear()
    compute_line_stats(scene.workspace)
    assert made == []
    head = scene.built.git("rev-parse", "HEAD").decode().strip()
    new = scene.committed(CommitSha(head), at=500, a__py=OLD + REPORT + "added = by(a_person)\n", c__py=TAX + REWORDED)
    compute_line_stats(scene.workspace)
    assert made == [(new, RepoPath(b"a.py"))]


def test_a_record_costs_only_the_commits_that_it_may_explain(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.saw(*events())
    ask(scene)
    made: list[CommitSha] = []
    real = History._make_version

    def make_version(self: History, walk: Any, commit: CommitSha) -> None:
        made.append(commit)
        real(self, walk, commit)

    monkeypatch.setattr(History, "_make_version", make_version)
    scene.edited("unrelated.py", None, text("something_entirely = different()"), at=600, session="s8")
    compute_line_stats(scene.workspace)
    assert made == []
    # A day after the last commit: outside the time window of every commit.
    scene.edited("a.py", OLD + REPORT, OLD + REPORT + "later = 1\n", at=400 + DAY, session="s8")
    compute_line_stats(scene.workspace)
    assert made == []


def test_the_last_commit_of_a_file_is_the_one_that_git_finds(tmp_path: Path) -> None:
    chance = random.Random()
    for number in range(4):
        built = a_repository(tmp_path / f"repository-{number}")
        trees: dict[CommitSha, dict[bytes, bytes]] = {}
        for n in range(25):
            parents = tuple(chance.sample(sorted(trees), min(len(trees), chance.choice((1, 1, 1, 2, 2, 3)))))
            files = dict(trees[parents[0]]) if parents else {}
            for parent in parents[1:]:
                files.update(item for item in trees[parent].items() if chance.random() < 0.5)
            for _ in range(chance.randrange(3)):
                name = b"%d.py" % chance.randrange(6)
                files[name] = b"%d\n" % chance.randrange(3)
                if chance.random() < 0.2:
                    del files[name]
            trees[built.commit(files, *parents, at=NOON + 60 * n)] = files
        repository = discover_repository(built.path)
        with repository.log(sorted(trees)) as log:
            commits = list(log)
        pairs: list[tuple[CommitSha, CommitSha | None]] = [
            (commit.id, parent) for commit in commits for parent in commit.parents or (None,)
        ]
        changed: dict[CommitSha, dict[CommitSha | None, set[RepoPath]]] = {}
        with repository.changes([Comparison(*pair) for pair in pairs], renames=False) as answers:
            for (commit, former), answer in zip(pairs, answers, strict=True):
                changed.setdefault(commit, {})[former] = {file.path for file in answer.files}
        for head in trees:
            touches = find_last_touches(head, changed)
            for path in (RepoPath(b"%d.py" % n) for n in range(6)):
                found = built.git("rev-list", "-1", head, "--", str(path)).decode().strip()
                assert touches.get(path, "") == found, (head, path)
