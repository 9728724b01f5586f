"""The content of a store after agents worked in a repository: views of a kind, and the author of each line."""

from typing import TypeVar

from custody.attribution.app.blame import blame
from custody.core.views import View
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built

V = TypeVar("V", bound=View)


def views(built: Built, kind: type[V]) -> list[V]:
    """Return every view of a kind."""
    with Workspace(built.path).reading() as store:
        return [seen.view for seen in store.views.look_up(kind, "1 = 1", ())]


def lines(built: Built, path: str = "src/app.py") -> dict[int, str]:
    """Return the author of each line: ``agent``, ``person`` or another class of blame."""
    told = blame(Workspace(built.path), path).report.attributions
    return {n: one.kind for one in told for n in range(one.start_line, one.end_line + 1)}
