"""Files on disk: pages and the API show only tracked files, and hide that others exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.server.app.questions import NameNotFound
from tests.builders.lines import Scene, text
from tests.builders.rendered import data_in, links_in, rendered, words_in
from tests.builders.service import Asked, a_keeper, asked

SECRET = "PASSWORD=zebra"
HIDDEN = (".env", "secrets.md", "untracked.md", "folder/.env")
NOT_TRACKED = "git does not track"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A repository with a changed document, and secrets that git ignores or does not track."""
    made = Scene(tmp_path / "repository")
    made.committed(README__md="# Words\n", __gitignore=".env\nsecrets.md\n", at=5)
    made.wrote("README.md", text("# Words", "more words"))
    for name in HIDDEN:
        made.wrote(name, f"{SECRET}\n")
    made.built.git("add", "README.md")
    return made


@pytest.fixture
def service(scene: Scene) -> Iterator[Asked]:
    with asked(a_keeper(scene.workspace, scene.workspace)) as made:
        yield made


@pytest.mark.parametrize("name", [*HIDDEN, "nothing"])
@pytest.mark.parametrize("page", ["blame", "why"])
def test_an_untracked_file_is_not_on_a_page(scene: Scene, page: str, name: str) -> None:
    html = rendered(scene.workspace, page, file=name, line="1" if page == "why" else None, disk="1")
    assert NOT_TRACKED in words_in(html).lower() and "zebra" not in html
    assert "custody blame" in words_in(html)


@pytest.mark.parametrize("name", [*HIDDEN, "nothing.md", ".git/config", ".gitignore"])
def test_only_tracked_documents_are_shown(scene: Scene, name: str) -> None:
    with pytest.raises(NameNotFound) as caught:
        rendered(scene.workspace, "report", file=name)
    assert "zebra" not in str(caught.value)


def test_a_tracked_symbolic_link_is_not_followed(scene: Scene) -> None:
    (scene.built.path / "link.md").symlink_to("secrets.md")
    scene.built.git("add", "link.md")
    with pytest.raises(NameNotFound):
        rendered(scene.workspace, "report", file="link.md")
    assert "zebra" not in rendered(scene.workspace, "blame", file="link.md", disk="1")


def test_a_tracked_file_is_shown_as_on_disk(scene: Scene) -> None:
    assert data_in(rendered(scene.workspace, "blame", file="README.md", disk="1"), "blame")["texts"][1] == "more words"
    assert "more words" in rendered(scene.workspace, "why", file="README.md", line="2", disk="1")
    assert "more words" in rendered(scene.workspace, "report", file="README.md")


def test_a_document_with_any_name_opens_by_its_link(scene: Scene) -> None:
    names = ("docs/rtl\u202egnp.md".encode(), "日本語 &<b>.md".encode(), b"back\\slash.md", b"no utf-8 \xff.md")
    scene.commit_of({name: b"# Some words\n" for name in names}, at=90)
    listed = links_in(rendered(scene.workspace, "sources"), "report")
    assert len(listed) == len(names)
    for said in listed:
        assert "Some words" in rendered(scene.workspace, "report", file=said["file"])


def test_the_api_shows_only_tracked_files(service: Asked) -> None:
    assert service.get("/api/v1/why?file=README.md&line=2").status_code == 200
    for name in (*HIDDEN, "nothing"):
        found = service.get(f"/api/v1/why?file={name}&line=1")
        assert found.status_code == 422 and "zebra" not in found.text
