"""``custody lsp`` as an editor uses it: a real process, hostile files and messages included."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from custody.lsp.server import MESSAGE_BYTES_MAX
from tests.builders.hooks import a_recorded_edit, a_recorded_event, a_recorded_session
from tests.builders.in_process import custody
from tests.builders.lines import SESSION, Scene, moment, text
from tests.builders.lsp import Editor, an_editor

PROMPT = "add a discount ```\n# heading\x1b[31m <script>alert(1)</script> \u202e"
OLD = text("import alpha_module", "price = read_price(source)")
NEW = OLD + text("def discount(prices, percent):", "    total = price * count * rate")


def a_scene(folder: Path) -> Scene:
    """Return a person's two lines and an agent's two, committed."""
    scene = Scene(folder)
    root = scene.built.path
    base = scene.committed(at=-100, app__py=OLD)
    scene.saw(
        a_recorded_session(session=SESSION, model="maker/model-1", at=moment(1), root=root),
        a_recorded_event("UserPromptSubmit", {"prompt": PROMPT}, session=SESSION, at=moment(2), root=root),
        a_recorded_edit("app.py", OLD, NEW, session=SESSION, at=moment(3), root=root),
    )
    scene.committed(base, at=20, app__py=NEW)
    return scene


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return a_scene(tmp_path_factory.mktemp("lsp") / "repository")


@pytest.fixture(scope="module")
def editor(scene: Scene) -> Iterator[Editor]:
    """One editor for the tests that leave it alive."""
    with an_editor(scene.built.path) as made:
        made.start({"diagnostics": False})
        yield made


def test_a_hover_shows_the_prompt_as_harmless_text(scene: Scene, editor: Editor) -> None:
    uri = editor.open(scene.built.path / "app.py", NEW)
    told = editor.hover(uri, 4)
    assert told is not None
    assert "add a discount" in told
    assert "maker/model-1" in told or "wrote this line" in told
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert len(told) < 5_000
    assert "Unknown" in (editor.hover(uri, 1) or "")
    assert editor.hover(uri, 99) is None


def test_markdown_is_one_block_that_a_prompt_cannot_end(scene: Scene) -> None:
    # Many editors pass the name of the transport.
    with an_editor(scene.built.path, "--stdio") as editor:
        editor.start({"diagnostics": False}, formats=["markdown", "plaintext"])
        told = editor.hover(editor.open(scene.built.path / "app.py", NEW), 4)
        assert told is not None
        first, *lines, last = told.split("\n")
        assert (first, last) == ("```text", "```")
        assert not any("```" in line for line in lines)
        assert editor.stop() == 0


def test_an_unsaved_buffer_is_answered_and_follows_each_edit(scene: Scene, editor: Editor) -> None:
    file = scene.built.path / "app.py"
    uri = editor.open(file, NEW)
    assert [line for line, _ in editor.titles(uri)] == [3]
    # Beyond ASCII, so that a server that counts bytes or characters instead of UTF-16 would cut elsewhere.
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    editor.note(
        "textDocument/didChange",
        {
            "textDocument": {"uri": uri, "version": 2},
            "contentChanges": [{"range": top, "text": "x = '😀😀'\ny = 1\n"}],
        },
    )
    behind = {"start": {"line": 0, "character": 9}, "end": {"line": 0, "character": 9}}
    editor.note(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"range": behind, "text": ";\n"}]},
    )
    assert [line for line, _ in editor.titles(uri)] == [6]
    assert "Unknown" in (editor.hover(uri, 1) or "")
    assert "add a discount" in (editor.hover(uri, 7) or "")
    assert file.read_text() == NEW


def test_modes_choose_which_blocks_are_marked(scene: Scene) -> None:
    with an_editor(scene.built.path) as editor:
        editor.start({"diagnostics": False, "lens": "off", "hints": "agents"})
        uri = editor.open(scene.built.path / "app.py", "😀" + NEW)
        assert editor.titles(uri) == []
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        (hint,) = editor.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
        assert hint["position"] == {"line": 2, "character": len("def discount(prices, percent):")}
        assert "claude-code" in hint["label"]
        blocks = editor.ask("custody/blocks", {"textDocument": {"uri": uri}})
        assert [block["range"]["start"]["line"] for block in blocks] == [0, 2]
        for wrong in ({}, {"textDocument": 3}, {"textDocument": {"uri": 3}}):
            assert editor.ask("custody/blocks", wrong) == []
        editor.note("workspace/didChangeConfiguration", {"settings": {"custody": {"lens": "on", "hints": "off"}}})
        assert [line for line, _ in editor.titles(uri)] == [1, 3]
        editor.note("workspace/didChangeConfiguration", {"settings": {"custody": {"lens": "sideways"}}})
        assert [line for line, _ in editor.titles(uri)] == [1, 3]


def test_actions_open_the_session_the_review_and_the_page(scene: Scene, editor: Editor) -> None:
    uri = editor.open(scene.built.path / "app.py", NEW)
    place = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}
    wanted = {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}
    actions = editor.ask("textDocument/codeAction", wanted)
    head = scene.built.git("rev-parse", "HEAD").decode().strip()
    targets = [action["command"]["arguments"][0] for action in actions]
    assert targets[1:] == [f"/change?name={head}", "app.py:4"]
    assert actions[0]["title"].startswith("custody: open session ")
    assert actions[1]["title"] == f"custody: open the review of {head[:7]}"
    editor.ask("workspace/executeCommand", actions[0]["command"])
    assert "custody serve --open" in editor.until("window/showMessage")["message"]


def test_new_records_and_commits_are_in_the_next_answer(tmp_path: Path) -> None:
    scene = a_scene(tmp_path / "repository")
    root = scene.built.path
    with an_editor(root) as editor:
        editor.start({"diagnostics": False})
        uri = editor.open(root / "app.py", NEW)
        assert [line for line, _ in editor.titles(uri)] == [3]
        last = NEW + text("def refund(prices, percent):")
        scene.saw(a_recorded_edit("app.py", NEW, last, session=SESSION, at=moment(30), root=root))
        scene.wrote("app.py", last)
        uri = editor.open(root / "app.py", last)
        assert "add a discount" in (editor.hover(uri, 5) or "")
        shutil.rmtree(root / ".git")
        assert editor.hover(uri, 5) is None
        assert editor.titles(uri) == []
        assert editor.stop() == 0


def test_files_that_are_not_text_of_this_repository_have_no_answer(
    scene: Scene, editor: Editor, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(NEW)
    config = scene.built.path / ".git" / "config"
    for uri in (outside.as_uri(), config.as_uri(), "untitled:Untitled-1", "http://x/app.py", "file:///no/such/file"):
        editor.note(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": NEW}},
        )
        assert editor.hover(uri, 1) is None, uri
        assert editor.titles(uri) == [], uri


def test_malformed_and_huge_messages_are_survived(scene: Scene, editor: Editor) -> None:
    for body in (
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"jsonrpc": "1.0"}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":"x","method":"textDocument/hover","params":{"wrong":1}}',
        b"\xff",
    ):
        editor.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    editor.raw(b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\nno header at all\r\n\r\n")
    size = MESSAGE_BYTES_MAX + 1
    editor.raw(b"Content-Length: %d\r\n\r\n" % size + b" " * size)
    assert editor.ask("no/such/method", {})["code"] == -32601
    uri = editor.open(scene.built.path / "app.py", NEW)
    assert "add a discount" in (editor.hover(uri, 4) or "")


def test_the_gates_reasons_appear_at_their_lines_and_go_with_them(tmp_path: Path) -> None:
    scene = a_scene(tmp_path / "repository")
    file = scene.wrote("app.py", NEW + "typed_by_somebody = 1\n").built.path / "app.py"
    with an_editor(scene.built.path) as editor:
        editor.start({"pause": 0})
        uri = editor.open(file, file.read_text())
        shown = editor.until("textDocument/publishDiagnostics")
        assert shown["uri"] == uri
        assert all(one["source"] == "custody" and one["code"] for one in shown["diagnostics"])
        assert {one["range"]["start"]["line"] for one in shown["diagnostics"]} == {4}
        file.write_text(NEW)
        editor.note("textDocument/didSave", {"textDocument": {"uri": uri}})
        assert editor.until("textDocument/publishDiagnostics") == {"uri": uri, "diagnostics": []}


def test_linked_work_trees_have_their_own_answers(tmp_path: Path) -> None:
    scene = a_scene(tmp_path / "repository")
    linked = tmp_path / "linked"
    scene.built.git("worktree", "add", "--quiet", "--detach", str(linked))
    (linked / "app.py").write_text("one_line_above = 1\n" + NEW)
    with an_editor(tmp_path) as editor:
        editor.start({"diagnostics": False})
        for _ in range(2):
            assert [line for line, _ in editor.titles((scene.built.path / "app.py").as_uri())] == [3]
            assert [line for line, _ in editor.titles((linked / "app.py").as_uri())] == [4]


def test_without_pygls_the_command_says_how_to_install_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("custody.lsp.server", "pygls", "pygls.lsp.server"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    monkeypatch.setattr("custody.lsp.cli.EXTRA_MODULES", ("custody", "pygls"))
    told = custody(scene.built.path, "lsp")
    assert told.status == 2
    assert "git-custody[lsp]" in told.err
