"""Session pages: the list and its filters, one session with its tree, and hidden prompts."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import AgentName, SessionId
from custody.graph.app.call_tree import CallRow
from custody.ledger.queries import find_first_session_prompt
from custody.ledger.records import erase_record_bodies
from custody.server import queries as looked_at
from custody.server.app.questions import NameNotFound
from custody.server.page_data.cache import StateCache
from custody.server.page_data.sessions import poll_session_for_page, read_session_list_page, read_session_page
from custody.server.pages.sessions import STATES, make_call_tree_island
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival
from tests.builders.rendered import data_in, links_in, rendered, words_in
from tests.builders.steps import steps_of

NOON_NS = 1_769_860_800_000_000_000
HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31mred</script>"


def at(second: int) -> str:
    return f"2026-01-31T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a clock at one hour after noon."""
    return replace(Workspace(a_git_folder(tmp_path / "repository")), now_ns=lambda: NOON_NS + 3600 * 10**9)


def keep(workspace: Workspace, *events: Mapping[str, object]) -> None:
    """Store events by kind and fields, in one write."""
    with workspace.writing() as store:
        made = []
        for n, fields in enumerate(events):
            given = dict(fields)
            kind = str(given.pop("kind"))
            made.append(an_arrival(kind, event=f"{kind}-{n}-{given.get('id')}-{given.get('agent')}", **given))
        store.append(made)


def a_session(workspace: Workspace, name: str = "s1", *, calls: int = 3, start: int = 0, agent: str = "robot") -> None:
    fields = {"session": name, "agent": agent}
    keep(
        workspace,
        {"kind": "session", "id": f"x{name}", "at": at(start), "model": f"of {agent}", **fields},
        {"kind": "prompt", "id": f"p{name}", "at": at(start + 1), "text": f"please do {name}", **fields},
        *(
            {"kind": "call", "id": f"{name}c{n}", "at": at(start + 2 + n), "ended_at": at(start + 3 + n), **fields}
            for n in range(calls)
        ),
    )


class TestList:
    def test_an_empty_store_shows_what_to_do_next(self, workspace: Workspace) -> None:
        assert "custody import" in words_in(rendered(workspace, "sessions"))

    def test_the_last_active_come_first_and_are_linked(self, workspace: Workspace) -> None:
        a_session(workspace, "s1")
        a_session(workspace, "s2", start=100, agent="other")
        html = rendered(workspace, "sessions")
        assert links_in(html, "session") == [{"id": "s2", "agent": "other"}, {"id": "s1", "agent": "robot"}]
        assert "of other" in words_in(html)

    def test_first_prompts_are_shown_to_allowed_readers_and_logged_once(self, workspace: Workspace) -> None:
        a_session(workspace, "s1")
        a_session(workspace, "s2", start=100)
        noted: list[str] = []
        assert "please do s1" not in rendered(workspace, "sessions")
        assert "please do s1" in rendered(workspace, "sessions", note=noted.append)
        assert len(noted) == 1 and "2 sessions" in noted[0]

    def test_pages_follow_each_other(self, workspace: Workspace) -> None:
        for n in range(5):
            a_session(workspace, f"s{n}", start=n * 10)
        html = rendered(workspace, "sessions", limit="2")
        seen = [link["id"] for link in links_in(html, "session")]
        while more := [link for link in links_in(html, "sessions") if link.get("after")]:
            html = rendered(workspace, "sessions", note=None, links=None, memory=None, **more[0])
            seen += [link["id"] for link in links_in(html, "session")]
        assert seen == ["s4", "s3", "s2", "s1", "s0"]

    def test_filters_are_query_parameters(self, workspace: Workspace) -> None:
        a_session(workspace, "abc")
        a_session(workspace, "xyz", agent="other", start=50)
        assert [one["id"] for one in links_in(rendered(workspace, "sessions", agent="other"), "session")] == ["xyz"]
        assert [one["id"] for one in links_in(rendered(workspace, "sessions", text="BC"), "session")] == ["abc"]
        assert "No session matches." in words_in(rendered(workspace, "sessions", text="nowhere"))

    @pytest.mark.parametrize("after", ["nonsense", "W10", "WzEsMl0", "WzEsWyJhIiwiXHUwMDAwIl1d"])
    def test_an_invalid_cursor_is_rejected(self, workspace: Workspace, after: str) -> None:
        with pytest.raises(InputError):
            rendered(workspace, "sessions", after=after)

    def test_an_invalid_name_is_rejected(self, workspace: Workspace) -> None:
        with pytest.raises(InputError, match="invalid character in a name"):
            rendered(workspace, "sessions", agent="\0")

    def test_a_session_is_ended_active_or_open(self, workspace: Workspace) -> None:
        a_session(workspace, "old")
        a_session(workspace, "now", start=3500)
        keep(workspace, {"kind": "session", "id": "e", "session": "done", "at": at(10), "ended_at": at(20)})
        states = {one.session: one.state for one in read_session_list_page(workspace, limit=9).items}
        assert states == {"now": "active", "old": "open", "done": "ended"}

    def test_names_in_any_script_stay_text(self, workspace: Workspace) -> None:
        for n, name in enumerate(("שלום", "日本語", "rtl\u202egnp", "<b>x</b>", "a&b=c?d#e", "١٢٣")):
            a_session(workspace, name, agent=name, start=n)
        html = rendered(workspace, "sessions")
        assert "<b>x</b>" not in html and "\u202e" not in html and "⟨202E⟩" in html
        for link in links_in(html, "session"):
            assert rendered(workspace, "session", note=None, links=None, memory=None, **link)

    def test_more_records_make_the_list_no_slower(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(looked_at, "COUNTED_MAX", 20)

        def steps(folder: Path, calls: int) -> int:
            workspace = Workspace(a_git_folder(folder))
            for n in range(4):
                a_session(workspace, f"s{n}", calls=calls)
            return steps_of(monkeypatch, lambda: rendered(workspace, "sessions", note=lambda _: None))

        assert steps(tmp_path / "many", 500) < steps(tmp_path / "few", 50) * 1.5


class TestOne:
    def test_facts_prompts_files_and_sources(self, workspace: Workspace) -> None:
        a_session(workspace)
        keep(
            workspace,
            {"kind": "edit", "id": "e1", "path": "src/a&b.py", "call": "s1c0", "at": at(9)},
            {"kind": "source_read", "id": "r1", "locator": "https://example.org/a?x=1", "at": at(9)},
            {"kind": "source_read", "id": "r2", "locator": "javascript:alert(1)", "at": at(9)},
        )
        noted: list[str] = []
        html = rendered(workspace, "session", id="s1", note=noted.append)
        said = words_in(html)
        assert "please do s1" in said and noted == ["conversation robot s1"]
        assert {"file": "src/a&b.py"} in links_in(html, "blame")
        assert 'href="https://example.org/a?x=1"' in html and 'href="javascript' not in html
        assert "javascript:alert(1)" in said

    def test_without_the_scope_no_text_of_a_conversation_is_on_the_page(self, workspace: Workspace) -> None:
        a_session(workspace)
        keep(workspace, {"kind": "call", "id": "b1", "name": "Bash", "input": {"command": "cat zebra"}, "at": at(9)})
        html = rendered(workspace, "session", id="s1")
        assert "please do" not in html and "zebra" not in html and "your token cannot read conversations" in html
        noted: list[str] = []
        assert "zebra" in rendered(workspace, "session", id="s1", note=noted.append) and noted

    def test_reading_only_calls_is_logged_too(self, workspace: Workspace) -> None:
        keep(workspace, {"kind": "call", "id": "b1", "name": "Bash", "input": {"command": "cat zebra"}, "at": at(9)})
        noted: list[str] = []
        read_session_page(workspace, StateCache(), "s1", agent=None, note=noted.append)
        assert noted == ["calls of robot s1"]

    def test_the_tree_has_turns_with_their_calls(self, workspace: Workspace) -> None:
        a_session(workspace, calls=2)
        rows = read_session_page(workspace, StateCache(), "s1", agent=None, note=None).rows
        assert [(row.depth, row.name, row.kind, row.state) for row in rows] == [
            (0, "robot", "session", "running"),
            (1, "turn 1", "turn", "running"),
            (2, "Edit", "tool", "ok"),
            (2, "Edit", "tool", "ok"),
        ]

    def test_spans_of_a_traced_program_are_in_the_tree(self, workspace: Workspace) -> None:
        a_session(workspace, calls=1)
        span = {"kind": "span", "execution": "e1", "agent": "robot", "session": "s1", "phase": "whole", "status": "ok"}
        keep(
            workspace,
            {**span, "id": "1", "span": "a", "parent": None, "name": "outer", "at": at(30), "ended_at": at(32)},
            {**span, "id": "2", "span": "b", "parent": "a", "name": "inner", "at": at(31), "ended_at": at(32)},
        )
        rows = read_session_page(workspace, StateCache(), "s1", agent=None, note=None).rows
        assert [(row.depth, row.name.rpartition(":")[2]) for row in rows][-2:] == [(0, "outer"), (1, "inner")]

    def test_a_session_without_an_end_says_so_and_reports_new_events(self, workspace: Workspace) -> None:
        a_session(workspace)
        assert "/session-now?" in rendered(workspace, "session", id="s1")
        assert "No end of this session was recorded" in rendered(
            workspace, "session-now", id="s1", agent="robot", events="5"
        )
        assert "2 events recorded since" in rendered(workspace, "session-now", id="s1", agent="robot", events="3")
        assert "still running" in rendered(
            replace(workspace, now_ns=lambda: NOON_NS + 60 * 10**9), "session-now", id="s1", agent="robot"
        )
        with pytest.raises(NameNotFound):
            poll_session_for_page(workspace, "s1", "unknown")

    def test_an_ended_session_is_not_polled(self, workspace: Workspace) -> None:
        keep(workspace, {"kind": "session", "id": "e", "session": "done", "at": at(10), "ended_at": at(20)})
        html = rendered(workspace, "session", id="done")
        assert "/session-now" not in html and "ended" in words_in(html)
        assert "No prompt of this session is stored" in words_in(html)

    def test_a_reload_shows_new_calls_and_no_erased_prompt(self, workspace: Workspace) -> None:
        a_session(workspace, calls=1)
        noted: list[str] = []
        for _ in range(2):
            assert "please do s1" in rendered(workspace, "session", id="s1", note=noted.append)
        assert len(noted) == 2, "every read is logged, also from the cache"
        assert "please do s1" not in rendered(workspace, "session", id="s1")
        keep(workspace, {"kind": "call", "id": "later", "session": "s1", "at": at(50)})
        assert len(data_in(rendered(workspace, "session", id="s1", view="tree"), "tree-data")["rows"]) == 4
        with workspace.reading() as store:
            prompt = find_first_session_prompt(store, AgentName("robot"), SessionId("s1"))
        assert prompt is not None
        erase_record_bodies(workspace, [str(prompt.record.ref)], who=None, why="a name was in it")
        html = rendered(workspace, "session", id="s1", note=noted.append)
        assert "please do s1" not in html and "or all were erased" in words_in(html)

    def test_an_unknown_session_is_not_found(self, workspace: Workspace) -> None:
        with pytest.raises(NameNotFound, match="unknown session"):
            rendered(workspace, "session", id="unknown")
        with pytest.raises(InputError, match="missing parameter 'id'"):
            rendered(workspace, "session")

    def test_two_agents_with_the_same_session_id_need_the_agent(self, workspace: Workspace) -> None:
        a_session(workspace, calls=1)
        a_session(workspace, calls=2, agent="other")
        with pytest.raises(NameNotFound, match="is ambiguous"):
            rendered(workspace, "session", id="s1")
        tree = data_in(rendered(workspace, "session", id="s1", agent="other", view="tree"), "tree-data")
        assert len(tree["rows"]) == 4

    def test_hostile_names_are_inert_and_cut(self, workspace: Workspace) -> None:
        a_session(workspace, calls=0)
        keep(
            workspace,
            {"kind": "call", "id": "h1", "name": "rtl\u202e<img src=x onerror=alert(1)></script>", "at": at(9)},
            {"kind": "call", "id": "h2", "name": "Bash", "input": {"command": HOSTILE + "y" * 100_000}, "at": at(9)},
            {"kind": "prompt", "id": "h3", "text": HOSTILE + "z" * 1_000_000, "at": at(9)},
            {"kind": "edit", "id": "h4", "path": "d/" + "n" * 3000 + "\u202e.py", "at": at(9)},
        )
        pages = [
            rendered(workspace, "session", id="s1", view=view, note=lambda _: None) for view in ("timeline", "tree")
        ]
        for html in pages:
            assert "<img src=x" not in html and "\u202e" not in html and "\x1b" not in html
            assert len(html) < 100_000
        words = data_in(pages[1], "tree-data")["words"]
        assert any("⟨202E⟩<img" in word for word in words) and max(map(len, words)) < 200

    def test_a_call_is_found_by_its_id(self, workspace: Workspace) -> None:
        a_session(workspace, calls=3)
        tree = data_in(rendered(workspace, "session", id="s1", call="s1c1", view="tree"), "tree-data")
        assert tree["wanted"] == 3
        assert data_in(rendered(workspace, "session", id="s1", call="none", view="tree"), "tree-data")["wanted"] == -1


@st.composite
def call_rows(draw: st.DrawFn) -> list[CallRow]:
    timestamp = st.none() | st.integers(0, 2**62)
    depths = [0]
    for step in draw(st.lists(st.integers(-3, 1), max_size=30)):
        depths.append(max(0, depths[-1] + step))
    return [
        CallRow(
            depth,
            str(n),
            draw(st.text(max_size=9)),
            "tool",
            draw(st.sampled_from(STATES)),
            draw(timestamp),
            draw(timestamp),
            draw(st.none() | st.text()),
        )
        for n, depth in enumerate(depths)
    ]


@given(call_rows())
def test_the_tree_data_has_every_row_and_valid_indexes(rows: list[CallRow]) -> None:
    tree = make_call_tree_island(rows, None)
    words, cells = tree["words"], tree["rows"]
    assert isinstance(words, list) and isinstance(cells, list)
    assert len(cells) == len(rows) and len(set(words)) == len(words)
    for row, (depth, name, kind, state, start, _length, detail) in zip(rows, cells, strict=True):
        assert depth == row.depth and words[kind] == row.kind and STATES[state] == row.state
        assert 0 <= name < len(words) and -1 <= detail < len(words)
        assert start is None or start >= 0
