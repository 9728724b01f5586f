"""``custody blame`` as a user runs it: text, fields, JSON, and errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame import LineSpec, blame
from custody.attribution.cli import render_blame
from custody.git import Repository
from custody.terminal.screen import Screen, text_columns
from tests.builders.cli import Ran, spool_of
from tests.builders.events import an_event
from tests.builders.hooks import a_recorded_edit, a_recorded_event, a_recorded_session
from tests.builders.in_process import custody
from tests.builders.lines import SESSION, Scene, moment, text
from tests.builders.repo import a_repository

OLD = text("import alpha_module", "price = read_price(source)")
LINE = "total = price * count * rate"
NEW = OLD + text("def discount(prices, percent):", f"    {LINE}")
TYPED = OLD + text("def discount(prices, percent):", f"    {LINE} + tax", "typed_by_somebody = 1")

FIELDS = {
    "claims",
    "last_changes",
    "start_line",
    "end_line",
    "class",
    "share",
    "tier",
    "confidence",
    "score",
    "grade",
    "trace_id",
    "agent",
    "model_id",
    "session_id",
    "tool_call_id",
    "conversation_url",
    "conversation_summary",
    "signals",
    "evidence",
    "commits",
    "reason",
    "searched",
    "certainty",
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A person's file, an agent's two lines in the next commit, and a third commit by hand."""
    made = Scene(tmp_path / "repository")
    base = made.committed(at=-100, app__py=OLD)
    root = made.built.path
    made.saw(
        a_recorded_session(session=SESSION, model="maker/model-1", at=moment(1), root=root),
        a_recorded_event("UserPromptSubmit", {"prompt": "add a discount"}, session=SESSION, at=moment(2), root=root),
        a_recorded_edit("app.py", OLD, NEW, at=moment(10), session=SESSION, id="e10", call="c10", head=base, root=root),
    )
    second = made.committed(base, at=20, app__py=NEW)
    seen = {"custody": 1, "kind": "hook", "agent": "git", "event": "post-commit", "id": "g1", "at": moment(21)}
    made.saw(json.dumps({**seen, "head": second, "unparsed": ""}).encode())
    made.committed(second, at=30, app__py=TYPED)
    return made


def blamed(scene: Scene, *arguments: str) -> Ran:
    return custody(scene.built.path, "blame", *arguments)


def report(scene: Scene, *arguments: str) -> dict[str, Any]:
    ran = blamed(scene, *arguments, "--json")
    assert (ran.status, ran.err) == (0, "")
    decoded: dict[str, Any] = json.loads(ran.out)
    return decoded


LATER_NS = 1_800_000_000 * 10**9
WIDE = """app.py (work tree)

? unknown             {base} 2023-11-14 1  import alpha_module
?                                        2  price = read_price(source)
A claude-code certain {second} 2023-11-14 3  def discount(prices, percent):
M claude-code strong  {third} 2023-11-14 4      total = price * count * rate + tax
? unknown             {third} 2023-11-14 5  typed_by_somebody = 1

5 lines: 1 agent, 1 both (claude-code 2), 3 unknown; searched since 2023-11-12
A agent  P person  M both  ? unknown (may be either)
"""


def short_commits(scene: Scene) -> dict[str, str]:
    third, second, base = scene.built.git("rev-list", "HEAD").decode().split()
    return {"base": base[:7], "second": second[:7], "third": third[:7]}


def test_each_line_has_who_wrote_it_how_certain_and_the_commit(scene: Scene) -> None:
    ran = blamed(scene, "app.py")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == WIDE.format(**short_commits(scene))


def test_on_a_narrow_terminal_the_facts_are_above_each_block(scene: Scene) -> None:
    result = blame(scene.workspace, "app.py", line_ranges=[LineSpec("2,4")], with_commits=True)
    screen = Screen(columns=60, rows=40, is_terminal=True)
    commits = short_commits(scene)
    assert [screen.render(line) for line in render_blame(result, screen, LATER_NS, verbose=False)] == [
        "app.py lines 2-4 (work tree)",
        "",
        f"? unknown · {commits['base']} a change · 2023-11-14",
        "? 2  price = read_price(source)",
        f"A claude-code · certain · {commits['second']} a change · 2023-11-14",
        "A 3  def discount(prices, percent):",
        f"M claude-code · strong · {commits['third']} a change · 2023-11-14",
        "M 4      total = price * count * rate + tax",
        "",
        "3 lines: 1 agent, 1 both (claude-code 2), 1 unknown; searched since 2023-11-12",
        "A agent  P person  M both  ? unknown (may be either)",
    ]


@pytest.mark.parametrize("columns", [20, 80, 120])
def test_nothing_but_the_summary_is_wider_than_the_terminal(scene: Scene, columns: int) -> None:
    result = blame(scene.workspace, "app.py", with_commits=True)
    screen = Screen(columns=columns, rows=40, is_terminal=True)
    lines = [screen.render(line) for line in render_blame(result, screen, LATER_NS, verbose=False)]
    assert all(text_columns(line) <= columns for line in lines[2:-3])


def test_verbose_explains_each_block_above_it(scene: Scene) -> None:
    lines = blamed(scene, "app.py", "-v", "-L", "2,4").out.splitlines()[2:]
    assert lines[0].endswith("| this text was in the file before any captured edit of it")
    assert "| claude-code, maker/model-1, certain (tier 1, 1.00), recorded; session s1" in lines[2]
    assert "| prompt: add a discount" in lines[3]
    assert [line.split("|")[1].split(":")[0].strip() for line in lines[4:9]] == [
        "commit_link +40",
        "content_hash +30",
        "revision_parent +15",
        "range_match +10",
        "timestamp_match +5",
    ]
    assert "80% of each line, strong (tier 3, 0.95)" in lines[10]
    assert lines[-2] == "3 lines: 1 agent, 1 both (claude-code 2), 1 unknown; searched since 2023-11-12"


def test_separate_line_ranges_are_named_in_the_title(scene: Scene) -> None:
    assert blamed(scene, "app.py", "-L", "1,2", "-L", "4,5").out.startswith("app.py lines 1-2, 4-5 (work tree)\n")
    assert blamed(scene, "app.py", "-L", "3").out.startswith("app.py line 3 (work tree)\n")


def years_ago(years: int) -> int:
    return -years * 365 * 24 * 3_600


@pytest.fixture
def old_scene(tmp_path: Path) -> Scene:
    """Two commits years before the first captured edit, which is still uncommitted on disk."""
    made = Scene(tmp_path / "repository")
    first = made.committed(at=years_ago(3), app__py=text("import alpha_module"))
    head = made.committed(first, at=years_ago(2), app__py=OLD)
    root = made.built.path
    made.saw(
        a_recorded_edit("app.py", OLD, NEW, at=moment(10), session=SESSION, id="e10", call="c10", head=head, root=root)
    )
    (root / "app.py").write_text(NEW)
    return made


def test_lines_older_than_any_captured_edit_have_the_commit_that_git_names(old_scene: Scene) -> None:
    second, first = old_scene.built.git("rev-list", "HEAD").decode().split()
    assert blamed(old_scene, "app.py").out.splitlines()[2:6] == [
        f"? unknown            {first[:7]}     2020-11-14 1  import alpha_module",
        f"? unknown            {second[:7]}     2021-11-14 2  price = read_price(source)",
        "A claude-code strong uncommitted            3  def discount(prices, percent):",
        "A                                           4      total = price * count * rate",
    ]
    rows = [row.split("\t") for row in blamed(old_scene, "app.py", "--porcelain").out.splitlines()]
    assert [row[10] for row in rows] == [first, second, "-", "-"]
    at_commit = blamed(old_scene, "app.py", "HEAD~1", "--porcelain").out
    assert at_commit.rstrip("\n").split("\t")[10] == first


def test_with_an_empty_store_only_lines_on_disk_alone_are_uncommitted(tmp_path: Path) -> None:
    made = Scene(tmp_path / "repository")
    head = made.committed(at=years_ago(1), app__py=OLD)
    (made.built.path / "app.py").write_text(text("first_on_disk = 1") + OLD)
    rows = blamed(made, "app.py").out.splitlines()[2:5]
    assert [row.split()[2] if row.startswith("? unknown") else row.split()[1] for row in rows] == [
        "uncommitted",
        head[:7],
        "3",
    ]


def test_a_commit_that_git_cannot_name_is_left_empty(old_scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Repository, "line_sources", lambda *_: [])
    lines = blamed(old_scene, "app.py").out.splitlines()
    assert lines[2] == "? unknown                         1  import alpha_module"
    assert "uncommitted" in lines[4]


def test_porcelain_is_one_line_of_fields_for_each_line(scene: Scene) -> None:
    rows = [row.split("\t") for row in blamed(scene, "app.py", "--porcelain").out.splitlines()]
    assert [row[:5] for row in rows] == [
        ["1", "none", "0.0", "-", "0.0"],
        ["2", "none", "0.0", "-", "0.0"],
        ["3", "agent", "1.0", "1", "1.0"],
        ["4", "mixed", "0.8", "3", "0.95"],
        ["5", "none", "0.0", "-", "0.0"],
    ]
    assert rows[2][5:10] == ["recorded", "claude-code", "maker/model-1", "s1", "c10"]
    assert {len(row) for row in rows} == {11}
    assert rows[4][10] == scene.built.head()


def test_json_has_exactly_the_fields_that_are_promised(scene: Scene) -> None:
    decoded = report(scene, "app.py")
    assert (decoded["version"], decoded["report"], decoded["profile"], decoded["path"]) == (
        1,
        "blame",
        "lineage",
        "app.py",
    )
    assert decoded["rules_digest"].startswith("sha256:")
    assert set(decoded) == {
        *("version", "report", "outcome", "path", "revision", "profile", "rules_digest", "attributions", "notes"),
    }
    assert {frozenset(attribution) for attribution in decoded["attributions"]} == {frozenset(FIELDS)}
    none, agent, mixed, _ = decoded["attributions"]
    assert (none["class"], none["tier"], none["confidence"], none["trace_id"]) == ("none", None, 0.0, None)
    assert set(none["searched"]) == {"since", "records", "commits"}
    assert (none["searched"]["commits"], none["searched"]["records"]) == (3, 1)
    assert (agent["class"], agent["tier"], agent["confidence"], agent["score"]) == ("agent", 1, 1.0, 100)
    assert (agent["trace_id"], agent["model_id"], agent["searched"]) == ("claude-code:s1", "maker/model-1", None)
    assert agent["signals"] == [signal["name"] for signal in agent["evidence"]]
    assert {frozenset(signal) for signal in agent["evidence"]} == {frozenset(("name", "points", "why", "records"))}
    assert all(signal["records"] for signal in agent["evidence"])
    assert (mixed["class"], mixed["share"]) == ("mixed", 0.8)


def test_json_is_the_same_to_the_byte_when_run_again(scene: Scene) -> None:
    assert blamed(scene, "app.py", "--json").out == blamed(scene, "app.py", "--json").out


@pytest.mark.parametrize(
    ("line_ranges", "numbers"),
    [
        (["-L", "3"], [3]),
        (["-L", "2,3"], [2, 3]),
        (["-L", "3,2"], [2, 3]),
        (["-L", "2,+2"], [2, 3]),
        (["-L", "4,5", "-L", "1"], [1, 4, 5]),
        (["-L", ":discount"], [3, 4, 5]),
        (["-L", "/total/"], [4]),
    ],
)
def test_line_ranges_take_the_forms_that_git_takes(scene: Scene, line_ranges: list[str], numbers: list[int]) -> None:
    rows = blamed(scene, "app.py", "--porcelain", *line_ranges).out.splitlines()
    assert [int(row.split("\t")[0]) for row in rows] == numbers


def test_a_revision_is_answered_as_of_that_commit(scene: Scene) -> None:
    decoded = report(scene, "app.py", "HEAD~1")
    assert [attribution["class"] for attribution in decoded["attributions"]] == ["none", "agent"]
    assert decoded["revision"] == scene.built.git("rev-parse", "HEAD~1").decode().strip()


def test_the_report_names_profile_document(scene: Scene) -> None:
    assert report(scene, "app.py", "--profile", "document")["profile"] == "document"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py"], "cannot read 'nothing.py'"),
        (["app.py", "no-such-branch"], "unknown revision 'no-such-branch'"),
        (["../app.py"], "outside"),
        (["app.py", "-L", "6"], "has only 5 lines"),
        (["app.py", "-L", "0,2"], "invalid line range 0,2"),
        (["app.py", "-L", "2,+0"], "invalid line range 2,+0"),
        (["app.py", "-L", "/nowhere/"], "no line matches /nowhere/"),
        (["app.py", "--json", "--porcelain"], "--json, --porcelain and --format are mutually exclusive"),
    ],
)
def test_invalid_arguments_exit_with_2_and_a_hint(scene: Scene, arguments: list[str], message: str) -> None:
    ran = blamed(scene, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert "hint:" in ran.err
    assert "Traceback" not in ran.err


def test_outside_a_repository_blame_fails_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("x\n")
    ran = custody(tmp_path, "blame", "app.py")
    assert (ran.status, ran.out) == (2, "")
    assert "hint:" in ran.err


def test_a_binary_file_has_no_lines(scene: Scene) -> None:
    scene.wrote("binary.bin", b"a\0b")
    ran = blamed(scene, "binary.bin")
    assert (ran.status, ran.out) == (2, "")
    assert "is a binary file" in ran.err


def test_before_anything_was_captured_the_summary_says_so(tmp_path: Path) -> None:
    made = Scene(tmp_path / "repository").wrote("app.py", "typed_by_somebody = 1\n")
    ran = custody(made.built.path, "blame", "app.py")
    assert (ran.status, ran.out.splitlines()[-2]) == (0, "1 line: 1 unknown; nothing has been captured here")
    assert not (made.built.path / ".git" / "custody").exists(), "blame creates no files"


def test_an_empty_file_has_no_lines(scene: Scene) -> None:
    scene.wrote("empty.py", "")
    assert (blamed(scene, "empty.py").status, blamed(scene, "empty.py").out) == (0, "empty.py: no lines\n")


def test_what_a_file_holds_cannot_move_the_cursor(scene: Scene) -> None:
    scene.wrote("odd.py", b"one \x1b[2J \xff line\n")
    ran = blamed(scene, "odd.py")
    assert ran.out.splitlines()[2] == "? unknown  uncommitted  1  one \\x1b[2J \\udcff line"


def test_removed_text_is_listed_below_who_removed_it(tmp_path: Path) -> None:
    made = a_repository(tmp_path / "removals")
    old = "import alpha_module\nif user.is_known and user.may_pay(price):\n    settle(user, price)\n    log(user)\n"
    weak = "import alpha_module\nif user.is_known:\n    settle(user, price)\n"
    base = made.commit({b"a.py": old.encode()}, at=1_767_000_000)
    spool_of(made.path).put(an_event("edit", id="e1", call="c1", path="a.py", before=old, after=weak, head=base))
    commit = made.commit({b"a.py": weak.encode()}, base, at=1_769_862_000)
    made.checkout()
    (made.path / "a.py").write_text(weak.replace("import alpha_module\n", ""), "utf-8")
    ran = custody(made.path, "blame", "a.py", "--removed", "HEAD~1")
    assert ran.out.splitlines() == [
        f"a.py removed since {base[:7]}, at the work tree",
        "",
        "unknown author, uncommitted (no captured call removed this text)",
        "- 1  import alpha_module",
        "",
        f"robot, model unknown, call c1, {commit[:7]}; session s1",
        "- 2  if user.is_known and user.may_pay(price):",
        "     lost and user may_pay price; now line 1",
        "- 4      log(user)",
        "",
        "2 lines removed, 1 line shortened",
    ]
    assert "| line 1" not in ran.out
    verbose = custody(made.path, "blame", "a.py", "-v").out
    assert "line 1: call c1 removed 4 words: and user may_pay price" in verbose
    wrong = custody(made.path, "blame", "a.py", "--removed", "HEAD~1", "--porcelain")
    assert (wrong.status, "--removed cannot be combined" in wrong.err) == (2, True)
    assert custody(made.path, "blame", "a.py", "--removed", "nowhere").status == 2
