"""Counts of lines by author, skipped files, and agreement with blame."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.blame import blame
from custody.attribution.app.history import History
from custody.attribution.app.stats import DAYS_MAX, LineStatistics, compute_line_stats
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Segment, Trace, TraceAttribution, TraceCandidate
from custody.attribution.text import hash_segment_lines
from custody.attribution.wire import LineShare, StatsReport
from custody.core.errors import InputError
from custody.core.evidence import Evidence
from custody.core.ids import AgentName, RecordRef, Seq, SessionId, StoreId, digest_from_bytes
from custody.core.paths import Lines, RepoPath
from custody.workspace.workspace import Progress, Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import a_recorded_edit
from tests.builders.repo import LINK, Built, a_repository

BEFORE, AFTER = 1_769_860_000, 1_769_862_000
OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"
FRESH = "import json\nprint(json.dumps({'made': True}))\n"
UNTOUCHED = "first = 1\nsecond = 2\nthird = 3\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """Return a repository in which one agent changed a file, another added one, and the others are untouched."""
    made = a_repository(tmp_path / "repository")
    begun: dict[bytes, bytes | tuple[str, bytes]] = {
        b"src/a.py": OLD.encode(),
        b"docs/x/old.txt": UNTOUCHED.encode(),
        b"logo.png": b"\x89PNG\0\0",
        b"e": b"",
    }
    made.commit(begun, at=BEFORE - 30 * 86_400)
    spool = spool_of(made.path)
    spool.put(an_event("session", model="m-1", at="2026-01-31T11:00:00Z"))
    spool.put(an_event("edit", id="e1", path="src/a.py", before=OLD, after=NEW, head=made.head()))
    spool.put(an_event("edit", id="e2", agent="other", session="s2", path="src/b.py", before="", after=FRESH))
    whole = {**begun, b"src/a.py": NEW.encode(), b"src/b.py": FRESH.encode(), b"link": (LINK, b"src/a.py")}
    made.commit(whole, made.head(), at=AFTER)
    made.checkout()
    return made


def counted(
    built: Built, where: str | None = None, revision: str | None = None, agent: str | None = None
) -> StatsReport:
    return compute_line_stats(Workspace(built.path), where, revision=revision, agent=agent)


def lines(rows: list[LineShare]) -> Mapping[str, int]:
    return {row.name: row.lines for row in rows}


def test_lines_are_counted_by_class_model_agent_tier_folder_and_month(built: Built) -> None:
    report = counted(built)
    assert (report.files, report.totals.lines, report.totals.agent) == (4, 9, 4)
    assert report.totals.share == round(4 / 9, 4)
    assert lines(report.classes) == {"agent": 4, "none": 5}
    assert lines(report.models) == {"m-1": 2, "unknown": 2}
    assert lines(report.agents) == {"other": 2, "robot": 2}
    assert sum(lines(report.tiers).values()) == 4
    assert lines(report.folders) == {"src/": 6, "docs/": 3}
    assert lines(report.months) == {"2026-01": 4}


def test_all_lines_are_counted_by_day_with_the_models_that_wrote_them(built: Built) -> None:
    before, january = counted(built).growth
    assert (before.name, before.lines, before.none, before.models) == ("before", 5, 5, {})
    assert (january.name, january.lines, january.agent) == ("2026-01-31", 4, 4)
    assert january.models == {"m-1": 2, "unknown": 2}


def test_many_days_are_counted_by_month() -> None:
    count = LineStatistics()
    for day in range(DAYS_MAX + 1):
        count.add_unknown(2, "src/", f"2026-{1 + day // 28:02}-{1 + day % 28:02}")
    assert [(period.name, period.lines) for period in count.growth()] == [
        ("2026-01", 56),
        ("2026-02", 56),
        ("2026-03", 10),
    ]


def test_lines_of_a_changed_file_without_captures_have_no_known_day(built: Built) -> None:
    whole: dict[bytes, bytes | tuple[str, bytes]] = {b"src/a.py": NEW.encode(), b"src/b.py": FRESH.encode()}
    built.commit({**whole, b"src/c.py": b"# by hand\n"}, built.head(), at=AFTER + 86_400)
    growth = counted(built).growth
    assert [(month.name, month.lines) for month in growth] == [("before", 2), ("2026-01-31", 4), ("unknown", 1)]


def test_each_row_has_its_share_and_its_part_of_all_lines(built: Built) -> None:
    (src, docs) = counted(built).folders
    assert (src.share, src.part) == (round(4 / 6, 4), round(6 / 9, 4))
    assert (docs.share, docs.part) == (0.0, round(3 / 9, 4))


def test_counting_agrees_with_blame(built: Built) -> None:
    workspace = Workspace(built.path)
    found = Counter[str]()
    for path in ("src/a.py", "src/b.py", "docs/x/old.txt"):
        for attribution in blame(workspace, path, revision="HEAD").report.attributions:
            found[attribution.kind] += attribution.end_line - attribution.start_line + 1
    assert dict(found) == lines(counted(built).classes)


def test_binary_files_are_skipped_and_listed(built: Built) -> None:
    report = counted(built)
    assert [(file.path, file.why) for file in report.left_out] == [("logo.png", "'logo.png' is a binary file")]
    assert report.left_out_count == 1


def test_a_file_a_folder_and_the_root_can_be_counted(built: Built) -> None:
    assert counted(built, "src/a.py").totals.lines == 4
    assert lines(counted(built, "src/a.py").folders) == {".": 4}
    assert lines(counted(built, "docs").folders) == {"x/": 3}
    assert counted(built, ".").path is None
    assert compute_line_stats(Workspace(built.path / "src"), "a.py").totals.lines == 4


def test_another_revision_is_counted_as_of_that_commit(built: Built) -> None:
    assert counted(built, revision="HEAD~1").totals.agent == 0


def test_a_path_without_files_is_rejected(built: Built) -> None:
    with pytest.raises(InputError, match="cannot find 'nowhere' in "):
        counted(built, "nowhere")


def test_without_any_capture_every_line_is_none(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.py": OLD.encode()})
    report = counted(made)
    assert (report.since, lines(report.classes), report.months) == (None, {"none": 2}, [])


def test_a_file_that_no_commit_changed_since_capture_needs_no_history(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    version = History.version

    def noted(self: History, commit: str, path: RepoPath, **more: bool) -> object:
        asked.append(path.raw)
        return version(self, commit, path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(History, "version", noted)
    counted(built)
    assert set(asked) == {b"src/a.py", b"src/b.py"}


def test_progress_counts_files(built: Built) -> None:
    told: list[object] = []
    workspace = Workspace(built.path, progress=Progress(lambda what, total: told.append((what, total)), told.append))
    compute_line_stats(workspace)
    assert told.count(1) >= 5
    assert ("counting", 5) in told


def test_a_mixed_line_counts_by_its_share(built: Built) -> None:
    edited = NEW.replace("total(numbers) / len(numbers)", "total(numbers) / float(len(numbers))")
    built.commit({b"src/a.py": edited.encode()}, built.head(), at=AFTER + 60)
    totals = counted(built).totals
    assert (totals.agent, totals.mixed) == (1, 1)
    assert 1.5 / 4 <= totals.share < 2 / 4


def test_a_captured_file_is_followed_to_another_name_without_unchanged_agent_lines(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "repository")
    old = "".join(f"constant_{n} = compute_constant({n})\n" for n in range(9))
    new, edited = (old + f"answer = weigh(constant_1, constant_2{more})\n" for more in ("", ", constant_3"))
    made.commit({b"a.py": old.encode()}, at=BEFORE)
    spool_of(made.path).put(an_event("edit", path="a.py", before=old, after=new, head=made.head()))
    made.commit({b"a.py": new.encode()}, made.head(), at=AFTER)
    made.commit({b"z.py": edited.encode()}, made.head(), at=AFTER + 60)
    assert lines(counted(made).classes) == {"mixed": 1, "none": 9}


def test_a_file_without_lines_of_an_agent_needs_no_history(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "nothing_like_it = 41\nnor_this_one = 43\n"
    kept = {b"src/a.py": NEW.encode(), b"src/b.py": FRESH.encode()}
    built.commit({**kept, b"other.py": other.encode()}, built.head(), at=AFTER + 60)
    monkeypatch.setattr(History, "version", lambda *_, **__: pytest.fail("asked for history"))
    assert lines(counted(built, "other.py").classes) == {"none": 2}


def test_an_agents_share_is_of_all_lines_and_models_are_its_own(built: Built) -> None:
    whole, other, codex = counted(built), counted(built, agent="other"), counted(built, agent="codex")
    assert (whole.agent, other.agent) == (None, "other")
    assert other.totals.lines == whole.totals.lines and other.classes != []
    assert other.agents[0].lines == whole.agents[0].lines
    own = next(row.lines for row in whole.agents if row.name == "other")
    assert other.totals.share == round(own / whole.totals.lines, 4) < whole.totals.share
    assert sum(row.lines for row in other.models) == sum(row.lines for row in other.tiers) == own
    assert codex.totals.share == 0 and codex.models == []


def test_an_unknown_agent_is_rejected_with_the_known_ones(built: Built) -> None:
    with pytest.raises(InputError, match="unknown agent 'ghost'") as refused:
        counted(built, agent="ghost")
    assert "other" in (refused.value.hint or "") and "gemini" in (refused.value.hint or "")


def test_a_range_counts_only_the_lines_that_it_adds(built: Built) -> None:
    report = counted(built, revision="HEAD~1..HEAD")
    assert report.base is not None
    assert (report.files, report.totals.lines, report.totals.agent, report.coverage) == (2, 4, 4, 1.0)
    assert lines(counted(built, "src/b.py", "HEAD~1..").agents) == {"other": 2}
    assert counted(built, "docs", "HEAD~1..HEAD").totals.lines == 0
    assert counted(built, revision="HEAD..HEAD").totals.lines == 0


def test_files_of_a_range_that_cannot_be_read_are_listed(built: Built) -> None:
    built.commit({b"new.png": b"\x89PNG\0\1", b"link": (LINK, b"src/b.py")}, built.head(), at=AFTER + 10)
    report = counted(built, revision="HEAD~1..HEAD")
    assert (report.totals.lines, [file.path for file in report.left_out]) == (0, ["new.png"])


def test_evidence_is_separated_by_how_it_came_here(built: Built) -> None:
    report = counted(built)
    assert lines(report.evidence) == {"imported": 4}
    assert (report.at_least, report.coverage) == (report.totals.share, 0.4444)
    recorded = a_recorded_edit(
        "src/c.py", "", FRESH, root=built.path, id="9", at="2026-01-31T12:00:00Z", head=built.head()
    )
    spool_of(built.path).put(recorded)
    whole: dict[bytes, bytes | tuple[str, bytes]] = {
        b"src/a.py": NEW.encode(),
        b"src/b.py": FRESH.encode(),
        b"src/c.py": FRESH.encode(),
    }
    built.commit(whole, built.head(), at=AFTER + 20)
    assert lines(counted(built).evidence) == {"recorded live": 2, "imported": 4}


def test_what_only_a_commit_names_is_not_part_of_the_lower_bound() -> None:
    statistics = LineStatistics()
    for records, count in (((RecordRef(StoreId("s"), Seq(1)),), 3), ((), 5)):
        statistics.add(claimed_lines(count, records), "src/", "2026-01-01")
    statistics.add_unknown(2, "src/", "2026-01-01")
    assert lines(statistics.shares("evidence")) == {"imported": 3, "named by a commit": 5}
    assert (statistics.at_least, statistics.coverage) == (0.3, 0.8)


def claimed_lines(count: int, records: tuple[RecordRef, ...]) -> LineAnswer:
    path, trace = RepoPath(b"src/a.py"), Trace("t", AgentName("robot"), SessionId("s"))
    segment = Segment(path, Lines(1, count), None, None, None, hash_segment_lines(["x"]))
    candidate = TraceCandidate(trace, path, None, None, (), records=records)
    finding = TraceAttribution(segment, candidate, 6, 0.4, Evidence((), digest_from_bytes(b"")))
    return LineAnswer(finding, UNKNOWN, (), None)
