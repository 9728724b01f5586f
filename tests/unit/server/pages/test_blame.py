"""The blame page: the list of files, a file with the author of each line, and errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.attribution.wire import Attribution, BlameReport, SignalReport
from custody.server.page_data.files import BlamePageFile
from custody.server.pages.blame_lines import (
    CHAINS_MAX,
    CLASSES,
    LINES_MAX,
    PIECE_CHARACTERS_MAX,
    ROWS,
    FileLines,
    LineHighlight,
)
from custody.server.pages.files import FileLinks
from custody.server.pages.phrases import TEXT_CHARACTERS_MAX
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.hooks import a_recorded_edit, a_recorded_session
from tests.builders.lines import Scene, moment, text
from tests.builders.rendered import data_in, links_in, rendered, words_in
from tests.builders.service import a_keeper, asked

NAMES = (
    "plain.py",
    "with space.py",
    "ünïcode/日本語.py",
    "שלום.py",
    "rtl\u202egnp.py",
    "a&b<c>'\".py",
    "back\\slash.py",
)
SECRET = "please hide the zebra"
HOSTILE = "<img src=x onerror=alert(1)>\n\ttabbed\nrtl \u202e override\nansi \x1b[31mred\r\n" + "y" * 1_000_000 + "\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A repository in which an agent wrote two of four lines of one file."""
    made = Scene(tmp_path / "repository")
    old, new = (
        text("first of all", "second of all"),
        text("first of all", "added = one", "added = two", "second of all"),
    )
    root = made.commit_of({b"src/app.py": old.encode()}, at=-100)
    recorded: dict[str, Any] = {"session": "s1", "root": made.built.path, "head": root}
    made.saw(a_recorded_session(model="maker/model-1", at=moment(1), **recorded))
    made.saw(a_recorded_edit("src/app.py", old, new, at=moment(4), **recorded))
    made.saw(an_event("prompt", id="p1", agent="claude-code", session="s1", text=SECRET, at=moment(2)))
    made.commit_of({b"src/app.py": new.encode(), b"README": b"hello\n", b"src/lib/x.py": b"x = 1\n"}, root, at=60)
    return made


@pytest.fixture
def bare_scene(tmp_path: Path) -> Scene:
    """A repository without records and commits."""
    return Scene(tmp_path / "repository")


class TestFiles:
    def test_edited_files_come_first_then_folders_then_files(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame")
        found = [link for link in links_in(html, "blame") if set(link) & {"file", "folder"}]
        assert found == [{"file": "src/app.py"}, {"folder": "src"}, {"file": "README"}]
        assert "3 files in commit" in words_in(html) and "agents edited 1 of them" in words_in(html)

    def test_a_folder_lists_what_is_in_it(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame", folder="src")
        assert {"folder": "src/lib"} in links_in(html, "blame") and {"file": "src/app.py"} in links_in(html, "blame")
        assert {"file": "README"} not in links_in(html, "blame")

    def test_a_part_of_a_name_finds_files_in_subfolders(self, scene: Scene) -> None:
        assert {"file": "src/lib/x.py"} in links_in(rendered(scene.workspace, "blame", named="LIB/X"), "blame")
        assert "No file matches." in words_in(rendered(scene.workspace, "blame", named="zebra"))

    def test_only_files_that_agents_edited(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame", edited="1")
        assert [link["file"] for link in links_in(html, "blame") if "file" in link] == ["src/app.py"]

    def test_a_long_list_is_paged_and_has_each_file_once(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"file %03d" % n: b"x\n" for n in range(250)})
        seen: list[str] = []
        after: str | None = ""
        while after is not None:
            links = links_in(rendered(bare_scene.workspace, "blame", after=after), "blame")
            seen += [link["file"] for link in links if "file" in link]
            assert len(seen) % 100 == 0 or len(seen) == 250
            after = next((link["after"] for link in links if "after" in link), None)
        assert seen == [f"file {n:03}" for n in range(250)]

    @pytest.mark.parametrize("name", [name.encode() for name in NAMES] + [b"not \xff utf-8.py", b"\xffx/y.py", b"a\nb"])
    def test_every_name_leads_to_its_file(self, bare_scene: Scene, name: bytes) -> None:
        bare_scene.commit_of({name: b"found = it\n"}, checkout=False)
        links = links_in(rendered(bare_scene.workspace, "blame", named="."), "blame")
        links += links_in(rendered(bare_scene.workspace, "blame"), "blame")
        (file,) = {link["file"] for link in links if "file" in link} or self._below(bare_scene, links)
        html = rendered(bare_scene.workspace, "blame", file=file)
        assert data_in(html, "blame")["texts"] == ["found = it"]
        assert "\u202e" not in html

    def _below(self, scene: Scene, links: list[dict[str, str]]) -> set[str]:
        (folder,) = {link["folder"] for link in links if "folder" in link}
        return {
            link["file"]
            for link in links_in(rendered(scene.workspace, "blame", folder=folder), "blame")
            if "file" in link
        }

    def test_an_unknown_folder_shows_the_error(self, scene: Scene) -> None:
        for folder, words in (
            ("nothing", "Cannot find folder"),
            ("README", "Cannot find folder"),
            ("../..", "leaves"),
            ("/etc", "absolute"),
        ):
            html = rendered(scene.workspace, "blame", folder=folder)
            assert words in words_in(html) and "All files" in words_in(html)


class TestFile:
    def test_each_line_has_its_author(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame", file="src/app.py")
        data = data_in(html, "blame")
        kinds = [data["about"][place]["kind"] for first, last, place in data["runs"] for _ in range(first, last + 1)]
        assert kinds == ["none", "agent", "agent", "none"]
        about = data["about"][data["runs"][1][2]]
        assert (about["agent"], about["model"], about["grade"]) == ("claude-code", "maker/model-1", "recorded")
        assert data["sessions"][about["session"]] == "s1"
        assert {data["signals"][one][0] for one in about["signals"]} >= {"content_hash", "range_match"}
        assert data_in(html, "places")["sessions"] == ["/session?id=s1&agent=claude-code"]
        assert "50 % agent 2" in words_in(html)

    def test_a_mark_links_to_why_at_the_same_commit(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame", file="src/app.py")
        links = list(filter(None, links_in(html, "why")))
        assert [link["line"] for link in links] == ["1", "2", "3", "4"]
        assert {link["rev"] for link in links} == {scene.built.head()}

    def test_no_text_of_a_conversation_is_shown(self, scene: Scene) -> None:
        assert SECRET not in rendered(scene.workspace, "blame", file="src/app.py", note=pytest.fail)

    def test_a_revision_and_the_disk_are_other_versions(self, scene: Scene) -> None:
        scene.wrote("src/app.py", text("first of all", "not yet committed"))
        assert len(data_in(rendered(scene.workspace, "blame", file="src/app.py", rev="HEAD~1"), "blame")["texts"]) == 2
        html = rendered(scene.workspace, "blame", file="src/app.py", disk="1")
        assert data_in(html, "blame")["texts"] == ["first of all", "not yet committed"]
        assert {"file": "src/app.py", "disk": "1", "line": "2"} in links_in(html, "why")

    def test_lines_that_are_not_selected_fade(self, scene: Scene) -> None:
        html = rendered(scene.workspace, "blame", file="src/app.py", only="agent")
        assert html.count('class="code first faded"') == 2
        html = rendered(scene.workspace, "blame", file="src/app.py", agent="unknown")
        assert html.count("faded") == 4

    def test_hostile_text_is_inert(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"hostile.txt": HOSTILE.encode()})
        html = rendered(bare_scene.workspace, "blame", file="hostile.txt")
        assert "<img src=x" not in html and "\u202e" not in html and "\x1b" not in html
        assert len(html) < 50_000
        shown = data_in(html, "blame")["texts"]
        assert shown[:4] == ["<img src=x onerror=alert(1)>", "\ttabbed", "rtl ⟨202E⟩ override", "ansi ⟨1B⟩[31mred"]
        assert shown[4].endswith("(1,000,000 characters)")

    def test_without_javascript_lines_are_paged(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"long.txt": b"".join(b"line %d\n" % n for n in range(1, 402))})
        first = rendered(bare_scene.workspace, "blame", file="long.txt")
        assert first.count('class="code') == ROWS
        assert {"file": "long.txt", "from": "151"} in links_in(first, "blame")
        last = rendered(bare_scene.workspace, "blame", file="long.txt", from_="301")
        assert last.count('class="code') == 101 and 'id="L401"' in last
        assert {"file": "long.txt", "from": "151"} in links_in(last, "blame")
        assert len(data_in(last, "blame")["texts"]) == 401

    def test_a_print_names_its_lines_and_the_command_for_the_rest(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"it's long.py": b"x = 1\n" * (ROWS + 1), b"short.py": b"x = 1\n" * ROWS})
        html = rendered(bare_scene.workspace, "blame", file="it's long.py")
        verb = "custody blame 'it'\"'\"'s long.py' HEAD"
        assert f"Printed: lines 1 to {ROWS} of {ROWS + 1}. All lines: {verb}" in words_in(html)
        assert "Printed:" not in words_in(rendered(bare_scene.workspace, "blame", file="short.py"))
        named = rendered(bare_scene.workspace, "blame", file="it's long.py", rev="main")
        assert "s long.py' main" in words_in(named)

    def test_a_report_links_to_a_few_chains_and_no_filters(self, bare_scene: Scene) -> None:
        old = [f"old line number {n}" for n in range(60)]
        new = [line for one in old for line in (one, f"brought = {one!r}")]
        root = bare_scene.commit_of({b"a.py": text(*old).encode()}, at=-100)
        bare_scene.edited("a.py", text(*old), text(*new), at=4, head=root)
        bare_scene.commit_of({b"a.py": text(*new).encode()}, root, at=60)
        links = FileLinks(most=1_000)
        html = rendered(bare_scene.workspace, "blame", file="a.py", links=links)
        asked = [(page, dict(said)) for page, said in links.waiting if said]
        assert [page for page, _ in asked].count("why") == CHAINS_MAX == len(data_in(html, "places")["chains"])
        assert not any({"only", "agent", "from", "disk"} & set(said) for page, said in asked if page == "blame")


class TestNothingToShow:
    def test_a_file_without_text_shows_the_reason(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"binary": b"\0\1", b"empty": b"", b"src/a.py": b"x\n"})
        said = {
            file: words_in(rendered(bare_scene.workspace, "blame", file=file))
            for file in ("binary", "empty", "missing", "../outside", "/etc/passwd", "src")
        }
        assert "is a binary file" in said["binary"]
        assert "has no lines" in said["empty"]
        assert "cannot find 'missing'" in said["missing"].lower() and "All files" in said["missing"]
        assert "leaves the repository" in said["../outside"]
        assert "is absolute" in said["/etc/passwd"]
        assert "a.py" in said["src"]

    def test_unknown_files_are_404_and_invalid_parameters_422(self, scene: Scene) -> None:
        with asked(a_keeper(scene.workspace)) as service:
            for path, status in (
                ("/blame?file=src/app.py", 200),
                ("/blame?file=nothing.py", 404),
                ("/blame?file=../../etc/passwd", 404),
                ("/blame?rev=nonsense", 404),
                ("/why?file=nothing.py&line=1", 404),
                ("/why?file=src/app.py&line=999999999", 404),
                ("/blame?file=src/app.py&only=nonsense", 422),
                ("/blame?file=src/app.py&from=-1", 422),
                ("/why?file=src/app.py&line=1&rev=HEAD&disk=1", 422),
            ):
                answer = service.get(path, accept="text/html")
                assert answer.status_code == status, path
                assert "<h1" in answer.text, path

    def test_an_unknown_revision_shows_the_error(self, scene: Scene) -> None:
        assert "Unknown revision 'nonsense'" in words_in(rendered(scene.workspace, "blame", rev="nonsense"))
        assert "nknown revision 'nonsense'" in words_in(
            rendered(scene.workspace, "blame", file="README", rev="nonsense")
        )

    def test_a_repository_without_commits_offers_the_files_on_disk(self, bare_scene: Scene) -> None:
        html = rendered(bare_scene.workspace, "blame")
        assert "no commits yet" in words_in(html) and 'name="disk"' in html
        bare_scene.wrote("a.py", "x = 1\n")
        bare_scene.built.git("add", "a.py")
        assert data_in(rendered(bare_scene.workspace, "blame", file="a.py", disk="1"), "blame")["texts"] == ["x = 1"]

    def test_without_records_it_shows_what_to_do(self, bare_scene: Scene) -> None:
        bare_scene.commit_of({b"a.py": b"x = 1\n"})
        said = words_in(rendered(bare_scene.workspace, "blame", file="a.py"))
        assert "Nothing is recorded in this repository" in said and "custody init" in said

    def test_a_service_without_repository_says_so(self, tmp_path: Path) -> None:
        team = Workspace(tmp_path, "postgresql://user@nowhere.invalid/x")
        for page in ("blame", "why"):
            assert "has no repository of the project 'default'" in words_in(rendered(team, page))


# --- the lines themselves ---------------------------------------------------------------------------------------------


def an_attribution(first: int, last: int, kind: str, agent: str | None) -> Attribution:
    signal = SignalReport("content_hash", 30, f"lines {first}", [])
    return Attribution(
        start_line=first,
        end_line=last,
        kind=kind,  # type: ignore[arg-type]
        share=1.0,
        tier=1 if agent else None,
        confidence=1.0,
        score=30.0,
        grade="recorded",
        trace_id=None,
        agent=agent,
        model_id=None,
        session_id="s" if agent else None,
        tool_call_id=None,
        conversation_url=None,
        conversation_summary=None,
        signals=[],
        evidence=[signal] if agent else [],
        commits=["a" * 40],
        reason=None,
        searched=None,
        claims=[],
        certainty="certain",
    )


def a_blamed(runs: list[tuple[int, str, str | None]]) -> BlamePageFile:
    def attributions() -> Iterator[Attribution]:
        at = 1
        for length, kind, agent in runs:
            yield an_attribution(at, at + length - 1, kind, agent)
            at += length

    report = BlameReport(
        path="a", revision=None, profile="lineage", rules_digest="", attributions=list(attributions()), notes=[]
    )
    return BlamePageFile(file="a", report=report, texts=[f"line {n}" for n in range(1, sum(n for n, _, _ in runs) + 1)])


RUNS = st.lists(
    st.tuples(st.integers(1, 300), st.sampled_from(list(CLASSES)), st.sampled_from([None, "robot", "bot\u202e"])),
    min_size=1,
    max_size=30,
)


@given(RUNS, st.integers(1, 9_000))
def test_rows_runs_and_stripes_have_every_line_once(runs: list[tuple[int, str, str | None]], start: int) -> None:
    lines = FileLines(a_blamed(runs), start, LineHighlight())
    total = sum(length for length, _, _ in runs)
    numbers = [n for first, last, _ in lines.data["runs"] for n in range(first, last + 1)]
    assert numbers == list(range(1, total + 1)) and len(lines.data["texts"]) == total
    rows = list(lines.rows)
    begin = min(start, total)
    assert [row.number for row in rows] == list(range(begin, min(total, begin + ROWS - 1) + 1))
    assert all(row.text == f"line {row.number}" for row in rows) and rows[0].first
    assert sum(part.size for part in lines.stripes) == total
    assert sum(one.lines for one in lines.classes) == total
    assert "\u202e" not in str(lines.data)


def test_a_very_long_file_is_split() -> None:
    total = 2 * LINES_MAX + 5
    blamed = a_blamed([(LINES_MAX - 3, "none", None), (LINES_MAX, "agent", "robot"), (8, "none", None)])
    seen: list[str] = []
    for first, last in FileLines(blamed, 1, LineHighlight()).pieces:
        lines = FileLines(blamed, last, LineHighlight())
        data = lines.data
        assert (data["first"], data["runs"][0][0], data["runs"][-1][1]) == (first, first, last)
        seen += data["texts"]
    assert len(seen) == total and seen == blamed.texts


def test_lines_that_are_too_long_together_are_cut() -> None:
    long, blamed = "x" * TEXT_CHARACTERS_MAX, a_blamed([(LINES_MAX, "agent", "robot")])
    one = FileLines(replace(blamed, texts=[long, *["y"] * (LINES_MAX - 1)]), 1, LineHighlight()).data["texts"]
    assert one[0] == long, "a single long line is not cut"
    all_ = FileLines(replace(blamed, texts=[long] * LINES_MAX), 1, LineHighlight()).data["texts"]
    assert sum(map(len, all_)) < PIECE_CHARACTERS_MAX * 1.2 and "2,000 characters" in all_[0]
