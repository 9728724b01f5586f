"""Indexed changes and their duplicates."""

from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.wire import SUGGESTIONS_MAX, DupesCheckReport, DupesClusterReport, DupesShowReport
from custody.server.app.listing import list_changes_page
from custody.server.app.questions import answer_duplicates_request, answer_evidence_request, require_project_repository
from custody.server.endpoints import Endpoint, EndpointCall
from custody.server.route_kinds import (
    Question,
    describe_flag_param,
    describe_number_param,
    describe_repeated_param,
    make_body_question_endpoint,
    make_list_endpoint,
    make_question_endpoint,
    read_number_param,
    read_path_param,
    read_repeated_param,
)
from custody.server.wire.service import ChangesPage, DuplicatesBody
from custody.workspace.workspace import Workspace

SHOWN_MAX = 1000
CHANGES_MAX = 100
"""Maximum changes in one request for clusters."""

_LIMIT = describe_number_param("limit", "Maximum number of suggestions.", SUGGESTIONS_MAX, 1, SHOWN_MAX)
_CHANGE = describe_repeated_param("change", "Only clusters of these changes.")


def _make_change_question(call: EndpointCall) -> Question:
    name = read_path_param(call, "change")
    limit = read_number_param(call, _LIMIT)
    return lambda workspace: answer_duplicates_request(workspace, name, limit=limit)


def _make_duplicates_question(_call: EndpointCall, request: DuplicatesBody) -> Question:
    return lambda workspace: dupes_check(require_project_repository(workspace), request.change, limit=request.limit)


def _make_evidence_question(call: EndpointCall) -> Question:
    name = read_path_param(call, "evidence")
    return lambda workspace: answer_evidence_request(workspace, name)


def _make_clusters_question(call: EndpointCall) -> Question:
    changes = read_repeated_param(call, _CHANGE, CHANGES_MAX)
    landed = call.flag("landed", default=False)

    def ask(workspace: Workspace) -> DupesClusterReport:
        return dupes_cluster(require_project_repository(workspace), changes, with_landed=landed)

    return ask


ENDPOINTS: tuple[Endpoint, ...] = (
    make_list_endpoint("changes", "List indexed changes.", list_changes_page, ChangesPage),
    make_question_endpoint(
        "/api/v1/changes/{change}/duplicates",
        "check-change",
        "Find duplicates of an indexed change; needs the project's repository.",
        DupesCheckReport,
        _make_change_question,
        _LIMIT,
        places={"change": "A ref, a pull request number, or the first digits of the head commit."},
    ),
    make_body_question_endpoint(
        "/api/v1/duplicates",
        "check-duplicates",
        "Find duplicates of a change among the indexed ones; needs the project's repository.",
        DupesCheckReport,
        DuplicatesBody,
        _make_duplicates_question,
    ),
    make_question_endpoint(
        "/api/v1/duplicates/{evidence}",
        "show-duplicates",
        "Show the evidence of a suggestion, and compute it again; needs the project's repository.",
        DupesShowReport,
        _make_evidence_question,
        places={"evidence": "The evidence id, or the head of the checked change; the first digits are enough."},
    ),
    make_question_endpoint(
        "/api/v1/clusters",
        "list-clusters",
        "List clusters of indexed changes that do the same; needs the project's repository.",
        DupesClusterReport,
        _make_clusters_question,
        _CHANGE,
        describe_flag_param("landed", "Include clusters of merged commits."),
    ),
)
