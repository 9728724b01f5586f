"""``custody undo``: what the patch takes back, what it spares, and why."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.builders.cli import spool_of
from tests.builders.hooks import a_recorded_edit
from tests.builders.in_process import custody
from tests.builders.lines import moment
from tests.builders.undone import MINE, THEIRS, Undone, an_undone

BASE = "import os\n\n\ndef total(prices):\n    return sum(prices)\n\n\nprint(total([1, 2]))\n"
WITH_TAX = BASE.replace("    return sum(prices)\n", "    net = sum(prices)\n    return net * TAX_RATE\n")
WITH_BOTH = WITH_TAX.replace("import os\n", "import os\n\nTAX_RATE = 1.19\n")


def a_story(tmp_path: Path, text: str | bytes = BASE, name: str = "app.py") -> Undone:
    return an_undone(tmp_path / "repository", {name: text})


def reasons(report: dict[str, object]) -> set[str]:
    return {block["reason"] for block in report["spared"]}  # type: ignore[attr-defined]


def test_uncommitted_work_is_undone_exactly(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    before = story.files()
    story.edit("app.py", WITH_TAX)
    story.edit("app.py", WITH_BOTH)
    story.edit("new/made.py", "def helper():\n    return 7\n")
    report = story.apply()
    assert story.files() == before
    assert (report["spared"], report["outcome"]) == ([], "fine")
    assert [(file["path"], file["change"], file["exact"]) for file in report["files"]] == [
        ("app.py", "modified", True),
        ("new/made.py", "deleted", True),
    ]
    assert not (story.path / "new").exists()


@pytest.mark.parametrize("way", ["commit", "commits", "amend", "squash", "rebase", "cherry-pick", "stash"])
def test_committed_work_is_undone_exactly(tmp_path: Path, way: str) -> None:
    story = a_story(tmp_path)
    before = story.files()
    if way in ("rebase", "cherry-pick"):
        story.git("checkout", "--quiet", "-b", "topic")
    story.edit("app.py", WITH_TAX)
    if way in ("commits", "squash", "amend", "rebase", "cherry-pick"):
        story.commit("first")
    story.edit("app.py", WITH_BOTH)
    if way == "stash":
        story.git("stash", "--quiet")
        story.git("stash", "pop", "--quiet")
    story.commit("second", amend=way == "amend")
    if way == "squash":
        story.git("reset", "--quiet", "--soft", "HEAD~2")
        story.commit("both in one")
    if way in ("rebase", "cherry-pick"):
        story.git("checkout", "--quiet", "main")
        story.write("other.py", "other = 1\n")
        story.commit("main goes on")
        before = story.files()
    if way == "rebase":
        story.git("rebase", "--quiet", "main", "topic")
        story.git("checkout", "--quiet", "main")
        story.git("merge", "--quiet", "--ff-only", "topic")
    if way == "cherry-pick":
        story.git("cherry-pick", "main..topic")
    report = story.apply()
    assert story.files() == before
    assert report["spared"] == []


def test_lines_of_a_person_stay_and_are_listed(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_BOTH)
    story.commit("by the agent")
    changed = WITH_BOTH.replace(
        "    return net * TAX_RATE\n", "    return round(net * TAX_RATE, 2)  # cents matter here\n"
    )
    story.write("app.py", changed)
    story.commit("by a person")
    report = story.apply()
    left = (story.read("app.py") or b"").decode()
    assert "    return round(net * TAX_RATE, 2)  # cents matter here\n" in left
    assert "TAX_RATE = 1.19" not in left
    (block,) = [block for block in report["spared"] if block["start_line"] == 8]
    assert (block["path"], block["reason"], block["by"][:13]) == ("app.py", "changed", "Ana Person in")


def test_lines_of_another_session_stay(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    theirs = WITH_TAX + "\n\ndef discount(price):\n    return price * 0.9\n"
    story.edit("app.py", theirs, session=THEIRS)
    story.edit("app.py", theirs.replace("import os\n", "import os\nimport sys\n"))
    story.apply()
    assert story.read("app.py") == (BASE + "\n\ndef discount(price):\n    return price * 0.9\n").encode()


def test_one_call_is_undone_without_the_others(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    call = story.edit("app.py", WITH_BOTH)
    report = story.apply(call)
    assert story.read("app.py") == WITH_TAX.encode()
    assert (report["kind"], report["calls"]) == ("call", 1)


def test_one_prompt_is_undone_without_the_others(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.prompt("add the tax", id="prompt-one")
    story.edit("app.py", WITH_TAX)
    story.prompt("name the rate", id="prompt-two")
    story.edit("app.py", WITH_BOTH)
    report = story.apply("prompt-two")
    assert (report["kind"], report["name"]) == ("prompt", "prompt-two")
    assert story.read("app.py") == WITH_TAX.encode()


def test_deleted_lines_come_back(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", BASE.replace("\n\nprint(total([1, 2]))\n", ""))
    story.commit("gone")
    story.apply()
    assert story.read("app.py") == BASE.encode()


def test_deleted_lines_that_a_person_brought_back_do_not_come_twice(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", BASE.replace("print(total([1, 2]))\n", ""))
    story.commit("gone")
    story.write("app.py", BASE)
    story.commit("back")
    report = story.undo(MINE)
    assert (report["files"], report["patch"]) == ([], "")


def test_moved_lines_of_a_person_move_back(tmp_path: Path) -> None:
    functions = [f"def function_{name}(value):\n    return value + {n}\n" for n, name in enumerate("abc")]
    story = a_story(tmp_path, "\n".join(functions))
    story.edit("app.py", "\n".join((functions[1], functions[2], functions[0])))
    story.commit("moved")
    story.apply()
    assert story.read("app.py") == "\n".join(functions).encode()


def test_indented_lines_of_a_person_lose_their_indent(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit(
        "app.py", BASE.replace("print(total([1, 2]))\n", 'if __name__ == "__main__":\n    print(total([1, 2]))\n')
    )
    story.apply()
    assert story.read("app.py") == BASE.encode()


def test_work_is_followed_through_a_rename(tmp_path: Path) -> None:
    for is_committed in (True, False):
        story = an_undone(tmp_path / f"repository-{is_committed}", {"app.py": BASE})
        story.edit("app.py", WITH_BOTH)
        story.commit("by the agent")
        story.git("mv", "app.py", "shop.py")
        if is_committed:
            story.commit("renamed")
        report = story.apply()
        assert story.read("shop.py") == BASE.encode(), report
        assert story.read("app.py") is None


def test_edits_before_and_after_a_rename_are_both_undone(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    story.commit("by the agent")
    story.git("mv", "app.py", "shop.py")
    story.commit("renamed")
    story.edit("shop.py", WITH_BOTH)
    story.apply()
    assert story.read("shop.py") == BASE.encode()


def test_a_rename_by_the_work_is_undone_and_others_edits_move_along(tmp_path: Path) -> None:
    for others in (False, True):
        story = an_undone(tmp_path / f"repository-{others}", {"app.py": BASE})
        (story.path / "app.py").rename(story.path / "shop.py")
        story.shell({"app.py": (BASE, None), "shop.py": (None, BASE)})
        story.commit("renamed by the agent")
        if others:
            story.write("shop.py", BASE.replace("import os\n", "import os\nimport json  # a person's\n"))
            story.commit("by a person")
        story.apply()
        assert story.read("shop.py") is None
        text = BASE.replace("import os\n", "import os\nimport json  # a person's\n") if others else BASE
        assert story.read("app.py") == text.encode()


def test_a_deleted_file_comes_back_with_its_mode(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    (story.path / "run.sh").write_text("#!/bin/sh\necho run the whole thing\n")
    (story.path / "run.sh").chmod(0o755)
    story.commit("a script")
    before = story.files()
    (story.path / "run.sh").unlink()
    story.shell({"run.sh": ("#!/bin/sh\necho run the whole thing\n", None)})
    for is_committed in (False, True):
        if is_committed:
            story.commit("deleted")
        report = story.apply()
        assert report["files"][0]["change"] == "restored"
        assert story.files() == before
        (story.path / "run.sh").unlink()


def test_a_created_file_with_a_line_of_a_person_stays_with_that_line(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("made.py", "def made():\n    return 1\n")
    story.write("made.py", "# a person's remark about this file\ndef made():\n    return 1\n")
    story.commit("both")
    report = story.apply()
    assert story.read("made.py") == b"# a person's remark about this file\n"
    assert [file["change"] for file in report["files"]] == ["modified"]


def test_a_file_that_was_empty_before_is_empty_again(tmp_path: Path) -> None:
    story = a_story(tmp_path, "", "empty.py")
    story.edit("empty.py", "value = compute(1)\n")
    story.apply()
    assert story.read("empty.py") == b""


@pytest.mark.parametrize("eol", ["\r\n", "\n"])
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("is_committed", [True, False])
def test_line_ends_come_back_as_they_were(tmp_path: Path, eol: str, ended: bool, is_committed: bool) -> None:
    lines = ["first line of this", "second line of this", "third line of this"]
    text = eol.join(lines) + (eol if ended else "")
    story = a_story(tmp_path, text.encode(), "text.txt")
    # Agents report texts without carriage returns, and may write the last line end themselves.
    story.edit(
        "text.txt",
        eol.join((*lines[:2], "another third line", "a fourth line")) + eol,
        before=text.replace("\r\n", "\n"),
    )
    if is_committed:
        story.commit("by the agent")
    story.apply()
    assert story.read("text.txt") == text.encode()


def test_bytes_that_are_not_utf_8_come_back_from_git(tmp_path: Path) -> None:
    text = b"caf\xe9 is open\nsecond line here\nthird line here\n"
    story = a_story(tmp_path, text, "menu.txt")
    story.edit("menu.txt", "the place is closed\nsecond line here\nthird line here\n")
    story.commit("by the agent")
    report = story.apply()
    assert report["patch"] is None
    assert story.read("menu.txt") == text


def test_a_redacted_text_never_comes_back_as_redacted(tmp_path: Path) -> None:
    secret = "token = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36] + "'\n"
    for is_committed in (True, False):
        story = an_undone(tmp_path / f"repository-{is_committed}", {"other.py": "a = 1\n"})
        story.write("app.py", secret + BASE)
        if is_committed:
            story.commit("with a secret")
        story.edit("app.py", BASE)
        report = story.apply()
        assert b"[redacted" not in (story.read("app.py") or b"")
        if is_committed:
            assert story.read("app.py") == (secret + BASE).encode()
        else:
            assert (story.read("app.py"), reasons(report)) == (BASE.encode(), {"no_text"})


def test_binary_files_are_listed(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    (story.path / "app.py").write_bytes(b"\0binary now")
    report = story.undo(MINE)
    assert [(block["reason"], block["why"]) for block in report["spared"]] == [("file", "is a binary file")]


def test_links_and_names_of_git_are_refused(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    (tmp_path / "outside.py").write_text(BASE)
    os.symlink(tmp_path / "outside.py", story.path / "link.py")
    for n, name in enumerate(
        ("link.py", ".git/hooks/post-checkout", ".GIT/config", "sub/.git./x", "git~1/x", "APP.PY")
    ):
        event = a_recorded_edit(
            name, BASE, "", root=story.path, at=moment(story.tick()), id=f"crafted-{n}", session=MINE
        )
        spool_of(story.path).put(event)
    before = story.files()
    report = story.undo(MINE)
    assert report["files"] == []
    assert story.files() == before
    assert (tmp_path / "outside.py").read_text() == BASE
    assert {block["path"]: block["why"] for block in report["spared"]}["link.py"] == "is a symbolic link"


def test_submodules_are_refused(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    inner = an_undone(story.path / "vendor" / "inner", {"lib.py": BASE})
    del inner
    story.edit("vendor/inner/lib.py", WITH_TAX)
    report = story.undo(MINE)
    assert [(block["path"], block["why"]) for block in report["spared"]] == [
        ("vendor/inner/lib.py", "is in a submodule or another repository")
    ]


def test_edits_whose_recorded_text_never_was_there_change_nothing(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    for n, (before, after) in enumerate(
        (
            ("evil()\nnothing like it\n", "import os\n"),
            ("evil()\n" + BASE, BASE + "something else entirely\n"),
            ("os.system('rm -rf /')\n", ""),
        )
    ):
        event = a_recorded_edit(
            "app.py", before, after, root=story.path, at=moment(story.tick()), id=f"f-{n}", session=MINE
        )
        spool_of(story.path).put(event)
    report = story.undo(MINE)
    for line in BASE.splitlines():
        assert f"\n-{line}\n" not in report["patch"] or not line, report["patch"]


def test_paths_limit_what_is_undone(tmp_path: Path) -> None:
    story = an_undone(tmp_path / "repository", {"src/app.py": BASE, "docs/app.md": "one text\n"})
    story.edit("src/app.py", WITH_TAX)
    story.edit("docs/app.md", "another text\n")
    report = story.apply(MINE, "--path", "docs")
    assert [file["path"] for file in report["files"]] == ["docs/app.md"]
    assert story.read("src/app.py") == WITH_TAX.encode()
    assert story.run(MINE, "--path", "../elsewhere").status == 2


def test_lines_that_a_person_claims_stay(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_BOTH)
    story.commit("by the agent")
    assert custody(story.path, "author", "app.py:3", "--actor", "ana@example.org").status == 0
    report = story.undo(MINE)
    assert "TAX_RATE = 1.19" not in report["patch"].replace(" TAX_RATE = 1.19", "")
    assert "contested" in reasons(report)


def test_unknown_and_ambiguous_names_are_errors_with_hints(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    story.edit("app.py", WITH_BOTH, session=MINE[:-1] + "9")
    unknown, ambiguous = story.run("nothing-like-it"), story.run("5e55")
    assert unknown.err == (
        "error: unknown session, call or prompt 'nothing-like-it'\n"
        "hint: 'custody log' lists the sessions, 'custody log SESSION --json' the calls and prompts of one\n"
    )
    assert ambiguous.err.startswith("error: '5e55' is ambiguous: session ")
    assert ambiguous.err.endswith("hint: pass more of the id\n")
    assert (unknown.status, ambiguous.status, story.run("--json").status) == (2, 2, 2)


def test_the_patch_is_on_stdout_and_the_summary_on_stderr(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    story.edit("app.py", WITH_TAX)
    ran = story.run()
    assert ran.out.startswith("diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ ")
    assert ran.err.startswith("would undo: 2 lines removed and 1 restored in 1 file\n")
    check = subprocess.run(["git", "apply", "--check"], cwd=story.path, input=ran.out.encode(), check=False)
    assert check.returncode == 0


def test_names_with_unusual_bytes_are_patched(tmp_path: Path) -> None:
    story = an_undone(tmp_path / "repository", {"a b.py": BASE, 'q"uote\ttab.py': BASE, "é.py": BASE})
    before = story.files()
    for name in list(before):
        story.edit(name, WITH_TAX)
    story.apply()
    assert story.files() == before


def test_nothing_is_undone_in_a_bare_repository(tmp_path: Path) -> None:
    story = a_story(tmp_path)
    subprocess.run(["git", "clone", "--quiet", "--bare", story.path, tmp_path / "bare"], check=True)
    ran = custody(tmp_path / "bare", "undo", MINE)
    assert (ran.status, "has no work tree" in ran.err) == (2, True)
