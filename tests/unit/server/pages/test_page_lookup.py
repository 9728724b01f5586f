"""The page for a name after ``--open``."""

from functools import partial

import pytest

from custody.core.errors import InputError
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.server.app.questions import find_page_file, find_record_page
from custody.server.pages.book import PAGES, resolve_page_url
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import a_repository


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A repository with an indexed change, a session, and an agent with a decision."""
    built = a_repository(tmp_path_factory.mktemp("opening") / "repository")
    root = built.commit({b"src/app.py": b"print(1)\n"})
    built.commit({b"src/app.py": b"print(2)\n"}, root, ref="refs/heads/topic/two")
    built.checkout()
    made = Workspace(built.path)
    dupes_index(made, IndexRequest(workers=1))
    spool_of(built.path).put(an_event("session", session="5e551011-aaaa", agent="robot"))
    spool_of(built.path).put(an_event("decision", id="2", agent="patchbot"))
    with made.writing():
        pass
    return made


@pytest.mark.parametrize(
    ("what", "address"),
    [
        *((page.label, f"/{page.name}") for page in PAGES if page.label is not None),
        ("src", "/blame?folder=src"),
        ("src/app.py", "/blame?file=src%2Fapp.py"),
        ("src/app.py:1", "/why?file=src%2Fapp.py&line=1"),
        ("topic/two", "/change?name=topic%2Ftwo"),
        ("patchbot", "/agent?name=patchbot"),
        ("5e551011", "/session?id=5e551011"),
        ("S3", "/source?id=S3"),
        ("/graph?view=tree", "/graph?view=tree"),
        ("no/such/file.py", "/blame?file=no%2Fsuch%2Ffile.py"),
    ],
)
def test_every_name_has_its_page(workspace: Workspace, what: str, address: str) -> None:
    assert resolve_page_url(what, partial(find_page_file, workspace), partial(find_record_page, workspace)) == address


@pytest.mark.parametrize("what", ["", "unknown", "session", "agent-account", "\x1b[31m", "a" * 5000])
def test_an_unknown_name_is_rejected_with_the_choices(workspace: Workspace, what: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_page_url(what, partial(find_page_file, workspace), partial(find_record_page, workspace))
    assert "overview" in (caught.value.hint or "") and "a change" in (caught.value.hint or "")
