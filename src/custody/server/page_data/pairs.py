"""Two changes beside each other, for a page: unknown names and unknown evidence become ``NameNotFound``."""

from custody.core.errors import InputError
from custody.dupes.app.overlap import PairPage, compare_changes, compare_stored
from custody.dupes.app.show import dupes_show
from custody.server.app.questions import NameNotFound, require_repository
from custody.server.page_data.changes import (
    translate_unknown_change,
)
from custody.workspace.workspace import Workspace


def read_pair_page(workspace: Workspace, name: str, other: str) -> PairPage:
    """Two indexed changes beside each other."""
    here = require_repository(workspace)
    with translate_unknown_change():
        return compare_changes(here, name, other)


def read_stored_pair_page(workspace: Workspace, id: str) -> PairPage:
    """The two changes of evidence that was stored, with what the index says of it now."""
    here = require_repository(workspace)
    try:
        report = dupes_show(here, id)
    except InputError as error:
        raise NameNotFound(error.message, hint=error.hint) from error
    return compare_stored(here, report)
