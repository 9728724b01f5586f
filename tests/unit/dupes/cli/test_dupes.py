"""``custody dupes`` as a user runs it."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.dupes.cli import render_duplicates
from custody.dupes.wire import (
    ChangeRefReport,
    DupesCheckReport,
    DupesEvidence,
    DuplicateSuggestion,
    OverlapReport,
    RelationReport,
    SharedLinesReport,
    SharedNamesReport,
)
from custody.terminal.screen import Screen, text_columns
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
    assert checked.out.splitlines()[:-1] == [
        "! LIKELY DUPLICATE  #1 'Retry step 3' (98 %)",
        "",
        "  here      src/app.py:14-15",
        "  there     src/app.py:14-15",
        "  same      3 lines, 1 file; names step_3",
        "  status    not on main, last commit 2023-11-14",
        "",
        "compared 2 of 2 candidates among 4 indexed changes",
    ]
    assert "SAME_CHANGE" in custody(built.path, "dupes", "check", "main..refs/pull/2/head", "-v").out
    report = json.loads(custody(built.path, "dupes", "check", "main..refs/pull/2/head", "--json").out)
    evidence = report["suggestions"][0]

    shown = custody(built.path, "dupes", "show", evidence["evidence"]["this"]["head"][:10])
    assert shown.status == 0
    assert "replay with the index as of change 4: same" in shown.out

    labelled = custody(built.path, "dupes", "label", "#1", "#2", "duplicate", "--actor", "ana")
    assert (labelled.status, "1 of 20 answers needed" in labelled.out) == (0, True)
    clusters = json.loads(custody(built.path, "dupes", "cluster", "--json").out)
    assert [len(cluster["members"]) for cluster in clusters["clusters"]] == [2]


def make_suggestion(says: str, **changes: object) -> DuplicateSuggestion:
    """Return a suggestion with evidence as the search reports it."""
    this = ChangeRefReport(
        base="a" * 40, head="b" * 40, name="", title="", opened="2026-03-03T09:00:00Z", on_main=False
    )
    evidence = DupesEvidence(
        this=this,
        other=replace(this, head="5424ca8" + "0" * 33, title="Read prices as people type them", on_main=True),
        says=says,
        category="NOT_RELATED",
        rule="final score 0.09, below 0.3",
        prod_score=0.1,
        final_score=0.09,
        signals={},
        exact=[],
        chance=0.68,
        low=0.57,
        account=[],
        relations=[RelationReport("already on main", "the other was merged there after its base")],
        overlap=None,
        overlap_missing="the commit is gone",
        as_of=1,
        terms=[],
        shared_weight=1,
        signature_version="1",
        model_version="1",
        rules_digest="",
    )
    return DuplicateSuggestion(id="8e6bfecb2638" + "0" * 52, evidence=replace(evidence, **changes))


def render(screen: Screen, *suggestions: DuplicateSuggestion, verbose: bool = False, **changes: object) -> list[str]:
    report = DupesCheckReport(
        outcome="fine",
        this=make_suggestion("nothing").evidence.this,
        suggestions=list(suggestions),
        nearest=None,
        candidates=10,
        compared=10,
        changes=12,
        notes=[],
        profile="fitted",
        rules_digest="",
    )
    lines = render_duplicates(replace(report, **changes), screen, verbose=verbose)
    return [screen.render(part) for line in lines for part in screen.wrap(line)]


@pytest.mark.parametrize("says", ["duplicate", "competing", "related, not sure"])
@pytest.mark.parametrize("columns", [20, 39, 40, 80, 120])
def test_an_answer_fits_the_terminal_and_loses_no_word(columns: int, says: str) -> None:
    suggestion = make_suggestion(says)
    lines = render(Screen(columns=columns, rows=24, is_terminal=True), suggestion, verbose=True)
    assert max(map(text_columns, lines)) <= columns
    assert "".join(" ".join(lines).split()) == "".join(" ".join(render(Screen(), suggestion, verbose=True)).split())


def test_one_word_and_one_probability_describe_a_possible_relation() -> None:
    suggestion = make_suggestion("related, not sure")
    text = "\n".join(render(Screen(), suggestion))
    assert text.startswith("possibly related (68 %): 5424ca8 'Read prices as people type them'\n")
    assert text.count("%") == 1
    assert "NOT_RELATED" not in text
    assert "final score" not in text
    details = "\n".join(render(Screen(), suggestion, verbose=True))
    assert "category  NOT_RELATED: final score 0.09, below 0.3" in details
    assert "probability at least 57 %" in details


def test_the_strongest_verdict_is_the_first_line() -> None:
    lines = render(Screen(), make_suggestion("related, not sure"), make_suggestion("duplicate", chance=0.91))
    assert lines[0] == "! LIKELY DUPLICATE  5424ca8 'Read prices as people type them' (91 %)"
    assert lines[-1] == "hint: custody dupes show 8e6bfecb2638 shows the evidence of the first"


def test_names_of_tests_are_counted_and_not_listed() -> None:
    nothing = SharedNamesReport([], 0)
    overlap = OverlapReport(
        files=SharedNamesReport(["a.py"], 1),
        folders=nothing,
        symbols=SharedNamesReport(["parse", "test_parse", "a", "b", "c"], 7),
        exports=nothing,
        tests=SharedNamesReport(["test parse"], 1),
        headings=nothing,
        blocks=nothing,
        references=nothing,
        places=[SharedLinesReport("-", "a.py", 3, "b.py", 9, 1)],
        lines=1,
        shingles=None,
        contained=None,
        contains=None,
    )
    lines = render(Screen(), make_suggestion("competing", overlap=overlap))
    assert lines[2:5] == [
        "  here      a.py:3 (removed)",
        "  there     b.py:9 (removed)",
        "  same      1 line, 1 file, 1 test name; names parse, a, b and 3 more",
    ]


def test_no_duplicate_is_the_first_line_and_the_nearest_change_the_last() -> None:
    near = make_suggestion("nothing", chance=0.12)
    assert render(Screen(), nearest=near) == [
        "✓ no duplicate found",
        "",
        "compared 10 of 10 candidates among 12 indexed changes",
        "nearest (12 %): 5424ca8 'Read prices as people type them'",
    ]
    assert render(Screen(has_unicode=False))[0] == "ok no duplicate found"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("refs/pull/402/head", "#402"),
        ("refs/merge-requests/7/head", "#7"),
        ("refs/heads/refunds/partial", "refunds/partial"),
        ("refs/remotes/origin/topic", "origin/topic"),
        ("main..topic", "5424ca8"),
    ],
)
def test_a_change_is_named_as_people_name_it(name: str, shown: str) -> None:
    other = replace(make_suggestion("duplicate").evidence.other, name=name)
    first = render(Screen(), make_suggestion("duplicate", other=other))[0]
    assert first == f"! LIKELY DUPLICATE  {shown} 'Read prices as people type them' (68 %)"


def test_a_check_without_an_index_makes_it_first(built: Built) -> None:
    first = custody(built.path, "dupes", "check", "main..refs/pull/2/head", "--json")
    assert (first.status, first.err) == (1, "")
    report = json.loads(first.out)
    assert (report["changes"], report["suggestions"][0]["evidence"]["other"]["name"]) == (4, "refs/pull/1/head")
    again = json.loads(custody(built.path, "dupes", "index", "--json").out)
    assert (again["known"], again["indexed"]) == (4, 0)


def test_a_check_without_any_commit_finds_no_duplicate(tmp_path: Path) -> None:
    empty = a_repository(tmp_path / "empty")
    (empty.path / "new.py").write_bytes(CODE)
    done = custody(empty.path, "dupes", "check", "--worktree", "--json")
    assert (done.status, json.loads(done.out)["changes"]) == (0, 0)


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
        (("check", "nowhere..main"), "name a commit, branch or tag"),
        (("check",), "name a change to check"),
        (("show", "zz"), "invalid evidence id 'zz'"),
        (("index", "--refs", "pull/*"), "invalid ref pattern 'pull/*'"),
        (("index", "--refs", "refs/heads/[ab]*"), "no ref matches 'refs/heads/[ab]*'"),
    ],
)
def test_errors_name_the_problem(built: Built, arguments: tuple[str, ...], message: str) -> None:
    done = custody(built.path, "dupes", *arguments)
    assert done.status == 2
    assert message in done.err
    assert done.out == ""
