"""Have agents' work recorded: the hook copied beside the store, an entry in each agent's settings, git's hooks chained.

Everything is decided before anything is written, so that a file that cannot be read stops all of it.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from custody.capture.hook.durable import make_folder
from custody.capture.hook.install import (
    forget_id,
    give_id,
    hook_shell,
    install_hook,
    remove_hook,
    set_up_for,
)
from custody.core.errors import CustodyError, InputError, WorldError
from custody.core.wire.report import BackFill, InitReport, SetUpFile, UninstallReport
from custody.intake.backfill import back_fill
from custody.intake.install.site import (
    InstallSite,
    at_user_level,
    describe_disabled_hooks,
    list_hook_entries,
    turned_off,
)
from custody.intake.queries import session_names
from custody.intake.settings import (
    AGENTS,
    HOOKS,
    MARK,
    Agent,
    Edit,
    HookRequest,
    Manifest,
    ManifestEntry,
    apply,
    diff,
    exclude_edit,
    hook_edit,
    settings_edit,
    settings_in_use,
    unexclude_edit,
    unhook_edit,
    unsettings_edit,
)
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Recorder:
    """What ``capture/hook`` does for us; tests put another in its place."""

    install: Callable[[Path], bool] = install_hook
    remove: Callable[[Path], bool] = remove_hook
    shell: Callable[..., str] = hook_shell


RECORDER = Recorder()

TITLES = MappingProxyType({agent.name: agent.title for agent in AGENTS.values()})
"""The agents that can be set up, by name, as people call them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    """Which agents, at which level, with or without git's hooks, really or only to show."""

    agents: tuple[str, ...]
    user: bool = False
    git_hooks: bool = True
    dry_run: bool = False


def find_present_agents(workspace: Workspace, *, user: bool = False) -> list[str]:
    """The agents of which there is a sign on this machine or in this work tree."""
    places = InstallSite.of(workspace, user=user).places
    return [agent.name for agent in AGENTS.values() if places.is_here(agent)]


def init(workspace: Workspace, wanted: InitRequest, recorder: Recorder = RECORDER) -> InitReport:
    """Set up what is wanted; doing it twice changes nothing."""
    site = InstallSite.of(workspace, user=wanted.user)
    if site.repository is not None and site.repository.work_tree is None:
        raise InputError(
            f"'{site.repository.common_dir}' has no work tree here, so no agent works in it",
            hint="run 'custody init' in a clone or work tree, or set up your user with --user",
        )
    plan = [_agent_plan(site, AGENTS[name], recorder) for name in wanted.agents]
    made = [planned.edit for planned in plan if planned.home == site.home]
    if site.repository is not None and wanted.git_hooks:
        plan += [_hook_plan(site, name, recorder) for name in HOOKS]
    if site.repository is not None:
        plan += _exclude_plan(site, made)
    homes = list(dict.fromkeys([site.home, *(planned.home for planned in plan)]))
    if not wanted.dry_run:
        _keep(site, homes, plan, recorder)
    return InitReport(
        agents=list(wanted.agents),
        found=find_present_agents(workspace, user=wanted.user),
        already=[name for name in _recorded(workspace, site) if name not in wanted.agents],
        off={
            name: describe_disabled_hooks(name, *off)
            for name, off in turned_off(site.places).items()
            if name in wanted.agents
        },
        homes=[str(home) for home in homes],
        files=[set_up_file(planned.edit, dry_run=wanted.dry_run) for planned in plan],
        dry_run=wanted.dry_run,
        backfill=_left_on_disk(workspace, wanted) if site.repository is not None else {},
    )


def _recorded(workspace: Workspace, site: InstallSite) -> list[str]:
    """The agents that are recorded here, whoever set them up."""
    if site.repository is not None:
        return list(dict.fromkeys(each.agent for each in list_hook_entries(workspace) if each.records))
    files = ((agent, path) for agent in AGENTS.values() for path in site.places.user_files(agent))
    return list(dict.fromkeys(agent.name for agent, path in files if settings_in_use(path, agent)))


def _left_on_disk(workspace: Workspace, wanted: InitRequest) -> dict[str, BackFill]:
    """What the chosen agents did here before anything was recorded."""
    known: set[tuple[str, str]] = set()
    if workspace.exists():
        with workspace.reading() as store:
            known.update(session_names(store))
    looked = ((name, back_fill(workspace, name, known)) for name in wanted.agents)
    return {name: left for name, left in looked if left is not None and left.transcripts}


@dataclass(frozen=True, slots=True)
class _PlannedChange:
    """A change, and the home whose manifest remembers it."""

    home: Path
    edit: Edit


def _agent_plan(site: InstallSite, agent: Agent, recorder: Recorder) -> _PlannedChange:
    project = site.places.project_file(agent)
    if project is not None and not site.is_tracked(project):
        return _PlannedChange(site.home, _agent_edit(site, agent, project, _command(recorder, site.home, agent.name)))
    path = site.places.user_file(agent)
    everywhere = site.repository is None or _is_everywhere(site, path)
    command = _command(recorder, site.state, agent.name, *at_user_level(agent, everywhere=everywhere))
    edit = _agent_edit(site, agent, path, command)
    if site.repository is not None:
        why = "" if project is None else f", because git tracks '{agent.project}'"
        where = "for every repository" if everywhere else "used where 'custody init' was run"
        edit = replace(edit, what=f"{edit.what}; these are the user's settings, {where}{why}")
    return _PlannedChange(site.state, _used_by(edit, site.home))


def _is_everywhere(site: InstallSite, path: Path) -> bool:
    """Whether the user has asked for every repository: then one repository does not narrow it."""
    note = Manifest.of(site.state).notes.get(str(path))
    return note is not None and str(site.state) in note.users


def _agent_edit(site: InstallSite, agent: Agent, path: Path, command: str) -> Edit:
    home = site.home if path == site.places.project_file(agent) else site.state
    ask = HookRequest.of(agent, command, site.places.version(agent))
    edit = settings_edit(path, ask, Manifest.of(home).notes.get(str(path)))
    return replace(edit, what=f"{edit.what}; {agent.note}") if agent.note and edit.changes else edit


def _exclude_plan(site: InstallSite, settings: Iterable[Edit]) -> list[_PlannedChange]:
    """The project's settings that would not be there without us are kept out of ``git status``."""
    made = [AGENTS[edit.whose].project for edit in settings if edit.note is not None and edit.note.created]
    note = Manifest.of(site.home).notes.get(str(site.exclude))
    edit = exclude_edit(site.exclude, [name for name in made if name is not None], note)
    return [] if edit is None else [_PlannedChange(site.home, edit)]


def _used_by(edit: Edit, home: Path) -> Edit:
    if edit.note is None:
        return edit
    users = tuple(sorted({*edit.note.users, str(home)}))
    return replace(edit, note=replace(edit.note, users=users))


def _hook_plan(site: InstallSite, name: str, recorder: Recorder) -> _PlannedChange:
    command = recorder.shell(site.home, "git", "--event", name)
    note = Manifest.of(site.home).notes.get(str(site.hook_folder.path / name))
    return _PlannedChange(site.home, hook_edit(site.hook_folder, name, command, note))


def _command(recorder: Recorder, home: Path, agent: str, *more: str) -> str:
    command = recorder.shell(home, agent, *more)
    if any(sign < " " or sign == "\x7f" or "\ud800" <= sign <= "\udfff" for sign in command):
        raise InputError(
            f"{str(home)!a} has characters that an agent's settings cannot hold",
            hint="give the repository's folder a name in plain text",
        )
    return command


def _keep(site: InstallSite, homes: Sequence[Path], plan: Sequence[_PlannedChange], recorder: Recorder) -> None:
    """Hook first, then the notes, then the files: what is there names only what is there already."""
    new = [home for home in homes if not (home / "hook").exists()]
    old = {home: Manifest.of(home) for home in homes}
    try:
        for home in homes:
            _copy_recorder(home, recorder)
            if home != site.state:
                _mark(home, [planned.edit.whose for planned in plan])
            _remember(old[home], [planned.edit for planned in plan if planned.home == home])
        apply([planned.edit for planned in plan])
    except BaseException:
        for home in homes:
            with suppress(CustodyError):  # why we undo must not be hidden by what fails in undoing
                old[home].keep()
        for home in new:
            recorder.remove(home)
            forget_id(home, os.environ)
        raise


def _copy_recorder(home: Path, recorder: Recorder) -> None:
    with _translate_os_errors(home):
        make_folder(str(home))
        recorder.install(home)


def _mark(home: Path, agents: Iterable[str]) -> None:
    """What hooks ask of a repository: whether it was set up for their agent, and its name if it cannot be written."""
    with _translate_os_errors(home):
        set_up_for(home, (agent for agent in agents if agent in AGENTS))
        give_id(home, os.environ)


@contextmanager
def _translate_os_errors(home: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorldError(
            f"cannot put the recorder into '{home}': {error.strerror}", hint="nothing was changed"
        ) from error


def _remember(manifest: Manifest, edits: Iterable[Edit]) -> None:
    noted = [edit for edit in edits if edit.note is not None]
    for edit in noted:
        if edit.changes and edit.before is not None:
            manifest.back_up(edit.path, edit.before)
    manifest.with_notes(edit.note for edit in noted if edit.note is not None).keep()


def set_up_file(edit: Edit, *, dry_run: bool = False) -> SetUpFile:
    """A change as it is reported."""
    shown = diff(edit) if dry_run and edit.changes else None
    return SetUpFile(str(edit.path), edit.whose, edit.done, edit.what, edit.by_hand, shown)


# Take out of settings and hooks what ``init`` put there, to the byte; the evidence stays unless it shall go too.


def uninstall(
    workspace: Workspace, *, user: bool = False, purge: bool = False, recorder: Recorder = RECORDER
) -> UninstallReport:
    """Undo ``init`` at that level; a second time there is nothing to do."""
    site = InstallSite.of(workspace, user=user)
    own, shared = Manifest.of(site.home), Manifest.of(site.state)
    leaving = [] if user else _left_alone(shared, site.home)
    edits = [*_noted(site, [*own.notes.values(), *leaving]), *_unnoted(site, own)]
    apply(edits)
    by_hand = {str(edit.path) for edit in edits if edit.by_hand is not None}
    own.without(set(own.notes) - by_hand).keep()
    homes = [site.home] if recorder.remove(site.home) else []
    if not user:
        shared = _without_user(shared, site.home).without(note.path for note in leaving)
        shared.keep()
        if leaving and not shared.notes and recorder.remove(site.state):
            homes.append(site.state)
    if purge:
        _purge(workspace, site)
    elif not user:
        forget_id(site.home, os.environ)
    for home in {site.home, site.state}:
        _remove_if_empty(home)
    return UninstallReport(
        homes=[str(home) for home in homes],
        files=[set_up_file(edit) for edit in edits],
        purged=purge,
    )


def evidence(workspace: Workspace, *, user: bool = False) -> list[Path]:
    """The folders that a purge removes with all that was ever recorded in them."""
    site = InstallSite.of(workspace, user=user)
    return [path for path in (site.home, *([] if user else [workspace.fallback])) if path.is_dir()]


def _left_alone(shared: Manifest, home: Path) -> list[ManifestEntry]:
    """What was done to the user's settings and is of no use to anybody else who is still set up."""
    return [note for note in shared.notes.values() if not _other_users(note, home)]


def _other_users(note: ManifestEntry, home: Path) -> list[str]:
    return [user for user in note.users if user != str(home) and (Path(user) / "hook").is_dir()]


def _without_user(shared: Manifest, home: Path) -> Manifest:
    notes = (note for note in shared.notes.values() if str(home) in note.users)
    return shared.with_notes(replace(note, users=tuple(_other_users(note, home))) for note in notes)


def _noted(site: InstallSite, notes: Iterable[ManifestEntry]) -> Iterator[Edit]:
    for note in notes:
        yield _taken_out(site, Path(note.path), note.whose, note)


def _unnoted(site: InstallSite, own: Manifest) -> Iterator[Edit]:
    """What is ours and stands in no note: the notes may have been lost."""
    for agent in AGENTS.values():
        project = site.places.project_file(agent)
        paths = site.places.user_files(agent) if site.repository is None else [project] if project else []
        for path in paths:
            if str(path) not in own.notes and settings_in_use(path, agent):
                yield _taken_out(site, path, agent.name, None)
    if site.repository is not None:
        hooks = [site.hook_folder.path / name for name in HOOKS] if site.hook_folder.refused is None else []
        for path in (*hooks, site.exclude):
            if str(path) not in own.notes:
                yield from (edit for edit in [_taken_out(site, path, "git", None)] if edit.changes)


def _taken_out(site: InstallSite, path: Path, whose: str, note: ManifestEntry | None) -> Edit:
    try:
        edit = _edit(site, path, whose, note)
    except InputError as error:
        # One file that cannot be read must not keep all others as they are.
        return _left(path, whose, error.message)
    if edit.changes and site.is_tracked(path):
        return _left(path, whose, "git tracks this file by now")
    return edit


def _edit(site: InstallSite, path: Path, whose: str, note: ManifestEntry | None) -> Edit:
    if site.repository is not None and path == site.exclude:
        return unexclude_edit(path, note)
    return unhook_edit(path, note) if whose == "git" else unsettings_edit(path, AGENTS[whose], note)


def _left(path: Path, whose: str, why: str) -> Edit:
    task = f"remove what runs '…{MARK}'"
    return Edit(path=path, target=path, before=None, after=None, whose=whose, what=why, by_hand=task)


def _purge(workspace: Workspace, site: InstallSite) -> None:
    for folder in evidence(workspace, user=site.repository is None):
        if folder.is_symlink():
            raise WorldError(f"'{folder}' is a symbolic link; its evidence was not removed", hint="remove it by hand")
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise WorldError(f"cannot remove '{folder}': {error.strerror}", hint="some of it may be gone") from error


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # evidence is in it, or it is gone already: as it should be
