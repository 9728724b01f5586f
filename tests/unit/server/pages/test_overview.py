"""The overview page: with an empty store, with records, and without a repository."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.attribution.wire import LineShare, StatsPeriod, StatsReport
from custody.intake.install.doctor import run_doctor_checks, run_quick_doctor_checks
from custody.server import queries as looked_at
from custody.server.app.questions import answer_stats_request
from custody.server.pages import charts
from custody.server.pages import overview as page
from custody.server.pages.overview import (
    ABILITIES,
    MODELS_SHOWN,
    NO_AUTHOR,
    OTHERS,
    PERIODS_SHOWN,
    make_ownership_chart,
    read_overview_page,
)
from custody.server.pages.page import PageMemory
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival, an_event
from tests.builders.lines import Scene, moment, text
from tests.builders.rendered import links_in, rendered, words_in
from tests.builders.steps import steps_of

HOSTILE = "<img src=x onerror=alert(1)>\u202e" + "z" * 150


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A repository in which an agent wrote two of four lines, a day after the first two."""
    made = Scene(tmp_path / "repository")
    old, new = (
        text("first of all", "second of all"),
        text("first of all", "added = one", "added = two", "second of all"),
    )
    root = made.commit_of({b"app.py": old.encode()}, at=-100_000)
    made.saw(an_event("session", session="s1", model="maker/model-1", at=moment(1)))
    made.edited("app.py", old, new, at=4, head=root)
    made.commit_of({b"app.py": new.encode()}, root, at=60)
    return made


@pytest.fixture
def empty(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repository"))


def test_an_empty_store_shows_what_to_do_next(empty: Workspace) -> None:
    said = words_in(rendered(empty, "overview"))
    assert "Nothing has been recorded yet." in said and "custody init" in said
    assert "No change is indexed yet." in said and "No session recorded yet." in said
    assert said.count("not yet") == len(ABILITIES)


def test_a_repository_without_a_commit_says_so_instead_of_a_share(empty: Workspace) -> None:
    assert "This repository has no commits yet" in rendered(empty, "overview-share")


def test_capabilities_are_linked_or_show_what_is_missing(scene: Scene) -> None:
    html = rendered(scene.workspace, "overview")
    can = {one.ability.page: one.why_not is None for one in read_overview_page(scene.workspace).capabilities}
    assert can == {
        "blame": True,
        "sessions": False,
        "changes": False,
        "trust": False,
        "sources": False,
        "graph": False,
    }
    assert {} in links_in(html, "blame")
    assert "no reviews recorded" in words_in(html)


def test_without_a_repository_lines_are_not_counted(scene: Scene) -> None:
    away = replace(scene.workspace, spooled=False)
    said = words_in(rendered(away, "overview"))
    assert "cannot count lines" in said
    assert "this service has no repository of the project" in rendered(away, "overview-share").lower()


def test_the_share_shows_what_is_counted_and_since_when(scene: Scene) -> None:
    html = rendered(scene.workspace, "overview-share")
    said = " ".join(html.replace("<b>", "").replace("</b>", "").split())
    assert "50 % of 4 lines were written by agents" in said
    assert "maker/model-1" in said and "Counted in 1 text file of commit" in said
    assert "Recording began on 2023-11-" in said


def test_lines_are_counted_once_per_commit_and_state_of_records(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str | None] = []

    def counting(workspace: Workspace, path: str | None, *, revision: str | None) -> StatsReport:
        counted.append(revision)
        return answer_stats_request(workspace, path, revision=revision)

    memory = PageMemory()
    monkeypatch.setattr(page, "answer_stats_request", counting)
    first = rendered(scene.workspace, "overview-share", memory=memory)
    assert rendered(scene.workspace, "overview-share", memory=memory) == first and len(counted) == 1
    scene.saw(an_event("prompt", id="p1", session="s1", at=moment(7)))
    rendered(scene.workspace, "overview-share", memory=memory)
    assert len(counted) == 2


def test_the_last_sessions_are_linked(scene: Scene) -> None:
    scene.saw(an_event("call", id="c9", agent="other", session="s2", at=moment(9)))
    html = rendered(scene.workspace, "overview")
    assert links_in(html, "session") == [{"id": "s2", "agent": "other"}, {"id": "s1", "agent": "robot"}]


def test_prompts_are_not_on_the_overview(scene: Scene) -> None:
    scene.saw(an_event("prompt", id="p1", session="s1", text="the zebra", at=moment(7)))
    assert "zebra" not in rendered(scene.workspace, "overview", note=lambda _: None)


def test_names_of_records_stay_text(scene: Scene) -> None:
    scene.saw(an_event("session", agent=HOSTILE, session=HOSTILE, model=HOSTILE, at=moment(9)))
    html = rendered(scene.workspace, "overview")
    assert "<img" not in html.replace("<img src=", "", 1) and "\u202e" not in html


def test_quick_checks_equal_the_doctor_except_for_full_reads(scene: Scene) -> None:
    fields = [(one.name, one.state) for one in run_doctor_checks(scene.workspace).checks]
    assert [(one.name, one.state) for one in run_quick_doctor_checks(scene.workspace)] == [
        one for one in fields if one[0] != "observations"
    ]


def test_more_records_make_the_page_no_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "COUNTED_MAX", 20)

    def steps(folder: Path, records: int) -> int:
        workspace = Workspace(a_git_folder(folder))
        with workspace.writing() as store:
            store.append([an_arrival("call", event=f"c{n}", id=f"c{n}", session=f"s{n % 4}") for n in range(records)])
        return steps_of(monkeypatch, lambda: rendered(workspace, "overview"))

    few, many = steps(tmp_path / "few", 200), steps(tmp_path / "many", 2_000)
    assert many < few * 1.5


# --- pictures ---------------------------------------------------------------------------------------------------------

counts = st.integers(0, 50)


@st.composite
def periods(draw: st.DrawFn) -> list[StatsPeriod]:
    found = []
    for name in ("before", *draw(st.lists(st.integers(1, 28), unique=True).map(sorted)), "unknown"):
        models = draw(st.dictionaries(st.sampled_from([f"m{n}" for n in range(9)]), st.integers(1, 9)))
        agent, none, person = sum(models.values()), draw(counts), draw(counts)
        whole = agent + none + person
        found.append(
            StatsPeriod(
                name=name if isinstance(name, str) else f"2026-01-{name:02}",
                lines=whole,
                agent=agent,
                mixed=0,
                person=person,
                none=none,
                share=agent / whole if whole else 0.0,
                part=0.0,
                models=models,
            )
        )
    return [period for period in found if period.lines]


def a_report(growth: Sequence[StatsPeriod]) -> StatsReport:
    named: dict[str, int] = {}
    for period in growth:
        for model, lines in period.models.items():
            named[model] = named.get(model, 0) + lines
    models = [_share(name, lines) for name, lines in sorted(named.items(), key=lambda pair: -pair[1])]
    empty: list[LineShare] = []
    return StatsReport(
        path=None,
        revision="a" * 40,
        rules_digest="",
        since=None,
        files=1,
        totals=_share("all", sum(period.lines for period in growth)),
        classes=empty,
        models=models,
        agents=empty,
        tiers=empty,
        folders=empty,
        months=empty,
        growth=list(growth),
        left_out=[],
        left_out_count=0,
        notes=[],
    )


def _share(name: str, lines: int) -> LineShare:
    return LineShare(name=name, lines=lines, agent=lines, mixed=0, person=0, none=0, share=1.0, part=1.0)


@given(periods())
def test_the_charts_have_every_dated_line_once_and_end_at_the_share(growth: list[StatsPeriod]) -> None:
    found = make_ownership_chart(a_report(growth))
    dated = [period for period in growth if period.name not in ("before", "unknown")]
    drawn = sum(int(value or 0) for one in found.models for value in one.values)
    assert drawn == sum(period.lines for period in dated)
    assert list(found.periods) == [period.name for period in dated]
    assert all(0 <= part <= 100 for part in found.curve)
    if dated:
        known = [period for period in growth if period.name != "unknown"]
        share = sum(period.agent for period in known) / sum(period.lines for period in known)
        assert found.curve[-1] == pytest.approx(100 * share, abs=0.06)


def test_more_models_than_colors_share_one_series() -> None:
    models = {f"m{n}": 10 + n for n in range(MODELS_SHOWN + 3)}
    whole = StatsPeriod(
        name="2026-01-01",
        lines=200,
        agent=sum(models.values()),
        mixed=0,
        person=0,
        none=9,
        share=0.5,
        part=1.0,
        models=models,
    )
    names = [one.name for one in make_ownership_chart(a_report([whole])).models]
    assert len(names) == MODELS_SHOWN + 2 and names[-2:] == [OTHERS, NO_AUTHOR]


@pytest.mark.parametrize("models", [0, 1, MODELS_SHOWN + 3])
def test_lines_of_unknown_authors_have_the_unknown_color(models: int) -> None:
    period = StatsPeriod(
        name="2026-01-01",
        lines=200,
        agent=0,
        mixed=0,
        person=4,
        none=9,
        share=0.5,
        part=1.0,
        models={f"m{n}": 10 for n in range(models)},
    )
    found = make_ownership_chart(a_report([period])).models
    drawn = f"{charts.render_column_chart(['2026-01-01'], found, 'any')}{charts.render_chart_legend(found)}"
    colors = re.findall(r'class="(?:swatch )?((?:s|k-)\w+)"', drawn)
    assert colors.count("k-none") == 2 and colors[-1] == "k-none"
    assert len(set(colors)) == len(found)


def test_old_periods_are_before_those_that_are_shown() -> None:
    growth = [
        StatsPeriod(
            name=f"{2000 + n // 12}-{1 + n % 12:02}",
            lines=10,
            agent=n % 2 * 10,
            mixed=0,
            person=0,
            none=10 - n % 2 * 10,
            share=float(n % 2),
            part=0.0,
            models={},
        )
        for n in range(PERIODS_SHOWN + 40)
    ]
    found = make_ownership_chart(a_report(growth))
    assert len(found.periods) == PERIODS_SHOWN and found.curve[-1] == 50.0
