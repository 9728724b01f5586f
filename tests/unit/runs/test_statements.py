"""What texts say about a change: which sentences are statements, and their kinds."""

from hypothesis import given
from hypothesis import strategies as st

from custody.runs.model import StatementKind as Kind
from custody.runs.statements import find_statements
from tests.builders.table import table


def kinds_in(text: str) -> list[str]:
    return sorted({statement.kind.value for statement in find_statements(text)})


@table(
    "text, kinds",
    [
        ("All tests pass.", "tests-pass"),
        ("Tests pass, lint clean", "tests-pass lint-passes"),
        ("All tests and linting pass. Ready to commit.", "tests-pass lint-passes"),
        ("- [x] `mise run test:ci` — all tests pass", "tests-pass"),
        ("- [x] `npm test`", "tests-ran"),
        ("✅ Linting (mise run lint)", "lint-passes"),
        ("`npm run lint`: 0 issues", "lint-passes"),
        ("No lint errors.", "lint-passes"),
        ("The whole suite is green.", "tests-pass"),
        ("The test suite is green.", "tests-pass"),
        ("mypy and ruff are clean; pytest passes", "types-pass lint-passes tests-pass"),
        ("Types check.", "types-pass"),
        ("The build is green.", "build-passes"),
        ("It compiles cleanly.", "build-passes"),
        ("Code formatted, `cargo clippy` passes without warnings", "formatted lint-passes"),
        ("All green — fmt, lint, and all tests pass.", "formatted lint-passes tests-pass"),
        ("All checks pass", "checks-pass"),
        ("CI is green", "checks-pass"),
        ("I ran the linter and the full test suite.", "lint-ran tests-ran"),
        ("Verified with `go test ./...`", "tests-ran"),
        ("## Testing\n- `pytest -q`", "tests-ran"),
        ("Fix rounding\n\nAdded tests for half cents", "tests-written"),
        ("test: add unit tests for the parser", "tests-written"),
        ("- Added `TestParse_Empty`", "tests-written"),
        ("No behavior change to the CLI.", "no-behavior-change"),
        ("No functional changes.", "no-behavior-change"),
        ("Pure refactoring", "no-behavior-change"),
        ("Docs-only change", "docs-only"),
        ("Only documentation changed.", "docs-only"),
        ("This only touches docs.", "docs-only"),
        ("No production code changes", "no-production-code"),
    ],
)
def test_everyday_sentences_are_statements(text: str, kinds: str) -> None:
    assert kinds_in(text) == sorted(kinds.split()), find_statements(text)


@table(
    "text",
    [
        "All tests should pass.",
        "Do all tests pass?",
        "- [ ] All tests pass",
        "- [x] Unit tests",
        "If all tests pass, merge it.",
        "Make sure all tests pass",
        "Let me verify that all tests pass.",
        "Not all tests pass.",
        "The tests don't pass.",
        "All tests pass except the flaky one.",
        "Tests fail on Windows",
        "> All tests pass.",
        "```\nAll tests pass.\n```",
        'The message says "all tests pass".',
        "<!-- all tests pass -->",
        "Run the tests and check that they pass.",
        "The test passes the context to the handler.",
        "Pass `agent.Name()` to the test helper",
        "## Next steps\n- Add tests for the parser",
        "Added test data for the importer",
        "Add a test command to the Makefile",
        "We need to add tests.",
        "The build tag is `linux`",
        "Fix the linter warning in fees.py",
        "The docs only mention the flag once",
        "CI should be green once this lands",
        "",
    ],
)
def test_plans_conditions_denials_and_quotes_are_skipped(text: str) -> None:
    assert find_statements(text) == ()


def test_a_statement_has_its_sentence_as_written_and_its_line() -> None:
    (found,) = find_statements("Fix fees\n\nRound half to even. All **tests**\npass now.\n")
    assert (found.kind, found.text, found.line) == (Kind.TESTS_PASS, "All **tests** pass now.", 3)


@table("text, whole", [("All tests pass", True), ("The full test suite passes", True), ("Tests pass", False)])
def test_a_statement_about_all_tests_is_known(text: str, whole: bool) -> None:
    assert [found.is_whole for found in find_statements(text)] == [whole]


WORDS = (
    "all tests pass lint is clean should not if ``` > - [ ] [x] ✅ no behavior change docs only \n . , ? ` * | # é \x00"
)


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=60).map(" ".join) | st.text(max_size=300))
def test_any_text_can_be_read_and_lines_are_inside_it(text: str) -> None:
    for found in find_statements(text):
        assert 1 <= found.line <= text.count("\n") + text.count("\r") + 1
        assert found.text
