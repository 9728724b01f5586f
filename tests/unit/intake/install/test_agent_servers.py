"""``custody init --mcp``: each agent gets the server in its own shape, other bytes stay, uninstall removes it."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from custody.intake.settings.agent_servers import SERVERS
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody

ALL = [word for name in SERVERS for word in ("--agent", name)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def command_of(root: Path, agent: str) -> list[str]:
    """Return the registered command of an agent."""
    server = SERVERS[agent]
    data = (root / server.project).read_bytes()
    value = tomllib.loads(data.decode()) if server.project.endswith(".toml") else json.loads(data)
    entry = value[server.key]["custody"]
    return list(entry["command"]) if server.joined else [entry["command"], *entry["args"]]


def files_of(root: Path) -> dict[str, bytes]:
    """Return the files of the work tree with git's list of excluded paths."""
    names = [*(path for path in root.rglob("*") if ".git" not in path.parts), root / ".git" / "info" / "exclude"]
    return {str(path.relative_to(root)): path.read_bytes() for path in names if path.is_file()}


def test_every_agent_gets_an_absolute_command_and_uninstall_leaves_the_old_bytes(root: Path) -> None:
    kept = {
        ".mcp.json": b'{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
        ".codex/config.toml": b'model = "m"\n\n[mcp_servers.other]\ncommand = "x"\n',
        ".gemini/settings.json": b'{\n  // mine\n  "theme": "dark"\n}\n',
        "opencode.json": b'{"theme":"dark"}',
    }
    for name, data in kept.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    before = files_of(root)
    told = custody(root, "init", "--mcp", *ALL)
    assert told.status == 0, told.err
    for agent in SERVERS:
        first, *rest = command_of_lenient(root, agent)
        assert os.path.isabs(first), agent
        assert Path(first).exists(), agent
        assert rest[-3:] == ["-C", str(root), "mcp"], agent
    after = files_of(root)
    assert custody(root, "init", "--mcp", *ALL).status == 0
    assert files_of(root) == after
    assert b"/.cursor/mcp.json" in after[".git/info/exclude"]
    gone = custody(root, "uninstall")
    assert gone.status == 0, gone.err
    left = files_of(root)
    assert {name: left.get(name) for name in kept} == kept
    assert left.keys() == before.keys()


def command_of_lenient(root: Path, agent: str) -> list[str]:
    """Return the registered command of an agent, whose settings may have comments."""
    if agent == "gemini":
        text = (root / SERVERS[agent].project).read_text().replace("// mine", "")
        entry = json.loads(text)["mcpServers"]["custody"]
        return [entry["command"], *entry["args"]]
    return command_of(root, agent)


def test_hooks_and_the_server_share_a_file_and_both_go(root: Path) -> None:
    (root / ".gemini").mkdir()
    assert custody(root, "init", "--agent", "gemini").status == 0
    assert custody(root, "init", "--mcp", "--agent", "gemini").status == 0
    text = (root / ".gemini" / "settings.json").read_text()
    assert "record.py" in text
    assert "mcpServers" in text
    assert custody(root, "uninstall").status == 0
    assert not (root / ".gemini" / "settings.json").exists()


def test_what_is_not_ours_is_never_replaced(root: Path) -> None:
    own = b'{"mcpServers": {"custody": {"command": "somebody-elses", "args": ["serve"]}}}'
    (root / ".mcp.json").write_bytes(own)
    told = custody(root, "init", "--mcp", "--agent", "claude-code")
    assert told.status == 2
    assert "lists another server 'custody'" in told.err
    assert custody(root, "uninstall").status == 0
    for broken in (b"{", b"[]", b'{"mcpServers": 3}', b"\xff"):
        (root / ".mcp.json").write_bytes(broken)
        told = custody(root, "init", "--mcp", "--agent", "claude-code")
        assert told.status == 2, broken
        assert (root / ".mcp.json").read_bytes() == broken


def test_a_dry_run_shows_the_change_and_writes_nothing(root: Path) -> None:
    before = files_of(root)
    told = custody(root, "init", "--mcp", "--agent", "cursor", "--dry-run", "--json")
    assert told.status == 0, told.err
    assert '"mcp"' in json.loads(told.out)["files"][0]["diff"]
    assert files_of(root) == before


def test_without_the_extra_nothing_is_registered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.intake.install.agent_servers.find_spec", lambda _: None)
    told = custody(root, "init", "--mcp", "--agent", "cursor")
    assert told.status == 2
    assert "git-custody[mcp]" in told.err
    assert not (root / ".cursor").exists()


def test_a_folder_named_custody_cannot_take_the_place_of_the_program(root: Path) -> None:
    from custody.intake.install.agent_servers import make_server_command

    first, *rest = make_server_command(root)
    assert first == str(Path(sys.executable).parent / "custody") or "-P" in rest
