"""Duplicate search in real repositories: indexing, checking, evidence, damaged objects."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes.app.change_reader import UnreadableChange
from custody.dupes.app.check import dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.app.index import IndexRequest, dupes_index, sketch_changes
from custody.dupes.app.labels import dupes_label
from custody.dupes.app.select import REFS, resolve_change_ref, select_changes
from custody.dupes.app.show import dupes_show
from custody.dupes.rules import DedupeRules
from custody.dupes.wire import DupesCheckReport
from custody.gate.app.gate import GateRequest, gate
from custody.workspace.workspace import Workspace
from tests.builders.repo import Built, Files, a_repository

RULES = DedupeRules()
INDEX = IndexRequest(workers=1)

APP = b"".join(b"def step_%d(state, options):\n    return state.advance(%d, options)\n\n\n" % (n, n) for n in range(12))
PARSER = b"import json\n\n\ndef parse(text):\n    return json.loads(text)\n"
README = b"# Project\n\nHow to use it.\n"
BASE: Files = {b"src/app.py": APP, b"src/parser.py": PARSER, b"README.md": README}

RETRY = APP.replace(
    b"return state.advance(3, options)",
    b"for attempt in range(options.retry_limit):\n        state = state.advance(3, options)\n    return state",
)
RETRY_WITH_LOG = RETRY.replace(b"    return state\n", b"    options.logger.info('gave up')\n    return state\n", 1)
STRICT = PARSER.replace(b"return json.loads(text)", b"return json.loads(text, parse_constant=refuse_constant)")


class World:
    """A repository with a main branch and proposed changes."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.root = self.built.commit(BASE)
        self.main = self.built.commit({**BASE, b"LICENSE": b"free\n"}, self.root, message=b"Add a licence")
        self.workspace = Workspace(folder, now_ns=lambda: 1_800_000_000_000_000_000)

    def propose(self, number: int, files: Files, message: str, *, on: CommitSha | None = None) -> CommitSha:
        """Commit a pull request as a mirror has it."""
        ref = f"refs/pull/{number}/head"
        return self.built.commit({**BASE, **files}, on or self.root, message=message.encode(), ref=ref)

    def index(self) -> "World":
        dupes_index(self.workspace, INDEX)
        return self

    def check(self, head: str, base: str = "main") -> DupesCheckReport:
        return dupes_check(self.workspace, f"{base}..{head}")

    def lose(self, head: CommitSha, path: str) -> None:
        """Delete the object of a file."""
        blob = self.built.git("rev-parse", f"{head}:{path}").decode().strip()
        packs = sorted((self.built.path / ".git/objects/pack").glob("*.pack"))
        for pack in packs:
            data = pack.read_bytes()
            for part in (pack, pack.with_suffix(".idx")):
                part.unlink()
            self.built.git("unpack-objects", "-q", feed=data)
        (self.built.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    def ruled(self, rules: bytes) -> str:
        """Commit main with these rules."""
        files = {**BASE, b"LICENSE": b"free\n", b"custody.toml": rules}
        return self.built.commit(files, self.main, ref="refs/heads/ruled")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repo")


# Conformance: 002-013, 002-022, 002-023, 002-061, 002-062, 002-063, 002-064, 002-065
def test_the_same_diff_on_another_base_is_the_same_change(world: World) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Make it robust", on=world.main)
    report = world.index().check(second)
    best = report.suggestions[0].evidence
    assert (best.other.head, best.category, best.says) == (first, "SAME_CHANGE", "duplicate")
    assert best.rule == "same production diff"
    assert report.outcome == "found"
    assert best.overlap is not None
    assert best.overlap.files.some == ["src/app.py"]
    assert "step_3" in best.overlap.symbols.some
    place = best.overlap.places[0]
    assert (place.sign, place.path, place.lines) == ("+", "src/app.py", 3)


# Conformance: 002-037
@pytest.mark.parametrize(
    "files",
    [
        {b"README.md": README + b"\n## Setup\n\nRun make.\n"},
        {b"tests/test_app.py": b"def test_step():\n    assert step_1(state, None) is state\n"},
        {b"yarn.lock": b"left-pad@1.0.0:\n  resolved something\n"},
        {b"logo.png": b"\x89PNG\0\1\2"},
    ],
    ids=["docs", "tests", "generated", "binary"],
)
def test_exact_duplicates_are_found_in_every_channel(world: World, files: Files) -> None:
    first = world.propose(1, files, "One way to say it")
    second = world.propose(2, {**files, b"LICENSE": b"free\n"}, "Another", on=world.main)
    best = world.index().check(second).suggestions[0].evidence
    assert (best.other.head, best.category, best.says) == (first, "SAME_CHANGE", "duplicate")


def test_an_unrelated_change_has_no_suggestions(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    other = world.propose(2, {b"src/parser.py": STRICT}, "Refuse NaN")
    report = world.index().check(other)
    assert report.suggestions == []
    assert report.outcome == "fine"
    assert report.changes == 4
    assert report.nearest is None or report.nearest.evidence.category == "NOT_RELATED"


def test_a_version_bump_does_not_duplicate_the_last_one(world: World) -> None:
    first = world.propose(1, {b"src/version.py": b"VERSION = '1.0.1'\n"}, "Bump version")
    second = world.propose(2, {b"src/version.py": b"VERSION = '1.0.2'\n"}, "Bump version")
    report = world.index().check(second)
    assert all(item.evidence.category not in ("SAME_CHANGE", "SAME_FEATURE") for item in report.suggestions), first


def test_revert_reland_and_backport_are_reported(world: World) -> None:
    landed = world.built.commit({**BASE, b"src/app.py": RETRY}, world.main, message=b"Retry step 3")
    message = f'Revert "Retry step 3"\n\nThis reverts commit {landed}.'
    world.built.commit(BASE, landed, message=message.encode())
    revert = world.propose(4, BASE, message, on=landed)
    again = world.propose(5, {b"src/app.py": RETRY}, "Reland: retry step 3")
    pick = f"[1.x] Retry step 3\n\n(cherry picked from commit {landed})"
    backport = world.propose(6, {b"src/app.py": RETRY}, pick)
    world.index()

    def related(head: str, to: str, base: str) -> set[str]:
        evidence = (suggestion.evidence for suggestion in world.check(head, base).suggestions)
        return {relation.relation for item in evidence if item.other.head == to for relation in item.relations}

    assert "revert of" in related(revert, landed, landed)
    assert "reland of" in related(again, landed, world.root)
    assert "backport of" in related(backport, landed, world.root)


def test_a_change_that_repeats_one_below_its_base_is_a_duplicate_on_main(world: World) -> None:
    landed = world.built.commit({**BASE, b"src/parser.py": STRICT}, world.main, message=b"Refuse NaN")
    undone = world.built.commit(BASE, landed, message=b"Tidy up")
    late = world.propose(3, {b"src/parser.py": STRICT}, "Refuse NaN in the parser", on=undone)
    best = world.index().check(late, undone).suggestions[0].evidence
    assert (best.other.head, best.other.on_main, best.duplicate, best.relations) == (landed, True, True, [])


def test_a_change_merged_on_its_target_branch_is_not_a_backport(world: World) -> None:
    landed = world.built.commit({**BASE, b"src/app.py": RETRY}, world.main, message=b"Retry step 3")
    pick = f"Make it robust\n\n(cherry picked from commit {landed})"
    for number, message in ((7, "Make it robust"), (8, pick)):
        stale = world.propose(number, {b"src/app.py": RETRY}, message)
        world.index()
        evidence = {item.evidence.other.head: item.evidence for item in world.check(stale).suggestions}
        assert (evidence[landed].duplicate, evidence[landed].relations) == (True, [])
        reasons = gate(world.workspace, GateRequest(change=f"main..{stale}")).reasons
        assert any(reason.code == "DUPE-SAME" and landed[:12] in reason.sentence for reason in reasons)


def test_a_larger_change_contains_a_smaller_one(world: World) -> None:
    small = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    more = b"\n\ndef more(state):\n    total = sum(state.values())\n    return total / len(state.values())\n"
    large = world.propose(2, {b"src/app.py": RETRY + more}, "Retry step 3 and more")
    report = world.index().check(large)
    assert report.suggestions[0].evidence.other.head == small


def test_the_work_tree_can_be_checked(world: World) -> None:
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    world.index().built.checkout("main")
    (world.built.path / "src/app.py").write_bytes(RETRY)
    before = world.built.git("status", "--porcelain=v2", "-z")
    best = dupes_check(world.workspace, None, worktree=True).suggestions[0].evidence
    assert (best.other.head, best.category) == (first, "SAME_CHANGE")
    assert world.built.git("status", "--porcelain=v2", "-z") == before


# Conformance: 002-066
def test_stored_evidence_replays_the_same_after_more_changes_are_indexed(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY_WITH_LOG}, "Retry with a word")
    suggestion = world.index().check(second).suggestions[0]
    for number in range(3, 9):
        text = RETRY_WITH_LOG.replace(b"gave up", b"gave up %d" % number)
        world.propose(number, {b"src/app.py": text}, f"Retry, version {number}")
    world.index()
    shown = dupes_show(world.workspace, suggestion.id[:12])
    assert (shown.evidence, shown.replayed) == (suggestion.evidence, "same")


def test_evidence_about_a_lost_commit_has_no_overlap_and_says_why(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY_WITH_LOG}, "Retry with a word")
    world.index()
    world.built.git("update-ref", "-d", "refs/pull/1/head")
    world.built.git("reflog", "expire", "--expire=now", "--all")
    world.built.git("gc", "--quiet", "--prune=now")
    best = world.check(second).suggestions[0].evidence
    assert best.overlap is None
    assert best.overlap_missing is not None
    assert "missing" in best.overlap_missing or "cannot" in best.overlap_missing


def test_indexing_resumes_and_skips_indexed_changes(world: World) -> None:
    for number in range(1, 6):
        world.propose(number, {b"src/extra.py": b"value_%d = compute(%d)\n" % (number, number)}, f"Add {number}")
    first = dupes_index(world.workspace, INDEX)
    world.propose(9, {b"src/nine.py": b"nine = compute_nine()\n"}, "Add nine")
    second = dupes_index(world.workspace, INDEX)
    assert (first.indexed, first.known) == (7, 0)
    assert (second.indexed, second.known, second.changes) == (1, 7, 8)
    assert dupes_index(world.workspace, IndexRequest(workers=1, rebuild=True)).indexed == 8


def test_a_missing_object_makes_only_its_change_unreadable(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    broken = world.propose(2, {b"src/unique.py": b"unique = compute_unique()\n"}, "Add unique")
    world.lose(broken, "src/unique.py")
    report = dupes_index(world.workspace, INDEX)
    assert report.unread_count == 1
    assert report.unread[0].head == broken
    assert report.indexed == 3


def test_branches_are_compared_with_their_fork_from_main(world: World) -> None:
    topic = world.built.commit({**BASE, b"a.py": b"a = 1\n"}, world.root, ref="refs/heads/topic")
    merged = world.built.commit(
        {**BASE, b"a.py": b"a = 1\n", b"LICENSE": b"free\n"}, topic, world.main, ref="refs/heads/topic"
    )
    changes = select_changes(world.workspace.repository, REFS, RULES, commits=False).changes
    assert {change.head: change.base for change in changes} == {merged: world.main}
    assert resolve_change_ref(world.workspace.repository, "main..topic").base == world.main


def test_several_processes_sketch_the_same_as_one(world: World) -> None:
    for number in range(1, 40):
        world.propose(number, {b"src/extra.py": b"value_%d = compute(%d)\n" % (number, number)}, f"Add {number}")
    refs = select_changes(world.workspace.repository, REFS, RULES, commits=True).changes
    folder = str(world.workspace.repository.git_dir)
    alone, together = (list(sketch_changes(folder, refs, RULES, workers=workers)) for workers in (1, 2))
    assert alone == together
    assert not any(isinstance(change, UnreadableChange) for change in alone)


def test_answers_calibrate_the_probability(world: World) -> None:
    for number in range(1, 24):
        text = RETRY_WITH_LOG.replace(b"gave up", b"gave up %d" % number)
        world.propose(number, {b"src/app.py": text}, f"Retry step 3, attempt {number}")
    world.index()
    before = dupes_label(world.workspace, "#1", "#2", "different", actor="ana", reason=None)
    assert (before.answers, before.learnt) == (1, False)
    for number in range(3, 23):
        dupes_label(world.workspace, "1", f"refs/pull/{number}/head", "different", actor="ana", reason="other limit")
    after = dupes_label(world.workspace, "1", "23", "different", actor="ana", reason="other limit")
    assert (after.answers, after.learnt) == (22, True)
    assert after.chance < before.chance
    again = dupes_label(world.workspace, "#2", "#1", "duplicate", actor="ben", reason=None)
    assert again.answers == 22


def test_clusters_have_one_change_to_keep(world: World) -> None:
    more = b"\n\ndef more(state):\n    total = sum(state.values())\n    return total / len(state.values())\n"
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    second = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Retry step 3", on=world.main)
    world.propose(3, {b"src/parser.py": STRICT + more}, "Refuse NaN")
    report = dupes_cluster(world.index().workspace, (), with_landed=False)
    (cluster,) = report.clusters
    assert {member.change.head for member in cluster.members} == {first, second}
    assert sum(member.is_canonical for member in cluster.members) == 1
    assert dupes_cluster(world.workspace, ("#3",), with_landed=False).clusters == []


def test_invalid_requests_are_errors(world: World) -> None:
    with pytest.raises(InputError, match="the index of changes is empty"):
        world.check("main", str(world.root))
    with pytest.raises(InputError, match="name a change to check"):
        dupes_check(world.workspace, None)
    with pytest.raises(InputError, match="missing base in '..main'"):
        dupes_check(world.workspace, "..main")
    with pytest.raises(InputError, match="invalid ref pattern 'pull/"):
        dupes_index(world.workspace, IndexRequest(refs=("pull/*",), workers=1))
    with pytest.raises(InputError, match="unknown evidence 'abcdef'"):
        dupes_show(world.index().workspace, "abcdef")
    with pytest.raises(InputError, match="unknown change '#77'"):
        dupes_label(world.workspace, "#77", "#78", "duplicate", actor="ana", reason=None)


def test_a_check_that_makes_its_index_warns_of_changes_that_cannot_be_read(world: World) -> None:
    twin = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)
    first = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    damaged = world.propose(3, {b"src/unique.py": b"unique = compute_unique()\n"}, "Add unique")
    world.lose(damaged, "src/unique.py")
    warnings: list[str] = []
    workspace = replace(world.workspace, talk=warnings.append)
    report = dupes_check(workspace, f"main..{twin}", makes_index=True)
    assert report.suggestions[0].evidence.other.head == first
    assert warnings == ["1 change could not be read: 'custody dupes index' lists them"]


def test_a_check_makes_an_index_of_another_version_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    head = world.index().propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    for module in ("custody.dupes.signature", "custody.dupes.app.index"):
        monkeypatch.setattr(f"{module}.SIGNATURE_VERSION", "another")
    with pytest.raises(InputError, match="another version of custody made the index of changes"):
        world.check(head)
    assert dupes_check(world.workspace, f"main..{head}", makes_index=True).changes == 3


def test_an_empty_change_is_reported_as_empty(world: World) -> None:
    empty = world.built.commit(BASE, world.root, message=b"Nothing", ref="refs/heads/empty")
    report = world.index().check(empty, str(world.root))
    assert (report.suggestions, report.notes) == ([], ["the change is empty"])


def test_the_gate_asks_for_a_review_of_a_duplicate_once_there_is_an_index(world: World) -> None:
    world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    twin = world.propose(2, {b"src/app.py": RETRY, b"LICENSE": b"free\n"}, "Robust", on=world.main)

    def codes(base: str = "main") -> set[str]:
        return {
            reason.code
            for reason in gate(world.workspace, GateRequest(change=f"{base}..{twin}")).reasons
            if reason.code.startswith("DUPE")
        }

    assert codes() == set()
    world.index()
    assert codes() == {"DUPE-SAME"}
    assert codes(world.ruled(b'[gate]\nduplicates = "off"\n')) == set()


def test_the_gate_reports_a_missing_index_if_duplicates_must_be_checked(world: World) -> None:
    head = world.propose(1, {b"src/app.py": RETRY}, "Retry step 3")
    base = world.ruled(b'[gate]\nduplicates = "always"\n')
    report = gate(world.workspace, GateRequest(change=f"{base}..{head}"))
    (reason,) = (reason for reason in report.reasons if reason.code == "DUPE-UNSEEN")
    assert "the index of changes is empty" in reason.sentence


def test_the_gate_accepts_a_backport(world: World) -> None:
    landed = world.built.commit({**BASE, b"src/app.py": RETRY}, world.main, message=b"Retry step 3")
    pick = f"[1.x] Retry step 3\n\n(cherry picked from commit {landed})"
    backport = world.propose(6, {b"src/app.py": RETRY}, pick)
    world.index()
    report = gate(world.workspace, GateRequest(change=f"{world.root}..{backport}"))
    assert not any(reason.code.startswith("DUPE") for reason in report.reasons)
