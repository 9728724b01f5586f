"""Changes that were indexed, and which of them are there twice."""

from custody.dupes.app.check import SHOWN, dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.wire import DupesCheckReport, DupesClusterReport, DupesShowReport
from custody.server.app.listing import changes
from custody.server.app.questions import change_checked, evidence_shown, require_repository
from custody.server.endpoints import Endpoint, EndpointCall
from custody.server.route_kinds import (
    Question,
    a_flag,
    asking_in_body,
    describe_number_param,
    describe_repeated_param,
    make_list_endpoint,
    make_question_endpoint,
    number,
    place,
    read_repeated_param,
)
from custody.server.wire.service import ChangesPage, DuplicatesBody
from custody.workspace.workspace import Workspace

SHOWN_MAX = 1000
CHANGES_MAX = 100
"""Changes whose clusters can be asked for at once."""

_LIMIT = describe_number_param("limit", "How many suggestions to show.", SHOWN, 1, SHOWN_MAX)
_CHANGE = describe_repeated_param("change", "Only clusters of these changes.")


def _checked(call: EndpointCall) -> Question:
    name = place(call, "change")
    limit = number(call, _LIMIT)
    return lambda workspace: change_checked(workspace, name, limit=limit)


def _checked_as_typed(_call: EndpointCall, asked: DuplicatesBody) -> Question:
    return lambda workspace: dupes_check(require_repository(workspace), asked.change, limit=asked.limit)


def _evidence(call: EndpointCall) -> Question:
    name = place(call, "evidence")
    return lambda workspace: evidence_shown(workspace, name)


def _clusters(call: EndpointCall) -> Question:
    wanted = read_repeated_param(call, _CHANGE, CHANGES_MAX)
    landed = call.flag("landed", default=False)

    def ask(workspace: Workspace) -> DupesClusterReport:
        return dupes_cluster(require_repository(workspace), wanted, with_landed=landed)

    return ask


ENDPOINTS: tuple[Endpoint, ...] = (
    make_list_endpoint("changes", "List indexed changes.", changes, ChangesPage),
    make_question_endpoint(
        "/api/v1/changes/{change}/duplicates",
        "check-change",
        "Say what an indexed change is like among all that are indexed; needs the project's repository.",
        DupesCheckReport,
        _checked,
        _LIMIT,
        places={"change": "A name, a pull request's number, or digits of the head commit."},
    ),
    asking_in_body(
        "/api/v1/duplicates",
        "check-duplicates",
        "Say what a change is like among all that are indexed; needs the project's repository.",
        DupesCheckReport,
        DuplicatesBody,
        _checked_as_typed,
    ),
    make_question_endpoint(
        "/api/v1/duplicates/{evidence}",
        "show-duplicates",
        "Show what a suggestion rests on, and make it again; needs the project's repository.",
        DupesShowReport,
        _evidence,
        places={"evidence": "The evidence's id, or the head of the change that was checked; first digits are enough."},
    ),
    make_question_endpoint(
        "/api/v1/clusters",
        "list-clusters",
        "Put indexed changes that should not all land into clusters; needs the project's repository.",
        DupesClusterReport,
        _clusters,
        _CHANGE,
        a_flag("landed", "Clusters of landed commits too."),
    ),
)
