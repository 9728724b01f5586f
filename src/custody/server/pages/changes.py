"""Changes: the clusters of those that should not all land, and everything that is indexed."""

from custody.dupes.app.indexed_changes import STATES, ChangeListPage, changes_listed
from custody.server.page_data.changes import cluster_of, clusters_listed, read_cluster_page
from custody.server.pages.attempt import attempt_question
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_repository

CHANGES_SHOWN = 40
CLUSTERS_SHOWN = 500
NUMBER_MAX = 999_999_999
ASKED = {
    "state": "open, landed or all: which changes",
    "words": "words in what a change is called",
}


def changes(workspace: Workspace, asked: PageParams) -> PageView:
    """Clusters, which come later where a service answers, and a list of changes."""
    state, words = asked.choice("state", STATES), asked.text("words") or ""
    found = _listed(workspace, asked, state, words)
    return PageView(
        title="Changes",
        template="changes.html",
        fields={
            "state": state,
            "states": STATES,
            "words": words,
            "found": found,
            "at_first": asked.text("before") is None,
            "repository": has_repository(workspace),
        },
    )


def _listed(workspace: Workspace, asked: PageParams, state: str, words: str) -> ChangeListPage:
    before = asked.number("before", 0, least=0, most=NUMBER_MAX) or None
    return changes_listed(workspace, state=state, words=words, before=before, limit=CHANGES_SHOWN)


def changes_clusters(workspace: Workspace, asked: PageParams) -> PageView:
    """The list of clusters alone."""
    state, words = asked.choice("state", STATES), asked.text("words") or ""
    start = asked.number("start", 0, least=0, most=NUMBER_MAX)
    fields = {
        "state": state,
        "words": words,
        "start": start,
        "found": attempt_question(
            lambda: clusters_listed(
                workspace, asked.memory.clusters, state=state, words=words, start=start, limit=CLUSTERS_SHOWN
            )
        ),
    }
    return PageView(title="Clusters", template="changes_clusters.html", fields=fields)


def cluster(workspace: Workspace, asked: PageParams) -> PageView:
    """The cluster that a change belongs to."""
    return _cluster(workspace, asked, "cluster.html")


def cluster_members(workspace: Workspace, asked: PageParams) -> PageView:
    """The same, to be taken in by another page."""
    return _cluster(workspace, asked, "cluster_members.html")


def _cluster(workspace: Workspace, asked: PageParams, template: str) -> PageView:
    name = asked.needed("name")
    group = cluster_of(workspace, asked.memory.clusters, name)
    told = None if group is None else attempt_question(lambda: read_cluster_page(workspace, group))
    fields = {"name": name, "group": group, "told": told}
    return PageView(title="Cluster" if group is None else group.members[0].title, template=template, fields=fields)


PAGES = (
    Page(
        name="changes",
        label="Changes",
        view=changes,
        takes={**ASKED, "before": "list what was indexed before this change"},
    ),
    Page(
        name="changes-clusters",
        view=changes_clusters,
        takes={**ASKED, "start": "how many clusters to pass over"},
        part=True,
        long=True,
    ),
    Page(
        name="cluster",
        section="changes",
        view=cluster,
        takes={"name": "a change of the cluster: its ref, number or head"},
        long=True,
    ),
    Page(
        name="cluster-members",
        view=cluster_members,
        takes={"name": "a change of the cluster: its ref, number or head"},
        part=True,
        long=True,
    ),
)
