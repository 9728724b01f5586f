"""The summaries of test runners in an output."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.run_summary import RunCounts, format_run_summaries, parse_run_summaries, parse_stored_summaries
from tests.builders.table import table

SUMMARIES = [
    ("===== 3 passed, 1 skipped in 1.20s =====", "pytest", 3, 0, 1),
    ("5 passed in 0.12s", "pytest", 5, 0, 0),
    ("=== no tests ran in 0.01s ===", "pytest", 0, 0, 0),
    ("== 1 failed, 2 passed, 1 error, 4 warnings in 65.10s (0:01:05) ==", "pytest", 2, 2, 0),
    ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)", "unittest", 2, 2, 1),
    ("Ran 5 tests in 0.001s\n\nOK", "unittest", 5, 0, 0),
    (
        "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\ntest result: ok. 2 passed; 0 failed; 0 ignored",
        "cargo",
        7,
        0,
        1,
    ),
    ("     Summary [   0.5s] 12 tests run: 11 passed (1 slow), 1 failed, 3 skipped", "nextest", 11, 1, 3),
    (
        "ok  \tgithub.com/a/b\t0.01s\nok  \tgithub.com/a/c\t(cached)\nok  \tx/y\t0.1s [no tests to run]",
        "go packages",
        2,
        0,
        0,
    ),
    ("--- FAIL: TestX (0.00s)\nFAIL\nFAIL\tgithub.com/a/b\t0.01s\nFAIL", "go", 0, 1, 0),
    ("DONE 123 tests, 2 skipped in 4.5s", "gotestsum", 121, 0, 2),
    ("Tests:       1 failed, 2 skipped, 5 passed, 8 total", "jest", 5, 1, 2),
    ("      Tests  2 failed | 10 passed | 1 skipped (13)", "vitest", 10, 2, 1),
    ("  5 passing (12ms)\n  1 pending\n  2 failing\n", "mocha", 5, 2, 1),
    ("  5 passed (2.1s)\n  1 failed", "playwright", 5, 1, 0),
    (" 5 pass\n 0 fail", "bun", 5, 0, 0),
    ("ok | 5 passed (2 steps) | 0 failed | 1 ignored (12ms)", "deno", 5, 0, 1),
    ("ℹ pass 5\nℹ fail 1\nℹ skipped 0", "node", 5, 1, 0),
    ("10 examples, 1 failure, 2 pending", "rspec", 7, 1, 2),
    ("5 runs, 9 assertions, 0 failures, 1 errors, 0 skips", "minitest", 4, 1, 0),
    ("OK (5 tests, 9 assertions)", "phpunit", 5, 0, 0),
    ("Tests: 5, Assertions: 9, Failures: 1, Skipped: 1.", "phpunit", 3, 1, 1),
    ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1", "maven", 4, 0, 1),
    ("12 tests completed, 2 failed", "gradle", 10, 2, 0),
    ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5", "dotnet", 5, 0, 0),
    ("\t Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds", "xctest", 4, 1, 0),
    ("3 doctests, 5 tests, 1 failure", "exunit", 7, 1, 0),
    ("90% tests passed, 1 tests failed out of 10", "ctest", 9, 1, 0),
    ("Executed 3 out of 5 tests: 5 tests pass.", "bazel", 5, 0, 0),
    ("1..3\nok 1 a\nnot ok 2 b\nok 3 c # skip", "bats", 1, 1, 1),
    ("00:01 +5 ~1 -1: Some tests failed.", "dart", 5, 1, 1),
]


@table("output, runner, passed, failed, skipped", SUMMARIES)
def test_the_counts_of_a_runner_are_read(output: str, runner: str, passed: int, failed: int, skipped: int) -> None:
    found = {each.runner: each.counts for each in parse_run_summaries(f"log\n{output}\n")}
    assert found[runner] == RunCounts(passed, failed, skipped)


def test_words_that_only_resemble_a_summary_are_none() -> None:
    for output in ("5 passed", "all 5 tests passed", "", "tests/a.py passed in 0.1s", "I think 5 passed in 0.1s."):
        assert parse_run_summaries(output) == ()


@given(st.text() | st.from_regex(r"\d{0,9999} (passed|failed|tests) in \d+s\n", fullmatch=True))
def test_any_output_is_read_and_its_summaries_are_stored_and_read_back(output: str) -> None:
    summaries = parse_run_summaries(output)
    assert parse_stored_summaries(format_run_summaries(summaries)) == summaries
