"""The search of the header: what is found, by whom, and hostile words."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.server.page_data.search import HITS_MAX, search_for_page
from custody.workspace.workspace import Workspace
from tests.builders.events import an_arrival
from tests.builders.rendered import acts, links_in, rendered, words_of
from tests.builders.repo import Built, a_repository

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m"
TEXTS = "Prompts, commands and edits"
SESSION = "5d2f0c3e-1111-2222-3333-444455556666"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    files = {b"src/till/prices.py": b"a = 1\n", b"docs/prices/read me.md": b"b\n", b"src/other.py": b"c\n"}
    root = made.commit(files)
    made.commit({**files, b"src/other.py": b"d\n"}, root, message=b"Round the prices", ref="refs/heads/rounding")
    made.checkout()
    return made


@pytest.fixture
def workspace(built: Built) -> Workspace:
    made = Workspace(built.path)
    with made.writing() as store:
        store.append(
            [
                an_arrival("prompt", event="p1", id="p1", session=SESSION, text=f"Show the PRICES {HOSTILE}"),
                an_arrival("call", event="c1", id="c1", session=SESSION),
            ]
        )
    dupes_index(made, IndexRequest(workers=1))
    return made


def kinds(workspace: Workspace, text: str, noted: list[str] | None = None) -> dict[str, int]:
    groups = search_for_page(workspace, text, note=None if noted is None else noted.append)
    return {group.kind: group.total for group in groups}


def test_files_changes_sessions_prompts_agents_and_commits_are_found(workspace: Workspace, built: Built) -> None:
    head = str(workspace.repository.head().commit)
    assert kinds(workspace, "prices", []) == {"Files": 2, "Changes": 1, TEXTS: 1}
    assert kinds(workspace, "till PRICES") == {"Files": 1}
    assert kinds(workspace, "5d2f0c3e") == {"Sessions": 1}
    assert kinds(workspace, "robo") == {"Agents": 1}
    assert kinds(workspace, head[:10])["Commits"] == 1
    for nothing in ("zebra", "deadbeef", "", "   "):
        assert kinds(workspace, nothing, []) == {}


def test_a_match_in_the_name_of_a_file_comes_first(workspace: Workspace) -> None:
    found = links_in(rendered(workspace, "search", text="prices"), "blame")
    assert [link["file"] for link in found if link] == ["src/till/prices.py", "docs/prices/read me.md"]


def test_prompts_are_searched_only_for_readers_of_texts_and_logged(workspace: Workspace) -> None:
    noted: list[str] = []
    assert TEXTS not in kinds(workspace, "show the prices")
    assert kinds(workspace, "show the prices", noted) == {TEXTS: 1}
    assert len(noted) == 1 and SESSION in noted[0]
    html = rendered(workspace, "search", text="show the prices")
    assert "Show the PRICES" not in html and "your token cannot read conversations" in html


def test_hostile_words_and_records_stay_text(workspace: Workspace) -> None:
    for text in (HOSTILE, "show the prices", "%", "_", "\\", "'; DROP TABLE record; --", "--all", "HEAD", "x" * 5_000):
        if len(text) > 4_096:
            with pytest.raises(InputError):
                rendered(workspace, "search", text=text)
        else:
            assert not acts(rendered(workspace, "search", text=text, note=lambda _: None)), text
    with pytest.raises(InputError, match="invalid character"):
        search_for_page(workspace, "a\0b", note=None)


def test_only_the_first_matches_are_listed_with_their_number(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "many")
    built.commit({b"src/file_%d.py" % n: b"x\n" for n in range(30)})
    (group,) = search_for_page(Workspace(built.path), "file_", note=None)
    assert (group.kind, len(group.hits), group.total) == ("Files", HITS_MAX, 30)


def test_without_a_repository_records_are_still_found(workspace: Workspace) -> None:
    team = replace(workspace, spooled=False)
    assert "Files" not in kinds(team, "prices") and kinds(team, "robo") == {"Agents": 1}


def test_the_box_is_on_every_served_page_and_an_empty_search_says_what_is_found(workspace: Workspace) -> None:
    for page in ("overview", "sessions", "search"):
        assert 'role="search"' in rendered(workspace, page)
    assert "Enter a few words." in words_of(rendered(workspace, "search"))
    assert "Nothing matches." in words_of(rendered(workspace, "search", text="zebra"))
