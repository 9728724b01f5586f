"""The shared budget: clones that know nothing of each other do not spend the same lines."""

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.wire.time import format_timestamp
from custody.gate.app.gate import GateRequest, gate
from custody.gate.app.spending import BudgetUseMode
from custody.gate.wire.report import BudgetReport, GateReport
from custody.git import BUDGET_REF
from custody.ledger.records import list_newest_records
from custody.server.auth import CallerLimits
from custody.share.budget import GitLedger, accept_shared_reservations, list_shared_reservations, open_shared_ledger
from custody.share.remote import RemoteBook
from custody.share.sync import pull_from_git, push_to_git
from custody.share.wire import ReservationBody, ReservationLine
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.reservations import Reservation
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.repo import Built, a_clone, a_repository
from tests.builders.service import ALL, a_keeper, listening
from tests.builders.team import recorded
from tests.builders.trust import NS, TrustWorld

RULES = '[trust]\naudit_share = 0.0\n[gate]\nbudget = "remote"\n'
HOUR = 3_600 * NS


class Clones:
    """Clones of a repository with the same evidence, and their bare remote."""

    def __init__(self, folder: Path, rules: str = RULES) -> None:
        self.folder = folder
        self.remote: Built = a_repository(folder / "remote.git", bare=True)
        self.world = TrustWorld(folder / "home").rules(rules).proven()
        self.world.built.git("remote", "add", "origin", f"file://{self.remote.path}")

    def branches(self, lines: int = 400, count: int = 3) -> list[str]:
        """Return branches from the same base that add so many lines each, to a file each."""
        base, files, changes = self.world.head, self.world.files, []
        for number in range(count):
            self.world.head, self.world.files = base, files
            changes.append(self.world.agent_wrote(lines, path=f"src/new{number}.py"))
        gate(self.world.workspace, GateRequest(change=changes[0]))  # captured edits are stored and replayed once
        return changes

    def clone(self, name: str) -> Workspace:
        """Return a clone with the evidence that the first one has now."""
        shutil.copytree(self.folder / "home", self.folder / name, symlinks=True)
        return Workspace(self.folder / name, now_ns=lambda: self.world.at * NS)


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def asked(workspace: Workspace, change: str, budget: BudgetUseMode = "reserve") -> GateReport:
    return gate(workspace, GateRequest(change=change, budget=budget))


def budget_of(report: GateReport) -> BudgetReport:
    assert report.local is not None
    return report.local.budget


def states(reports: list[GateReport]) -> list[tuple[str, str]]:
    return [(report.level, budget_of(report).state) for report in reports]


class TestGitRemote:
    def test_three_clones_do_not_share_the_same_lines(self, clones: Clones) -> None:
        changes = clones.branches()
        reports = [asked(clones.clone(f"ci{number}"), change) for number, change in enumerate(changes)]
        assert states(reports) == [("approve", "reserved"), ("review", "refused"), ("review", "refused")]
        assert {reason.code for reason in reports[1].reasons} == {"TRUST-BUDGET"}
        assert [budget_of(report).left[0].left for report in reports] == [100, 100, 100]
        assert len(clones.remote.git("ls-tree", "--name-only", BUDGET_REF).splitlines()) == 1

    def test_clones_that_ask_at_once_do_not_overspend(self, clones: Clones) -> None:
        changes = clones.branches(200, 4)
        cis = [clones.clone(f"ci{number}") for number in range(4)]
        with ThreadPoolExecutor(4) as pool:
            reports = list(pool.map(asked, cis, changes))
        assert sum(report.level == "approve" for report in reports) == 2
        assert {budget_of(report).state for report in reports} <= {"reserved", "refused", "unverifiable"}

    def test_the_same_patch_costs_nothing_in_another_clone(self, clones: Clones) -> None:
        change = clones.branches()[0]
        reports = [asked(clones.clone(name), change) for name in ("one", "other")]
        assert states(reports) == [("approve", "reserved"), ("approve", "known")]

    def test_trust_approve_spends_from_the_same_budget(self, clones: Clones) -> None:
        first, second, _ = clones.branches()
        assert trust_approve(clones.clone("one"), ApprovalRequest(change=first, approver="ci")).approved
        assert asked(clones.clone("two"), second).level == "review"
        report = trust_approve(clones.clone("three"), ApprovalRequest(change=second, approver="ci", dry_run=True))
        assert {reason.code for reason in report.reasons} == {"TRUST-BUDGET"}

    def test_looking_reads_the_remote_and_writes_nothing(self, clones: Clones) -> None:
        first, second, _ = clones.branches()
        assert states([asked(clones.clone("look"), first, "look")]) == [("approve", "dry")]
        assert not clones.remote.git("for-each-ref", BUDGET_REF)
        asked(clones.clone("one"), first)
        assert states([asked(clones.clone("two"), second, "look")]) == [("review", "dry")]
        assert states([asked(clones.clone("three"), second, "here")]) == [("approve", "dry")]

    @pytest.mark.parametrize("rules", [RULES, RULES + 'budget_remote = "elsewhere"\n'])
    def test_what_cannot_be_verified_needs_a_review(self, tmp_path: Path, rules: str) -> None:
        clones = Clones(tmp_path, rules)
        change = clones.branches(4)[0]
        shutil.rmtree(clones.remote.path)
        before = list_newest_records(clones.world.workspace, limit=1).total
        modes: tuple[BudgetUseMode, ...] = ("reserve", "look")
        for mode in modes:
            report = asked(clones.world.workspace, change, mode)
            assert (report.level, budget_of(report).state) == ("review", "unverifiable")
            assert [reason.code for reason in report.reasons] == ["TRUST-BUDGET"]
            assert report.reasons[0].sentence.startswith("budget not verifiable: ")
        approval = trust_approve(clones.world.workspace, ApprovalRequest(change=change, approver="ci"))
        assert [reason.code for reason in approval.reasons] == ["TRUST-BUDGET"]
        assert list_newest_records(clones.world.workspace, limit=1).total == before

    def test_a_rejected_push_needs_a_review(self, clones: Clones) -> None:
        change = clones.branches(4)[0]
        clones.remote.git("config", "receive.hideRefs", "refs/custody")
        report = asked(clones.world.workspace, change)
        assert (report.level, budget_of(report).state) == ("review", "unverifiable")

    def test_a_removed_reference_is_not_verifiable_for_a_clone_that_saw_it(self, clones: Clones) -> None:
        first, second, third = clones.branches(4)
        ci = clones.clone("ci")
        asked(ci, first)
        asked(clones.clone("other"), second)
        earlier = clones.remote.git("rev-parse", BUDGET_REF).decode().strip()
        asked(ci, third)
        for command in (("update-ref", "-d", BUDGET_REF), ("update-ref", BUDGET_REF, earlier)):
            clones.remote.git(*command)
            for _ in range(2):
                report = asked(ci, second)
                assert (report.level, budget_of(report).state) == ("review", "unverifiable")
                assert "removed from 'refs/custody/budget' of the remote" in report.reasons[0].sentence
        clones.world.later(hours=25)
        assert asked(ci, second).level == "approve", "they have left the window"

    def test_a_clone_without_memory_misses_what_a_pulled_chain_names(self, clones: Clones) -> None:
        first = clones.branches(4)[0]
        now_ns = clones.world.workspace.now_ns
        other = Workspace(a_clone(clones.world.built, clones.folder / "other").path, now_ns=now_ns)
        Built(other.folder).git("remote", "set-url", "origin", f"file://{clones.remote.path}")
        patch, at_ns = "b" * 64, (clones.world.at - 60) * NS
        told = {"agent": "robot", "decision": "accepted", "unreviewed": True, "patch": patch, "changed_lines": 4}
        event = {"custody": 1, "kind": "decision", "id": "spent", "at": format_timestamp(at_ns), **told}
        recorded(other, json.dumps(event).encode())
        push_to_git(other, None)
        fresh = clones.clone("fresh")
        assert [chain.outcome for chain in pull_from_git(fresh, "origin").chains] == ["taken"]
        for mode in ("reserve", "look"):
            report = asked(fresh, first, mode)
            assert (report.level, budget_of(report).state) == ("review", "unverifiable")
            assert "1 reservation of other stores is missing at the remote" in report.reasons[0].sentence
        assert not clones.remote.git("for-each-ref", BUDGET_REF), "nothing was reserved"
        ledger = open_shared_ledger(other, "origin")
        assert ledger.extend(ledger.read(0), [replace(_reservation(patch), at_ns=at_ns)], at_ns)
        assert states([asked(fresh, first)]) == [("approve", "reserved")]

    def test_it_ends_with_the_window_and_goes_later(self, clones: Clones) -> None:
        changes = clones.branches()
        clones.clone("four")
        ledger = open_shared_ledger(clones.world.workspace, "origin")
        assert states([asked(clones.clone("one"), changes[0])]) == [("approve", "reserved")]
        clones.world.later(hours=25)
        assert states([asked(clones.clone("two"), changes[1])]) == [("approve", "reserved")]
        assert len(ledger.read(0).reservations) == 2
        clones.world.later(days=8)
        assert states([asked(clones.clone("three"), changes[2])]) == [("approve", "reserved")]
        assert len(open_shared_ledger(Workspace(clones.folder / "four"), "origin").read(0).reservations) == 1

    def test_only_one_of_two_extensions_of_the_same_state_is_pushed(self, clones: Clones) -> None:
        ledgers = [open_shared_ledger(clones.clone(name), "origin") for name in ("one", "two")]
        seen = [ledger.read(0) for ledger in ledgers]
        added = [_reservation(patch=digit * 64) for digit in "ab"]
        assert ledgers[0].extend(seen[0], added[:1], HOUR)
        assert not ledgers[1].extend(seen[1], added[1:], HOUR)
        assert ledgers[1].extend(ledgers[1].read(0), added[1:], HOUR)
        assert {one.patch[0] for one in ledgers[0].read(0).reservations} == {"a", "b"}

    def test_what_another_program_wrote_there_is_refused(self, clones: Clones) -> None:
        clones.branches(4)
        clones.world.built.git("push", "--quiet", "origin", f"HEAD:{BUDGET_REF}")
        with pytest.raises(InputError, match=r"not JSON"):
            open_shared_ledger(clones.world.workspace, "origin").read(0)

    def test_a_pull_of_evidence_leaves_the_budget_alone(self, clones: Clones) -> None:
        asked(clones.world.workspace, clones.branches(4)[0])
        push_to_git(clones.world.workspace, None)
        bob = Workspace(a_git_folder(clones.folder / "bob"))
        Built(bob.folder).git("remote", "add", "origin", f"file://{clones.remote.path}")
        assert [chain.outcome for chain in pull_from_git(bob, "origin").chains] == ["taken"]


def _reservation(patch: str) -> Reservation:
    return Reservation(patch=patch, agent="robot", operator=None, areas=("src",), lines=4, at_ns=HOUR)


@contextmanager
def a_service(folder: Path) -> Iterator[str]:
    """Serve a project on loopback; yield its URL."""
    keeper = a_keeper(Workspace(a_git_folder(folder / "service")), Workspace(a_git_folder(folder / "other")))
    with listening(keeper, CallerLimits()) as port:
        yield f"http://127.0.0.1:{port}"


class TestService:
    def test_three_clones_do_not_share_the_same_lines(self, tmp_path: Path) -> None:
        clones = Clones(tmp_path, RULES + 'budget_remote = "team"\n')
        changes = clones.branches()
        clones.world.at = Workspace(tmp_path).now_ns() // NS  # the service has a clock of its own
        clones.world.proven()
        with a_service(tmp_path) as url:
            RemoteBook({"HOME": str(Path.home())}).add("team", url, ALL)
            reports = [asked(clones.clone(f"ci{number}"), change) for number, change in enumerate(changes)]
            again = asked(clones.clone("again"), changes[0])
        assert states(reports) == [("approve", "reserved"), ("review", "refused"), ("review", "refused")]
        assert states([again]) == [("approve", "known")]
        assert not clones.remote.git("for-each-ref", "refs/custody/")

    def test_a_service_that_is_not_there_means_a_review(self, tmp_path: Path) -> None:
        clones = Clones(tmp_path, RULES + 'budget_remote = "team"\n')
        change = clones.branches(4)[0]
        with a_service(tmp_path) as url:
            RemoteBook({"HOME": str(Path.home())}).add("team", url, ALL)
        assert states([asked(clones.world.workspace, change)]) == [("review", "unverifiable")]

    def test_a_reservation_needs_the_version_that_was_read(self, tmp_path: Path) -> None:
        workspace = Workspace(a_git_folder(tmp_path / "service"))
        since = "2026-01-01T00:00:00Z"
        seen = list_shared_reservations(workspace, since)
        line = ReservationLine(patch="a" * 64, agent="robot", lines=4, at=since, areas=["src"])
        body = ReservationBody(since=since, version=seen.version, reservations=[line])
        done = accept_shared_reservations(workspace, body, "token 1")
        assert [one.lines for one in done.reservations] == [4]
        assert done.version != seen.version == list_shared_reservations(workspace, "2200-01-01T00:00:00Z").version
        with pytest.raises(InputError, match="reserved meanwhile"):
            accept_shared_reservations(workspace, body, "token 1")
        assert len(list_shared_reservations(workspace, since).reservations) == 1


def test_others_that_reserve_all_the_time_are_given_up_on(clones: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    change = clones.branches(4)[0]
    tries: list[int] = []

    def lose(*_: object) -> bool:
        tries.append(1)
        return False

    monkeypatch.setattr(GitLedger, "extend", lose)
    report = asked(clones.world.workspace, change)
    assert (len(tries), report.level, budget_of(report).state) == (5, "review", "unverifiable")
