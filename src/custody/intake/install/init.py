"""Installation: the hook copied next to the store, an entry in each agent's settings, and git's hooks.

Everything is planned before anything is written, so a file that cannot be read stops the installation.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.hook.durable import make_durable_folder
from custody.capture.hook.install import (
    add_hooked_agents,
    assign_repository_id,
    git_hook_shell_command,
    hook_shell_command,
    install_hook,
    remove_hook,
    remove_repository_id,
)
from custody.core.errors import CustodyError, InputError, WorldError
from custody.core.wire.report import BackFill, InitReport, UninstallReport
from custody.intake.backfill import has_agent_transcripts, preview_agent_backfill
from custody.intake.install.agent_servers import uninstall_agent_servers
from custody.intake.install.site import (
    InstallSite,
    describe_disabled_hooks,
    find_disabled_hooks,
    list_hook_entries,
    setup_file_from_edit,
    user_hook_arguments,
)
from custody.intake.queries import list_captured_sessions
from custody.intake.settings import (
    AGENTS,
    HOOKS,
    MARK,
    Agent,
    Edit,
    HookRequest,
    Manifest,
    ManifestEntry,
    apply_settings_edits,
    has_own_hook_settings,
    make_agent_settings_edit,
    make_git_exclude_edit,
    make_git_hook_edit,
    make_git_unexclude_edit,
    make_git_unhook_edit,
    make_settings_removal_edit,
)
from custody.intake.settings.agent_table import TRANSCRIPT_AGENTS
from custody.workspace.workspace import Workspace


class Recorder(Struct, frozen=True):
    """The operations of ``capture/hook``; tests replace them."""

    install: Callable[[Path], bool] = install_hook
    remove: Callable[[Path], bool] = remove_hook
    shell: Callable[..., str] = hook_shell_command
    git_shell: Callable[[Path, str], str] = git_hook_shell_command


RECORDER = Recorder()


class InitRequest(Struct, frozen=True, kw_only=True):
    """The agents to set up, at which level, with or without git's hooks, and whether to write anything."""

    agents: tuple[str, ...]
    user: bool = False
    git_hooks: bool = True
    dry_run: bool = False


def find_installed_agents(workspace: Workspace, *, user: bool = False) -> list[str]:
    """Return the agents that this machine or this work tree has."""
    places = InstallSite.of(workspace, user=user).places
    return [agent.name for agent in AGENTS.values() if places.is_here(agent)]


def find_transcript_agents(workspace: Workspace) -> list[str]:
    """Return the agents without a hook that this machine or this work tree has: only their sessions on disk are read.

    Their readers are not loaded.
    """
    places = InstallSite.of(workspace, user=False).places
    return [agent.name for agent in TRANSCRIPT_AGENTS.values() if places.has_transcript_agent(agent)]


def find_used_agents(workspace: Workspace) -> list[str]:
    """Return the installed agents with a folder in this work tree, or with sessions of this repository on disk."""
    places = InstallSite.of(workspace, user=False).places
    return [
        name
        for name in find_installed_agents(workspace)
        if (places.work_tree is not None and (places.work_tree / AGENTS[name].folder).is_dir())
        or has_agent_transcripts(workspace, name)
    ]


def install_agent_hooks(workspace: Workspace, request: InitRequest, recorder: Recorder = RECORDER) -> InitReport:
    """Set up the requested agents; doing it twice changes nothing."""
    site = InstallSite.of(workspace, user=request.user)
    if site.repository is not None and site.repository.work_tree is None:
        raise InputError(
            f"'{site.repository.common_dir}' has no work tree",
            hint="run 'custody init' in a clone or work tree, or use --user",
        )
    plan = [_plan_agent_hook(site, AGENTS[name], recorder) for name in request.agents]
    project_edits = [planned.edit for planned in plan if planned.home == site.home]
    if site.repository is not None and request.git_hooks:
        plan += [_plan_git_hook(site, name, recorder) for name in HOOKS]
    if site.repository is not None:
        plan += _plan_git_excludes(site, project_edits)
    homes = list(dict.fromkeys([site.home, *(planned.home for planned in plan)]))
    if not request.dry_run:
        _apply_hook_plan(site, homes, plan, recorder)
    return InitReport(
        agents=list(request.agents),
        found=find_installed_agents(workspace, user=request.user),
        already=[name for name in _list_recorded_agents(workspace, site) if name not in request.agents],
        off={
            name: describe_disabled_hooks(name, *off)
            for name, off in find_disabled_hooks(site.places).items()
            if name in request.agents
        },
        homes=[str(home) for home in homes],
        files=[setup_file_from_edit(planned.edit, dry_run=request.dry_run) for planned in plan],
        dry_run=request.dry_run,
        backfill=_preview_agent_backfills(workspace, request) if site.repository is not None else {},
    )


def _list_recorded_agents(workspace: Workspace, site: InstallSite) -> list[str]:
    """Return the agents that are recorded here, at whichever level they were set up."""
    if site.repository is not None:
        return list(dict.fromkeys(entry.agent for entry in list_hook_entries(workspace) if entry.records))
    files = ((agent, path) for agent in AGENTS.values() for path in site.places.user_files(agent))
    return list(dict.fromkeys(agent.name for agent, path in files if has_own_hook_settings(path, agent)))


def _preview_agent_backfills(workspace: Workspace, request: InitRequest) -> dict[str, BackFill]:
    """Return the sessions of the requested agents that are on disk but not recorded."""
    known: set[tuple[str, str]] = set()
    if workspace.exists():
        with workspace.reading() as store:
            known.update(list_captured_sessions(store))
    previews = ((name, preview_agent_backfill(workspace, name, known)) for name in request.agents)
    return {name: preview for name, preview in previews if preview is not None and preview.transcripts}


class _PlannedChange(Struct, frozen=True):
    """A change, and the home folder with the manifest for it."""

    home: Path
    edit: Edit


def _plan_agent_hook(site: InstallSite, agent: Agent, recorder: Recorder) -> _PlannedChange:
    project = site.places.project_file(agent)
    if project is not None and not site.is_tracked(project):
        return _PlannedChange(
            site.home,
            _make_agent_hook_edit(site, agent, project, _make_recorder_command(recorder, site.home, agent.name)),
        )
    path = site.places.user_file(agent)
    everywhere = site.repository is None or _is_hooked_everywhere(site, path)
    command = _make_recorder_command(
        recorder, site.state, agent.name, *user_hook_arguments(agent, everywhere=everywhere)
    )
    edit = _make_agent_hook_edit(site, agent, path, command)
    if site.repository is not None:
        reason = "" if project is None else f", because git tracks '{agent.project}'"
        scope = "for every repository" if everywhere else "only where 'custody init' was run"
        edit = replace(edit, what=f"{edit.what}; user settings, {scope}{reason}")
    return _PlannedChange(site.state, _add_manifest_user(edit, site.home))


def _is_hooked_everywhere(site: InstallSite, path: Path) -> bool:
    """Return whether the user set up every repository: then setting up one repository does not narrow it."""
    note = Manifest.of(site.state).notes.get(str(path))
    return note is not None and str(site.state) in note.users


def _make_agent_hook_edit(site: InstallSite, agent: Agent, path: Path, command: str) -> Edit:
    home = site.home if path == site.places.project_file(agent) else site.state
    request = HookRequest.of(agent, command, site.places.version(agent))
    edit = make_agent_settings_edit(path, request, Manifest.of(home).notes.get(str(path)))
    return replace(edit, what=f"{edit.what}; {agent.note}") if agent.note and edit.changes else edit


def _plan_git_excludes(site: InstallSite, settings: Iterable[Edit]) -> list[_PlannedChange]:
    """Plan to exclude the project's settings files that we create from ``git status``."""
    created = [AGENTS[edit.whose].project for edit in settings if edit.note is not None and edit.note.created]
    note = Manifest.of(site.home).notes.get(str(site.exclude))
    edit = make_git_exclude_edit(site.exclude, [name for name in created if name is not None], note)
    return [] if edit is None else [_PlannedChange(site.home, edit)]


def _add_manifest_user(edit: Edit, home: Path) -> Edit:
    if edit.note is None:
        return edit
    users = tuple(sorted({*edit.note.users, str(home)}))
    return replace(edit, note=replace(edit.note, users=users))


def _plan_git_hook(site: InstallSite, name: str, recorder: Recorder) -> _PlannedChange:
    command = recorder.git_shell(site.home, name)
    note = Manifest.of(site.home).notes.get(str(site.hook_folder.path / name))
    return _PlannedChange(site.home, make_git_hook_edit(site.hook_folder, name, command, note))


def _make_recorder_command(recorder: Recorder, home: Path, agent: str, *more: str) -> str:
    command = recorder.shell(home, agent, *more)
    if any(char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in command):
        raise InputError(
            f"{str(home)!a} has characters that an agent's settings cannot hold",
            hint="rename the repository's folder",
        )
    return command


def _apply_hook_plan(
    site: InstallSite, homes: Sequence[Path], plan: Sequence[_PlannedChange], recorder: Recorder
) -> None:
    """Write the hook first, then the manifest, then the files, so that each refers only to what exists."""
    new = [home for home in homes if not (home / "hook").exists()]
    old = {home: Manifest.of(home) for home in homes}
    try:
        for home in homes:
            _install_recorder_copy(home, recorder)
            if home != site.state:
                _mark_agents_installed(home, [planned.edit.whose for planned in plan])
            _store_manifest_edits(old[home], [planned.edit for planned in plan if planned.home == home])
        apply_settings_edits([planned.edit for planned in plan])
    except BaseException:
        for home in homes:
            with suppress(CustodyError):  # a failure to undo must not hide the first error
                old[home].keep()
        for home in new:
            recorder.remove(home)
            remove_repository_id(home, os.environ)
        raise


def _install_recorder_copy(home: Path, recorder: Recorder) -> None:
    with _translate_recorder_errors(home):
        make_durable_folder(str(home))
        recorder.install(home)


def _mark_agents_installed(home: Path, agents: Iterable[str]) -> None:
    """Store the input of hooks: the set-up agents, and the repository's id in case it cannot be written later."""
    with _translate_recorder_errors(home):
        add_hooked_agents(home, (agent for agent in agents if agent in AGENTS))
        assign_repository_id(home, os.environ)


@contextmanager
def _translate_recorder_errors(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorldError(
            f"cannot install the recorder in '{home}': {error.strerror}", hint="nothing was changed"
        ) from error


def _store_manifest_edits(manifest: Manifest, edits: Iterable[Edit]) -> None:
    with_notes = [edit for edit in edits if edit.note is not None]
    for edit in with_notes:
        if edit.changes and edit.before is not None:
            manifest.back_up(edit.path, edit.before)
    manifest.with_notes(edit.note for edit in with_notes if edit.note is not None).keep()


def uninstall_agent_hooks(
    workspace: Workspace, *, user: bool = False, purge: bool = False, recorder: Recorder = RECORDER
) -> UninstallReport:
    """Undo ``init`` at that level, to the byte; the records stay unless ``purge``. A second time it does nothing."""
    servers = [] if user else uninstall_agent_servers(workspace)
    site = InstallSite.of(workspace, user=user)
    own, shared = Manifest.of(site.home), Manifest.of(site.state)
    unused = [] if user else _find_unused_manifest_entries(shared, site.home)
    edits = [*_undo_manifest_edits(site, [*own.notes.values(), *unused]), *_undo_unlisted_edits(site, own)]
    apply_settings_edits(edits)
    by_hand = {str(edit.path) for edit in edits if edit.by_hand is not None}
    own.drop_files(set(own.notes) - by_hand).keep()
    homes = [site.home] if recorder.remove(site.home) else []
    if not user:
        shared = _remove_manifest_user(shared, site.home).drop_files(note.path for note in unused)
        shared.keep()
        if unused and not shared.notes and recorder.remove(site.state):
            homes.append(site.state)
    if purge:
        _purge_recorded_evidence(workspace, site)
    elif not user:
        remove_repository_id(site.home, os.environ)
    for home in {site.home, site.state}:
        _remove_empty_hook_home(home)
    return UninstallReport(
        homes=[str(home) for home in homes],
        files=[*servers, *(setup_file_from_edit(edit) for edit in edits)],
        purged=purge,
    )


def list_purge_folders(workspace: Workspace, *, user: bool = False) -> list[Path]:
    """Return the folders that a purge removes, with all records in them."""
    site = InstallSite.of(workspace, user=user)
    return [path for path in (site.home, *([] if user else [workspace.fallback])) if path.is_dir()]


def _find_unused_manifest_entries(shared: Manifest, home: Path) -> list[ManifestEntry]:
    """Return the changes to the user's settings that no other installed repository uses."""
    return [note for note in shared.notes.values() if not _other_manifest_users(note, home)]


def _other_manifest_users(note: ManifestEntry, home: Path) -> list[str]:
    return [user for user in note.users if user != str(home) and (Path(user) / "hook").is_dir()]


def _remove_manifest_user(shared: Manifest, home: Path) -> Manifest:
    notes = (note for note in shared.notes.values() if str(home) in note.users)
    return shared.with_notes(replace(note, users=tuple(_other_manifest_users(note, home))) for note in notes)


def _undo_manifest_edits(site: InstallSite, notes: Iterable[ManifestEntry]) -> Iterator[Edit]:
    for note in notes:
        yield _make_safe_unhook_edit(site, Path(note.path), note.whose, note)


def _undo_unlisted_edits(site: InstallSite, own: Manifest) -> Iterator[Edit]:
    """Yield the removal of our entries that the manifest does not list: it may have been lost."""
    for agent in AGENTS.values():
        project = site.places.project_file(agent)
        paths = site.places.user_files(agent) if site.repository is None else [project] if project else []
        for path in paths:
            if str(path) not in own.notes and has_own_hook_settings(path, agent):
                yield _make_safe_unhook_edit(site, path, agent.name, None)
    if site.repository is not None:
        hooks = [site.hook_folder.path / name for name in HOOKS] if site.hook_folder.refused is None else []
        for path in (*hooks, site.exclude):
            if str(path) not in own.notes:
                yield from (edit for edit in [_make_safe_unhook_edit(site, path, "git", None)] if edit.changes)


def _make_safe_unhook_edit(site: InstallSite, path: Path, whose: str, note: ManifestEntry | None) -> Edit:
    try:
        edit = _make_unhook_edit(site, path, whose, note)
    except InputError as error:
        # One file that cannot be read must not stop the others.
        return _make_manual_unhook_edit(path, whose, error.message)
    if edit.changes and site.is_tracked(path):
        return _make_manual_unhook_edit(path, whose, "git tracks this file now")
    return edit


def _make_unhook_edit(site: InstallSite, path: Path, whose: str, note: ManifestEntry | None) -> Edit:
    if site.repository is not None and path == site.exclude:
        return make_git_unexclude_edit(path, note)
    return make_git_unhook_edit(path, note) if whose == "git" else make_settings_removal_edit(path, AGENTS[whose], note)


def _make_manual_unhook_edit(path: Path, whose: str, reason: str) -> Edit:
    task = f"remove the command that runs '…{MARK}'"
    return Edit(path=path, target=path, before=None, after=None, whose=whose, what=reason, by_hand=task)


def _purge_recorded_evidence(workspace: Workspace, site: InstallSite) -> None:
    for folder in list_purge_folders(workspace, user=site.repository is None):
        if folder.is_symlink():
            raise WorldError(f"cannot remove '{folder}': it is a symbolic link", hint="remove it by hand")
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise WorldError(
                f"cannot remove '{folder}': {error.strerror}", hint="some of its files may be removed"
            ) from error


def _remove_empty_hook_home(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # it has records, or it is gone already
