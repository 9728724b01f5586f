"""Invalid changes, and changes that are hard to judge: a verdict with reasons or a clear error."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from custody.attribution.app import history
from custody.core.errors import CustodyError, InputError
from custody.core.ids import CommitSha
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.in_process import custody
from tests.builders.judged import NEW, OLD, Judged, codes
from tests.builders.processes import started_from_now
from tests.builders.repo import SUBMODULE, Built, Files, a_clone, a_repository

MANY = 200


@pytest.fixture
def world(tmp_path: Path) -> Judged:
    made = Judged(tmp_path / "repository")
    made.decide(12)
    made.edit()
    return made


def said(world: Judged, change: str) -> GateReport:
    return gate(world.workspace, GateRequest(change=change))


class TestRange:
    def test_unrelated_histories_are_compared_as_they_are(self, world: Judged) -> None:
        stranger = world.built.commit({b"s.py": b"strange = line(1)\n"}, ref="refs/heads/stranger", at=world.noon)
        report = said(world, f"{world.second}..{stranger}")
        assert (report.level, codes(report), report.fork) == ("review", ["ATTR-NONE"], world.second)

    def test_an_empty_range_and_the_same_commit_twice_add_nothing(self, world: Judged) -> None:
        for change in (f"{world.second}..{world.second}", f"{world.second}..{world.first}", "HEAD"):
            report = said(world, change)
            assert (report.level, report.reasons) == ("approve", [])

    def test_a_root_commit_can_be_judged_and_be_the_base(self, world: Judged) -> None:
        root = world.built.commit({b"r.py": b"rooted = line(1)\n"}, ref="refs/heads/root", at=world.noon)
        assert codes(said(world, f"{world.first}..{root}")) == ["ATTR-NONE"]
        assert codes(said(world, f"{root}..{world.second}"))[0].startswith("ATTR-NONE")

    def test_a_merge_can_be_the_head(self, world: Judged) -> None:
        side = world.built.commit({b"a.py": OLD.encode(), b"b.py": b"b = other(1)\n"}, world.first, at=world.noon - 60)
        both = {b"a.py": NEW.encode(), b"b.py": b"b = other(1)\n"}
        merge = world.built.commit(both, world.second, side, at=world.noon + 5)
        report = said(world, f"{world.first}..{merge}")
        assert codes(report) == ["ATTR-NONE"]
        assert (report.added.agent, report.added.none) == (2, 1)

    @pytest.mark.parametrize(
        "typed",
        ["", "..", "...", "..HEAD", "nowhere", "nowhere..HEAD", "HEAD..nowhere", "a..b..c", "--all", "HEAD:a.py", "-1"],
    )
    def test_a_range_typed_wrongly_is_the_callers_turn(self, world: Judged, typed: str) -> None:
        with pytest.raises(InputError):
            said(world, typed)

    def test_a_tree_is_not_a_commit(self, world: Judged) -> None:
        tree = world.built.git("rev-parse", "HEAD^{tree}").decode().strip()
        with pytest.raises(InputError):
            said(world, f"{tree}..HEAD")

    def test_a_shallow_clone_without_the_base_is_reported(self, world: Judged, tmp_path: Path) -> None:
        clone = a_clone(world.built, tmp_path / "clone", "--depth=1")
        with pytest.raises(InputError):
            gate(Workspace(clone.path), GateRequest(change=f"{world.first}..HEAD"))
        report = gate(Workspace(clone.path), GateRequest(change="HEAD..HEAD"))
        assert (report.level, report.reasons) == ("approve", [])

    def test_a_bare_repository_can_be_judged(self, world: Judged, tmp_path: Path) -> None:
        bare = a_clone(world.built, tmp_path / "bare", "--bare")
        report = gate(Workspace(bare.path), GateRequest(change=f"{world.first}..{world.second}"))
        assert codes(report) == ["ATTR-UNSEEN"]
        with pytest.raises(CustodyError):
            gate(Workspace(bare.path), GateRequest(change=None))

    def test_there_is_nothing_to_judge_before_the_first_commit(self, tmp_path: Path) -> None:
        empty = a_repository(tmp_path / "empty")
        for change in (None, "HEAD"):
            with pytest.raises(InputError):
                gate(Workspace(empty.path), GateRequest(change=change))

    def test_outside_a_repository_it_is_the_callers_turn(self, tmp_path: Path) -> None:
        with pytest.raises(InputError):
            gate(Workspace(tmp_path), GateRequest(change="HEAD~1..HEAD"))


class TestPolicy:
    def test_a_change_that_sets_other_rules_is_judged_by_its_bases(self, world: Judged) -> None:
        rules = b'[gate.levels]\nATTR-NONE = "approve"\n'
        head = world.built.commit({b"a.py": NEW.encode(), b"custody.toml": rules}, world.first, at=world.noon)
        assert codes(said(world, f"{world.first}..{head}"))[-1] == "POLICY-CHANGED"
        assert "ATTR-NONE" in codes(said(world, f"{world.first}..{head}"))

    def test_rules_of_a_change_that_cannot_be_read_are_reported(self, world: Judged) -> None:
        head = world.built.commit({b"a.py": NEW.encode(), b"custody.toml": b"[gate\n"}, world.first, at=world.noon)
        report = said(world, f"{world.first}..{head}")
        reason = next(one for one in report.reasons if one.code == "POLICY-CHANGED")
        assert "they cannot be read" in reason.sentence

    def test_rules_of_the_base_that_cannot_be_read_are_somebodys_turn(self, world: Judged) -> None:
        base = world.built.commit({b"a.py": OLD.encode(), b"custody.toml": b"[gate\n"}, world.first, at=world.noon)
        with pytest.raises(CustodyError):
            said(world, f"{base}..{world.second}")

    def test_an_index_that_is_asked_for_and_missing_is_reported(self, world: Judged) -> None:
        rules = b'[gate]\nduplicates = "always"\n'
        base = world.built.commit({b"a.py": OLD.encode(), b"custody.toml": rules}, world.first, at=world.noon - 60)
        assert "DUPE-UNSEEN" in codes(said(world, f"{base}..{world.second}"))


class TestAgents:
    def test_an_unknown_agent_needs_a_review(self, tmp_path: Path) -> None:
        world = Judged(tmp_path / "repository")
        world.edit(agent="an unknown agent")
        assert codes(world.said()) == ["TRUST-SAMPLES"]


class TestFiles:
    def test_a_submodule_has_no_lines(self, world: Judged) -> None:
        files: Files = {b"a.py": NEW.encode(), b"lib": (SUBMODULE, world.first.encode())}
        head = world.built.commit(files, world.second, at=world.noon + 60)
        assert codes(said(world, f"{world.second}..{head}")) == ["ATTR-UNSEEN"]

    def test_many_files_take_no_more_processes_than_few(self, world: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
        few, many = (_of(world.built, world.second, count) for count in (MANY // 10, MANY))
        started = started_from_now(monkeypatch)
        assert said(world, f"{world.second}..{few}").added.none == MANY // 5
        for_few = len(started)
        started.clear()
        assert said(world, f"{world.second}..{many}").added.none == MANY * 2
        assert len(started) <= for_few + 2

    def test_files_read_together_and_alone_give_the_same_verdict(
        self, world: Judged, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files = _files(20)
        middle = world.built.commit({b"a.py": NEW.encode(), **files}, world.second, at=world.noon + 60)
        renamed = {b"moved/" + path: content + b"appended = one(more)\n" for path, content in files.items()}
        head = world.built.commit({b"a.py": OLD.encode(), **renamed}, middle, at=world.noon + 120)
        for number, (path, content) in enumerate(sorted(files.items())):
            before, after = OLD, content.decode()
            spool_of(world.built.path).put(
                world.event("edit", 30, id=f"m{number}", path=path.decode(), before=before, after=after)
            )
        together = said(world, f"{world.first}..{head}")
        with world.database() as db:
            db.execute("DELETE FROM lineage_version")
        monkeypatch.setattr(history, "TOGETHER_MIN", 10**9)
        assert said(world, f"{world.first}..{head}") == together
        assert together.added.agent == 40


def _files(count: int) -> Mapping[bytes, bytes]:
    return {
        f"pkg/module_{n}.py".encode(): f"value_{n} = compute_{n}({n})\nother_{n} = second_{n}()\n".encode()
        for n in range(count)
    }


def _of(built: Built, parent: CommitSha, count: int) -> CommitSha:
    return built.commit({b"a.py": NEW.encode(), **_files(count)}, parent, ref=f"refs/heads/of-{count}")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("nowhere..HEAD",), 2),
        (("..HEAD",), 2),
        ((), 2),
        (("HEAD~1..HEAD", "--worktree"), 2),
        (("HEAD~1..HEAD",), 0),
        (("HEAD..HEAD",), 0),
    ],
)
def test_the_command_never_shows_a_stack(tmp_path: Path, words: tuple[str, ...], status: int) -> None:
    world = Judged(tmp_path / "repository")
    ran = custody(world.built.path, "gate", *words)
    assert ran.status == status, ran.err
    assert "Traceback" not in ran.err + ran.out
    assert ran.err or not status
