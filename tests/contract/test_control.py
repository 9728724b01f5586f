"""Projects, tokens, reads and jobs behave the same on every database."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from custody.core.errors import InputError, StoreError
from custody.core.wire.canonical import Json
from custody.ledger.verify import verify_ledger
from custody.server.app.jobs import KINDS, JobWorker, NewJob, WorkRules, add_job
from custody.server.app.tenancy import (
    AccessKeeper,
    Grant,
    StoredTenancy,
    TokenRequest,
    TokenScope,
    connect_control_tables,
    create_project,
    create_token,
    hash_token_secret,
    init_team_database,
    list_project_reads,
    list_projects,
    list_tokens,
    parse_token_expiry,
    remove_project,
    revoke_token,
    set_project_retention,
)
from custody.server.control import ControlTables, JobState
from custody.server.control.database import CONTROL_VERSION
from custody.store.db import load_schema_migrations
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival
from tests.builders.stores import NOON
from tests.builders.teams import a_copy, a_login, as_role
from tests.house.postgres import a_database

HOUR_NS = 3_600 * 1_000_000_000
DAY_NS = 24 * HOUR_NS


@pytest.fixture(scope="module")
def initialised(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return an initialized database with a project, as a template: creating one takes much longer than copying."""
    with a_database(postgres_url) as url:
        made = Workspace(tmp_path_factory.mktemp("initialised"), url, now_ns=lambda: NOON)
        init_team_database(made, None)
        create_project(made, "shop")
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with one project besides the default one, a fixed clock, and counting random numbers."""
    tokens = count(1)
    made = Workspace(
        a_git_folder(tmp_path / "repository"), None, now_ns=lambda: NOON, token=lambda: f"{next(tokens):032x}"
    )
    if request.param == "sqlite":
        create_project(made, "shop")
        yield made
        return
    with a_copy(request.getfixturevalue("initialised")) as url:
        yield replace(made, database=url)


@pytest.fixture
def keeper(workspace: Workspace) -> Iterator[StoredTenancy]:
    kept = StoredTenancy(workspace)
    yield kept
    kept.close()


@pytest.fixture
def control(workspace: Workspace) -> Iterator[ControlTables]:
    with connect_control_tables(workspace, as_service=True) as opened:
        yield opened


def a_token(workspace: Workspace, *scopes: TokenScope, expires: str = "1d", project: str = "shop") -> tuple[str, str]:
    report = create_token(workspace, TokenRequest(project, scopes or (TokenScope.READ,), expires, "a name"))
    return report.token.id, report.secret


def test_the_newest_step_is_the_version_of_the_control_tables() -> None:
    steps = load_schema_migrations("custody.server.control")
    assert [step.number for step in steps] == list(range(1, CONTROL_VERSION + 1))


def test_a_token_opens_its_project_for_its_scopes(workspace: Workspace, keeper: AccessKeeper) -> None:
    id_, secret = a_token(workspace, TokenScope.WRITE, TokenScope.READ)
    granted = keeper.grant(secret, NOON)
    assert granted == Grant("shop", frozenset((TokenScope.READ, TokenScope.WRITE)), id_, NOON + DAY_NS)


def test_a_token_is_long_known_by_its_beginning_and_kept_nowhere(workspace: Workspace, control: ControlTables) -> None:
    _, secret = a_token(workspace)
    assert len(secret) == len("cdy_") + 64
    ((kept,),) = control.db.rows("SELECT hash FROM token")
    assert kept == hash_token_secret(secret)
    rows = control.db.rows("SELECT id, project, name, scopes FROM token")
    assert not any(secret.removeprefix("cdy_")[:16] in str(value) for row in rows for value in row[1:])


def test_a_stranger_gets_nothing(workspace: Workspace, keeper: AccessKeeper) -> None:
    id_, secret = a_token(workspace)
    for presented in ("", "cdy_", id_, secret[:-1], f"{secret}0", secret.upper(), "cdy_" + "0" * 64, secret + "\n"):
        assert keeper.grant(presented, NOON) is None


def test_a_token_opens_nothing_from_its_last_moment_on(workspace: Workspace, keeper: AccessKeeper) -> None:
    _, secret = a_token(workspace, expires="2h")
    assert keeper.grant(secret, NOON + 2 * HOUR_NS - 1) is not None
    assert keeper.grant(secret, NOON + 2 * HOUR_NS) is None


def test_a_token_for_ever_has_no_end(workspace: Workspace, keeper: AccessKeeper) -> None:
    _, secret = a_token(workspace, expires="never")
    granted = keeper.grant(secret, NOON + 10_000 * DAY_NS)
    assert granted is not None
    assert granted.expires_ns is None


def test_a_revoked_token_opens_nothing_at_once(workspace: Workspace, keeper: AccessKeeper) -> None:
    id_, secret = a_token(workspace)
    assert keeper.grant(secret, NOON) is not None
    revoke_token(workspace, id_)
    assert keeper.grant(secret, NOON) is None
    assert [token.state for token in list_tokens(workspace, None).tokens] == ["revoked"]


def test_the_last_use_is_kept_to_the_hour(workspace: Workspace, keeper: AccessKeeper, control: ControlTables) -> None:
    _, secret = a_token(workspace)
    used = []
    for later in (0, 1, HOUR_NS - 1, HOUR_NS):
        keeper.grant(secret, NOON + later)
        used.append(control.tokens.list_all()[0].used_ns)
    assert used == [NOON, NOON, NOON, NOON + HOUR_NS]


def test_tokens_of_a_removed_project_open_nothing(workspace: Workspace, keeper: AccessKeeper) -> None:
    _, secret = a_token(workspace)
    remove_project(workspace, "shop")
    assert keeper.grant(secret, NOON) is None
    assert [project.name for project in list_projects(workspace).projects] == ["default"]


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1", "1m", "soon", "99999999d"])
def test_a_length_of_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="invalid lifetime"):
        parse_token_expiry(text, NOON)


def test_a_token_needs_a_project_that_is_there(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="unknown project 'nowhere'"):
        a_token(workspace, project="nowhere")
    assert list_tokens(workspace, None).tokens == []


def test_a_name_that_cannot_be_or_is_taken_is_refused(workspace: Workspace) -> None:
    for name in ("", "A", "a b", "-a", "a-", "a_b", "a" * 41, "é", "a;drop", "default"):
        with pytest.raises(InputError):
            create_project(workspace, name)
    assert [project.name for project in list_projects(workspace).projects] == ["default", "shop"]


def test_the_default_project_stays(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="cannot remove the default project"):
        remove_project(workspace, "default")


def test_projects_have_stores_of_their_own(workspace: Workspace, keeper: AccessKeeper) -> None:
    with keeper.workspace("shop").writing() as store:
        store.append([an_arrival(event="e1")])
    with keeper.workspace("default").reading() as store:
        assert store.tables.record_count() == 0
    with keeper.workspace("shop").reading() as store:
        assert store.tables.record_count() == 1


def test_reads_of_texts_are_listed_newest_first(workspace: Workspace, keeper: AccessKeeper) -> None:
    id_, secret = a_token(workspace, TokenScope.TEXT)
    grant = keeper.grant(secret, NOON)
    assert grant is not None
    for n in range(3):
        keeper.record_text_read(grant, f"conversation {n}")
    report = list_project_reads(workspace, "shop", 2)
    assert report.total == 3
    assert [read.token for read in report.reads] == [id_, id_]
    assert list_project_reads(workspace, "default", 2).total == 0


def test_a_removal_that_was_killed_half_way_is_done_again(
    workspace: Workspace, keeper: AccessKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    with keeper.workspace("shop").writing() as store:
        store.append([an_arrival(event="e1")])
    _, secret = a_token(workspace)
    with monkeypatch.context() as patch:
        patch.setattr("custody.server.app.tenancy._drop_project_store", _killed)
        with pytest.raises(KeyboardInterrupt):
            remove_project(workspace, "shop")
    assert keeper.grant(secret, NOON) is None
    with pytest.raises(InputError, match="already"):
        create_project(workspace, "shop")
    remove_project(workspace, "shop")
    create_project(workspace, "shop")
    with keeper.workspace("shop").reading() as store:
        assert store.tables.record_count() == 0


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_odd_signs_in_what_was_read_do_no_harm(workspace: Workspace, keeper: AccessKeeper) -> None:
    _, secret = a_token(workspace, TokenScope.TEXT)
    grant = keeper.grant(secret, NOON)
    assert grant is not None
    keeper.record_text_read(grant, "\0 \ud800 " + "x" * 5_000)
    (read,) = list_project_reads(workspace, "shop", 1).reads
    assert read.what.startswith("? ? x")


def test_a_refused_request_for_a_token_names_the_url_that_may_make_one(initialised: str, tmp_path: Path) -> None:
    with a_copy(initialised) as url, a_login(url) as login:
        init_team_database(Workspace(tmp_path, url, now_ns=lambda: NOON), login)
        with pytest.raises(StoreError, match="permission denied") as refused:
            a_token(Workspace(tmp_path, as_role(url, login), now_ns=lambda: NOON))
        assert "owner" in str(refused.value.hint)


def test_a_project_says_how_long_conversations_are_kept(workspace: Workspace) -> None:
    assert set_project_retention(workspace, "shop", 30).project.retain_days == 30
    assert set_project_retention(workspace, "shop", None).project.retain_days is None
    with pytest.raises(InputError, match="unknown project"):
        set_project_retention(workspace, "nowhere", 1)


def test_many_threads_may_ask_at_the_same_time(workspace: Workspace, keeper: AccessKeeper) -> None:
    _, secret = a_token(workspace)
    granted: list[Grant | None] = []
    threads = [threading.Thread(target=lambda: granted.append(keeper.grant(secret, NOON))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 16
    assert all(granted)


def test_a_connection_that_died_is_not_the_strangers_fault(initialised: str, tmp_path: Path) -> None:
    with a_copy(initialised) as url:
        workspace = Workspace(tmp_path, url, now_ns=lambda: NOON)
        _, secret = a_token(workspace)
        keeper = StoredTenancy(workspace)
        assert keeper.grant(secret, NOON) is not None
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'custody'")
        assert keeper.grant(secret, NOON) is not None
        keeper.close()


# --- jobs -------------------------------------------------------------------------------------------------------------


def add(control: ControlTables, key: str, kind: str = "work", now_ns: int = NOON) -> bool:
    return add_job(control, NewJob(kind, "shop", key, {"n": 1}), id_=f"id-{kind}-{key}", now_ns=now_ns)


def test_a_job_is_made_once_by_its_key(control: ControlTables) -> None:
    assert [add(control, "1"), add(control, "1"), add(control, "2"), add(control, "1", "other")] == [
        True,
        False,
        True,
        True,
    ]
    assert control.jobs.counts()[JobState.WAITING] == 3


def test_a_leased_job_goes_to_no_other_worker_until_its_lease_ends(control: ControlTables) -> None:
    add(control, "1")
    first = control.jobs.take(["work"], NOON, NOON + 10)
    assert first is not None
    assert control.jobs.take(["work"], NOON + 9, NOON + 20) is None
    second = control.jobs.take(["work"], NOON + 10, NOON + 20)
    assert second is not None
    assert (second.id, second.attempts, second.lease) == (first.id, 2, 2)


@pytest.mark.parametrize(
    "settle",
    [
        lambda jobs, job: jobs.mark_done(job, NOON),
        lambda jobs, job: jobs.schedule_retry(job, NOON, "no"),
        lambda jobs, job: jobs.set_aside(job, NOON, "no"),
        lambda jobs, job: jobs.renew(job, NOON + 99),
    ],
)
def test_who_lost_the_lease_settles_nothing(control: ControlTables, settle: Callable[..., bool]) -> None:
    add(control, "1")
    first = control.jobs.take(["work"], NOON, NOON + 10)
    second = control.jobs.take(["work"], NOON + 10, NOON + 20)
    assert not settle(control.jobs, first)
    assert settle(control.jobs, second)


def test_a_job_is_done_once(control: ControlTables) -> None:
    add(control, "1")
    job = control.jobs.take(["work"], NOON, NOON + 10)
    assert job is not None
    assert [control.jobs.mark_done(job, NOON), control.jobs.mark_done(job, NOON)] == [True, False]
    assert control.jobs.take(["work"], NOON + 99, NOON + 100) is None
    assert not add(control, "1"), "what was done is not made again"


def test_a_renewed_lease_holds_longer(control: ControlTables) -> None:
    add(control, "1")
    job = control.jobs.take(["work"], NOON, NOON + 10)
    assert job is not None
    assert control.jobs.renew(job, NOON + 30)
    assert control.jobs.take(["work"], NOON + 29, NOON + 50) is None


def test_jobs_are_taken_in_the_order_in_which_they_are_due_and_not_before(control: ControlTables) -> None:
    add(control, "later", now_ns=NOON + 5)
    add(control, "now")
    add(control, "never mind", "other")
    keys = []
    for now in (NOON, NOON + 4, NOON + 5):
        job = control.jobs.take(["work"], now, now + 100)
        keys.append(None if job is None else job.key)
    assert keys == ["now", None, "later"]


def test_what_was_set_aside_waits_for_a_person(control: ControlTables) -> None:
    add(control, "1")
    job = control.jobs.take(["work"], NOON, NOON + 10)
    assert job is not None
    control.jobs.set_aside(job, NOON, "it cannot be")
    assert control.jobs.take(["work"], NOON + 99, NOON + 100) is None
    (aside,) = control.jobs.list_in_states((JobState.ASIDE,), 10)
    assert (aside.error, aside.attempts) == ("it cannot be", 1)
    assert control.jobs.retry(job.id, NOON) is not None
    assert control.jobs.retry(job.id, NOON) is None
    again = control.jobs.take(["work"], NOON, NOON + 10)
    assert again is not None
    assert again.attempts == 1


def test_a_worker_carries_out_retention_in_the_project_that_wants_it_and_in_no_other(
    workspace: Workspace, keeper: AccessKeeper
) -> None:
    for project in ("shop", "default"):
        with keeper.workspace(project).writing() as store:
            store.append([an_arrival("prompt", id="old", at="2020-01-31T12:00:00Z"), an_arrival("edit", id="kept")])
    set_project_retention(workspace, "shop", 30)
    report = JobWorker(workspace, KINDS).run(once=True)
    assert (report.done, report.again, report.aside) == (1, 0, 0)
    found = {project: verify_ledger(keeper.workspace(project)) for project in ("shop", "default")}
    assert [(one.outcome, one.erased) for one in found.values()] == [("fine", 1), ("fine", 0)]


def test_a_worker_outlives_a_database_that_goes_away_and_the_job_is_done_all_the_same(
    initialised: str, tmp_path: Path
) -> None:
    now, said, stop, begun = [NOON], list[str](), threading.Event(), list[Json]()
    with a_copy(initialised) as url:
        workspace = Workspace(tmp_path, url, talk=said.append, now_ns=lambda: now[0])
        with connect_control_tables(workspace) as control:
            add(control, "1")

        def does(_workspace: Workspace, payload: Json) -> None:
            begun.append(payload)
            if len(begun) == 1:
                with psycopg.connect(url, autocommit=True) as admin:
                    admin.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'custody'"
                    )
                now[0] += HOUR_NS
            else:
                stop.set()

        report = JobWorker(workspace, {"work": does}, WorkRules(idle_seconds=0.01), stop).run(once=False)
    assert (begun, report.done, len(said)) == ([{"n": 1}, {"n": 1}], 1, 1)
    assert said[0].endswith("; retrying")


def test_many_workers_take_each_job_once(workspace: Workspace, control: ControlTables) -> None:
    for n in range(40):
        add(control, str(n))
    taken: list[str] = []

    def work() -> None:
        with connect_control_tables(workspace, as_service=True) as own:
            while (job := own.jobs.take(["work"], NOON, NOON + 10)) is not None:
                taken.append(job.key)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken, key=int) == [str(n) for n in range(40)]
