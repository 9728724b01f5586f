"""Open the control tables of a workspace: projects, tokens, reads and jobs."""

from custody.core.errors import InputError
from custody.core.project import DEFAULT_PROJECT
from custody.server.control import ControlTables, Project, control_in_file, control_in_postgres
from custody.workspace.workspace import Workspace


def control_of(workspace: Workspace, *, as_service: bool = False) -> ControlTables:
    """The control tables of the team database or of this repository's store; ``as_service`` with its few rights."""
    if workspace.database is not None:
        return control_in_postgres(workspace.database, as_service=as_service)
    control = control_in_file(workspace.service_file)
    if control.projects.named(DEFAULT_PROJECT) is None:
        control.projects.put_default(workspace.now_ns())
    return control


def storable(text: str, signs_max: int) -> str:
    """``text`` as any database holds it: no zero sign, no half of a pair, no longer than it may be.

    >>> storable("a\\0b\\ud800", 10)
    'a?b?'
    """
    return text[:signs_max].replace("\0", "?").encode("utf-8", "replace").decode()


def project_of(control: ControlTables, name: str) -> Project:
    """The project of that name; an ``InputError`` when there is none."""
    found = control.projects.named(name)
    if found is None:
        raise InputError(
            f"there is no project '{name}'",
            hint="'custody project list' shows those that there are, 'custody project create' makes one",
        )
    return found
