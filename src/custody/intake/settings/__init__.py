"""Agents' settings files and git's hooks: where they are, what we add to them, and how it is removed.

May touch: the settings and plugin files of the agents in ``agent_table.py``, git's hook files and ``info/exclude``,
and our own folder ``backup`` with a copy and a note for each changed file. Everything else in those files stays byte
for byte. It imports only ``custody.core``; the caller says which files git tracks and what a hook runs.
"""

from custody.intake.settings.agent_table import AGENTS, MARK, Agent, SettingsPlaces, user_state_folder
from custody.intake.settings.edit import Edit, apply_settings_edits, render_edit_diff
from custody.intake.settings.entries import HookRequest, hook_path_from_command, interpreter_from_hook_command
from custody.intake.settings.git_hooks import (
    HOOKS,
    HookFolder,
    make_git_exclude_edit,
    make_git_hook_edit,
    make_git_unexclude_edit,
    make_git_unhook_edit,
    make_shared_hook_line,
    runs_other_hook_copy,
)
from custody.intake.settings.manifest import Manifest, ManifestEntry
from custody.intake.settings.settings import (
    find_hooks_off_setting,
    find_settings_problem,
    has_own_hook_settings,
    list_missing_hook_events,
    list_settings_hook_commands,
    make_agent_settings_edit,
    make_settings_removal_edit,
    render_manual_hook_steps,
)

__all__ = [
    "AGENTS",
    "HOOKS",
    "MARK",
    "Agent",
    "Edit",
    "HookFolder",
    "HookRequest",
    "Manifest",
    "ManifestEntry",
    "SettingsPlaces",
    "apply_settings_edits",
    "find_hooks_off_setting",
    "find_settings_problem",
    "has_own_hook_settings",
    "hook_path_from_command",
    "interpreter_from_hook_command",
    "list_missing_hook_events",
    "list_settings_hook_commands",
    "make_agent_settings_edit",
    "make_git_exclude_edit",
    "make_git_hook_edit",
    "make_git_unexclude_edit",
    "make_git_unhook_edit",
    "make_settings_removal_edit",
    "make_shared_hook_line",
    "render_edit_diff",
    "render_manual_hook_steps",
    "runs_other_hook_copy",
    "user_state_folder",
]
