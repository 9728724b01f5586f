"""Two changes beside each other, for a page: unknown names and unknown evidence become ``NameNotFound``."""

from custody.core.errors import InputError
from custody.dupes.app.change_name import UnknownChange
from custody.dupes.app.overlap import PairPage, compare_changes, compare_stored
from custody.dupes.app.show import dupes_show
from custody.server.app.questions import name_not_found, require_repository
from custody.workspace.workspace import Workspace


def read_pair_page(workspace: Workspace, name: str, other: str) -> PairPage:
    """Two indexed changes beside each other."""
    here = require_repository(workspace)
    with name_not_found(UnknownChange):
        return compare_changes(here, name, other)


def read_stored_pair_page(workspace: Workspace, id: str) -> PairPage:
    """The two changes of evidence that was stored, with what the index says of it now."""
    here = require_repository(workspace)
    with name_not_found(InputError):
        report = dupes_show(here, id)
    return compare_stored(here, report)
