"""The agents' own settings files and git's hooks: where they are, what we add to them, and how it is taken out again.

May touch: the settings and plugin files of the agents that ``known.py`` lists, git's hook files and ``info/exclude``,
and our own folder ``backup`` with a copy and a note for each file that was changed. Everything else in those files
stays byte for byte. It imports only ``custody.core``; which files git tracks, and what a hook runs, it is told.
"""

from custody.intake.settings.agent_table import AGENTS, MARK, Agent, SettingsPlaces, state_folder
from custody.intake.settings.edit import Edit, apply, diff
from custody.intake.settings.entries import HookRequest, hook_in, interpreter_in
from custody.intake.settings.git_hooks import (
    HOOKS,
    HookFolder,
    exclude_edit,
    hook_edit,
    line_to_add,
    runs_another,
    unexclude_edit,
    unhook_edit,
)
from custody.intake.settings.manifest import Manifest, ManifestEntry
from custody.intake.settings.settings import (
    render_manual_steps,
    settings_edit,
    settings_in_use,
    settings_lack,
    settings_off,
    settings_run,
    settings_trouble,
    unsettings_edit,
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
    "apply",
    "diff",
    "exclude_edit",
    "hook_edit",
    "hook_in",
    "interpreter_in",
    "line_to_add",
    "render_manual_steps",
    "runs_another",
    "settings_edit",
    "settings_in_use",
    "settings_lack",
    "settings_off",
    "settings_run",
    "settings_trouble",
    "state_folder",
    "unexclude_edit",
    "unhook_edit",
    "unsettings_edit",
]
