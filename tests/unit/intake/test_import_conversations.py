"""Conversations that traces name by ``file://`` URLs: read at import only, and only where they may be."""

from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.core.views import Prompt
from custody.core.wire.report import ImportTracesReport
from custody.intake import import_conversations
from custody.intake.import_traces import import_traces
from custody.why.report import PromptLink
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built, a_repository
from tests.builders.traces import a_conversation, a_range, a_trace, written
from tests.builders.transcripts import a_transcript

AT = 1_769_178_600
"""The time of the trace."""


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    base = made.commit({b"README.md": b"read me\n"}, at=AT - 100)
    made.commit({b"src/app.py": b"one = make_one()\ntwo = make_two()\n"}, base, at=AT + 100)
    made.checkout()
    return made


def talk(folder: Path, text: str = "add the second") -> Path:
    return a_transcript("s1", folder).prompt(text).says("sure").put(folder)


def imported(built: Built, tmp_path: Path, url: str) -> ImportTracesReport:
    revision = {"type": "git", "revision": built.git("rev-parse", "HEAD^").decode().strip()}
    conversation = a_conversation(a_range(1, 2), url=url)
    file = written(tmp_path / "traces.jsonl", a_trace("src/app.py", conversation, vcs=revision))
    return import_traces(Workspace(built.path), file)


def prompts(built: Built) -> list[str | None]:
    with Workspace(built.path).reading() as store:
        return [seen.view.text.content for seen in store.views.look_up(Prompt, "1 = 1", ())]


def test_a_conversation_in_the_repository_gives_the_trace_its_prompt(built: Built, tmp_path: Path) -> None:
    url = f"file://{talk(built.path / 'talks')}"
    assert imported(built, tmp_path, url).problem_count == 0
    assert prompts(built) == ["add the second"]
    assert imported(built, tmp_path, url).known > 0 and prompts(built) == ["add the second"]
    (built.path / "talks" / "s1.jsonl").unlink()
    assert blame(Workspace(built.path), "src/app.py").report.attributions[0].conversation_summary == "add the second"
    report = why(Workspace(built.path), "src/app.py", 1)
    assert [link.text for link in report.chain if isinstance(link, PromptLink)] == ["add the second"]


def test_a_conversation_in_an_agents_folder_is_read_and_secrets_are_removed(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    path = talk(tmp_path / "claude" / "projects" / "p", f"use {secret} for it")
    imported(built, tmp_path, f"file://{path}")
    (prompt,) = prompts(built)
    assert prompt is not None and prompt.startswith("use [redacted:") and secret not in prompt


def test_other_places_and_links_are_not_read(built: Built, tmp_path: Path) -> None:
    outside = talk(tmp_path / "elsewhere")
    (built.path / "link.jsonl").symlink_to(outside)
    (built.path / "folder").symlink_to(outside.parent)
    for url in (
        f"file://{outside}",
        f"file://{built.path}/link.jsonl",
        f"file://{built.path}/folder/s1.jsonl",
        f"file://{built.path}/../elsewhere/s1.jsonl",
        f"file://host{outside}",
        f"file://{built.path}/missing.jsonl",
        f"file://{built.path}/src/app.py",
        f"file://{built.path}/.git/config",
    ):
        report = imported(built, tmp_path, url)
        assert [problem.file for problem in report.problems] == [url], url
    assert prompts(built) == []


def test_a_large_conversation_is_not_read(built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_conversations, "CONVERSATION_BYTES_MAX", 100)
    assert imported(built, tmp_path, f"file://{talk(built.path / 'talks')}").problem_count == 1
    assert prompts(built) == []


def test_a_question_never_reads_a_conversation(built: Built) -> None:
    url = f"file://{talk(built.path / 'talks')}"
    revision = {"type": "git", "revision": built.git("rev-parse", "HEAD^").decode().strip()}
    trace = a_trace("src/app.py", a_conversation(a_range(1, 2), url=url), vcs=revision)
    written(built.path / ".agent-trace" / "traces.jsonl", trace)
    assert blame(Workspace(built.path), "src/app.py").report.attributions[0].conversation_summary is None
    assert prompts(built) == []
