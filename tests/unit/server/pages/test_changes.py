"""Changes: clusters and lists stay small; the page of one change; two changes compared."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.app import cluster as cluster_groups
from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import cluster_changes
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.dupes.app.indexed_changes import list_change_page, preview_change_duplicates
from custody.dupes.app.overlap import compare_indexed_changes
from custody.dupes.exact_hash import KIND_NUMBERS
from custody.dupes.facts.model import Channel
from custody.dupes.model import ExactKind, HashVariant
from custody.dupes.packing import pack_signature, unpack_signature
from custody.dupes.queries import DupesTables
from custody.gate.app.gate import GateRequest, gate
from custody.ledger import verify as integrity
from custody.ledger.verify import verify_ledger_store
from custody.server.app.questions import NameNotFound
from custody.server.page_data.cache import StateCache, make_page_cache_key
from custody.server.page_data.changes import (
    ClusterMemory,
    VerdictMemory,
    find_clusters_for_page,
    judge_change_for_page,
    list_last_verdicts,
)
from custody.server.page_data.work import WorkQueue
from custody.server.pages.page import PageMemory
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_arrival, an_event
from tests.builders.rendered import HOSTILE, acts, in_files, links_in, nodes_of, rendered, words_of
from tests.builders.repo import Built, Files, a_repository

NOW_NS = 1_800_000_000_000_000_000
APP = b"".join(b"def step_%d(state, options):\n    return state.advance(%d, options)\n\n\n" % (n, n) for n in range(12))
RETRY = APP.replace(
    b"return state.advance(3, options)",
    b"for attempt in range(options.retry_limit):\n        state = state.advance(3, options)\n    return state",
)
TOLD = {b"src/app.py": RETRY, b"docs/retry.md": b"# Retries\n\nStep 3 is tried again.\n"}
PARSER = b"import json\n\n\ndef parse(text):\n    return json.loads(text, parse_constant=refuse_constant)\n"


class World:
    """A repository with similar proposals, and one unlike the others."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.root = self.built.commit({b"src/app.py": APP}, message=b"Begin")
        self.heads = [
            self.propose(1, {b"src/app.py": RETRY}, "Retry step 3"),
            self.propose(2, TOLD, "Retry it, and say so"),
            self.propose(3, {b"src/app.py": APP, b"src/parser.py": PARSER}, "Refuse NaN"),
        ]
        self.built.checkout()
        self.workspace = Workspace(folder, now_ns=lambda: NOW_NS)

    def propose(self, number: int, files: Files, message: str) -> CommitSha:
        return self.built.commit(files, self.root, message=message.encode(), ref=f"refs/pull/{number}/head")

    def index(self) -> "World":
        dupes_index(self.workspace, IndexRequest(workers=1))
        return self


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repo").index()


def test_an_empty_store_says_how_changes_are_indexed(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "repo")
    built.commit({b"a": b"1\n"})
    words = words_of(rendered(Workspace(built.path), "changes"))
    assert "No change is indexed yet." in words
    assert "custody dupes index" in words
    assert "No change is indexed yet" in words_of(rendered(Workspace(built.path), "changes-clusters"))


def test_open_changes_are_listed_first_and_clusters_come_later(world: World) -> None:
    html = rendered(world.workspace, "changes")
    assert 'hx-get="/changes-clusters?state=open"' in html
    words = words_of(html)
    assert "3 changes" in words
    assert "Begin" not in words
    assert words.index("Refuse NaN") < words.index("Retry step 3")
    assert "Begin" in words_of(rendered(world.workspace, "changes", state="landed"))


def test_words_filter_changes_and_clusters_and_percent_is_not_a_wildcard(world: World) -> None:
    assert "Refuse NaN" not in words_of(rendered(world.workspace, "changes", words="RETRY"))
    assert "No open change matches." in words_of(rendered(world.workspace, "changes", words="%"))
    assert "1 cluster among" in words_of(rendered(world.workspace, "changes-clusters", words="say so"))
    assert "No cluster matches." in words_of(rendered(world.workspace, "changes-clusters", words="NaN"))


def test_a_change_is_found_by_the_digits_of_its_head(world: World) -> None:
    found = list_change_page(world.workspace, state="all", text=world.heads[2][:8], before=None, limit=9)
    assert [one.title for one in found.items] == ["Refuse NaN"]


def test_more_changes_follow_without_gap_or_repetition(world: World) -> None:
    seen: list[str] = []
    before: int | None = None
    for _ in range(4):
        found = list_change_page(world.workspace, state="all", text="", before=before, limit=1)
        seen += [one.title for one in found.items]
        before = found.next
    assert seen == ["Refuse NaN", "Retry it, and say so", "Retry step 3", "Begin"]
    assert before is None


def test_a_cluster_marks_what_to_keep_and_leads_to_the_evidence(world: World) -> None:
    html = rendered(world.workspace, "cluster", name="#2")
    words = words_of(html)
    assert "2 changes that do the same: merge only one." in words
    assert "keep" in words
    assert f"other={world.heads[0]}" in html or f"other={world.heads[1]}" in html
    assert "not in a cluster" in words_of(rendered(world.workspace, "cluster", name="#3"))


def test_a_change_shows_its_duplicates_and_stores_no_evidence(world: World) -> None:
    html = rendered(world.workspace, "change", name="#2")
    assert "src/app.py" in words_of(html) and f"/change-duplicates?name={world.heads[1]}" in html
    duplicates = rendered(world.workspace, "change-duplicates", name="#2")
    assert "Retry step 3" in words_of(duplicates)
    assert f"/evidence?change={world.heads[1]}&amp;other={world.heads[0]}" in duplicates
    with world.workspace.reading() as store:
        assert DupesTables(store).evidence(world.heads[1]) == []
    assert "No duplicates found: compared" in words_of(rendered(world.workspace, "change-duplicates", name="#3"))


def test_a_page_shows_what_the_command_reports(world: World) -> None:
    world.built.commit({b"src/app.py": RETRY}, world.root, message=b"Land a retry")
    world.index()
    with world.workspace.reading() as store:
        row = DupesTables(store).list_changes_by_head(world.heads[1])[0]
    looked = preview_change_duplicates(world.workspace, row)
    checked = dupes_check(world.workspace, f"main..{world.heads[1]}")
    keys = [(one.evidence.other.head, one.evidence.chance, one.evidence.relations) for one in looked.suggestions]
    assert keys == [
        (one.evidence.other.head, one.evidence.chance, one.evidence.relations) for one in checked.suggestions
    ]
    assert keys


def test_lines_that_both_changes_have_are_marked_on_both_sides(world: World) -> None:
    seen = compare_indexed_changes(world.workspace, "#2", "#1")
    beside, alone = seen.files
    assert beside.this is not None
    assert beside.other is not None
    sides = (beside.this, beside.other)
    both = [[line.text for hunk in side.hunks for line in hunk.lines if line.both] for side in sides]
    assert "        state = state.advance(3, options)" in both[0]
    assert both[0] == both[1]
    assert alone.this is not None
    assert (alone.this.file.path, alone.other, alone.shared) == ("docs/retry.md", None, 0)
    assert not any(line.both for hunk in alone.this.hunks for line in hunk.lines)
    assert len(both[0]) == beside.shared
    words = words_of(rendered(world.workspace, "evidence", change="#2", other="#1"))
    assert f"{beside.shared} lines in both" in words


def test_stored_evidence_is_shown_with_whether_it_still_holds(world: World) -> None:
    id_ = dupes_check(world.workspace, f"main..{world.heads[1]}").suggestions[0].id
    assert "Recomputed now: the same result" in words_of(rendered(world.workspace, "evidence", id=id_))


def test_a_long_pair_is_cut_with_a_note(world: World, tmp_path: Path) -> None:
    long = b"".join(b"value_%d = compute(%d)\n" % (n, n) for n in range(3_000))
    world.propose(4, {b"src/app.py": APP, b"src/long.py": long}, "Long")
    world.propose(5, {b"src/app.py": APP, b"src/long.py": long + b"more = 1\n"}, "Longer")
    html = rendered(world.index().workspace, "evidence", change="#4", other="#5")
    assert nodes_of(html) <= 1_500
    assert "other lines here" in words_of(html)


def test_concurrent_verdicts_verify_the_store_once_and_equal_the_gate(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with world.workspace.writing() as store:
        store.append([an_arrival("call", event=f"c{n}", id=f"c{n}") for n in range(50)])
    whole: list[str] = []

    def counted(*given: Any) -> Any:
        whole.append("verified")
        return verify_ledger_store(*given)

    monkeypatch.setattr(integrity, "verify_ledger_store", counted)
    memory = VerdictMemory()
    with ThreadPoolExecutor(4) as threads:
        verdicts = threads.map(lambda head: judge_change_for_page(world.workspace, memory, None, head), world.heads)
        reports = [verdict.answer for verdict in verdicts]
    assert whole == ["verified"]
    wanted = [gate(world.workspace, GateRequest(change=f"{world.root}..{head}")) for head in world.heads]
    assert reports == wanted


def test_the_verdict_reports_a_damaged_store(world: World) -> None:
    with world.workspace.writing() as store:
        store.append([an_arrival("call", event=f"c{n}", id=f"c{n}") for n in range(3)])
        store.db.run("UPDATE record SET kind = 'other' WHERE seq = 2")
    memory = VerdictMemory()
    for _ in range(2):
        verdict = judge_change_for_page(world.workspace, memory, None, world.heads[0]).answer
        assert verdict is not None
        assert "INTEG-DAMAGE" in {reason.code for reason in verdict.reasons}


def test_the_verdict_leads_to_the_lines_of_the_change(world: World) -> None:
    spool_of(world.built.path).put(an_event("edit", path="src/elsewhere.py", head=world.root))
    places = links_in(rendered(world.workspace, "change-verdict", change=world.heads[1]), "blame")
    assert places and all(said["rev"] == world.heads[1] for said in places)


def test_the_verdict_is_a_word_with_its_reasons(world: World) -> None:
    html = rendered(world.workspace, "change-verdict", change=world.heads[1])
    assert "Needs review" in html or "Blocked" in html
    assert "DUPE-" in words_of(html)
    assert "<html" not in html
    assert (
        "this change is already merged"
        in words_of(rendered(world.workspace, "change-verdict", change=world.root)).lower()
    )
    assert "unknown change 'nope'" in words_of(rendered(world.workspace, "change-verdict", change="nope")).lower()


def test_a_list_shows_the_last_verdicts_and_checks_the_others_in_one_job(world: World) -> None:
    now, memory, queue = [NOW_NS], VerdictMemory(), WorkQueue(lambda: now[0])
    workspace = replace(world.workspace, now_ns=lambda: now[0])
    first = list_last_verdicts(workspace, memory, queue, world.heads)
    again = list_last_verdicts(workspace, memory, queue, world.heads)
    assert not first.found or len(first.found) < len(world.heads)
    assert again.progress is None or again.progress.ahead in (None, 0), "one job for the list, not one for each row"
    job = queue.find_running(("verdicts", *make_page_cache_key(workspace), *world.heads))
    if job is not None:
        job.future.result(60)
    now[0] += 7_200 * 1_000_000_000
    last = list_last_verdicts(workspace, memory, queue, world.heads)
    assert {head: verdict.age_seconds for head, verdict in last.found.items()} == dict.fromkeys(world.heads, 7_200)
    assert last.progress is None, "nothing changed, so nothing is checked again"
    html = rendered(workspace, "changes", memory=_with_verdicts(memory))
    assert "2 hours ago" in words_of(html)
    assert "hx-trigger" not in html.split('id="changes-list"')[1].split("<table")[0]


def _with_verdicts(memory: VerdictMemory) -> PageMemory:
    made = PageMemory()
    made.verdicts = memory
    return made


def test_an_unknown_change_is_not_found(world: World) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("change", {"name": "nope"}),
        ("cluster", {"name": "nope"}),
        ("evidence", {"id": "beef"}),
    ]
    for name, said in asked:
        with pytest.raises(NameNotFound):
            rendered(world.workspace, name, **said)
    odd: list[dict[str, Any]] = [{"state": "x"}, {"before": "-1"}, {"before": "9" * 30}]
    for said in odd:
        with pytest.raises(InputError):
            rendered(world.workspace, "changes", **said)
    with pytest.raises(InputError):
        rendered(world.workspace, "evidence")
    with pytest.raises(InputError):
        rendered(world.workspace, "evidence", change="#1", other="#1")


def test_a_report_in_files_has_the_same_without_a_service(world: World) -> None:
    html = rendered(world.workspace, "changes", links=in_files())
    assert "hx-get" not in html
    assert "<form" not in html
    assert "keep" in words_of(html)
    assert "DUPE-" in words_of(rendered(world.workspace, "change", links=in_files(), name="#2"))


def test_without_a_repository_indexed_changes_are_listed(world: World) -> None:
    team = replace(world.workspace, spooled=False)
    assert "has no repository" in words_of(rendered(team, "changes"))
    assert "1 cluster among" in words_of(rendered(team, "changes-clusters"))
    assert "Which change to keep is unknown" in words_of(rendered(team, "cluster", name="#1"))
    words = words_of(rendered(team, "change", name="#1"))
    assert "custody review main.." in words
    assert "has no repository" in words_of(rendered(team, "change-verdict", change="#1"))


def a_row(number: int, like: ChangeRow, *, title: str, name: str) -> ChangeRow:
    return replace(like, id=number, head=CommitSha(f"{number:040x}"), title=title, name=name)


@pytest.fixture
def hostile(world: World) -> World:
    """The same index with two more changes that have hostile names and titles."""
    with world.workspace.writing() as store, store.writing():
        like = DupesTables(store).list_changes_by_head(world.heads[0])[0]
        for number, title in ((90, HOSTILE), (91, "x" * 1_000_000)):
            row = a_row(number, like, title=title, name=f"refs/heads/{title}")
            DupesTables(store).put(row, [(5, 1), (number, 2)], [number * 7 + n for n in range(3)])
    return world


def test_a_hostile_title_is_inert_and_a_long_one_is_cut(hostile: World) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("changes", {}),
        ("changes-clusters", {"state": "all"}),
        ("cluster", {"name": f"{90:040x}"}),
        ("change", {"name": f"{90:040x}"}),
        ("change", {"name": f"{91:040x}"}),
        ("evidence", {"change": f"{90:040x}", "other": f"{91:040x}"}),
    ]
    for name, said in asked:
        html = rendered(hostile.workspace, name, **said)
        assert not acts(html), name
        assert len(html) < 100_000, name
    assert "onerror=alert(1)" in words_of(rendered(hostile.workspace, "changes"))


def test_five_hundred_clusters_are_one_small_page(world: World) -> None:
    with world.workspace.writing() as store, store.writing():
        like = DupesTables(store).list_changes_by_head(world.heads[0])[0]
        alone = replace(unpack_signature(like.signature), commits=frozenset(), origins=frozenset())
        like = replace(like, signature=pack_signature(alone))
        kind = KIND_NUMBERS[ExactKind(Channel.PRODUCTION, HashVariant.PLAIN)]
        for number in range(100, 1_100):
            pair = number // 2
            row = a_row(number, like, title=f"Change {number}", name=f"refs/pull/{number}/head")
            DupesTables(store).put(row, [(pair, kind)], [pair * 100 + n for n in range(20)])
    # All signatures are the same; the pairs differ by their shared hashes.
    assert len(find_clusters_for_page(world.workspace, StateCache()).groups) > 500
    html = rendered(world.workspace, "changes-clusters")
    assert html.count("<details") == 500
    assert nodes_of(html) + nodes_of(rendered(world.workspace, "changes")) <= 1_500
    assert "start=500" in html
    assert rendered(world.workspace, "changes-clusters", start=500).count("<details") < 10


def test_clusters_are_found_once_for_a_state_of_the_index(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    memory: ClusterMemory = StateCache()
    first = find_clusters_for_page(world.workspace, memory)
    found: list[int] = []

    def counted(*args: Any) -> Any:
        found.append(1)
        return cluster_changes(*args)

    monkeypatch.setattr(cluster_groups, "cluster_changes", counted)
    assert find_clusters_for_page(world.workspace, memory) is first
    assert not found
    world.propose(4, {b"src/app.py": RETRY + b"\n"}, "Retry again")
    assert len(find_clusters_for_page(world.index().workspace, memory).groups[0].members) > len(first.groups[0].members)
    assert found == [1]
