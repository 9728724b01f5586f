"""Projects: made, listed, removed; how long their conversations are kept, and who read them."""

import shutil
from dataclasses import replace

from custody.core.errors import InputError, StoreError
from custody.core.project import DEFAULT_PROJECT, project_name
from custody.core.wire.time import text_from
from custody.server.app.control import control_of, project_of
from custody.server.control import Project
from custody.server.control.database import initialise
from custody.server.wire.tenancy import (
    ProjectInitReport,
    ProjectLine,
    ProjectListReport,
    ProjectReadsReport,
    ProjectReport,
    ReadLine,
)
from custody.store import SERVICE_ROLE, drop_project, make_project
from custody.workspace.workspace import Workspace


def init_database(workspace: Workspace, login: str | None) -> ProjectInitReport:
    """As the owner of a team database: make the role, the tables and the rights that a service needs."""
    if workspace.database is None:
        raise InputError(
            "only a team database is initialised", hint="add --database URL; the embedded store needs nothing"
        )
    return ProjectInitReport(
        role=SERVICE_ROLE, login=login, projects=initialise(workspace.database, workspace.now_ns(), login)
    )


def create_project(workspace: Workspace, name: str) -> ProjectReport:
    """Make a project with a store of its own; one that a killed attempt left half made is finished."""
    with control_of(workspace) as control:
        if control.projects.named(project_name(name)) is not None:
            raise InputError(f"there is a project '{name}' already")
        # The store first: a project that is listed can be used.
        _make_store(workspace, name)
        if not control.projects.put(name, workspace.now_ns()):
            raise InputError(f"there is a project '{name}' already")
        return ProjectReport(done="created", project=_line(project_of(control, name)))


def list_projects(workspace: Workspace) -> ProjectListReport:
    """Every project, by name."""
    with control_of(workspace) as control:
        return ProjectListReport(projects=[_line(project) for project in control.projects.all()])


def retain_project(workspace: Workspace, name: str, days: int | None) -> ProjectReport:
    """Say after how many days the texts of a project's conversations are erased; None for never."""
    with control_of(workspace) as control:
        project_of(control, name)
        control.projects.retain(name, days)
        return ProjectReport(done="retained", project=_line(project_of(control, name)))


def remove_project(workspace: Workspace, name: str) -> ProjectReport:
    """Drop a project with its evidence, tokens and jobs; only who read its conversations stays."""
    if name == DEFAULT_PROJECT:
        raise InputError("the default project stays", hint="erase what it holds with 'custody erase'")
    with control_of(workspace) as control:
        project = project_of(control, name)
        # The tokens first, so that nobody is let in who would find half a store. The name last: killed before, the
        # project is still listed and can be removed again, and nobody makes a new one around what is left of it.
        control.projects.close(name)
        _drop_store(workspace, name)
        control.projects.remove(name)
        return ProjectReport(done="removed", project=_line(project))


def project_reads(workspace: Workspace, name: str, limit: int) -> ProjectReadsReport:
    """Who read texts of a project's conversations, newest first; also of one that was removed."""
    with control_of(workspace) as control:
        total = control.reads.count(name)
        if not total:
            project_of(control, name)
        reads = [ReadLine(read.token, read.what, text_from(read.at_ns)) for read in control.reads.of(name, limit)]
        return ProjectReadsReport(project=name, reads=reads, total=total)


def _make_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        make_project(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    if folder is None:
        raise InputError("there is no repository here")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make '{folder}': {error.strerror}", hint="check who owns it") from error


def _drop_store(workspace: Workspace, name: str) -> None:
    if workspace.database is not None:
        drop_project(workspace.database, name)
        return
    folder = replace(workspace, project=name).folder_of_project
    try:
        if folder is not None and folder != workspace.home and folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise StoreError(f"cannot remove '{folder}': {error.strerror}", hint="remove it by hand") from error


def _line(project: Project) -> ProjectLine:
    return ProjectLine(project.name, text_from(project.created_ns), project.retain_days)
