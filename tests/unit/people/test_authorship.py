"""``custody author``: it explains lines, follows their text, and is never evidence in a verdict or against an agent."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.attribution.app.blame import blame
from custody.attribution.app.stats import compute_line_stats
from custody.gate.app.gate import GateRequest, gate
from custody.people.authorship import AuthorRequest, record_author
from custody.workspace.workspace import Workspace
from tests.builders.in_process import custody
from tests.builders.judged import Judged
from tests.builders.repo import Built, a_repository

TEXT = (
    b"def total(prices):\n    result = sum(prices)\n    return result\n\n\ndef tax(amount):\n    return amount * 0.2\n"
)


@pytest.fixture
def built(tmp_path: Path) -> Built:
    built = a_repository(tmp_path / "repository")
    built.commit({b"a.py": TEXT})
    built.checkout()
    return built


def classes(workspace: Workspace, path: str = "a.py", revision: str | None = None) -> list[tuple[str, int, int, str]]:
    result = blame(workspace, path, revision=revision)
    return [(block.kind, block.start_line, block.end_line, block.certainty) for block in result.report.attributions]


def test_a_statement_explains_its_lines_once_and_no_others(built: Built) -> None:
    workspace = Workspace(built.path)
    request = AuthorRequest(place="a.py:1-3", person="ana", message="typed")
    first, again = record_author(workspace, request), record_author(workspace, request)
    assert first.record is not None and again.record is None
    assert classes(workspace) == [("person", 1, 3, "likely"), ("none", 4, 7, "unknown")]
    (block,) = [each for each in blame(workspace, "a.py").report.attributions if each.kind == "person"]
    assert (block.grade, block.agent, block.session_id, block.reason) == ("claimed", None, None, None)
    assert block.said_by and (block.said_by[0].person, block.said_by[0].message) == ("ana", "typed")
    stats = compute_line_stats(workspace)
    assert (stats.totals.person, stats.self_reported, stats.totals.agent) == (3, 3, 0)


def test_a_statement_follows_its_text(built: Built) -> None:
    workspace = Workspace(built.path)
    record_author(workspace, AuthorRequest(place="a.py:1-3", person="ana"))
    moved = TEXT.splitlines(keepends=True)
    built.commit({b"b.py": b"".join([b"import sys\n", *moved[3:], *moved[:3]])}, built.head())
    built.checkout()
    assert ("person", 6, 8, "likely") in classes(workspace, "b.py")
    built.commit({b"b.py": TEXT.replace(b"sum(prices)", b"sum(prices) + 1")}, built.head())
    built.checkout()
    assert [kind for kind, first, last, _ in classes(workspace, "b.py") if first <= 2 <= last] == ["none"]


def test_committed_files_and_files_on_disk_can_be_named(built: Built) -> None:
    workspace = Workspace(built.path)
    (built.path / "a.py").unlink()
    assert record_author(workspace, AuthorRequest(place="a.py:6-7", person="ana")).lines == 2
    (built.path / "new.py").write_text("value = compute_everything(1)\n")
    assert record_author(workspace, AuthorRequest(place="new.py", person="ana")).lines == 1
    assert classes(workspace, "new.py") == [("person", 1, 1, "likely")]
    assert record_author(workspace, AuthorRequest(place="a.py", revision="HEAD", person="bob")).lines == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.py:90"], "'a.py' has no line 90"),
        (["a.py:3-1"], "invalid line range 3,1"),
        (["a.py:0"], "invalid line range 0,0"),
        (["a.py:4-5"], "are blank"),
        (["a.py:1", "gone"], "unknown revision"),
        (["gone.py"], "cannot find 'gone.py'"),
        (["../x:1"], "x"),
        (["a.py:1", "--actor", " "], "no name"),
        (["a.py:1", "--message", "x" * 1001], "too long"),
    ],
)
def test_bad_places_are_clear_errors_and_record_nothing(built: Built, words: list[str], message: str) -> None:
    ran = custody(built.path, "author", *words)
    assert ran.status == 2 and message in ran.err and ran.out == ""
    assert json.loads(custody(built.path, "records", "--json").out)["records"] == []


def test_the_command_names_the_record_and_why_shows_the_person(built: Built) -> None:
    ran = custody(built.path, "author", "a.py:1-3", "--actor", "ana", "--message", "typed")
    assert ran.out == "ana wrote a.py:1-3 (3 lines): recorded as STORE:1, self-reported\n"
    assert "ana says that they wrote this line (self-reported)" in custody(built.path, "why", "a.py:2").out
    assert "ana" in custody(built.path, "blame", "a.py").out
    erased = custody(built.path, "erase", "1", "--reason", "a mistake", "--yes")
    assert erased.status == 0
    assert classes(Workspace(built.path)) == [("none", 1, 7, "unknown")]


def test_evidence_of_an_agent_stays_and_the_contradiction_is_shown(tmp_path: Path) -> None:
    judged = Judged(tmp_path / "repository")
    judged.edit()
    report = record_author(judged.workspace, AuthorRequest(place="a.py:3-4", person="ana"))
    assert (report.contradicted, report.agents) == (2, ["claude-code"])
    (block,) = [each for each in blame(judged.workspace, "a.py").report.attributions if each.kind == "agent"]
    assert (block.agent, block.start_line, block.end_line) == ("claude-code", 3, 4)
    assert block.said_by and block.said_by[0].person == "ana"
    shown = custody(judged.built.path, "blame", "a.py", "-v").out
    assert "ana says that they wrote this by hand (self-reported); recorded evidence names claude-code" in shown


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6, deadline=None)
@given(
    is_recorded=st.booleans(),
    statements=st.lists(
        st.tuples(
            st.sampled_from(("ana", "A Tester", "claude-code", "root")), st.sampled_from(("a.py", "a.py:1-4", "a.py:3"))
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_no_statement_changes_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, is_recorded: bool, statements: list[tuple[str, str]]
) -> None:
    judged = Judged(tmp_path_factory.mktemp("judged") / "repository")
    if is_recorded:
        judged.edit()
    request = GateRequest(change=f"{judged.first}..{judged.second}")
    if not judged.workspace.exists():
        judged.tell("prompt", -60, session="s1", text="begin")
    before = gate(judged.workspace, request)
    for person, place in statements:
        record_author(judged.workspace, AuthorRequest(place=place, person=person))
    after = gate(judged.workspace, request)
    assert (after.level, after.reasons, after.assurance, after.added) == (
        before.level,
        before.reasons,
        before.assurance,
        before.added,
    )
