"""Names in a report that the repository does not have."""

from collections.abc import Collection

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.cite.codes import CitationCode
from custody.cite.missing_names import (
    LineTimes,
    RepositoryContent,
    Tracker,
    find_missing_files,
    find_missing_issues,
    find_missing_packages,
    find_missing_symbols,
)
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
    return [one.message for one in find_missing_files(AuditSubject.of(text.encode()), judged, HOLDING, report).found]


def symbols(text: str, report: str = "report.md", judged: LineTimes = ALL) -> list[str]:
    return [one.message for one in find_missing_symbols(AuditSubject.of(text.encode()), judged, HOLDING, report)]


def packages(text: str) -> list[str]:
    return [one.message for one in find_missing_packages(AuditSubject.of(text.encode()), ALL, HOLDING)]


def issues(text: str, tracker: Tracker, judged: LineTimes = ALL) -> list[str]:
    return [one.message for one in find_missing_issues(AuditSubject.of(text.encode()), judged, tracker)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The engine is in `src/pack/engine.py`.", "no file 'src/pack/engine.py'"),
        ("See `src/pack/engine.py:12-20` for it.", "no file 'src/pack/engine.py'"),
        ("See `tests/test_engine.py::test_x` for it.", "no file 'tests/test_engine.py'"),
        ("See `engine.py:12` for it.", "no file 'engine.py'"),
        ("See [the part](deep/other.md).", "no file 'deep/other.md'"),
        ("See [it](../src/pack/engine.py#L3).", "no file '../src/pack/engine.py'"),
        ("It is `src/other/core.py`.", "no file 'src/other/core.py' (did you mean src/pack/core.py?)"),
        (
            "| file | what |\n|---|---|\n| `src/pack/engine.py` | the engine |\n",
            "no file 'src/pack/engine.py'",
        ),
    ],
)
def test_a_missing_file_is_reported(text: str, message: str) -> None:
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
def test_a_present_or_ambiguous_file_is_not_reported(text: str) -> None:
    assert files(text) == []


def test_plans_and_changelogs_are_not_checked() -> None:
    assert files("In `src/pack/engine.py`.", "docs/PLAN.md") == []
    assert files("In `src/pack/engine.py`.", "CHANGELOG.md") == []
    assert symbols("In `pack.core.walk()`.", "docs/release-notes.md") == []


def test_a_report_with_mostly_missing_files_is_about_another_repository() -> None:
    text = "Files: " + ", ".join(f"`src/their/{n}.py`" for n in ("ast", "bits", "code", "dump")) + ".\n"
    result = find_missing_files(AuditSubject.of(text.encode()), ALL, HOLDING, "report.md")
    assert result == ([], True)
    here = text + "\n" + " ".join(f"`{path}`" for path in TEXTS if "/" in path)
    assert len(files(here, "report.md")) == 4, "as many of its files are present"


def test_only_selected_lines_are_checked() -> None:
    assert files("`src/pack/a1.py`\n\n`src/pack/b2.py`", judged={3: None}) == ["no file 'src/pack/b2.py'"]
    assert symbols("`pack.core.walk`\n\n`pack.core.stop`", judged={3: None}) == ["'stop' is not in src/pack/core.py"]


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("Calls `pack.core.walk()`.", "walk", "src/pack/core.py"),
        ("See `pack.core.Motor.start`.", "Motor", "src/pack/core.py"),
        ("See `tests/test_core.py::test_walk`.", "test_walk", "tests/test_core.py"),
        ("`walk()` in `src/pack/core.py` does it.", "walk", "src/pack/core.py"),
    ],
)
def test_a_name_missing_from_its_file_is_reported(text: str, name: str, path: str) -> None:
    assert symbols(text) == [f"'{name}' is not in {path}"]


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
def test_a_present_or_possible_name_is_not_reported(text: str) -> None:
    assert symbols(text) == []


def test_an_issue_that_could_not_be_fetched_is_reported() -> None:
    assert issues("Fixes #7 and #8.", Tracker(absent=[7])) == ["#7 does not exist: a request for it failed"]


def test_an_issue_number_assigned_later_is_reported() -> None:
    tracker = Tracker(given=[(50, 2000), (40, 500)])
    assert issues("See #51 and #50, `#99`, a#60, [#70](https://example.org/70).", tracker) == [
        "#51 did not exist yet: #50 was opened later"
    ]
    assert issues("See #45.", tracker) == [], "it may have been opened after the previous one"
    assert issues("See #51.", tracker, dict.fromkeys(ALL)) == [], "the writing time is unknown"


@pytest.mark.parametrize(
    "text",
    [
        "`requests` is a runtime dependency.",
        "It depends on the `requests` library.",
        "The core dependency is `requests`.",
    ],
)
def test_a_dependency_without_a_manifest_entry_is_reported(text: str) -> None:
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
def test_a_listed_or_ambiguous_dependency_is_not_reported(text: str) -> None:
    assert packages(text) == []


def test_without_a_manifest_dependencies_are_not_checked() -> None:
    bare = replace(HOLDING, manifests=[])
    assert list(find_missing_packages(AuditSubject.of(b"`requests` is a dependency."), ALL, bare)) == []


some_pieces = st.lists(
    st.sampled_from(("`src/pack/engine.py`", "`engine.py:12`", "`pack.core.halt`", "[it](deep/other.md)", "`run`"))
    | st.sampled_from(("# ", "- ", "| ", "`", "```\n", "é ", " ", "\n", "\n\n", "See ", ".")),
    max_size=12,
).map("".join)


@given(st.text(alphabet="`#/.:ab src/pack/core.py[]()\n", max_size=80) | some_pieces)
@example("See `src/pack/engine.py`.")
def test_any_text_gives_findings_at_valid_positions(text: str) -> None:
    subject = AuditSubject.of(text.encode())
    made: list[CheckFinding] = [
        *find_missing_files(subject, ALL, HOLDING, "a/b.md").found,
        *find_missing_symbols(subject, ALL, HOLDING, "a/b.md"),
    ]
    event(f"{len(made)} findings")
    assert all(
        0 <= one.at < len(text.encode()) and one.code in (CitationCode.NOFILE, CitationCode.NOSYMBOL) for one in made
    )
