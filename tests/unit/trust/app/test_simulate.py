"""A policy applied to the past of a real repository: recorded decisions, earlier commits, invalid files."""

from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import InputError
from custody.core.wire.time import format_timestamp, parse_start_time, parse_timestamp
from custody.trust.app.decisions import open_trust_folder
from custody.trust.app.simulate import IN_FORCE, trust_simulate
from custody.trust.wire import SimulatedPolicy, TrustSimulateReport
from custody.trust_lineage import DecisionType, TrustLineageManager
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import NOON, Built, a_repository

NS = 1_000_000_000
DAY = 86_400
ROBOT = b"Robot <robot@example.invalid>"
EVERYTHING = "[trust]\naudit_share = 0.0\n"
"""No change is drawn for an audit, so that a test knows what merges."""


class World:
    """A repository with one commit a day, and a clock at the time of the last."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.files: dict[bytes, Any] = {}
        self.day = 0
        self.head: Any = None
        self.workspace = Workspace(folder, now_ns=lambda: self.now() * NS)
        (folder / "custody.toml").write_text(EVERYTHING)

    def now(self) -> int:
        return NOON + self.day * DAY

    def commit(self, message: str = "Add it", path: bytes = b"src/a.py", lines: int = 3, author: bytes = ROBOT) -> str:
        self.day += 1
        self.files[path] = self.files.get(path, b"") + b"".join(b"x = %d, %d\n" % (self.day, n) for n in range(lines))
        parents = [] if self.head is None else [self.head]
        self.head = self.built.commit(self.files, *parents, message=message.encode(), author=author, at=self.now())
        return str(self.head)

    def commits(self, count: int, **more: Any) -> list[str]:
        return [self.commit(f"Add {self.day}", **more) for _ in range(count)]

    def tell(self, decision: str = "accepted", *, agent: str = "robot", **fields: Any) -> None:
        """Record a decision made now."""
        said = {"actor": "ana", "at": format_timestamp(self.now() * NS), "id": f"d{self.day}", **fields}
        spool_of(self.built.path).put(an_event("decision", agent=agent, decision=decision, **said))

    def simulated(self, since: str = "1000d", **more: Any) -> TrustSimulateReport:
        return trust_simulate(self.workspace, since=since, **{"policy": None, **more})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


def in_force(report: TrustSimulateReport) -> SimulatedPolicy:
    return report.policies[0]


@pytest.mark.parametrize(
    ("text", "ago"),
    [("30d", 30.0), ("12h", 0.5), ("2w", 14.0), ("1.5d", 1.5), ("2026-01-01", 30.5), ("2026-01-31T00:00:00Z", 0.5)],
)
def test_a_beginning_is_said_as_people_say_it(text: str, ago: float) -> None:
    now_ns = parse_timestamp("2026-01-31T12:00:00Z")
    assert parse_start_time(text, now_ns) == now_ns - round(ago * DAY * NS)


@pytest.mark.parametrize("text", ["", "yesterday", "-3d", "30", "2026-13-01", "9999999999d", "2026-02-01"])
def test_a_time_that_is_invalid_or_to_come_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_start_time(text, parse_timestamp("2026-01-31T12:00:00Z"))


def test_an_empty_repository_has_nothing_to_simulate(world: World) -> None:
    with pytest.raises(InputError, match="no decisions and no commits since"):
        world.simulated()


def test_commits_are_changes_of_their_authors_before_anything_is_recorded(world: World) -> None:
    world.commits(15)
    world.commit(author=b"Ana <ana@example.invalid>")
    report = world.simulated()
    assert (report.recorded, report.commits) == (0, 16)
    landed = {one.agent: one.landing.approved for one in in_force(report).agents}
    assert landed == {"Robot": 5, "Ana": 0}


def test_a_commit_that_is_reverted_later_was_bad(world: World) -> None:
    landed = world.commits(14)
    world.commit(f'Revert "Add 13"\n\nThis reverts commit {landed[13]}.')
    report = world.simulated()
    landing = in_force(report).landing
    assert (report.reverted_commits, landing.approved, landing.reverted) == (1, 5, 1)
    assert landing.bad_share == 0.2
    assert in_force(report).within is False
    (example,) = report.examples
    assert (example.id, example.outcome, example.why) == (landed[13], "reverted", "merges and was bad")


def test_a_revert_is_not_known_before_it_is_made(world: World) -> None:
    """The commit after the bad one is judged without the revert, the one after the revert with it."""
    world.commits(13)
    landed = world.commit("Add much", lines=100)
    world.commit("In between", lines=100)
    assert in_force(world.simulated(since="1h")).landing.approved == 1
    world.commit(f"This reverts commit {landed}")
    world.commit("After", lines=100)
    assert in_force(world.simulated(since="1h")).landing.approved == 0
    assert in_force(world.simulated(since="50h")).landing.approved == 2


def test_a_quick_fix_makes_a_commit_a_modified_one(world: World) -> None:
    landed = world.commits(12)
    world.commit(f"Fixed a typo in {landed[11][:10]}")
    report = world.simulated()
    assert (report.mended_commits, in_force(report).landing.modified) == (1, 1)


def test_an_agent_that_signed_a_commit_is_its_agent(world: World) -> None:
    world.commits(3)
    world.commit("Add\n\nCo-Authored-By: Claude <noreply@anthropic.com>")
    assert {one.agent for one in in_force(world.simulated()).agents} == {"Robot", "claude-code"}


def test_merges_are_not_changes(world: World) -> None:
    base = world.commits(2)[-1]
    side = world.built.commit({b"b.py": b"y\n"}, base, at=world.now(), ref="refs/heads/side")  # type: ignore[arg-type]
    world.built.commit({**world.files, b"b.py": b"y\n"}, world.head, side, at=world.now() + 5)
    assert world.simulated().commits == 3


def test_files_that_the_rules_name_and_files_that_are_not_text_do_not_merge(world: World) -> None:
    world.commits(12)
    world.commit(path=b".github/workflows/ci.yml")
    world.files[b"logo.png"] = b"\0\1\2"
    world.commit()
    reasons = in_force(world.simulated(since="36h")).reasons
    assert reasons == {"TRUST-KIND": 1, "TRUST-PATH": 1}


def test_records_count_alone_once_they_reach_back_far_enough(world: World) -> None:
    world.commits(3)
    for _ in range(14):
        world.day += 1
        world.tell(changed_lines=5)
    report = world.simulated(since="5d")
    assert (report.recorded, report.commits) == (6, 0)
    assert in_force(report).landing.approved == 4
    both = world.simulated(since="1000d")
    assert (both.recorded, both.commits) == (14, 3)


def test_each_source_can_be_asked_alone(world: World) -> None:
    world.commits(3)
    world.tell(changed_lines=5)
    assert (world.simulated(source="records").commits, world.simulated(source="git").recorded) == (0, 0)
    assert world.simulated(source="git").commits == 3


def test_size_and_paths_of_a_recorded_commit_are_read_from_it(world: World) -> None:
    shas = world.commits(12)
    for place, sha in enumerate(shas):
        world.tell(id=f"c{place}", commit=sha)
    world.day += 1
    big = world.commit(lines=900)
    world.tell(id="big", commit=big)
    assert in_force(world.simulated(since="1h", source="records")).reasons.keys() >= {"TRUST-SIZE"}
    small = world.commit(path=b".github/x.yml")
    world.tell(id="small", commit=small)
    assert "TRUST-PATH" in in_force(world.simulated(since="1h", source="records")).reasons


def test_a_decision_of_unknown_size_never_merges(world: World) -> None:
    for _ in range(14):
        world.day += 1
        world.tell()
    assert in_force(world.simulated(since="2h")).reasons == {"TRUST-NO-SIZE": 1}


def test_a_policy_is_compared_with_the_rules_in_force(world: World, tmp_path: Path) -> None:
    world.commits(20)
    policy = tmp_path / "strict.toml"
    policy.write_text("[trust]\napprove_samples_min = 15\nreverted_share_max = 0.5\n")
    report = world.simulated(policy=str(policy))
    here, there = report.policies
    assert (here.name, there.name) == (IN_FORCE, str(policy))
    assert (here.landing.approved, there.landing.approved) == (10, 5)
    assert (here.target, there.target) == (0.01, 0.5)
    assert here.rules_digest != there.rules_digest
    assert report.example_count == 5
    assert {one.why for one in report.examples} == {"the policies differ"}
    assert report.examples[0].reasons == {IN_FORCE: [], str(policy): ["TRUST-SAMPLES"]}


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("[trust]\napprove_sample_min = 3\n", "unknown rule '", "did you mean 'approve_samples_min'?"),
        ("[trust]\ntier_score_min = [0.0, 0.9, 0.4, 0.6, 0.8]\n", "falls from 0.9", "the default of"),
        ("[trust\n", "is not TOML", "a file with an error"),
        ("approve_samples_min = 3\n", "unknown rule '", "did you mean"),
    ],
)
def test_an_invalid_policy_file_is_refused(world: World, tmp_path: Path, text: str, problem: str, hint: str) -> None:
    world.commits(1)
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        world.simulated(policy=str(policy))
    assert hint in (caught.value.hint or "")


def test_a_policy_that_is_not_there_is_reported_apart_from_an_empty_one(world: World, tmp_path: Path) -> None:
    world.commits(1)
    with pytest.raises(InputError, match="cannot find "):
        world.simulated(policy=str(tmp_path / "none.toml"))
    (tmp_path / "empty.toml").touch()
    here, there = world.simulated(policy=str(tmp_path / "empty.toml")).policies
    assert here.landing == there.landing


def test_a_folder_of_the_documents_is_simulated_by_its_records(tmp_path: Path) -> None:
    at = [NOON * NS]
    manager = TrustLineageManager(tmp_path / "trust", now_ns=lambda: at[0])
    for place in range(12):
        at[0] += 3600 * NS
        manager.record_decision("robot", DecisionType.ACCEPTED, f"c{place}", change_size=4)
    report = trust_simulate(open_trust_folder(tmp_path / "trust", lambda: at[0]), policy=None, since="7d")
    assert (report.recorded, report.commits) == (12, 0)


def test_nothing_is_written(world: World) -> None:
    world.commits(3)
    before = sorted(str(path) for path in (world.built.path / ".git").rglob("*"))
    world.simulated()
    assert sorted(str(path) for path in (world.built.path / ".git").rglob("*")) == before
