"""What a report names of a repository and that is not there."""

from collections.abc import Collection
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.codes import CitationCode
from custody.cite.missing_names import LineTimes, RepositoryContent, Tracker, no_file, no_issue, no_package, no_symbol
from custody.cite.subject import AuditSubject, CheckFinding
from tests.builders.table import table

TEXTS = {
    "README.md": "",
    "docs/guide.md": "",
    "docs/deep/part.md": "",
    "src/pack/__init__.py": "from pack.core import run\n",
    "src/pack/core.py": "class Engine:\n    pass\n\n\ndef run():\n    pass\n",
    "src/pack/open.py": "from pack.core import *\n",
    "tests/test_core.py": "def test_run():\n    pass\n",
    "pyproject.toml": 'dependencies = ["click>=8", "typing_extensions"]\n',
}


def _ever(wanted: Collection[str]) -> set[str]:
    return {"src/pack/gone.py"} & set(wanted)


HOLDING = RepositoryContent(TEXTS, TEXTS.get, _ever, [TEXTS["pyproject.toml"]], ["json"])
ALL: LineTimes = dict.fromkeys(range(1, 50), 1000)


def files(text: str, report: str = "docs/report.md", judged: LineTimes = ALL) -> list[str]:
    return [one.message for one in no_file(AuditSubject.of(text.encode()), judged, HOLDING, report).found]


def symbols(text: str, report: str = "report.md", judged: LineTimes = ALL) -> list[str]:
    return [one.message for one in no_symbol(AuditSubject.of(text.encode()), judged, HOLDING, report)]


def packages(text: str) -> list[str]:
    return [one.message for one in no_package(AuditSubject.of(text.encode()), ALL, HOLDING)]


def issues(text: str, tracker: Tracker, judged: LineTimes = ALL) -> list[str]:
    return [one.message for one in no_issue(AuditSubject.of(text.encode()), judged, tracker)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The engine is in `src/pack/engine.py`.", "there is no file 'src/pack/engine.py'"),
        ("See `src/pack/engine.py:12-20` for it.", "there is no file 'src/pack/engine.py'"),
        ("See `tests/test_engine.py::test_x` for it.", "there is no file 'tests/test_engine.py'"),
        ("See `engine.py:12` for it.", "there is no file 'engine.py'"),
        ("See [the part](deep/other.md).", "there is no file 'deep/other.md'"),
        ("See [it](../src/pack/engine.py#L3).", "there is no file '../src/pack/engine.py'"),
        ("It is `src/other/core.py`.", "there is no file 'src/other/core.py'; there is src/pack/core.py"),
        (
            "| file | what |\n|---|---|\n| `src/pack/engine.py` | the engine |\n",
            "there is no file 'src/pack/engine.py'",
        ),
    ],
)
def test_a_file_that_is_not_there_is_named(text: str, message: str) -> None:
    assert files(text) == [message]


@table(
    "text",
    [
        "It is in `src/pack/core.py`, `pack/core.py`, `core.py:3` and `SRC/pack/Core.py`.",
        "It was in `src/pack/gone.py` once, and [is linked](../src/pack/gone.py).",
        "Linked: [a](deep/part.md) [b](../README.md) [c](guide.html) [d](deep/) [e](#x) [f](https://example.org/a.py).",
        "A bare name, `engine.py`, may be anybody's, and so may `engine` and `a/b`.",
        "Another ending: `src/pack/core.xyz`. Another folder: `lib/pack/core2.py`. Settings: `.github/x.md`.",
        "Patterns: `src/**/x.py`, `src/{a}.py`, `src/<name>.py`, `src/pack/...py`, `/etc/x.py`, `~/x.py:1`.",
        "Made up: `src/foo.py`, `src/path/to/x.py`, `tests/test_NNN.py`, `src/example.py`.",
        "Made: `build/x.py`, `src/dist/x.py`, `node_modules/x/y.py`.",
        "Create `src/pack/engine.py` first.",
        "We will put it into `src/pack/engine.py`.",
        "For example `src/pack/engine.py`.",
        "`src/pack/engine.py` was removed.",
        "`src/pack/engine.py` does not exist.",
        "新增 `src/pack/engine.py`。",
        "`src/pack/engine.py`:\n\n```python\nx = 1\n```\n",
        "In code:\n\n```\n`src/pack/engine.py`\n```\n",
    ],
)
def test_what_is_there_or_may_be_meant_otherwise_is_not(text: str) -> None:
    assert files(text) == []


def test_a_plan_and_a_history_of_changes_tell_of_other_times() -> None:
    assert files("In `src/pack/engine.py`.", "docs/PLAN.md") == []
    assert files("In `src/pack/engine.py`.", "CHANGELOG.md") == []
    assert symbols("In `pack.core.walk()`.", "docs/release-notes.md") == []


def test_a_report_of_which_most_files_are_missing_speaks_of_another_place() -> None:
    text = "Files: " + ", ".join(f"`src/their/{n}.py`" for n in ("ast", "bits", "code", "dump")) + ".\n"
    result = no_file(AuditSubject.of(text.encode()), ALL, HOLDING, "report.md")
    assert result == ([], True)
    here = text + "\n" + " ".join(f"`{path}`" for path in TEXTS if "/" in path)
    assert len(files(here, "report.md")) == 4, "it names as much that is here"


def test_only_judged_lines_count() -> None:
    assert files("`src/pack/a1.py`\n\n`src/pack/b2.py`", judged={3: None}) == ["there is no file 'src/pack/b2.py'"]
    assert symbols("`pack.core.walk`\n\n`pack.core.stop`", judged={3: None}) == [
        "'stop' does not stand in src/pack/core.py"
    ]


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("Calls `pack.core.walk()`.", "walk", "src/pack/core.py"),
        ("See `pack.core.Motor.start`.", "Motor", "src/pack/core.py"),
        ("See `tests/test_core.py::test_walk`.", "test_walk", "tests/test_core.py"),
        ("`walk()` in `src/pack/core.py` does it.", "walk", "src/pack/core.py"),
    ],
)
def test_a_name_that_does_not_stand_in_its_file_is_named(text: str, name: str, path: str) -> None:
    assert symbols(text) == [f"'{name}' does not stand in {path}"]


@pytest.mark.parametrize(
    "text",
    [
        "`pack.core.run()`, `pack.core.Engine.start()`, `src.pack.core.run`, `tests/test_core.py::test_run[a]`.",
        "`run()` in `src/pack/core.py`, `walk()` alone, `core.walk()` of some variable, `os.path.join()`.",
        "A module with an open end: `pack.open.anything()`. A module itself: `src.pack.core`.",
        "We would add `pack.core.walk()`. `pack.core.walk()` was removed.",
        "`walk()` in `src/pack/missing.py`.",
    ],
)
def test_a_name_that_stands_there_or_may_is_not(text: str) -> None:
    assert symbols(text) == []


def test_an_issue_that_was_asked_for_in_vain_is_named() -> None:
    assert issues("Fixes #7 and #8.", Tracker(absent=[7])) == ["there is no #7: it was asked for in vain"]


def test_an_issue_whose_number_was_given_later_is_named() -> None:
    tracker = Tracker(given=[(50, 2000), (40, 500)])
    assert issues("See #51 and #50, `#99`, a#60, [#70](https://example.org/70).", tracker) == [
        "there was no #51 yet: #50 was opened after this"
    ]
    assert issues("See #45.", tracker) == [], "it may have been opened since the one before"
    assert issues("See #51.", tracker, dict.fromkeys(ALL)) == [], "nobody knows when this was written"


@pytest.mark.parametrize(
    "text",
    [
        "`requests` is a runtime dependency.",
        "It depends on the `requests` library.",
        "The core dependency is `requests`.",
    ],
)
def test_a_dependency_that_no_manifest_names_is_named(text: str) -> None:
    assert packages(text) == ["no manifest or lock file names 'requests'"]


@pytest.mark.parametrize(
    "text",
    [
        "`click` is a dependency. `Typing-Extensions` is a dependency. `pack` is a dependency. `json` is a dependency.",
        "This depends on `requests`. We use `requests`.",
        "We would add it: `requests` is a dependency.",
        "`requests` is not a dependency.",
    ],
)
def test_a_dependency_that_is_named_or_may_not_be_meant_is_not(text: str) -> None:
    assert packages(text) == []


def test_without_a_manifest_nothing_is_said_of_dependencies() -> None:
    bare = replace(HOLDING, manifests=[])
    assert list(no_package(AuditSubject.of(b"`requests` is a dependency."), ALL, bare)) == []


@given(st.text(alphabet="`#/.:ab src/pack/core.py[]()\n", max_size=80))
def test_any_text_gives_findings_at_their_places(text: str) -> None:
    subject = AuditSubject.of(text.encode())
    made: list[CheckFinding] = [
        *no_file(subject, ALL, HOLDING, "a/b.md").found,
        *no_symbol(subject, ALL, HOLDING, "a/b.md"),
    ]
    assert all(
        0 <= one.at < len(text.encode()) and one.code in (CitationCode.NOFILE, CitationCode.NOSYMBOL) for one in made
    )
