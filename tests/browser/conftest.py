"""A browser, and a service on the repository of the demo."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.builders.browser import Looking, a_browser, looking_at
from tests.builders.service import Started, started
from tests.house.not_run import CannotBeHad, not_run

Look = Callable[..., Looking]

expect.set_options(timeout=30_000)  # As long as clicks wait: the computation of a page may take seconds.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a worker; each has its own windows."""
    with ExitStack() as stack:
        try:
            found = stack.enter_context(a_browser())
        except CannotBeHad as why:
            not_run("Chromium", why)
        yield found


@pytest.fixture(scope="session")
def story() -> Iterator[Path]:
    """The repository of ``custody demo`` with its records; no test changes it."""
    ran = subprocess.run(
        [sys.executable, "-m", "custody", "demo", "--keep", "--json"], capture_output=True, text=True, check=True
    )
    folder = Path(json.loads(ran.stdout)["folder"])
    yield folder
    shutil.rmtree(folder.parent)


@pytest.fixture(scope="session")
def service(story: Path) -> Iterator[Started]:
    """``custody serve`` in the repository of the demo."""
    with started(story) as made:
        yield made


@pytest.fixture
def look(browser: Browser, service: Started) -> Iterator[Look]:
    """Open windows on the service of the demo (or another one); at the end none may have an error."""
    with ExitStack() as stack:

        def open_(at: Started | None = None, **how: Any) -> Looking:
            return stack.enter_context(looking_at(browser, at or service, **how))

        yield open_
