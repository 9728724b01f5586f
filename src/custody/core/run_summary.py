"""The summaries that test runners print about a run: how many tests passed, failed and were skipped."""

import re
from collections.abc import Iterator

from msgspec import Struct

from custody.core.patterns import lazy_pattern

TAIL_CHARACTERS_MAX = 1 << 17
"""Summaries are searched at the end of an output, where runners print them."""
COUNT_DIGITS_MAX = 9
PACKAGES = "go packages"
"""The runner in a summary that counts packages, not tests."""
NO_TESTS = "no tests"
"""The runner in a summary that says that no test ran."""

_COLOR = lazy_pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_SECONDS = r"(?:in )?[\d.]+ ?m?s"


class RunCounts(Struct, frozen=True):
    """The tests that a runner's own summary counts."""

    passed: int
    failed: int = 0
    skipped: int = 0


class RunnerSummary(Struct, frozen=True):
    """The counts of one test runner in an output."""

    runner: str
    counts: RunCounts


class _Shape(Struct, frozen=True):
    """One runner's summary: the lines it is on, and the counts in such a line.

    Groups of ``words``: p(assed), f(ailed), e(rrors), s(kipped), t(otal), x for any failure. With ``last`` only the
    last line counts: it sums up the ones before.
    """

    runner: str
    hint: str
    """A text without which no line matches: most outputs need no pattern."""
    line: str
    words: str = ""
    last: bool = False


_SHAPES = (
    _Shape(
        NO_TESTS,
        "o test",
        r"(?i)^(?:.{0,40}\bno tests? (?:files? )?(?:were )?(?:found|ran|to run|executed)\b|.*\[no test files\]"
        r"|collected 0 items|testing: warning: no tests to run)",
        r"(?P<p>)(?!)",
    ),
    _Shape(
        "pytest",
        " in ",
        rf"^(?:=+ )?(?:no tests ran|\d+ [a-z]+(?:, \d+ [a-z]+)*) {_SECONDS}(?: \([\d:]+\))?(?: =+)?$",
        r"(?P<p>\d+) (?:passed|xpassed)|(?P<f>\d+) failed|(?P<e>\d+) errors?\b|(?P<s>\d+) (?:skipped|xfailed)",
        last=True,
    ),
    _Shape(
        "unittest",
        "Ran ",
        rf"^Ran \d+ tests? {_SECONDS}\s+(?:OK|FAILED|NO TESTS RAN)\b[^\n]*",
        r"^Ran (?P<t>\d+)|failures=(?P<f>\d+)|errors=(?P<e>\d+)|skipped=(?P<s>\d+)|expected failures=\d+",
    ),
    _Shape(
        "cargo",
        "test result: ",
        r"^(?:test result: (?:ok|FAILED)\. (?P<p>\d+) passed; (?P<f>\d+) failed; (?P<s>\d+) ignored"
        r"|(?P<x>)error: \d+ targets? failed)",
    ),
    _Shape(
        "nextest",
        "tests run: ",
        r"^\s*Summary \[[^\]\n]*\] .*tests run: .*$",
        r"(?P<p>\d+) passed|(?P<f>\d+) (?:failed|timed out)|(?P<s>\d+) skipped",
    ),
    _Shape("go", "--- ", r"^\s*--- (?:PASS|FAIL|SKIP): ", r"(?P<p>)--- PASS|(?P<f>)--- FAIL|(?P<s>)--- SKIP"),
    _Shape(
        PACKAGES,
        "\t",
        r"^(?:ok\s+\t?\S+\t(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])|FAIL\t\S+|FAIL$|panic: )",
        r"(?P<p>)^ok|(?P<f>)^(?:FAIL|panic)",
    ),
    _Shape(
        "gotestsum",
        "DONE ",
        rf"^DONE \d+ tests?.* {_SECONDS}$",
        r"DONE (?P<t>\d+)|(?P<s>\d+) skipped|(?P<f>\d+) failures?|(?P<e>\d+) errors?",
        last=True,
    ),
    _Shape(
        "jest",
        "Tests:",
        r"^Tests: .*\d+ total$",
        r"(?P<f>\d+) failed|(?P<p>\d+) passed|(?P<s>\d+) (?:skipped|todo)",
    ),
    _Shape(
        "vitest",
        "Tests ",
        r"^\s*Tests  ?\d+ .*\(\d+\)\s*$",
        r"(?P<f>\d+) failed|(?P<p>\d+) passed|(?P<s>\d+) (?:skipped|todo)",
    ),
    _Shape(
        "mocha",
        "passing",
        r"^\s+\d+ (?:passing \(|failing\b|pending\b)",
        r"(?P<p>\d+) passing|(?P<f>\d+) failing|(?P<s>\d+) pending",
    ),
    _Shape(
        "playwright",
        "passed (",
        r"^\s+\d+ (?:passed \([^)\n]*\)|failed|skipped|interrupted)$",
        r"(?P<p>\d+) passed|(?P<f>\d+) (?:failed|interrupted)|(?P<s>\d+) skipped",
    ),
    _Shape("bun", " pass", r"^\s*\d+ (?:pass|fail|skip)$", r"(?P<p>\d+) pass|(?P<f>\d+) fail|(?P<s>\d+) skip"),
    _Shape(
        "deno",
        " passed ",
        r"^(?:ok|FAILED) \| \d+ passed.*$",
        r"(?P<p>\d+) passed|(?P<f>\d+) failed|(?P<s>\d+) ignored",
    ),
    _Shape(
        "node",
        " pass ",
        r"^(?:#|ℹ) (?:pass|fail|cancelled|skipped) \d+$",
        r"pass (?P<p>\d+)|fail (?P<f>\d+)|cancelled (?P<e>\d+)|skipped (?P<s>\d+)",
    ),
    _Shape(
        "rspec",
        " example",
        r"^\d+ examples?, \d+ failures?.*$",
        r"^(?P<t>\d+) example|(?P<f>\d+) failure|(?P<s>\d+) pending|(?P<e>\d+) errors? occurred",
        last=True,
    ),
    _Shape(
        "minitest",
        " assertions, ",
        r"^\d+ (?:runs|tests), \d+ assertions, .*$",
        r"^(?P<t>\d+)|(?P<f>\d+) failures|(?P<e>\d+) errors|(?P<s>\d+) skips",
    ),
    _Shape(
        "phpunit",
        "ssertion",
        r"^(?:OK \(\d+ tests?, \d+ assertions?\)|Tests: \d+, Assertions: .*)$",
        r"OK \((?P<p>\d+)|Tests: (?P<t>\d+)|Errors: (?P<e>\d+)|Failures: (?P<f>\d+)|(?:Skipped|Incomplete): (?P<s>\d+)",
    ),
    _Shape(
        "pest",
        " assertions)",
        r"^\s*Tests: .* \(\d+ assertions\)$",
        r"(?P<f>\d+) failed|(?P<p>\d+) passed|(?P<s>\d+) (?:skipped|todo)",
    ),
    _Shape(
        "maven",
        "Tests run: ",
        r"^(?:\[[A-Z]+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+\s*$",
        r"run: (?P<t>\d+)|Failures: (?P<f>\d+)|Errors: (?P<e>\d+)|Skipped: (?P<s>\d+)",
    ),
    _Shape(
        "gradle",
        " tests completed",
        r"^\d+ tests completed.*$",
        r"^(?P<t>\d+)|(?P<f>\d+) failed|(?P<s>\d+) skipped",
    ),
    _Shape(
        "dotnet",
        "Passed:",
        r"^(?:Passed|Failed)!\s+- Failed:\s+\d+, Passed:\s+\d+.*$",
        r"Failed:\s+(?P<f>\d+)|Passed:\s+(?P<p>\d+)|Skipped:\s+(?P<s>\d+)",
    ),
    _Shape(
        "xctest",
        "Executed ",
        r"^\s*Executed \d+ tests?, with .*failures?.*$",
        r"Executed (?P<t>\d+)|(?P<s>\d+) tests? skipped|(?P<f>\d+) failures?",
        last=True,
    ),
    _Shape(
        "exunit",
        " failure",
        r"^(?:\d+ (?:doctests?|properties|property), )*\d+ tests?, \d+ failures?.*$",
        r"(?P<t>\d+) (?:doctest|test|propert)|(?P<f>\d+) failure|(?P<s>\d+) (?:excluded|skipped)",
    ),
    _Shape(
        "ctest",
        " tests passed",
        r"^\d+% tests passed, \d+ tests? failed out of \d+",
        r"(?P<f>\d+) tests? failed|out of (?P<t>\d+)",
    ),
    _Shape(
        "bazel",
        "Executed ",
        r"^Executed \d+ out of \d+ tests?: .*$",
        r": (?P<p>\d+) tests? pass|(?P<f>\d+) fails?\b|(?P<s>\d+) w(?:as|ere) skipped",
        last=True,
    ),
    _Shape("bats", "ok ", r"^(?:not )?ok \d+ .*$", r"(?P<s>)^ok \d+ .*# skip|(?P<p>)^ok |(?P<f>)^not ok "),
    _Shape(
        "dart",
        "tests ",
        r"\+\d+(?: ~\d+)?(?: -\d+)?: (?:All tests passed!|Some tests failed\.)",
        r"\+(?P<p>\d+)|~(?P<s>\d+)|-(?P<f>\d+)",
        last=True,
    ),
)


def parse_run_summaries(output: str) -> tuple[RunnerSummary, ...]:
    """Return the summaries of test runners in an output, one for each runner.

    >>> parse_run_summaries("..F\\n1 failed, 2 passed in 0.12s\\n")
    (RunnerSummary(runner='pytest', counts=RunCounts(passed=2, failed=1, skipped=0)),)
    >>> parse_run_summaries("5 tests are still missing")
    ()
    """
    text = output[-TAIL_CHARACTERS_MAX:]
    if not any(shape.hint in text for shape in _SHAPES):
        return ()
    text = _COLOR.sub("", text).replace("\r\n", "\n")
    return tuple(filter(None, (_read_summary(shape, text) for shape in _SHAPES if shape.hint in text)))


def _read_summary(shape: _Shape, text: str) -> RunnerSummary | None:
    lines = list(_match_lines(shape, text))
    if not lines:
        return None
    counts = dict.fromkeys("pfestx", 0)
    total = False
    for line in lines[-1:] if shape.last else lines:
        for match in re.finditer(shape.words or shape.line, line, re.MULTILINE):
            for name, value in match.groupdict().items():
                if value is not None:
                    counts[name] += int(value[:COUNT_DIGITS_MAX]) if value else 1
                    total = total or name == "t"
    failed = max(counts["f"] + counts["e"], min(counts["x"], 1))
    passed = max(0, counts["t"] - failed - counts["s"]) if total else counts["p"]
    return RunnerSummary(shape.runner, RunCounts(passed, failed, counts["s"]))


def _match_lines(shape: _Shape, text: str) -> Iterator[str]:
    for match in re.finditer(shape.line, text, re.MULTILINE):
        yield match[0]


def format_run_summaries(summaries: tuple[RunnerSummary, ...]) -> str:
    """Return summaries as one text for a table; ``parse_stored_summaries`` reads it.

    >>> format_run_summaries((RunnerSummary("pytest", RunCounts(5, 1)),))
    'pytest:5:1:0'
    """
    rows = ((each.runner, each.counts) for each in summaries)
    return "\n".join(f"{runner}:{counts.passed}:{counts.failed}:{counts.skipped}" for runner, counts in rows)


def parse_stored_summaries(text: str) -> tuple[RunnerSummary, ...]:
    """Return the summaries that ``format_run_summaries`` wrote.

    >>> parse_stored_summaries("pytest:5:1:0")
    (RunnerSummary(runner='pytest', counts=RunCounts(passed=5, failed=1, skipped=0)),)
    """
    rows = (line.split(":") for line in text.splitlines())
    return tuple(RunnerSummary(runner, RunCounts(int(p), int(f), int(s))) for runner, p, f, s in rows)
