"""The audit of a report by the records of the sessions that wrote it."""

from pathlib import Path

import pytest

from custody.capture import TRANSCRIPT_READERS
from custody.cite.app.audit import cite_audit
from custody.cite.wire import CiteAuditReport
from custody.core.errors import InputError
from custody.gate.app.gate import GateRequest, gate
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository
from tests.builders.transcripts import Transcript, a_transcript

SESSION = "5d2f0c3e-1111"
READ, LISTED, LATE = "https://example.org/read", "https://example.org/listed", "https://example.org/late"
REPORT = f"""# Report on catches

Catches in the northern grounds fell by 12% in 2024 [1].
Prices of chub mackerel rose to 300 dollars a tonne [2].
The agency closed 14 of the 20 southern ports in March [3].
The office wrote that "all of the ports were closed for a year" [1].
The figures are computed in `src/figures.py` and in `src/catches.py`.
They were first asked for in #12, which the team opened later.

## Sources

1. The agency's yearbook <{READ}>
2. A price index of the market <{LISTED}>
3. The ministry's list of ports <{LATE}>
"""
HITS = {"query": "q", "results": [{"content": [{"title": "L", "url": LISTED}, {"title": "R", "url": READ}]}]}
READING = ["CITE-LATE", "CITE-SUMMARY", "CITE-UNREAD"]
SUPPORT = "CITE-SUPPORT"
NAMING = ["CITE-NOFILE", "CITE-NOISSUE", "CITE-NOPACKAGE", "CITE-NOSYMBOL"]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    made.commit({b"src/catches.py": b"x = 1\n", b"README.md": b"# Catches\n"}, at=1_769_850_000)
    made.checkout()
    return made


def a_session(built: Built) -> Transcript:
    """Record an agent that searches, opens one page, writes the report, and then opens another."""
    session = a_transcript(SESSION, built.path).prompt("write a report")
    session.call("WebSearch", {"query": "q"}, HITS).fetch(READ, "Catches fell by 12%.").wait(60)
    session.write("docs/report.md", None, REPORT).wait(60).fetch(LATE, "14 ports were closed.")
    (built.path / "docs").mkdir(exist_ok=True)
    (built.path / "docs" / "report.md").write_text(REPORT)
    return session


def imported(built: Built, session: Transcript, folder: Path) -> None:
    session.put(folder)
    import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["claude-code"], folder)


def audited(built: Built, name: str = "docs/report.md", session: str | None = None) -> CiteAuditReport:
    return cite_audit(Workspace(built.path, talk=pytest.fail), [name], REPORT.encode(), coverage_min=0, session=session)


def by_records(report: CiteAuditReport) -> list[tuple[str, int]]:
    return [(one.code, one.line) for one in report.findings if one.code in (*READING, *NAMING)]


def not_looked(report: CiteAuditReport) -> dict[str, str]:
    return {one.code: one.why for one in report.files[0].records.not_looked}


def test_a_report_is_checked_against_the_session_that_wrote_it(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    report = audited(built)
    assert by_records(report) == [("CITE-LATE", 5), ("CITE-SUMMARY", 6), ("CITE-NOFILE", 7), ("CITE-UNREAD", 13)]
    assert report.outcome == "found"
    records = report.files[0].records
    assert (records.sessions, records.lines) == ([SESSION], REPORT.count("\n"))
    assert not_looked(report) == {
        "CITE-NOISSUE": "no issue tracker is recorded",
        "CITE-NOPACKAGE": "the repository has no manifest",
    }
    assert sorted([*records.looked, *not_looked(report)]) == sorted([*READING, SUPPORT, *NAMING])


def test_a_statement_without_support_in_the_read_text_is_reported(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    found = [one for one in audited(built).findings if one.code == SUPPORT]
    assert [one.line for one in found] == [6]
    assert found[0].message.startswith("[1] may not support 'The office wrote")


def test_without_stored_text_support_is_skipped(built: Built, tmp_path: Path) -> None:
    session = a_transcript(SESSION, built.path).prompt("write a report").call("WebSearch", {"query": "q"}, HITS)
    session.wait(60).write("docs/report.md", None, REPORT)
    (built.path / "docs").mkdir()
    (built.path / "docs" / "report.md").write_text(REPORT)
    imported(built, session, tmp_path / "t")
    assert not_looked(audited(built))[SUPPORT] == "no text of a listed page is stored"


def test_text_and_sarif_have_the_findings_too(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    words = custody(built.path, "cite", "audit", "docs/report.md").out
    assert "docs/report.md:13:1: CITE-UNREAD [2] was never opened: a search only listed it" in words
    assert "CITE-LATE [3] was opened only 1 minutes after this was written" in words or "seconds after" in words
    assert f"docs/report.md: checked 14 lines against the records of session {SESSION}" in words
    assert "skipped CITE-NOISSUE: no issue tracker is recorded" in words
    assert '"ruleId":"CITE-NOFILE"' in custody(built.path, "cite", "audit", "docs/report.md", "--sarif").out.replace(
        ": ", ":"
    )


def test_a_page_that_another_session_opened_before_was_opened(built: Built, tmp_path: Path) -> None:
    earlier = a_transcript("aaaa1111-2222", built.path, at="2026-01-30T12:00:00Z").fetch(LISTED, "300 dollars")
    imported(built, earlier, tmp_path / "earlier")
    imported(built, a_session(built), tmp_path / "t")
    assert "CITE-UNREAD" not in dict(by_records(audited(built)))


def test_a_page_that_another_session_opened_afterwards_was_opened_late(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    later = a_transcript("aaaa1111-2222", built.path, at="2026-02-01T12:00:00Z").fetch(LISTED, "300 dollars")
    imported(built, later, tmp_path / "later")
    assert [(code, line) for code, line in by_records(audited(built)) if code in READING] == [
        ("CITE-LATE", 4),
        ("CITE-LATE", 5),
        ("CITE-SUMMARY", 6),
    ]


def test_lines_written_by_a_person_are_not_checked(built: Built, tmp_path: Path) -> None:
    session = a_session(built)
    imported(built, session, tmp_path / "t")
    theirs = "The prices of tuna in `src/prices.py` rose [4].\n"
    more = REPORT.replace("## Sources", f"{theirs}\n## Sources") + "4. A friend of mine <https://example.org/friend>\n"
    (built.path / "docs" / "report.md").write_text(more)
    report = audited(built)
    assert {line for _, line in by_records(report)} == {5, 6, 7, 15}
    assert report.files[0].records.lines == REPORT.count("\n")


def test_with_a_named_session_every_line_of_stdin_is_checked(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    (built.path / "docs" / "report.md").unlink()
    report = audited(built, "-", SESSION[:8])
    assert by_records(report) == [("CITE-SUMMARY", 6), ("CITE-NOFILE", 7), ("CITE-UNREAD", 13)]
    assert not_looked(report)["CITE-LATE"] == "the time when its lines were written is unknown"
    unattributed = audited(built, "-")
    assert by_records(unattributed) == []
    assert set(not_looked(unattributed).values()) == {"stdin has no recorded author (pass --session)"}
    with pytest.raises(InputError, match="unknown session 'ffff'"):
        audited(built, "-", "ffff")


def test_lines_of_another_session_have_no_writing_time_for_the_named_one(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    other = a_transcript("aaaa1111-2222", built.path, at="2026-02-01T12:00:00Z").fetch(LISTED, "300 dollars")
    imported(built, other, tmp_path / "other")
    report = audited(built, session="aaaa")
    assert [code for code, _ in by_records(report)] == ["CITE-SUMMARY", "CITE-NOFILE"]
    assert not_looked(report)["CITE-LATE"] == "the time when its lines were written is unknown"
    assert report.files[0].records.sessions == ["aaaa1111-2222"]


def test_without_records_the_checks_are_skipped_with_a_reason(built: Built, tmp_path: Path) -> None:
    (built.path / "docs").mkdir()
    (built.path / "docs" / "report.md").write_text(REPORT)
    report = audited(built)
    assert by_records(report) == []
    assert set(not_looked(report).values()) == {"nothing is recorded in this repository"}
    assert sorted(not_looked(report)) == sorted([*READING, SUPPORT, *NAMING])
    with pytest.raises(InputError, match="nothing is recorded in this repository"):
        audited(built, session="x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "report.md").write_text(REPORT)
    outside = cite_audit(Workspace(elsewhere), ["report.md"], coverage_min=0)
    assert set(not_looked(outside).values()) == {"not in a git repository"}
    spool_of(built.path).put(an_event("prompt"))
    assert set(not_looked(audited(built)).values()) == {"no line is recorded as written by an agent"}


def test_without_recorded_readings_the_reading_checks_are_skipped(built: Built) -> None:
    (built.path / "docs").mkdir()
    (built.path / "docs" / "report.md").write_text(REPORT)
    spool_of(built.path).put(an_event("call", id="c1"))
    edit = an_event("edit", id="e1", call="c1", path="docs/report.md", after=REPORT, head=built.head())
    spool_of(built.path).put(edit)
    report = audited(built)
    assert by_records(report) == [("CITE-NOFILE", 7)]
    assert {not_looked(report)[code] for code in READING} == {"the session was recorded without the sources it read"}
    spool_of(built.path).put(an_event("source_read", id="r1", locator=LISTED, at="2026-01-31T11:00:00Z"))
    assert [line for code, line in by_records(audited(built)) if code == "CITE-UNREAD"] == [12, 14]


def test_a_program_given_the_url_may_have_opened_it(built: Built, tmp_path: Path) -> None:
    session = a_session(built).bash(f"python fetch.py {LISTED}", "ok")
    imported(built, session, tmp_path / "t")
    assert "CITE-UNREAD" not in dict(by_records(audited(built)))


def test_a_url_in_a_prompt_may_have_come_with_its_text(built: Built, tmp_path: Path) -> None:
    session = a_session(built).prompt(f"the prices are from {LISTED}, I paste them here: 300 dollars")
    imported(built, session, tmp_path / "t")
    assert "CITE-UNREAD" not in dict(by_records(audited(built)))


@pytest.mark.parametrize(
    ("number", "found"),
    [(11, True), (12, False)],
    ids=["a lower number was given later", "this number was given later"],
)
def test_an_issue_number_that_was_not_assigned_yet_is_reported(
    built: Built, tmp_path: Path, number: int, found: bool
) -> None:
    opened = {"pr": {"number": number, "url": f"https://github.com/o/r/pull/{number}", "action": "created"}}
    session = a_session(built).bash("gh pr create", "done", git=opened)
    imported(built, session, tmp_path / "t")
    report = audited(built)
    assert (("CITE-NOISSUE", 8) in by_records(report)) is found
    assert "CITE-NOISSUE" not in not_looked(report)


def test_an_issue_that_could_not_be_fetched_is_reported(built: Built, tmp_path: Path) -> None:
    opened = {"pr": {"number": 3, "url": "https://github.com/o/r/pull/3", "action": "commented"}}
    gone = "https://github.com/o/r/issues/12"
    session = a_session(built).bash("gh pr comment 3", "done", git=opened)
    session.call("WebFetch", {"url": gone}, {"code": 404, "result": "", "url": gone})
    imported(built, session, tmp_path / "t")
    assert ("CITE-NOISSUE", 8) in by_records(audited(built))


def test_a_file_on_disk_or_in_any_commit_exists(built: Built, tmp_path: Path) -> None:
    first = built.head()
    built.commit({b"src/figures.py": b"y = 1\n", b"src/catches.py": b"x = 1\n"}, first, at=1_769_850_100)
    built.commit({b"src/catches.py": b"x = 1\n"}, built.head(), at=1_769_850_200)
    imported(built, a_session(built), tmp_path / "t")
    assert "CITE-NOFILE" not in dict(by_records(audited(built)))
    built.git("update-ref", "refs/heads/main", first)
    assert "CITE-NOFILE" in dict(by_records(audited(built)))
    (built.path / "src" / "figures.py").write_text("y = 1\n")
    assert "CITE-NOFILE" not in dict(by_records(audited(built)))


def test_dependencies_and_names_are_looked_up_in_the_work_tree(built: Built, tmp_path: Path) -> None:
    (built.path / "src" / "catches.py").write_text("def total():\n    pass\n")
    built.commit({b"src/catches.py": b"x = 1\n", b"pyproject.toml": b'dependencies = ["click"]\n'}, built.head())
    text = (
        "The number of all catches is computed by `total()` in `src/catches.py`.\n\n"
        "The share of the catches is computed by `part()` in `src/catches.py`.\n\n"
        "For its tables `click` is a direct dependency of the program.\n\n"
        "For its figures `pandas` is a direct dependency of the program.\n"
    )
    (built.path / "notes.md").write_text(text)
    session = a_transcript(SESSION, built.path).write("notes.md", None, text)
    imported(built, session, tmp_path / "t")
    report = audited(built, "notes.md")
    assert by_records(report) == [("CITE-NOSYMBOL", 3), ("CITE-NOPACKAGE", 7)]


def test_the_audit_only_assigns_numbers_to_sources(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    assert audited(built) == audited(built)
    assert (built.path / "docs" / "report.md").read_text() == REPORT


def test_the_gate_reports_the_same_for_lines_that_a_change_adds(built: Built, tmp_path: Path) -> None:
    imported(built, a_session(built), tmp_path / "t")
    files = {b"src/catches.py": b"x = 1\n", b"README.md": b"# Catches\n"}
    base = built.head()
    head = built.commit(files | {b"docs/report.md": REPORT.encode()}, base, at=1_770_000_000, ref="refs/heads/topic")
    more = built.commit(
        files | {b"docs/report.md": f"{REPORT}\nMore.\n".encode()}, head, at=1_770_000_060, ref="refs/heads/topic"
    )
    for request in (GateRequest(change=f"{base}..{head}"), GateRequest()):
        reasons = {
            one.code: one for one in gate(Workspace(built.path), request).reasons if one.code.startswith("CITE-")
        }
        assert {"CITE-UNREAD", "CITE-MISSING"} <= set(reasons)
        assert [place.start_line for place in reasons["CITE-UNREAD"].places] == [5, 6, 6, 13]
        assert [place.start_line for place in reasons["CITE-MISSING"].places] == [7]
    later = gate(Workspace(built.path), GateRequest(change=f"{head}..{more}"))
    assert not {"CITE-UNREAD", "CITE-MISSING"} & {one.code for one in later.reasons}
