"""Installed agents, the paths of their settings, and the events that a version supports."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from custody.capture.hook.install import AGENTS as KNOWN_TO_THE_HOOK
from custody.core.errors import InputError
from custody.intake.settings import AGENTS, SettingsPlaces, user_state_folder


def places(
    tmp_path: Path, work_tree: Path | None = None, environment: Mapping[str, str] | None = None
) -> SettingsPlaces:
    return SettingsPlaces(work_tree, tmp_path / "home", {"PATH": "", **(environment or {})})


def on_path(tmp_path: Path, path: str) -> SettingsPlaces:
    return places(tmp_path, environment={"PATH": path})


def here(some: SettingsPlaces) -> list[str]:
    return [name for name, agent in AGENTS.items() if some.is_here(agent)]


def a_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_hook_and_we_know_the_same_agents() -> None:
    assert tuple(AGENTS) == KNOWN_TO_THE_HOOK


def test_no_agent_is_found_without_a_trace_of_it(tmp_path: Path) -> None:
    assert here(places(tmp_path, tmp_path / "r")) == []


@pytest.mark.parametrize(
    ("folder", "name"),
    [(".claude", "claude-code"), (".cursor", "cursor"), (".codex", "codex"), (".gemini", "gemini")],
)
def test_a_folder_is_a_sign_in_the_work_tree_and_at_home(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / "r" / folder).mkdir(parents=True)
    assert here(places(tmp_path, tmp_path / "r")) == [name]
    assert here(places(tmp_path)) == []
    (tmp_path / "home" / folder).mkdir(parents=True)
    assert here(places(tmp_path)) == [name]


@pytest.mark.parametrize(("folder", "name"), [(".config/Cursor", "cursor"), (".local/share/opencode", "opencode")])
def test_an_agent_is_known_by_where_it_keeps_its_sessions(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / "home" / folder).mkdir(parents=True)
    assert here(places(tmp_path)) == [name]


@pytest.mark.parametrize(
    "folder",
    [
        ".copilot",
        ".config/github-copilot",
        ".config/Code/User/globalStorage/github.copilot-chat",
        ".vscode-server-insiders/data/User/globalStorage/github.copilot-chat",
    ],
)
def test_copilot_is_known_by_what_vscode_keeps_too(tmp_path: Path, folder: str) -> None:
    (tmp_path / "home" / folder).mkdir(parents=True)
    assert here(places(tmp_path)) == ["copilot"]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("claude", "claude-code"),
        ("cursor", "cursor"),
        ("cursor-agent", "cursor"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("opencode", "opencode"),
        ("copilot", "copilot"),
    ],
)
def test_a_program_on_the_path_shows_its_agent(tmp_path: Path, program: str, name: str) -> None:
    a_program(tmp_path / "bin" / program)
    assert here(on_path(tmp_path, f"/nowhere:{tmp_path / 'bin'}")) == [name]
    (tmp_path / "bin" / program).chmod(0o644)
    assert here(on_path(tmp_path, str(tmp_path / "bin"))) == []


def test_a_relative_path_entry_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_program(tmp_path / "r" / "claude")
    monkeypatch.chdir(tmp_path / "r")
    assert here(on_path(tmp_path, ".:")) == []


@pytest.mark.parametrize(
    ("name", "environment", "file"),
    [
        ("claude-code", {}, "home/.claude/settings.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "{}/elsewhere"}, "elsewhere/settings.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "relative"}, "home/.claude/settings.json"),
        ("cursor", {}, "home/.cursor/hooks.json"),
        ("codex", {}, "home/.codex/hooks.json"),
        ("codex", {"CODEX_HOME": "{}/c"}, "c/hooks.json"),
        ("gemini", {}, "home/.gemini/settings.json"),
        ("gemini", {"GEMINI_CLI_HOME": "{}/g"}, "g/.gemini/settings.json"),
        ("opencode", {}, "home/.config/opencode/plugin/custody.js"),
        ("opencode", {"XDG_CONFIG_HOME": "{}/x"}, "x/opencode/plugin/custody.js"),
        ("copilot", {}, "home/.copilot/hooks/custody.json"),
        ("copilot", {"COPILOT_HOME": "{}/c"}, "c/hooks/custody.json"),
    ],
)
def test_the_users_settings(tmp_path: Path, name: str, environment: Mapping[str, str], file: str) -> None:
    around = {key: value.format(tmp_path) for key, value in environment.items()}
    assert places(tmp_path, environment=around).user_file(AGENTS[name]) == tmp_path / file


def test_the_projects_settings(tmp_path: Path) -> None:
    some = places(tmp_path, tmp_path)
    files = {name: some.project_file(agent) for name, agent in AGENTS.items()}
    assert files == {
        "claude-code": tmp_path / ".claude/settings.local.json",
        "cursor": tmp_path / ".cursor/hooks.json",
        "codex": None,
        "gemini": tmp_path / ".gemini/settings.json",
        "opencode": tmp_path / ".opencode/plugin/custody.js",
        "copilot": tmp_path / ".github/hooks/custody.json",
    }
    assert places(tmp_path).project_file(AGENTS["cursor"]) is None


def test_codex_keeps_to_the_file_that_has_hooks(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".codex"
    folder.mkdir(parents=True)
    some, codex = places(tmp_path), AGENTS["codex"]
    config = folder / "config.toml"
    for text in ('model = "x"\n', "[hooks.state.x]\nenabled = false\n", "[features]\nhooks = true\n"):
        config.write_text(text)
        assert some.user_file(codex).name == "hooks.json"
    config.write_text("[[hooks.Stop]]\n")
    assert some.user_file(codex) == config
    (folder / "hooks.json").write_text("{}")
    assert some.user_file(codex).name == "hooks.json"


def test_a_codex_file_that_cannot_be_read_stops_us(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".codex"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("model = \n[x")
    with pytest.raises(InputError, match="config.toml': line 1, column 9"):
        places(tmp_path).user_file(AGENTS["codex"])


def test_the_state_folder(tmp_path: Path) -> None:
    assert user_state_folder({}, tmp_path) == tmp_path / ".local/state/custody"
    assert user_state_folder({"XDG_STATE_HOME": "relative"}, tmp_path) == tmp_path / ".local/state/custody"
    assert user_state_folder({"XDG_STATE_HOME": "/s"}, tmp_path) == Path("/s/custody")


# Versions: an old Claude Code ignores a whole file that names an event it does not know.


def test_the_version_is_seen_where_the_program_is(tmp_path: Path) -> None:
    some, claude = on_path(tmp_path, str(tmp_path / "bin")), AGENTS["claude-code"]
    assert some.version(claude) is None
    real = a_program(tmp_path / "share" / "claude" / "versions" / "2.1.99")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(real)
    assert some.version(claude) == (2, 1, 99)
    (tmp_path / "bin" / "claude").unlink()
    package = a_program(tmp_path / "lib" / "claude-code" / "cli.js")
    (tmp_path / "bin" / "claude").symlink_to(package)
    assert some.version(claude) is None
    (package.parent / "package.json").write_text('{"name": "claude-code",\n "version": "2.0.44", "bin": {}}')
    assert some.version(claude) == (2, 0, 44)


def test_an_event_that_a_version_does_not_know_is_not_asked_of_it() -> None:
    claude = AGENTS["claude-code"]
    names = {
        version: {event.name for event in claude.events_for(version)} for version in (None, (2, 1, 101), (2, 1, 100))
    }
    assert names[None] == names[2, 1, 101] == {event.name for event in claude.events}
    assert names[None] - names[2, 1, 100] == {"PostModelSwitch"}
    assert {event.name for event in claude.events_for((1, 0, 60))} == (
        names[None] - {"PostModelSwitch", "PostToolUseFailure", "SubagentStart", "SessionEnd"}
    )


def test_the_events_of_the_capture_page_are_asked_for() -> None:
    page = {
        "claude-code": "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart"
        " SubagentStop PostModelSwitch Stop SessionEnd",
        "cursor": "afterFileEdit afterTabFileEdit preToolUse postToolUse beforeShellExecution afterShellExecution"
        " beforeReadFile sessionStart sessionEnd stop subagentStart subagentStop beforeSubmitPrompt postToolUseFailure",
        "codex": "PreToolUse PostToolUse UserPromptSubmit SessionStart Stop SubagentStart SubagentStop",
        "gemini": "BeforeTool AfterTool BeforeAgent AfterAgent SessionStart SessionEnd",
        "opencode": "session.created chat.message tool.execute.before tool.execute.after message.updated"
        " message.part.updated",
        "copilot": "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart SubagentStop"
        " Stop SessionEnd",
    }
    for name, events in page.items():
        assert {event.name for event in AGENTS[name].events} == set(events.split())
