"""The agents' own settings files and git's hooks: where they are, what we add to them, and how it is taken out again.

May touch: the settings and plugin files of the agents that ``known.py`` lists, git's hook files and ``info/exclude``,
and our own folder ``backup`` with a copy and a note for each file that was changed. Everything else in those files
stays byte for byte. It imports only ``custody.model``; which files git tracks, and what a hook runs, it is told.
"""

from custody.world.agents.changing import apply
from custody.world.agents.edit import Edit, diff
from custody.world.agents.entries import Ask, hook_in, interpreter_in
from custody.world.agents.excluding import exclude_edit, unexclude_edit
from custody.world.agents.githooks import HOOKS, HookFolder, hook_edit, line_to_add, runs_another, unhook_edit
from custody.world.agents.known import AGENTS, MARK, Agent
from custody.world.agents.manifest import Manifest, Note
from custody.world.agents.places import Places, state_folder
from custody.world.agents.settings import (
    by_hand,
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
    "Ask",
    "Edit",
    "HookFolder",
    "Manifest",
    "Note",
    "Places",
    "apply",
    "by_hand",
    "diff",
    "exclude_edit",
    "hook_edit",
    "hook_in",
    "interpreter_in",
    "line_to_add",
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
