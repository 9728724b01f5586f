"""What commits state about their lines: read without set-up, the weakest evidence, and never more."""

import json
from pathlib import Path

import pytest

from custody.attribution.app.answers import LAID_OUT, NOT_THIS_CALL
from custody.attribution.app.blame import blame
from custody.attribution.app.context import open_attribution
from custody.attribution.app.export import export_gitai
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.stats import compute_line_stats
from custody.attribution.wire import Attribution
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.lines import an_edit_event
from tests.builders.repo import Built, Files, a_repository

OLD = b"import alpha\nprice = read_price(source)\n"
NEW = OLD + b"def discount(prices, percent):\n    return total(prices) * percent\n"
CLAUDE = b"Add discount\n\nCo-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>\n"
AT = 1_769_861_000


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


def two_commits(
    built: Built, message: bytes = CLAUDE, *, author: bytes = b"A Tester <tester@example.invalid>"
) -> CommitSha:
    first = built.commit({b"app.py": OLD}, at=AT)
    made = built.commit({b"app.py": NEW}, first, message=message, at=AT + 60, author=author)
    built.checkout()
    return made


def said(built: Built, path: str = "app.py", **options: str) -> list[Attribution]:
    return list(blame(Workspace(built.path), path, **options).report.attributions)  # type: ignore[arg-type]


def test_a_line_named_by_its_commit_also_says_that_a_call_laid_it_out(built: Built) -> None:
    first = built.commit({b"app.py": OLD}, at=AT)
    new = OLD.replace(b"(source)", b"(source,)")
    spool_of(built.path).put(an_edit_event("app.py", OLD.decode(), new.decode(), at=20, head=first))
    made = built.commit({b"app.py": new}, first, message=CLAUDE, at=AT + 60)
    built.checkout()
    (why,) = (one.evidence[0].why for one in said(built) if one.kind == "agent")
    assert why == f"commit {made[:12]} names claude-code (Co-authored-by); {LAID_OUT}"


def owners(built: Built, path: str = "app.py") -> list[tuple[int, int, str, str | None]]:
    return [(one.start_line, one.end_line, one.kind, one.agent) for one in said(built, path)]


def test_lines_of_a_commit_with_a_trailer_are_claimed_without_any_set_up(built: Built) -> None:
    made = two_commits(built)
    person, agent = said(built)
    assert (person.start_line, person.end_line, person.kind, person.tier) == (1, 2, "none", None)
    assert (agent.start_line, agent.end_line, agent.kind, agent.agent) == (3, 4, "agent", "claude-code")
    assert (agent.tier, agent.grade, agent.certainty, agent.confidence) == (6, "claimed", "weak", 0.4)
    assert (agent.model_id, agent.commits, agent.signals) == ("Claude Opus 4.6", [made], ["named_by_commit"])
    assert agent.evidence[0].why == f"commit {made[:12]} names claude-code (Co-authored-by)"
    assert not (built.path / ".git" / "custody").exists()


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ({"author": b"Devin AI <1+devin-ai-integration[bot]@users.noreply.github.com>"}, "devin"),
        ({"author": b"copilot-swe-agent[bot] <198982749+Copilot@users.noreply.github.com>"}, "copilot"),
        ({"message": b"x\n\nAssisted-by: NewTool:model-9\n"}, "newtool"),
        ({"message": b"x\n\nAgent-Logs-Url: https://github.com/o/r/sessions/9f2c\n"}, "copilot"),
        ({"message": b"x\n\nEntire-Checkpoint: a3b2c4d5e6f7\n"}, "unknown"),
    ],
)
def test_authors_and_other_trailers(built: Built, fields: dict[str, bytes], agent: str) -> None:
    two_commits(built, fields.pop("message", b"Fix"), **fields)
    assert owners(built) == [(1, 2, "none", None), (3, 4, "agent", agent)]


def test_a_session_of_a_trailer_is_named(built: Built) -> None:
    two_commits(built, CLAUDE + b"Claude-Session: https://claude.ai/code/session_01Xyz\n")
    agent = said(built)[1]
    assert (agent.session_id, agent.conversation_url) == ("session_01Xyz", "https://claude.ai/code/session_01Xyz")


def test_a_checkpoint_is_resolved_by_its_branch(built: Built) -> None:
    two_commits(built, b"x\n\nEntire-Checkpoint: a3b2c4d5e6f7\n")
    metadata = json.dumps({"session_id": "2026-01-31-5d2f0c3e", "agent": "Gemini CLI"}).encode()
    place = b"a3/b2c4d5e6f7/0/metadata.json"
    built.commit({place: metadata}, ref="refs/remotes/origin/entire/checkpoints/v1")
    agent = said(built)[1]
    assert (agent.agent, agent.session_id) == ("gemini", "5d2f0c3e")
    built.commit({place: b"not json"}, ref="refs/remotes/origin/entire/checkpoints/v1")
    assert said(built)[1].agent == "unknown"


def test_people_and_other_bots_are_never_claimed(built: Built) -> None:
    two_commits(built, b"Bump\n\nCo-authored-by: Ana <ana@example.org>\n", author=b"dependabot[bot] <d@example.org>")
    assert owners(built) == [(1, 4, "none", None)]


def test_a_version_that_a_partial_clone_lacks_costs_only_older_lines(built: Built) -> None:
    made = two_commits(built)
    text = NEW + b"def vat(price):\n    return price * 1.19\n"
    built.commit({b"app.py": text}, made, message=CLAUDE.replace(b"discount", b"vat"), at=AT + 120)
    built.checkout()
    agents = [(3, 4, "agent", "claude-code"), (5, 6, "agent", "claude-code")]
    assert owners(built) == [(1, 2, "none", None), *agents]
    built.lose(OLD)
    assert owners(built) == [(1, 4, "none", None), agents[1]]


def note(built: Built, commit: CommitSha, value: object, path: bytes | None = None) -> None:
    name = path or commit.encode()
    built.commit({name: json.dumps(value).encode()}, ref="refs/notes/ai-attribution")


def test_a_note_about_a_file_is_more_exact_than_a_trailer(built: Built) -> None:
    made = two_commits(built)
    note(built, made, {"version": 1, "generator": "Qwen-Coder", "files": {"app.py": {"percent": 75}}})
    mixed = said(built)[1]
    assert (mixed.kind, mixed.share, mixed.agent, mixed.tier, mixed.grade) == ("mixed", 0.75, "qwen-code", 6, "claimed")
    fanned = f"{made[:2]}/{made[2:]}".encode()
    note(built, made, {"generator": "Qwen-Coder", "files": {"app.py": {"percent": 10}}}, fanned)
    assert owners(built) == [(1, 4, "none", None)]
    note(built, made, {"generator": "\n", "files": 7})
    assert said(built)[1].agent == "claude-code"


def git_ai_note(built: Built, commit: CommitSha, lines: str) -> None:
    agent = {"tool": "claude", "id": "5d2f0c3e-1111", "model": "claude-opus-4-6"}
    metadata = {"schema_version": "authorship/3.0.0", "prompts": {"cf4f29e": {"agent_id": agent}}}
    text = f"app.py\n{lines}---\n{json.dumps(metadata)}"
    built.git("notes", "--ref", "refs/notes/ai", "add", "-f", "-F", "-", commit, feed=text.encode())


def test_lines_of_a_git_ai_note_are_claimed_without_an_import(built: Built) -> None:
    made = two_commits(built, b"no trailer")
    git_ai_note(built, made, "  cf4f29e 4\n")
    (agent,) = [one for one in said(built) if one.kind == "agent"]
    assert (agent.start_line, agent.end_line, agent.agent, agent.model_id) == (4, 4, "claude-code", "claude-opus-4-6")
    assert (agent.session_id, agent.tier, agent.grade) == ("5d2f0c3e-1111", 6, "claimed")
    assert compute_line_stats(Workspace(built.path)).named_by_commit == 1


def test_a_git_ai_note_is_more_exact_than_a_trailer(built: Built) -> None:
    git_ai_note(built, two_commits(built), "  cf4f29e 3-4\n  h_1 4\n")
    assert [(one.start_line, one.end_line) for one in said(built) if one.kind == "agent"] == [(3, 3)]


def test_thousands_of_notes_on_missing_commits_change_nothing(built: Built) -> None:
    made = two_commits(built)
    notes: Files = {b"%040x" % n: b'{"generator": "x", "files": {"app.py": {"percent": 99}}}' for n in range(3000)}
    built.commit(notes, ref="refs/notes/ai-attribution")
    assert said(built)[1].commits == [made]


def test_captured_evidence_is_stronger_and_text_between_calls_stays_nobodys(built: Built) -> None:
    first = built.commit({b"app.py": OLD}, at=AT)
    spool = spool_of(built.path)
    typed = NEW + b"typed_by_a_person = compute(everything)\n"
    last = typed + b"last_line_of_agent = summary(prices)\n"
    texts = {"path": "app.py", "head": first, "agent": "robot", "session": "s1"}
    spool.put(an_event("edit", id="e1", before=OLD.decode(), after=NEW.decode(), at="2026-01-31T12:05:00Z", **texts))
    spool.put(an_event("edit", id="e2", before=typed.decode(), after=last.decode(), at="2026-01-31T12:06:00Z", **texts))
    built.commit({b"app.py": last}, first, message=CLAUDE, at=1_769_861_400)
    built.checkout()
    by_line = {one.start_line: one for one in said(built)}
    assert (by_line[3].agent, by_line[5].kind, by_line[5].reason) == ("robot", "none", NOT_THIS_CALL)


def test_who_decides_by_answers_never_sees_what_a_commit_states(built: Built) -> None:
    two_commits(built)
    with open_attribution(Workspace(built.path)) as evidence:
        version = evidence.version(RepoPath(b"app.py"), built.head())
        answers = LineAttributor(evidence, strict=True).of(version)
    assert {answer.owner.value for answer in answers} == {"none"}


def test_profile_document_ignores_trailers_and_notes(built: Built) -> None:
    note(built, two_commits(built), {"generator": "x", "files": {"app.py": {"percent": 99}}})
    assert {one.kind for one in said(built, profile="document")} == {"none"}


def test_stats_count_these_lines_apart(built: Built) -> None:
    first = built.commit({b"app.py": OLD, b"old.py": OLD, b"moved.py": OLD}, at=AT)
    second = built.commit({b"app.py": NEW, b"old.py": OLD, b"moved.py": NEW}, first, message=CLAUDE, at=AT + 60)
    built.commit({b"app.py": NEW, b"old.py": OLD, b"sub/moved.py": NEW}, second, message=b"move it", at=AT + 90)
    built.checkout()
    report = compute_line_stats(Workspace(built.path))
    assert (report.totals.lines, report.totals.agent, report.named_by_commit) == (10, 4, 4)
    assert [(row.name, row.lines) for row in report.tiers] == [("6", 4)]
    assert [(row.name, row.model, row.lines) for row in report.agent_models] == [("claude-code", "Claude Opus 4.6", 4)]
    assert report.since is None


def test_uncommitted_lines_have_no_trailer(built: Built) -> None:
    two_commits(built)
    (built.path / "app.py").write_bytes(NEW + b"typed_right_now = True\n")
    assert owners(built) == [(1, 2, "none", None), (3, 4, "agent", "claude-code"), (5, 5, "none", None)]


def test_other_tools_get_no_copy_of_what_a_commit_states(built: Built, tmp_path: Path) -> None:
    first = two_commits(built)
    spool_of(built.path).put(
        an_event("edit", id="e1", path="b.py", before="", after="made_by_robot = 1\n", at="2026-01-31T12:05:00Z")
    )
    built.commit(
        {b"app.py": NEW + b"more_lines = 2\n", b"b.py": b"made_by_robot = 1\n"}, first, message=CLAUDE, at=1_769_861_400
    )
    built.checkout()
    assert {one.agent for one in said(built)} == {None, "claude-code"}
    export_gitai(Workspace(built.path), tmp_path / "notes")
    (exported,) = (tmp_path / "notes").iterdir()
    assert "b.py" in exported.read_text() and "app.py" not in exported.read_text()


def test_why_says_that_only_the_commit_names_the_agent(built: Built) -> None:
    two_commits(built)
    report = why(Workspace(built.path), "app.py", 3)
    assert report.ends == "only its commit names the agent; no session of it was captured here"
