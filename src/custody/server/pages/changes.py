"""Changes: clusters of duplicates, and every indexed change."""

from collections.abc import Sequence

from custody.dupes.app.indexed_changes import STATES, ChangeListPage, list_change_page
from custody.dupes.wire import ChangeRefReport
from custody.server.page_data.changes import (
    VerdictList,
    find_cluster_for_page,
    list_last_verdicts,
    read_cluster_list_page,
    read_cluster_page,
)
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.workspace.workspace import Workspace, has_workspace_repository

CHANGES_SHOWN = 30
CLUSTERS_SHOWN = 500
VERDICTS_SHOWN = 10
"""Changes of a cluster that are checked."""
NUMBER_MAX = 999_999_999
TAKES = {
    "state": "open, landed (merged) or all",
    "words": "words in the title, ref or commit",
}


def view_changes(workspace: Workspace, params: PageParams) -> PageView:
    """Show clusters and the list of changes."""
    state, words = params.choice("state", STATES), params.text("words") or ""
    listing = _list_changes_for_page(workspace, params, state, words)
    verdicts = list_open_verdicts(workspace, params, listing.items)
    return PageView(
        title="Changes",
        template="changes.html",
        fields={
            "rows": sort_by_action(listing.items, verdicts),
            "verdicts": verdicts,
            "state": state,
            "states": STATES,
            "words": words,
            "listing": listing,
            "at_first": params.text("before") is None,
            "repository": has_workspace_repository(workspace),
        },
    )


LEVELS_BY_ACTION = ("block", "review", None, "approve")
"""What needs action first; None stands for a change without a verdict."""


def list_open_verdicts(workspace: Workspace, params: PageParams, changes: Sequence[ChangeRefReport]) -> VerdictList:
    """Return the last verdicts of the open changes among these."""
    heads = [change.head for change in changes if not change.on_main]
    return list_last_verdicts(workspace, params.memory.verdicts, params.memory.work, heads)


def sort_by_action(changes: Sequence[ChangeRefReport], verdicts: VerdictList) -> list[ChangeRefReport]:
    """Return the changes with those that need action first; the others keep their order, merged ones at the end."""

    def rank(change: ChangeRefReport) -> int:
        last = verdicts.found.get(change.head)
        level = last.report.level if last is not None and not isinstance(last.report, str) else None
        return len(LEVELS_BY_ACTION) if change.on_main else LEVELS_BY_ACTION.index(level)

    return sorted(changes, key=rank)


def _list_changes_for_page(workspace: Workspace, params: PageParams, state: str, words: str) -> ChangeListPage:
    before = params.number("before", 0, least=0, most=NUMBER_MAX) or None
    return list_change_page(workspace, state=state, text=words, before=before, limit=CHANGES_SHOWN)


def view_clusters(workspace: Workspace, params: PageParams) -> PageView:
    """Show the clusters alone."""
    state, words = params.choice("state", STATES), params.text("words") or ""
    start = params.number("start", 0, least=0, most=NUMBER_MAX)
    fields = {
        "state": state,
        "words": words,
        "start": start,
        "clusters": attempt_page_part(
            lambda: read_cluster_list_page(
                workspace, params.memory.clusters, state=state, words=words, start=start, limit=CLUSTERS_SHOWN
            )
        ),
    }
    return PageView(title="Clusters", template="changes_clusters.html", fields=fields)


def view_cluster(workspace: Workspace, params: PageParams) -> PageView:
    """Show the cluster of a change."""
    return _make_cluster_view(workspace, params, "cluster.html")


def view_cluster_members(workspace: Workspace, params: PageParams) -> PageView:
    """Show the same as a part of another page."""
    return _make_cluster_view(workspace, params, "cluster_members.html")


def _make_cluster_view(workspace: Workspace, params: PageParams, template: str) -> PageView:
    name = params.require_text("name")
    group = find_cluster_for_page(workspace, params.memory.clusters, name)
    cluster = None if group is None else attempt_page_part(lambda: read_cluster_page(workspace, group))
    members = [] if cluster is None or isinstance(cluster, str) else cluster.members
    verdicts = list_open_verdicts(workspace, params, [member.change for member in members[:VERDICTS_SHOWN]])
    fields = {"name": name, "group": group, "cluster": cluster, "verdicts": verdicts}
    return PageView(title="Cluster" if group is None else group.members[0].title, template=template, fields=fields)


PAGES = (
    Page(
        name="changes",
        label="Changes",
        view=view_changes,
        takes={**TAKES, "before": "list changes indexed before this one"},
    ),
    Page(
        name="changes-clusters",
        view=view_clusters,
        takes={**TAKES, "start": "the number of clusters to skip"},
        part=True,
        long=True,
    ),
    Page(
        name="cluster",
        section="changes",
        view=view_cluster,
        takes={"name": "a change of the cluster: its ref, number or head"},
        long=True,
    ),
    Page(
        name="cluster-members",
        view=view_cluster_members,
        takes={"name": "a change of the cluster: its ref, number or head"},
        part=True,
        long=True,
    ),
)
