"""From a delivery to a check run: a worker on a team's database, real repositories, a GitHub on loopback."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.views import HunkRead, WitnessClaim
from custody.core.wire.time import format_timestamp
from custody.server.app.github_deliveries import (
    DeliveryIntake,
    WebhookDelivery,
    backfill_github_pulls,
    connect_github_repository,
    disconnect_github_repository,
    list_github_connections,
)
from custody.server.app.github_jobs import GitHubSettings, read_github_settings
from custody.server.app.jobs import KINDS, JobWorker
from custody.server.app.tenancy import connect_control_tables, create_project, init_team_database
from custody.server.control import JobState
from custody.server.wire.tenancy import WorkerReport
from custody.trust.queries import list_agent_decisions
from custody.workspace.workspace import Workspace
from tests.builders.events import an_arrival
from tests.builders.fake_github import REPOSITORY, TOKEN, FakeGitHub, Refusal, fake_github
from tests.builders.repo import NOON, Built, a_history, a_repository
from tests.builders.stores import a_copied_database
from tests.house.postgres import a_database

START_NS = 1_767_225_600 * 10**9
OLD, NEW = b"one = first(1)\n", b"one = first(1)\nalpha = beta(gamma)\n"


def worked(*, done: int = 0, again: int = 0) -> WorkerReport:
    """Return the report of a worker without failures."""
    return WorkerReport(done=done, again=again, aside=0, lost=0)


@dataclass
class Team:
    """The environment of a service: the origin on GitHub, the database, the operator's settings."""

    workspace: Workspace
    fake: FakeGitHub
    origin: Built
    settings: GitHubSettings
    now: list[int]

    def delivered(self, action: str, number: int, guid: str = "delivery-1") -> None:
        """Deliver a webhook about a pull request."""
        body, headers = self.fake.delivery("pull_request", action, number, guid)
        self._taken_in("pull_request", body, headers)

    def pushed(self, before: str, after: str) -> None:
        """Deliver a webhook about a push."""
        self._taken_in("push", *self.fake.pushed(before, after, [], "delivery-push"))

    def reviewed(self, number: int, login: str, guid: str = "delivery-r1", **review: str) -> None:
        """Add a review and deliver its webhook."""
        self.fake.reviewed(number, login, **review)
        self._taken_in("pull_request_review", *self.fake.review_delivery(number, login, guid))

    def readers(self) -> list[tuple[str, str, WitnessClaim | None]]:
        """Return who read which file, and who vouches for it."""
        with self._project.reading() as store:
            reads = store.views.look_up(HunkRead, "1 = 1", ())
        return [(read.view.person, str(read.view.path), read.view.witness) for read in reads]

    def work(self) -> WorkerReport:
        """Run the due jobs."""
        return JobWorker(self.workspace, KINDS).run(once=True)

    def jobs(self, state: JobState) -> list[str]:
        """Return the errors of jobs in a state."""
        with connect_control_tables(self.workspace) as control:
            return [job.error or "" for job in control.jobs.list_in_states((state,), 99)]

    def pull(self, number: int, base: str, head: str) -> None:
        """Store a pull request as GitHub does: its head under a reference of the origin."""
        self.fake.opened(number, base, head)
        self.origin.git("update-ref", f"refs/pull/{number}/head", head)

    def recorded(self) -> None:
        """Record an agent that writes the new line, in the project of the repository."""
        with self._project.writing() as store:
            at = format_timestamp(NOON * 10**9 - 10**9)
            store.append([an_arrival("edit", path="a.py", before=OLD.decode(), after=NEW.decode(), at=at, head=None)])

    def decided(self) -> list[str]:
        """Record decisions about the agent."""
        with self._project.reading() as store:
            return [seen.view.decision.value for seen in list_agent_decisions(store, "robot")]

    def witnesses(self) -> list[WitnessClaim | None]:
        """Return the witness of each decision about the agent."""
        with self._project.reading() as store:
            return [seen.view.witness for seen in list_agent_decisions(store, "robot")]

    @property
    def _project(self) -> Workspace:
        return replace(self.workspace, project="web-shop")

    def _taken_in(self, event: str, body: bytes, headers: dict[str, str]) -> None:
        keeper = DeliveryIntake(self.settings, self.workspace.now_ns, self.workspace.token)
        with connect_control_tables(self.workspace, as_service=True) as control:
            sent = WebhookDelivery(event, headers["X-GitHub-Delivery"], headers["X-Hub-Signature-256"], body)
            keeper.take_in(control, sent)


@pytest.fixture(scope="module")
def connected(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a team's database with a project to which the repository is connected; each test gets a copy."""
    with a_database(postgres_url) as url:
        workspace = Workspace(tmp_path_factory.mktemp("connected"), database=url, now_ns=lambda: START_NS)
        init_team_database(workspace, None)
        create_project(workspace, "web-shop")
        connect_github_repository(workspace, REPOSITORY, "web-shop")
        yield urlsplit(url).path.removeprefix("/")


@pytest.fixture
def team(postgres_url: str, connected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with fake_github() as fake, a_copied_database(postgres_url, connected) as url:
        for name, text in (("secret", fake.secret.decode()), ("token", TOKEN)):
            (tmp_path / name).write_text(text)
        for name, text in (
            ("SECRET_FILE", str(tmp_path / "secret")),
            ("TOKEN_FILE", str(tmp_path / "token")),
            ("API", fake.url),
            ("GIT", str(tmp_path / "github")),
            ("MIRRORS", str(tmp_path / "mirrors")),
        ):
            monkeypatch.setenv(f"CUSTODY_GITHUB_{name}", text)
        origin = a_repository(tmp_path / "github" / f"{REPOSITORY}.git")
        now = [START_NS]
        workspace = Workspace(tmp_path, database=url, now_ns=lambda: now[0])
        yield Team(workspace, fake, origin, read_github_settings(), now)


def test_a_delivery_ends_as_a_check_run(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.delivered("opened", 3)
    assert team.work() == worked(done=1)
    (run,) = team.fake.check_runs.values()
    assert (run["head_sha"], run["conclusion"]) == (head, "neutral")


def test_a_busy_github_is_asked_again_when_it_said(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.delivered("opened", 3)
    team.fake.refusals.append(Refusal(429, headers={"Retry-After": "600"}))
    assert team.work() == worked(again=1)
    team.now[0] += 599 * 10**9
    assert team.work() == worked()
    team.now[0] += 2 * 10**9
    assert team.work() == worked(done=1)
    assert len(team.fake.check_runs) == 1


def test_what_never_works_is_set_aside_with_its_words(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.delivered("opened", 3)
    team.fake.refusals.append(Refusal(403, times=99, message="Resource not accessible by integration"))
    for _ in range(12):
        team.work()
        team.now[0] += 4_000 * 10**9
    (words,) = team.jobs(JobState.ASIDE)
    assert "Resource not accessible by integration" in words


def test_a_force_push_between_delivery_and_work_judges_the_new_head(team: Team) -> None:
    base, old, new = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW}, {b"a.py": NEW * 2})
    team.pull(3, base, old)
    team.delivered("synchronize", 3)
    team.pull(3, base, new)
    team.work()
    assert [run["head_sha"] for run in team.fake.check_runs.values()] == [new]


def test_a_closed_request_without_agents_teaches_nothing(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.fake.closed(3, head)
    team.delivered("closed", 3)
    assert team.work() == worked(done=1)


@pytest.mark.parametrize(("merged", "decision"), [(True, "accepted"), (False, "rejected")])
def test_what_became_of_a_request_counts_for_its_agent_once(team: Team, merged: bool, decision: str) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.recorded()
    team.pull(3, base, head)
    team.fake.closed(3, head if merged else None)
    for guid in ("delivery-1", "delivery-2"):
        team.fake.pulls[3]["updated_at"] = guid
        team.delivered("closed", 3, guid)
    assert team.work() == worked(done=2)
    assert team.decided() == [decision]


def test_a_push_that_takes_a_change_back_counts_against_its_agent(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    words = f'Revert "a change"\n\nThis reverts commit {head}.'
    undone = team.origin.commit({b"a.py": OLD}, head, message=words.encode())
    team.recorded()
    team.pushed(base, undone)
    assert team.work() == worked(done=1)
    assert team.decided() == ["rejected"]


def test_a_repository_that_cannot_be_fetched_is_tried_again(team: Team) -> None:
    team.fake.opened(3, "b" * 40, "a" * 40)
    team.delivered("opened", 3)
    assert team.work() == worked(again=1)
    (run,) = team.fake.check_runs.values()
    assert run["conclusion"] == "action_required"
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.now[0] += 60 * 10**9
    assert team.work() == worked(done=1)


def test_backfill_takes_each_request_over_once(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    for number in (1, 2, 3):
        team.pull(number, base, head)
    team.fake.closed(1, head)
    team.fake.closed(2, None)
    first = backfill_github_pulls(team.workspace, REPOSITORY, team.settings)
    assert (first.open, first.closed, first.added) == (1, 2, 4)
    assert backfill_github_pulls(team.workspace, REPOSITORY, team.settings).added == 0
    assert team.work() == worked(done=4)
    team.fake.closed(3, head)
    assert backfill_github_pulls(team.workspace, REPOSITORY, team.settings).added == 1


def test_repositories_are_connected_and_let_go(team: Team) -> None:
    assert [one.name for one in list_github_connections(team.workspace).repositories] == [REPOSITORY]
    assert disconnect_github_repository(team.workspace, REPOSITORY.upper()).done == "disconnected"
    assert list_github_connections(team.workspace).repositories == []
    with pytest.raises(InputError, match="not connected"):
        disconnect_github_repository(team.workspace, REPOSITORY)
    with pytest.raises(InputError, match="unknown project"):
        connect_github_repository(team.workspace, REPOSITORY, "missing-project")


def test_what_the_operator_did_not_say_is_named(team: Team) -> None:
    for lacking in (replace(team.settings, key=None), replace(team.settings, mirrors=None)):
        with pytest.raises(InputError, match="CUSTODY_GITHUB"):
            backfill_github_pulls(team.workspace, REPOSITORY, lacking)


def test_the_host_vouches_for_a_review_by_somebody_other_than_the_author(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.recorded()
    team.pull(3, base, head)
    team.fake.reviewed(3, "ana")
    team.fake.closed(3, head)
    team.delivered("closed", 3)
    assert team.work() == worked(done=1)
    assert team.witnesses() == [WitnessClaim("host", "github:ana")]


def test_a_decision_that_was_sent_before_gets_its_witness_once(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.recorded()
    team.pull(3, base, head)
    team.fake.closed(3, head)
    team.delivered("closed", 3)
    assert (team.work(), team.witnesses()) == (worked(done=1), [None])
    team.fake.reviewed(3, "ana")
    for guid in ("delivery-2", "delivery-3"):
        team.fake.pulls[3]["updated_at"] = guid
        team.delivered("closed", 3, guid)
    assert team.work() == worked(done=2)
    assert (team.witnesses(), team.decided()) == ([None, WitnessClaim("host", "github:ana")], ["accepted"] * 2)


def test_without_access_to_reviews_the_outcome_is_recorded_anyway(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.recorded()
    team.pull(3, base, head)
    team.fake.closed(3, head)
    team.fake.refusals.append(Refusal(403, part="reviews"))
    team.delivered("closed", 3)
    assert (team.work(), team.witnesses()) == (worked(done=1), [None])


ANA = WitnessClaim("host", "github:ana")


def test_an_approval_is_a_read_of_every_hunk_once(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW, b"b.py": b"b = 1\n"})
    team.pull(3, base, head)
    team.reviewed(3, "ana")
    assert team.work() == worked(done=1)
    assert sorted(team.readers()) == [("github:ana", "a.py", ANA), ("github:ana", "b.py", ANA)]
    team.delivered("synchronize", 3, "delivery-again")
    assert team.work() == worked(done=1)
    assert len(team.readers()) == 2
    assert len(team.fake.check_runs) == 1, "a review also checks the change"


@pytest.mark.parametrize(
    ("login", "review"),
    [
        ("contributor", {}),
        ("Contributor", {}),
        ("helper[bot]", {}),
        ("stranger", {"association": "NONE"}),
        ("ana", {"state": "COMMENTED"}),
        ("ana", {"state": "CHANGES_REQUESTED"}),
        ("ana", {"state": "DISMISSED"}),
        ("ana", {"head": "f" * 40}),
        ("ana", {"head": "--output=x"}),
    ],
)
def test_other_reviews_are_not_reads(team: Team, login: str, review: dict[str, str]) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.reviewed(3, login, **review)
    assert team.work() == worked(done=1)
    assert team.readers() == []


def test_a_backfill_records_the_approvals_of_merged_pull_requests(team: Team) -> None:
    base, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW})
    team.pull(3, base, head)
    team.fake.reviewed(3, "ana")
    team.fake.closed(3, head)
    backfill_github_pulls(team.workspace, REPOSITORY, team.settings)
    assert team.work().done >= 1
    assert team.readers() == [("github:ana", "a.py", ANA)]


def test_an_approval_of_an_older_head_counts_for_unchanged_hunks_only(team: Team) -> None:
    base, early, head = a_history(team.origin, {b"a.py": OLD}, {b"a.py": NEW}, {b"a.py": NEW, b"b.py": b"b = 1\n"})
    team.pull(3, base, head)
    team.reviewed(3, "ana", head=early)
    assert team.work() == worked(done=1)
    assert team.readers() == [("github:ana", "a.py", ANA)]
