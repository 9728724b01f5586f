"""``custody dupes`` as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

CODE = b"".join(b"def step_%d(state):\n    return state.advance(%d)\n\n\n" % (n, n) for n in range(6))
RETRY = CODE.replace(b"return state.advance(3)", b"for attempt in range(state.retry_limit):\n        state.advance(3)")


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """Two pull requests with the same diff on different bases."""
    built = a_repository(tmp_path / "repo")
    root = built.commit({b"src/app.py": CODE})
    main = built.commit({b"src/app.py": CODE, b"LICENSE": b"free\n"}, root)
    built.commit({b"src/app.py": RETRY}, root, message=b"Retry step 3", ref="refs/pull/1/head")
    built.commit({b"src/app.py": RETRY, b"LICENSE": b"free\n"}, main, message=b"Make it robust", ref="refs/pull/2/head")
    return built


def test_index_check_show_label_cluster(built: Built) -> None:
    indexed = custody(built.path, "dupes", "index", "--workers", "1")
    assert (indexed.status, indexed.out) == (0, "Indexed 4 changes, 0 already indexed; 4 in total\n")
    again = custody(built.path, "dupes", "index", "--json", "--workers", "1")
    assert json.loads(again.out)["known"] == 4

    checked = custody(built.path, "dupes", "check", "main..refs/pull/2/head")
    assert checked.status == 1
    assert "refs/pull/1/head 'Retry step 3'" in checked.out
    assert "SAME_CHANGE" in checked.out
    report = json.loads(custody(built.path, "dupes", "check", "main..refs/pull/2/head", "--json").out)
    evidence = report["suggestions"][0]

    shown = custody(built.path, "dupes", "show", evidence["evidence"]["this"]["head"][:10])
    assert shown.status == 0
    assert "replay with the index as of change 4: same" in shown.out

    labelled = custody(built.path, "dupes", "label", "#1", "#2", "duplicate", "--actor", "ana")
    assert (labelled.status, "1 of 20 answers needed" in labelled.out) == (0, True)
    clusters = json.loads(custody(built.path, "dupes", "cluster", "--json").out)
    assert [len(cluster["members"]) for cluster in clusters["clusters"]] == [2]


def test_a_bare_mirror_is_indexed_from_outside(built: Built, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror.git"
    built.git("clone", "--quiet", "--mirror", ".", str(mirror))
    done = custody(
        tmp_path, "dupes", "index", "--repo", str(mirror), "--refs", "refs/pull/*/head", "--no-commits", "--json"
    )
    assert json.loads(done.out)["indexed"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "main"), "the index of changes is empty"),
        (("check", "nowhere..main"), "name a commit, branch or tag"),
        (("check",), "name a change to check"),
        (("show", "zz"), "invalid evidence id 'zz'"),
        (("index", "--refs", "pull/*"), "invalid ref pattern 'pull/*'"),
    ],
)
def test_errors_name_the_problem(built: Built, arguments: tuple[str, ...], message: str) -> None:
    done = custody(built.path, "dupes", *arguments)
    assert done.status == 2
    assert message in done.err
    assert done.out == ""
