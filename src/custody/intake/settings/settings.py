"""What becomes of an agent's settings: our entries added, renewed or taken out; everybody else's bytes as they were.

What cannot be read is refused, and the user told what to add or remove by hand.
"""

import json
from dataclasses import replace
from pathlib import Path

from custody.core.errors import CustodyError, InputError
from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent, ProgramVersion
from custody.intake.settings.byte_swap import apply_swaps
from custody.intake.settings.edit import Edit, edit_of
from custody.intake.settings.entries import HookRequest, at_key, is_as_wanted, our_commands, ours_in, value_of
from custody.intake.settings.files import SettingsFile, check_may_replace, list_missing_folders, look
from custody.intake.settings.insertion import insert_entries
from custody.intake.settings.jsonc import JsoncError
from custody.intake.settings.manifest import ManifestEntry, digest
from custody.intake.settings.plugin import plugin_edit, plugin_runs, unplugin_edit
from custody.intake.settings.removal import without_ours


def settings_edit(path: Path, ask: HookRequest, note: ManifestEntry | None = None) -> Edit:
    """The settings at ``path`` with our entries, once each, in their newest form; or our plugin there."""
    if ask.agent.plugin is not None:
        return plugin_edit(path, ask, note)
    seen, toml = look(path), _is_toml(path)
    what = f"{len(ask.events)} events"
    try:
        if is_as_wanted(value_of(seen.data, toml=toml), ask):
            kept = note or ManifestEntry(
                path=str(path), whose=ask.agent.name, created=False, after=digest(seen.data or b"")
            )
            return _edit(seen, ask.agent, seen.data, f"{what}, as before", kept)
        check_may_replace(seen)
        base = None if seen.data is None else without_ours(seen.data, ask.agent, note, toml=toml)
        swaps, members = insert_entries(base or b"", ask, toml=toml)
    except JsoncError as error:
        raise InputError(
            f"cannot add to '{path}': {error}",
            hint="nothing was changed; mend the file, choose other agents with --agent, or add this by hand:\n"
            + render_manual_steps(ask, toml=toml),
        ) from error
    after = apply_swaps(base or b"", swaps)
    made = () if note is None or base is not None else note.folders
    new = ManifestEntry(
        path=str(path),
        whose=ask.agent.name,
        created=base is None,
        after=digest(after),
        swaps=tuple(swaps),
        members=members,
        folders=made or tuple(map(str, list_missing_folders(seen.target))),
        users=() if note is None else note.users,
    )
    return _edit(seen, ask.agent, after, what, new)


def unsettings_edit(path: Path, agent: Agent, note: ManifestEntry | None = None) -> Edit:
    """The settings at ``path`` without our entries; a file that was made for them goes."""
    if agent.plugin is not None:
        return unplugin_edit(path, agent, note)
    seen = look(path)
    try:
        after = None if seen.data is None else without_ours(seen.data, agent, note, toml=_is_toml(path))
    except JsoncError as error:
        raise InputError(
            f"cannot read '{path}': {error}",
            hint=f"mend it, or remove the entries that run '…{MARK}' by hand",
        ) from error
    if after == seen.data:
        return _edit(seen, agent, after, "nothing of ours is there", None)
    check_may_replace(seen)
    edit = _edit(seen, agent, after, "our entries taken out", None)
    return edit if note is None else replace(edit, folders=tuple(map(Path, note.folders)))


def settings_in_use(path: Path, agent: Agent) -> bool:
    """Whether an entry of ours is at ``path``; False also for a file that cannot be read."""
    return bool(settings_run(path, agent))


def settings_run(path: Path, agent: Agent) -> list[str]:
    """The commands of our entries at ``path``; none also for a file that cannot be read."""
    try:
        if agent.plugin is not None:
            return plugin_runs(look(path).data)
        return our_commands(value_of(look(path).data, toml=_is_toml(path)), agent)
    except (JsoncError, CustodyError):
        return []


def settings_lack(path: Path, agent: Agent, version: ProgramVersion | None) -> list[str]:
    """The events for which nothing of ours stands at ``path``, which that version of the agent can be asked."""
    if agent.plugin is not None:
        return []
    try:
        asked = {event for event, _ in ours_in(value_of(look(path).data, toml=_is_toml(path)), agent)}
    except (JsoncError, CustodyError):
        asked = set()
    return [event.name for event in agent.events_for(version) if event.name not in asked]


def settings_trouble(path: Path, agent: Agent) -> str | None:
    """Why the settings at ``path`` cannot be read; None when they can, or there are none."""
    try:
        data = look(path).data
        if agent.plugin is None:
            value_of(data, toml=_is_toml(path))
    except (JsoncError, CustodyError) as error:
        return error.message if isinstance(error, CustodyError) else str(error)
    return None


def settings_off(path: Path, agent: Agent) -> str | None:
    """The setting at ``path`` that turns the agent's hooks off; empty where one leaves them on, None where none is."""
    try:
        value = value_of(look(path).data, toml=_is_toml(path)) if agent.off else {}
    except (JsoncError, CustodyError):
        return None
    said = {key: at_key(value, key) == off for key, off in agent.off.items() if at_key(value, key) is not None}
    return next((key for key, is_off in said.items() if is_off), "") if said else None


def render_manual_steps(ask: HookRequest, *, toml: bool = False) -> str:
    """What a user would add to the agent's settings to have the same."""
    if toml:
        return apply_swaps(b"", toml_text.append_toml_entries(b"", ask.entries) or []).decode()
    return json.dumps(ask.whole, ensure_ascii=False, indent=2)


def _edit(seen: SettingsFile, agent: Agent, after: bytes | None, what: str, note: ManifestEntry | None) -> Edit:
    return edit_of(seen, agent.name, after, what, note, () if after is None else list_missing_folders(seen.target))


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"
