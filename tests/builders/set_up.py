"""Adds and removes our entries in settings files, without the rest of custody."""

from pathlib import Path

from custody.intake.settings import (
    AGENTS,
    Edit,
    HookRequest,
    Manifest,
    apply_settings_edits,
    make_agent_settings_edit,
    make_settings_removal_edit,
)

HOME = Path("/home/ana/src/.git/custody")


def a_command(agent: str = "claude-code", home: Path = HOME) -> str:
    """Return the command of an entry; the file does not exist."""
    return f"[ -f {home}/hook/record.py ] || exit 0; python3 {home}/hook/record.py --agent {agent} || :"


def an_ask(agent: str = "claude-code", home: Path = HOME) -> HookRequest:
    """Return all events of an agent."""
    return HookRequest.of(AGENTS[agent], a_command(agent, home))


def set_up(path: Path, ask: HookRequest, notes: Path) -> Edit:
    """Add custody's entries to the settings at ``path``, and list them in ``notes``."""
    manifest = Manifest.of(notes)
    edit = make_agent_settings_edit(path, ask, manifest.notes.get(str(path)))
    if edit.note is not None:
        manifest.with_notes([edit.note]).keep()
    apply_settings_edits([edit])
    return edit


def take_out(path: Path, agent: str, notes: Path) -> Edit:
    """Return the settings at ``path`` without custody's entries."""
    manifest = Manifest.of(notes)
    edit = make_settings_removal_edit(path, AGENTS[agent], manifest.notes.get(str(path)))
    apply_settings_edits([edit])
    manifest.drop_files([str(path)]).keep()
    return edit
