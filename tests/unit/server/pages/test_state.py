"""The health page: checks, chains, gaps, agents, jobs, and verifying."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.capture.hook.event_home import record_capture_gap
from custody.core.wire.arrival import make_loss_arrival
from custody.ledger.verify import check_ledger_integrity
from custody.server.app.jobs import NewJob, add_job, list_project_jobs
from custody.server.app.tenancy import connect_control_tables
from custody.server.page_data import health as pages_state
from custody.server.page_data.health import GAPS_MAX, read_health_page
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival
from tests.builders.in_process import custody
from tests.builders.rendered import rendered, words_in
from tests.builders.steps import steps_of

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace without settings of any agent."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Workspace(a_git_folder(tmp_path / "repository"))


def keep(workspace: Workspace, records: int = 3) -> None:
    with workspace.writing() as store:
        store.append([an_arrival("call", event=f"c{n}", id=f"c{n}") for n in range(records)])


def test_an_empty_store_shows_what_to_do_next(workspace: Workspace) -> None:
    said = words_in(rendered(workspace, "state"))
    assert "Nothing has been recorded yet." in said and "custody init" in said
    assert "No waiting jobs." in said and "No gaps known." in said


def test_chains_show_their_heads_and_how_far_they_were_checked(workspace: Workspace) -> None:
    keep(workspace)
    assert "unknown" in words_in(rendered(workspace, "state"))
    html = rendered(workspace, "state-verify")
    assert "3 records in 1 chain verified" in html
    check_ledger_integrity(workspace)
    with workspace.reading() as store:
        (head,) = store.tables.chains()
    html = rendered(workspace, "state")
    assert head.store in html and head.link.hex() in html and "completely" in words_in(html)
    with workspace.writing() as store:
        store.append([an_arrival("call", event="later", id="later")])
    assert "up to record 3" in words_in(rendered(workspace, "state"))


def test_verifying_on_a_page_writes_nothing(workspace: Workspace) -> None:
    keep(workspace)
    assert workspace.home is not None

    def files() -> dict[str, bytes]:
        return {one.name: one.read_bytes() for one in Path(str(workspace.home)).rglob("*") if one.is_file()}

    words_in(rendered(workspace, "state"))
    before = files()
    assert "verified." in rendered(workspace, "state-verify")
    assert files() == before
    check_ledger_integrity(workspace)
    keep_more = an_arrival("call", event="later", id="later")
    with workspace.writing() as store:
        store.append([keep_more])
    before = files()
    assert "4 records" in rendered(workspace, "state-verify")
    assert files() == before


def test_verifying_reports_a_changed_record(workspace: Workspace) -> None:
    keep(workspace)
    with workspace.writing() as store:
        store.db.run("UPDATE record SET kind = 'other' WHERE seq = 2")
    assert "2 problems in 3 records." in rendered(workspace, "state-verify")


def test_too_many_records_are_left_to_the_command(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(workspace)
    monkeypatch.setattr(pages_state, "RECORDS_VERIFIED_MAX", 2)
    assert "custody verify" in rendered(workspace, "state-verify")


def test_gaps_are_shown_once_the_latest_first_and_as_text(workspace: Workspace) -> None:
    assert workspace.home is not None
    with workspace.writing() as store:
        store.append(
            [make_loss_arrival(f"{1_769_860_800 + n}000000000 hook {n} ended", 1) for n in range(GAPS_MAX + 20)]
        )
    record_capture_gap(str(workspace.home), HOSTILE, {"HOME": str(workspace.home)})
    html = rendered(workspace, "state")
    found = read_health_page(workspace)
    assert (found.gap_count, len(found.gaps)) == (GAPS_MAX + 21, GAPS_MAX)
    assert "onerror" in words_in(html) and "<img src=x" not in html and "\u202e" not in html and "\x1b" not in html
    assert [gap.at for gap in found.gaps] == sorted((gap.at or "" for gap in found.gaps), reverse=True)


def test_an_installed_agent_that_is_not_recorded_shows_what_to_run(workspace: Workspace) -> None:
    (workspace.folder / ".claude").mkdir()
    agents = read_health_page(workspace).agents
    assert agents is not None and (agents[0].agent, agents[0].hooks.state) == ("claude-code", "not set up")
    assert "custody init --agent claude-code" in words_in(rendered(workspace, "state"))


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("", "", "recorded"),
        ('"PostToolUse"', '"Nothing"', "partly recorded"),
        ("/custody/hook/", "/elsewhere/custody/hook/", "hooks installed, no events yet"),
        ("{", '{"disableAllHooks": true,', "hooks turned off"),
        ("}", "", "cannot read its settings"),
    ],
)
def test_the_state_of_the_hooks_is_shown(workspace: Workspace, old: str, new: str, state: str) -> None:
    settings = workspace.folder / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    assert custody(workspace.folder, "init", "--agent", "claude-code", "--yes", "--no-git-hooks").status == 0
    text = settings.read_text("utf-8")
    settings.write_text(text.replace(old, new, 1 if old == "{" else -1), encoding="utf-8")
    agents = read_health_page(workspace).agents
    assert agents is not None and agents[0].agent == "claude-code"
    words = words_in(rendered(workspace, "state"))
    assert f"{agents[0].title} {state}" in " ".join(words.split())


def test_without_a_repository_agents_are_recorded_elsewhere(workspace: Workspace) -> None:
    said = words_in(rendered(replace(workspace, spooled=False), "state"))
    assert "agents are recorded where they work" in said


def test_only_unfinished_jobs_of_this_project_are_shown(workspace: Workspace) -> None:
    assert list_project_jobs(workspace, 9) == []
    assert not workspace.service_file.exists(), "listing creates no file"
    with connect_control_tables(workspace) as control:
        for n, project in enumerate(("default", "other")):
            add_job(control, NewJob("retention", project, f"key of {project}"), id_=f"{n:032x}", now_ns=7)
        taken = control.jobs.take(["retention"], 8, 9)
        assert taken is not None
        control.jobs.set_aside(taken, 9, HOSTILE)
    html = rendered(workspace, "state")
    said = words_in(html)
    assert "key of default" in said and "failed" in said and f"custody worker retry {0:032x}" in said
    assert "key of other" not in html and "<img src=x" not in html and "\x1b" not in html


def test_more_records_make_the_page_no_slower(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def steps(folder: Path, records: int) -> int:
        made = Workspace(a_git_folder(folder))
        keep(made, records)
        return steps_of(monkeypatch, lambda: rendered(made, "state"))

    few, many = steps(tmp_path / "few", 200), steps(tmp_path / "many", 2_000)
    assert many < few * 1.5
