"""Exported claims give the same answers in a fresh clone without events."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.attribution.app.blame import blame
from custody.attribution.app.context import AttributionContext
from custody.attribution.app.export import export_agent_trace, export_gitai, export_gitai_notes
from custody.attribution.carry import count_informative_characters
from custody.attribution.wire import BlameReport
from custody.capture.claims.agent_trace import LineClaim
from custody.capture.claims.git_ai import render_git_ai_note
from custody.core.ids import CommitSha
from custody.core.paths import Lines
from custody.intake.import_git_ai import import_git_ai_notes
from custody.intake.import_traces import import_traces
from tests.builders.drawn_lines import Turn, lives
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.lines import SESSION, Scene, an_edit_event, moment, text
from tests.builders.repo import a_clone, a_repository

FEW = settings(max_examples=settings().max_examples // 12)
"""Each example creates two repositories and runs git often."""
WHO = (("claude-code", "s1", "claude-sonnet-4-5"), ("robot", "s2", None), ("claude-code", "s3", "claude-opus-4-8"))
NAMES = ("app.py", "a b/ä.py", '"---"')

Travel = Callable[[Scene, Scene, Path], None]
LineFacts = tuple[str | None, str | None, str | None, str, float]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("travels")


def by_folder(here: Scene, there: Scene, place: Path) -> None:
    export_gitai(here.workspace, place / "notes")
    import_git_ai_notes(there.workspace, place / "notes")


def by_notes(here: Scene, there: Scene, place: Path) -> None:
    if export_gitai_notes(here.workspace, "refs/notes/custody").commits:
        import_git_ai_notes(there.workspace, here.built.path, "refs/notes/custody")


def by_traces(here: Scene, there: Scene, place: Path) -> None:
    export_agent_trace(here.workspace, place / "traces.jsonl")
    import_traces(there.workspace, place / "traces.jsonl")


TRAVELS: tuple[Travel, ...] = (by_folder, by_notes, by_traces)


def line_facts(report: BlameReport) -> list[LineFacts]:
    """Return agent, model, session, class and share of every line."""
    return [
        (attribution.agent, attribution.model_id, attribution.session_id, attribution.kind, attribution.share)
        for attribution in report.attributions
        for _ in range(attribution.start_line, attribution.end_line + 1)
    ]


def lived(place: Path, life: Sequence[Turn], names: Sequence[str], ends: Sequence[bool]) -> Scene:
    """Return a repository of agents that take turns on a file, committed after some turns, perhaps renamed."""
    scene = Scene(place)
    for agent, session, model in WHO:
        scene.saw(an_event("session", id=session, agent=agent, session=session, model=model, at=moment(0)))
    last: CommitSha | None = None
    for n, (turn, name, end) in enumerate(zip(life, names, ends, strict=True)):
        agent, session, _ = WHO[n % len(WHO)]
        if turn.by_agent:
            before, after = text(*turn.before), text(*turn.after)
            scene.saw(
                an_edit_event(
                    name, before, after, at=10 * n + 1, id=f"e{n}", call=f"c{n}", agent=agent, session=session
                )
            )
        if end or n == len(life) - 1:
            files = {name.encode(): text(*turn.after).encode(), b"other.txt": b"%d\n" % n}
            last = scene.commit_of(files, *([last] if last else []), at=10 * n + 5, checkout=False)
    scene.built.checkout()
    return scene


@FEW
@given(
    lives(turns_max=6).flatmap(
        lambda life: st.tuples(
            st.just(life),
            st.lists(st.sampled_from(NAMES), min_size=len(life), max_size=len(life)).map(sorted),
            st.lists(st.booleans(), min_size=len(life), max_size=len(life)),
        )
    ),
    st.sampled_from(TRAVELS),
)
def test_a_fresh_clone_answers_the_same_from_the_export(
    folder: Path, drawn: tuple[list[Turn], list[str], list[bool]], travel: Travel
) -> None:
    place = Path(tempfile.mkdtemp(dir=folder))
    here = lived(place / "here", *drawn)
    there = Scene(place, a_clone(here.built, place / "there"))
    travel(here, there, place)
    assert not differing(here, there, drawn[1][-1], None)
    for commit in here.built.git("rev-list", "HEAD").decode().split():
        for path in here.built.git("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")[:-1]:
            assert not differing(here, there, path, commit), (commit, path)


def differing(here: Scene, there: Scene, path: str, commit: str | None) -> list[str]:
    """Return the lines with different answers in two clones.

    An uninformative line may follow its neighbors here although git carries it from an older commit. Notes are found
    through git, so in the clone it may be that commit's.
    """
    blamed = blame(here.workspace, path, revision=commit)
    lines = zip(blamed.texts, line_facts(blamed.report), line_facts(there.report(path, commit)), strict=True)
    return [line for line, ours, theirs in lines if ours != theirs and count_informative_characters(line)]


def claimed(scene: Scene, place: Path, notes: dict[CommitSha, dict[str, dict[LineClaim, list[Lines]]]]) -> None:
    """Import notes of another tool."""
    place.mkdir()
    for commit, files in notes.items():
        (place / commit).write_bytes(render_git_ai_note(commit, files))
    import_git_ai_notes(scene.workspace, place)


DAYS = 24 * 3600
OTHERS = {name: f"{name} = make_{name}()" for name in ("one", "two", "three", "four", "five")}
CURSOR, CODEX = LineClaim("cursor", "c1", "gpt-5.2"), LineClaim("codex", "x1", None)


@pytest.mark.parametrize("travel", TRAVELS)
def test_imported_claims_are_exported_without_reading_history(
    tmp_path: Path, travel: Travel, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Scene(tmp_path / "here")
    one, two, three, four, five = OTHERS.values()
    first = here.committed(at=5, app__py=text(one, two, three), b__py=text(five))
    second = here.committed(first, at=15, app__py=text(one, two, three, four), b__py=text(five))
    files = {"app.py": {CURSOR: [Lines(1, 2)], CODEX: [Lines(3, 3)]}, "b.py": {CODEX: [Lines(1, 1)]}}
    claimed(here, tmp_path / "first", {first: files, second: {"app.py": {CURSOR: [Lines(4, 4)]}}})
    # Two notes may disagree on the same line: the same one decides here and elsewhere.
    claimed(here, tmp_path / "other", {first: {"app.py": {LineClaim("robot", "r1"): [Lines(2, 3)]}}})
    there = Scene(tmp_path, a_clone(here.built, tmp_path / "there"))
    with monkeypatch.context() as patched:
        patched.setattr(AttributionContext, "version", None)
        travel(here, there, tmp_path)
    for path in ("app.py", "b.py"):
        assert line_facts(there.report(path)) == line_facts(here.report(path))
        assert all(agent is not None for agent, *_ in line_facts(here.report(path)))


@pytest.mark.parametrize("travel", TRAVELS)
def test_claims_of_old_commits_are_exported_beside_later_captures(tmp_path: Path, travel: Travel) -> None:
    here = Scene(tmp_path / "here")
    one, two, three, *_ = OTHERS.values()
    first = here.committed(at=5, app__py=text(one, two))
    claimed(here, tmp_path / "first", {first: {"app.py": {CURSOR: [Lines(1, 1)]}}})
    late = 40 * DAYS
    here.edited("app.py", text(one, two), text(one, two, three), at=late)
    here.committed(first, at=late + 5, app__py=text(one, two, three))
    there = Scene(tmp_path, a_clone(here.built, tmp_path / "there"))
    travel(here, there, tmp_path)
    assert line_facts(there.report("app.py")) == line_facts(here.report("app.py"))
    assert [session for _, _, session, *_ in line_facts(here.report("app.py"))] == ["c1", None, SESSION]


@pytest.mark.parametrize("travel", TRAVELS)
def test_mixed_lines_and_odd_names_survive_the_round_trip(tmp_path: Path, travel: Travel) -> None:
    here, name = Scene(tmp_path / "here"), "odd\\name.py"
    mine, ours = "total = count_all(first, second, third)", "total = count_all(first, second, other)"
    here.edited(name, None, text(mine, OTHERS["one"]), at=1)
    first = here.commit_of({name.encode(): text(mine, OTHERS["one"]).encode()}, at=5, checkout=False)
    here.commit_of({name.encode(): text(ours, OTHERS["one"]).encode()}, first, at=15)
    there = Scene(tmp_path, a_clone(here.built, tmp_path / "there"))
    travel(here, there, tmp_path)
    mixed, whole = line_facts(here.report(name))
    assert (mixed[3], whole[3]) == ("mixed", "agent") and mixed[4] < 1.0
    assert line_facts(there.report(name)) == [mixed, whole]
    onward = Scene(tmp_path, a_clone(here.built, tmp_path / "onward"))
    (tmp_path / "again").mkdir()
    travel(there, onward, tmp_path / "again")
    assert line_facts(onward.report(name)) == [mixed, whole]


def test_a_second_export_writes_the_same(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "here")
    scene.edited("app.py", None, text("one = make_one()", "two = make_two()"), at=1)
    scene.committed(at=5, app__py=text("one = make_one()", "two = make_two()"))
    export_gitai(scene.workspace, tmp_path / "first")
    export_gitai(scene.workspace, tmp_path / "second")
    first, second = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("first", "second"))
    assert first == second and len(first) == 1
    assert export_gitai_notes(scene.workspace, "refs/notes/custody").commits == 1
    tip = scene.built.git("rev-parse", "refs/notes/custody")
    again = export_gitai_notes(scene.workspace, "refs/notes/custody")
    assert (again.commits, again.unchanged) == (0, 1)
    assert scene.built.git("rev-parse", "refs/notes/custody") == tip


def test_another_tools_note_stays_and_git_reads_ours(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "here")
    scene.edited("app.py", None, text("one = make_one()"), at=1)
    first = scene.committed(at=5, app__py=text("one = make_one()"))
    scene.edited("app.py", text("one = make_one()"), text("one = make_one()", "two = make_two()"), at=11)
    second = scene.committed(first, at=15, app__py=text("one = make_one()", "two = make_two()"))
    scene.built.git("notes", "--ref", "refs/notes/ai", "add", "-m", "somebody's own words", first)
    report = export_gitai_notes(scene.workspace, "refs/notes/ai")
    assert (report.commits, report.kept, report.kept_on) == (1, 1, [first])
    shown = [scene.built.git("notes", "--ref", "refs/notes/ai", "show", commit) for commit in (first, second)]
    assert shown[0] == b"somebody's own words\n" and b"authorship/3.0.0" in shown[1]
    assert shown[1].splitlines()[1].endswith(b" 2"), "a note has only the lines that its commit added"
    scene.built.git("fsck", "--strict")
    scene.built.git("notes", "--ref", "refs/notes/ai", "remove", second)


def test_a_note_that_someone_extended_stays_and_is_listed(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "here")
    scene.edited("app.py", None, text("one = make_one()"), at=1)
    commit = scene.committed(at=5, app__py=text("one = make_one()", "two = make_two()"))
    ref = "refs/notes/ai"
    assert export_gitai_notes(scene.workspace, ref).commits == 1
    ours = scene.built.git("notes", "--ref", ref, "show", commit).decode()
    both = ours.replace("\n---\n", "\n  h_31dce776f88375 2\n---\n", 1)
    assert both != ours
    scene.built.git("notes", "--ref", ref, "add", "-f", "-F", "-", commit, feed=both.encode())
    ran = custody(scene.built.path, "export", "git-ai", "--notes", ref)
    assert f"1 skipped, because another tool's note exists ({commit[:12]})" in ran.out
    assert scene.built.git("notes", "--ref", ref, "show", commit).decode().strip() == both.strip()


def test_no_hook_of_the_repository_runs_when_notes_are_written(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "here")
    scene.edited("app.py", None, text("one = make_one()"), at=1)
    scene.committed(at=5, app__py=text("one = make_one()"))
    hook = scene.built.path / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    scene.built.git("update-ref", "refs/notes/by-hand", "HEAD")
    assert (tmp_path / "ran").exists(), "the trap works"
    (tmp_path / "ran").unlink()
    assert export_gitai_notes(scene.workspace, "refs/notes/custody").commits == 1
    assert not (tmp_path / "ran").exists()


def test_uncommitted_lines_are_in_no_note(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "here", a_repository(tmp_path / "here"))
    scene.edited("app.py", None, text("one = make_one()"), at=1).wrote("app.py", text("one = make_one()"))
    assert export_gitai(scene.workspace, tmp_path / "notes").commits == 0


def test_unreadable_files_are_skipped_with_a_warning(tmp_path: Path) -> None:
    heard: list[str] = []
    scene = Scene(tmp_path / "here")
    scene.edited("app.py", None, text("one = make_one()"), at=1)
    first = scene.committed(at=5, app__py=text("one = make_one()"), lost__py=text("two = make_two()"))
    second = scene.committed(first, at=15, app__py=text("one = make_one()"), lost__py=text("three = make_three()"))
    lost = scene.built.git("rev-parse", f"{first}:lost.py").decode().strip()
    (scene.built.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    report = export_gitai(replace(scene.workspace, talk=heard.append), tmp_path / "notes")
    assert (report.commits, [path.name for path in (tmp_path / "notes").iterdir()]) == (1, [first])
    assert len(heard) == 1 and heard[0].startswith(f"skipped 'lost.py' in {second[:12]}: ")
