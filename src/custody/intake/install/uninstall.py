"""Take out of settings and hooks what ``init`` put there, to the byte; the evidence stays unless it shall go too."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from custody.capture.hook.install import forget_id
from custody.core.errors import InputError, WorldError
from custody.core.wire.report import UninstallReport
from custody.intake.install.init import RECORDER, Recorder, set_up_file
from custody.intake.install.site import InstallSite
from custody.intake.settings import (
    AGENTS,
    HOOKS,
    MARK,
    Edit,
    Manifest,
    ManifestEntry,
    apply,
    settings_in_use,
    unexclude_edit,
    unhook_edit,
    unsettings_edit,
)
from custody.workspace.workspace import Workspace


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
