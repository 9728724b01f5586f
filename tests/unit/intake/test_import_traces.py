"""Traces of other tools are imported, automatically if a repository has them, and exported again."""

import json
from pathlib import Path

import pytest

from custody.attribution.app.export import export_agent_trace
from custody.attribution.queries.traces import find_commit_session_links, find_traced_files
from custody.core.errors import InputError
from custody.core.ids import PENDING, CommitSha, SessionId
from custody.core.views import TracedFile
from custody.intake.import_traces import STAMPS_FILE, import_traces, open_store_with_own_traces
from custody.store import Store, StoreUnwritable
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.events import an_event
from tests.builders.traces import HASH, OTHER_TRACE, TRACE, a_conversation, a_link, a_range, a_trace, written

SHA = "c" * 40


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repository"))


def own(workspace: Workspace, *lines: dict[str, object] | str, name: str = "traces.jsonl") -> Path:
    """Return the repository's own file of traces."""
    return written(workspace.folder / ".agent-trace" / name, *lines)


def traced(store: Store, trace: str = TRACE) -> list[TracedFile]:
    return [one.view for one in find_traced_files(store, SessionId(trace))]


def kinds(store: Store) -> list[str]:
    return [record.entry.kind for head in store.tables.chains() for record in store.tables.records(head.store)]


# --- on request -------------------------------------------------------------------------------------------------------


# Conformance: 000-084
def test_traces_and_links_of_a_folder_are_kept_once(workspace: Workspace, tmp_path: Path) -> None:
    written(tmp_path / "in" / "traces.jsonl", a_trace(), a_trace("b.py", id=OTHER_TRACE))
    written(tmp_path / "in" / "commit-links.jsonl", a_link(SHA, TRACE))
    first = import_traces(workspace, tmp_path / "in")
    assert (first.traces, first.links, first.known, first.problems) == (2, 1, 0, [])
    again = import_traces(workspace, tmp_path / "in")
    assert (again.traces, again.links, again.known) == (0, 0, 3)
    with workspace.reading() as store:
        assert [str(file.path) for file in traced(store)] == ["src/app.py"]
        (link,) = find_commit_session_links(store, CommitSha(SHA))
        assert link.view.session == TRACE


def test_a_json_file_may_be_one_trace_or_a_list(workspace: Workspace, tmp_path: Path) -> None:
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    one.write_text(json.dumps(a_trace(), indent=2))
    many.write_text(json.dumps([a_trace("b.py", id=OTHER_TRACE), 5]))
    assert import_traces(workspace, one).traces == 1
    report = import_traces(workspace, many)
    assert (report.traces, [(bad.line, bad.what) for bad in report.problems]) == (1, [(2, "not a JSON object")])


def test_a_corrupt_line_is_named_and_the_rest_is_used(workspace: Workspace, tmp_path: Path) -> None:
    file = written(
        tmp_path / "traces.jsonl", a_trace(), '{"id": ', "", {**a_trace(), "version": "9.0"}, a_trace(id=OTHER_TRACE)
    )
    report = import_traces(workspace, file)
    assert report.traces == 2
    assert [(bad.file, bad.line) for bad in report.problems] == [(str(file), 2), (str(file), 4)]
    assert "unknown trace version '9.0'" in report.problems[1].what


def test_a_secret_in_a_trace_is_never_kept(workspace: Workspace, tmp_path: Path) -> None:
    secret = "ghp_" + "a8Kd0Qz7Lm3Xw9Rt5Yb1Nc6Vf2Hj4Gs8Pq0E"
    import_traces(workspace, written(tmp_path / "traces.jsonl", a_trace(metadata={"note": f"token {secret}"})))
    kept = b"".join(path.read_bytes() for path in (workspace.folder / ".git" / "custody").rglob("*") if path.is_file())
    assert secret.encode() not in kept
    with workspace.reading() as store:
        assert traced(store)


@pytest.mark.parametrize("there", ["nothing", "an empty folder"])
def test_without_traces_the_caller_gets_a_message(workspace: Workspace, tmp_path: Path, there: str) -> None:
    place = tmp_path / "in"
    if there != "nothing":
        place.mkdir()
    with pytest.raises(InputError, match="'.*in'"):
        import_traces(workspace, place)


# --- by itself --------------------------------------------------------------------------------------------------------


# Conformance: 000-084, 000-099
def test_a_repositorys_own_traces_are_kept_where_there_is_a_store(workspace: Workspace) -> None:
    recorded(workspace.folder, 1)
    own(workspace, a_trace())
    own(workspace, a_link(SHA, TRACE), name="commit-links.jsonl")
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1 and len(find_commit_session_links(store, CommitSha(SHA))) == 1
    with workspace.reading() as store:
        assert sorted(kinds(store)) == ["edit", "trace", "trace_link"]


def test_where_nothing_was_ever_recorded_they_are_only_shown(workspace: Workspace) -> None:
    own(workspace, a_trace())
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1
    assert not (workspace.folder / ".git" / "custody").exists()


def test_unchanged_traces_are_not_read_again(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(workspace.folder, 1)
    own(workspace, a_trace())
    with open_store_with_own_traces(workspace):
        pass
    monkeypatch.setattr("custody.intake.import_traces._read_trace_content", lambda *_: pytest.fail("it was read again"))
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1


def test_what_is_appended_is_read_and_nothing_twice(workspace: Workspace) -> None:
    recorded(workspace.folder, 1)
    file = own(workspace, a_trace())
    with open_store_with_own_traces(workspace):
        pass
    with file.open("a") as more:
        more.write(json.dumps(a_trace("b.py", id=OTHER_TRACE)) + "\n")
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1 and len(traced(store, OTHER_TRACE)) == 1
        assert kinds(store).count("trace") == 2


def test_another_store_reads_them_again(workspace: Workspace) -> None:
    recorded(workspace.folder, 1)
    own(workspace, a_trace())
    with open_store_with_own_traces(workspace):
        pass
    for file in (workspace.folder / ".git" / "custody").glob("custody.db*"):
        file.unlink()
    recorded(workspace.folder, 1)
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1


def test_a_damaged_note_of_what_was_read_only_costs_time(workspace: Workspace) -> None:
    recorded(workspace.folder, 1)
    own(workspace, a_trace())
    for damage in ("", "[]", '{"store": null}', '{"files": {"a": 5}}'):
        (workspace.folder / ".git" / "custody" / STAMPS_FILE).write_text(damage)
        with open_store_with_own_traces(workspace) as store:
            assert kinds(store).count("trace") == 1


def test_corrupt_lines_are_reported_once_with_their_number(tmp_path: Path) -> None:
    heard: list[str] = []
    workspace = Workspace(recorded(a_git_folder(tmp_path / "repository"), 1), talk=heard.append)
    own(workspace, "{", a_trace())
    for _ in range(2):
        with open_store_with_own_traces(workspace) as store:
            assert len(traced(store)) == 1
    assert len(heard) == 1
    assert "cannot use 1 line of traces: line 1 of '.agent-trace/traces.jsonl': not JSON" in heard[0]


def test_a_store_that_refuses_to_be_written_shows_them_in_memory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(workspace.folder, 1)
    with workspace.writing():
        pass
    own(workspace, a_trace())
    append = Store.append

    def refuse(store: Store, arrivals: object, *, chain: object = None) -> object:
        if chain != PENDING:
            raise StoreUnwritable("the disk is full")
        return append(store, arrivals, chain=PENDING)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "append", refuse)
    with open_store_with_own_traces(workspace) as store:
        assert len(traced(store)) == 1


@pytest.mark.parametrize("trap", ["link", "folder"])
def test_traces_behind_a_trap_are_not_read(workspace: Workspace, tmp_path: Path, trap: str) -> None:
    recorded(workspace.folder, 1)
    target = written(tmp_path / "elsewhere" / "traces.jsonl", a_trace())
    folder = workspace.folder / ".agent-trace"
    folder.mkdir()
    if trap == "link":
        (folder / "traces.jsonl").symlink_to(target)
    else:
        (folder / "traces.jsonl").mkdir()
    with open_store_with_own_traces(workspace) as store:
        assert traced(store) == []


def test_a_repository_without_traces_is_simply_read(workspace: Workspace) -> None:
    with open_store_with_own_traces(workspace) as store:
        assert kinds(store) == []


# --- out again --------------------------------------------------------------------------------------------------------


def exported(workspace: Workspace, path: Path) -> list[dict[str, object]]:
    export_agent_trace(workspace, path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_captured_call_becomes_a_record_with_the_lines_that_it_added(workspace: Workspace, tmp_path: Path) -> None:
    spool = spool_of(workspace.folder)
    spool.put(an_event("session", id="s", model="maker/model-1"))
    spool.put(an_event(id="e1", call="c1", before="one\nthree\n", after="one\ntwo\nthree\nfour\n"))
    (record,) = exported(workspace, tmp_path / "out.jsonl")
    assert {key: record[key] for key in ("version", "timestamp", "vcs", "tool", "files", "metadata")} == {
        "version": "0.1.0",
        "timestamp": "2026-01-31T12:00:00Z",
        "vcs": {"type": "git", "revision": "a" * 40},
        "tool": {"name": "robot", "version": "unknown"},
        "files": [
            {
                "path": "src/app.py",
                "conversations": [
                    {
                        "contributor": {"type": "ai", "model_id": "maker/model-1"},
                        "ranges": [
                            {"start_line": 2, "end_line": 2, "content_hash": "sha256:3fc4ccfe745870e2"},
                            {"start_line": 4, "end_line": 4, "content_hash": "sha256:04efaf080f5a3e74"},
                        ],
                    }
                ],
            }
        ],
        "metadata": {"custody": {"session": "s1", "call": "c1"}},
    }


def test_an_edit_that_added_no_line_is_left_out_and_counted(workspace: Workspace, tmp_path: Path) -> None:
    spool_of(workspace.folder).put(an_event(id="e1", before="one\ntwo\n", after="one\n"))
    report = export_agent_trace(workspace, tmp_path / "out.jsonl")
    assert (report.records, report.left_out) == (0, 1)


def test_what_was_imported_goes_out_and_comes_in_as_the_same(workspace: Workspace, tmp_path: Path) -> None:
    trace = a_trace(
        "src/a.py",
        a_conversation(a_range(3, 7, content_hash=HASH), a_range(9, 9), url="https://example.org/1"),
        a_conversation(a_range(20, 21)),
    )
    import_traces(workspace, written(tmp_path / "traces.jsonl", trace))
    export_agent_trace(workspace, tmp_path / "out.jsonl")
    other = Workspace(a_git_folder(tmp_path / "other"))
    assert import_traces(other, tmp_path / "out.jsonl").traces == 1
    with workspace.reading() as before, other.reading() as after:
        assert traced(after) == traced(before)
    export_agent_trace(other, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


def test_a_conversations_name_that_is_not_a_url_is_not_exported_as_one(workspace: Workspace, tmp_path: Path) -> None:
    names = ["https://x/1", "file://c:\\s1.jsonl", "conversation-17", "not a url"]
    said = [a_conversation(a_range(n, n), url=name) for n, name in enumerate(names, start=1)]
    import_traces(workspace, written(tmp_path / "traces.jsonl", a_trace("a.py", *said)))
    (record,) = exported(workspace, tmp_path / "out.jsonl")
    (file,) = record["files"]  # type: ignore[misc]
    assert [one.get("url") for one in file["conversations"]] == [*names[:2], None, None]  # type: ignore[has-type]


def test_what_was_captured_comes_back_as_a_claim_of_the_same_lines(workspace: Workspace, tmp_path: Path) -> None:
    spool_of(workspace.folder).put(an_event(id="e1", call="c1", after="one\ntwo\n"))
    (record,) = exported(workspace, tmp_path / "out.jsonl")
    other = Workspace(a_git_folder(tmp_path / "other"))
    import_traces(other, tmp_path / "out.jsonl")
    with other.reading() as store:
        (file,) = traced(store, str(record["id"]))
    assert (str(file.path), [str(one.lines) for one in file.ranges]) == ("src/app.py", ["1-2"])


def test_a_file_that_cannot_be_written_leaves_nothing_behind(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        export_agent_trace(workspace, tmp_path / "nowhere" / "out.jsonl")
    assert list(tmp_path.glob("*out*")) == []
