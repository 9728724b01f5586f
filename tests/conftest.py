"""The environment of every test: an empty home, no network, git without settings, and PostgreSQL on request."""

import itertools
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import settings

from tests.house.guard import forget_user_settings, give_home, on_guard
from tests.house.memory_folder import use_temporary_folder_in_memory
from tests.house.not_run import WORDS, CannotBeHad, in_ci, is_not_run, not_run, reason
from tests.house.postgres import a_database, a_server

# "local" keeps failing examples in .hypothesis and tries them first. "ci" and "slow" draw from one fresh seed per run,
# printed at the top, so that a run can be repeated: `pytest --hypothesis-seed=…`.
settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=False, database=None)
settings.register_profile("slow", parent=settings.get_profile("ci"), max_examples=2_000)
settings.load_profile("ci" if in_ci() else "local")

_HOMES = itertools.count()


@pytest.fixture(scope="session", autouse=True)
def _the_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the user's files and settings from the first fixture on."""
    with pytest.MonkeyPatch.context() as patch, on_guard():
        forget_user_settings(patch)
        give_home(patch, tmp_path_factory.mktemp("home"))
        patch.setenv("CUSTODY_AUDIT_KEY", "the same audit draws in every test")
        yield


@pytest.fixture(autouse=True)
def _own_home(_the_house: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an empty home, so that no test finds another's files."""
    # Not ``mktemp``: it lists all earlier folders to find the next number.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    give_home(monkeypatch, home)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server for new databases: ``CUSTODY_TEST_PG``, or one that we start."""
    with ExitStack() as stack:
        try:
            url = os.environ.get("CUSTODY_TEST_PG") or stack.enter_context(a_server())
        except CannotBeHad as why:
            not_run("PostgreSQL", why)
        yield url


@pytest.fixture
def fresh_postgres(postgres_url: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database for this test only."""
    with a_database(postgres_url) as url:
        yield url


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose seed and temporary folder here, once for all workers, before hypothesis and ``tmp_path`` look for them."""
    if not hasattr(config, "workerinput"):
        use_temporary_folder_in_memory()
    profile = config.getoption("--hypothesis-profile") or settings.get_current_profile_name()
    if profile != "local" and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().getrandbits(32))


def pytest_report_header(config: pytest.Config) -> str | None:
    """Print the seed, which repeats the run."""
    seed = config.getoption("--hypothesis-seed")
    return None if seed is None else f"hypothesis seed: {seed}"


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count tests that could not be run apart from those that are skipped on purpose."""
    return (WORDS, "n", WORDS) if is_not_run(report) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was not run, and why, directly before the summary line, which counts it."""
    reports: list[pytest.TestReport] = terminalreporter.stats.get(WORDS, [])
    for (file, why), count in sorted(Counter((r.nodeid.partition("::")[0], reason(r)) for r in reports).items()):
        terminalreporter.write_line(f"{WORDS}: {count} in {file}: {why}")
