"""The why page: the chain of a line in order, links to other pages, and missing evidence."""

import re
from pathlib import Path
from typing import Any

import pytest

from custody.server.pages.files import FileLinks
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.lines import Scene, moment, text
from tests.builders.questions import LINE, MARK, SECRET, a_project
from tests.builders.rendered import links_in, rendered, words_in
from tests.builders.repo import Built

FILE = "src/app.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Built]:
    """A repository with a well-recorded line."""
    return a_project(tmp_path_factory.mktemp("project") / "own")


def kinds_in(html: str) -> list[str]:
    """Return the kinds of the links, in the order on the page."""
    return re.findall(r'<li class="c-([a-z]+)(?: hung)?" id="link-', html)


def explained(workspace: Workspace, **said: str) -> str:
    asked: dict[str, Any] = {"file": FILE, "line": LINE, **said}
    return rendered(workspace, "why", note=lambda _what: None, **asked)


class TestChain:
    def test_every_link_is_drawn_in_order(self, project: tuple[Workspace, Built]) -> None:
        html = explained(project[0])
        assert kinds_in(html) == [
            "line",
            "prompt",
            "sources",
            "call",
            "tests",
            "commit",
            "session",
            "standing",
            "change",
        ]
        said = words_in(html)
        assert "robot wrote this line" in said and "state = state.advance(3, options)" in re.sub(
            r"</?span[^>]*>", "", html
        )
        assert "content_hash" in said and "Based on" in said

    def test_links_lead_to_session_blame_and_adjacent_lines(self, project: tuple[Workspace, Built]) -> None:
        html = explained(project[0])
        session = {"id": f"s1-{MARK}", "agent": "robot"}
        assert session in links_in(html, "session") and {**session, "call": "c4"} in links_in(html, "session")
        head = project[1].head()
        assert {"file": FILE, "rev": head} in links_in(html, "blame")
        assert f"#L{LINE}" in html
        around = list(filter(None, links_in(html, "why")))
        assert around == [{"file": FILE, "line": str(LINE - 1)}, {"file": FILE, "line": str(LINE + 1)}]

    def test_a_complete_chain_says_so(self, project: tuple[Workspace, Built]) -> None:
        assert "Traced back to the prompt" in words_in(explained(project[0]))

    def test_the_prompt_is_shown_to_allowed_readers_and_logged(self, project: tuple[Workspace, Built]) -> None:
        noted: list[str] = []
        said: dict[str, Any] = {"file": FILE, "line": LINE}
        assert SECRET in rendered(project[0], "why", note=noted.append, **said)
        assert any(what.startswith("prompt") for what in noted)
        html = rendered(project[0], "why", **said)
        assert SECRET not in html and "your token cannot read conversations" in words_in(html)
        of_a_report = words_in(rendered(project[0], "why", links=FileLinks(most=100), **said))
        assert "left out of this report" in of_a_report and "token" not in of_a_report

    def test_a_line_without_evidence_has_an_unknown_author(self, project: tuple[Workspace, Built]) -> None:
        html = explained(project[0], line="1")
        assert kinds_in(html) == ["line", "commit", "end"]
        assert "Unknown author: no evidence either way." in words_in(
            html
        ) and "Traced back to the prompt" not in words_in(html)
        assert "custody import imports the sessions that they stored" in words_in(html), "what to do next"

    def test_missing_evidence_is_a_separate_link(self, tmp_path: Path) -> None:
        scene = Scene(tmp_path / "repository")
        root = scene.committed(app__py="old = line\n", at=-100)
        scene.edited("app.py", "old = line\n", text("old = line", "brought = new"), at=4, head=root)
        scene.committed(root, app__py=text("old = line", "brought = new"), at=60)
        html = rendered(scene.workspace, "why", file="app.py", line="2", note=lambda _what: None)
        assert "end" in kinds_in(html) and kinds_in(html)[0] == "line"
        assert "Missing" in words_in(html) and "custody import" not in words_in(html)

    def test_a_line_on_disk_is_not_committed(self, tmp_path: Path) -> None:
        scene = Scene(tmp_path / "repository")
        root = scene.committed(app__py="old = line\n", at=-100)
        scene.edited("app.py", "old = line\n", text("old = line", "brought = new"), at=4, head=root)
        scene.wrote("app.py", text("old = line", "brought = new"))
        html = rendered(scene.workspace, "why", file="app.py", line="2", disk="1")
        assert "Not committed" in words_in(html)
        assert {"file": "app.py", "disk": "1"} in links_in(html, "blame")

    def test_hostile_records_are_text(self, tmp_path: Path) -> None:
        evil, name = "<img src=x onerror=alert(1)>\u202e\x1b[31m", "<img src=x onerror=alert(1)>\u202e"
        scene = Scene(tmp_path / "repository")
        line = f"brought = '{evil}'"
        root = scene.committed(app__py="old = line\n", at=-100)
        session = "s<b>\u202e"
        scene.saw(
            an_event("session", session=session, model=name, at=moment(1)),
            an_event("prompt", id="p1", session=session, text=evil * 1000, at=moment(2)),
            an_event("call", id="c4", session=session, name=name, at=moment(4)),
        )
        scene.edited("app.py", "old = line\n", text("old = line", line), at=4, head=root, session=session)
        scene.committed(root, app__py=text("old = line", line), at=60, message=evil)
        html = rendered(scene.workspace, "why", file="app.py", line="2", note=lambda _what: None)
        assert "prompt" in kinds_in(html)
        assert "<img" not in html.replace('<img src="/static', "") and "\u202e" not in html and "\x1b" not in html
        assert len(html) < 60_000

    def test_a_report_links_to_no_further_line(self, project: tuple[Workspace, Built]) -> None:
        links = FileLinks(most=100)
        rendered(project[0], "why", file=FILE, line=str(LINE), links=links)
        assert not [said for page, said in links.waiting if page == "why" and said]
        assert (("file", FILE),) in [said for page, said in links.waiting if page == "blame"]


class TestWithout:
    def test_a_form_asks_for_file_and_line(self, project: tuple[Workspace, Built]) -> None:
        html = rendered(project[0], "why")
        assert all(f'name="{name}"' in html for name in ("file", "line", "rev"))
        assert f'value="{FILE}"' in rendered(project[0], "why", file=FILE)

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"line": "9999"}, "has no line 9999"),
            ({"file": "nothing.py"}, "Cannot find 'nothing.py'"),
            ({"file": "../x"}, "leaves the repository"),
            ({"rev": "nonsense"}, "Unknown revision 'nonsense'"),
        ],
    )
    def test_an_invalid_line_shows_the_error(
        self, project: tuple[Workspace, Built], said: dict[str, str], words: str
    ) -> None:
        html = explained(project[0], **said)
        assert words.lower() in words_in(html).lower()
        assert "All files" in words_in(html)
