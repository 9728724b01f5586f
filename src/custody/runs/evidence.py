"""Whether a file was tested after its last edit, by recorded edits and runs."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from custody.core.paths import RepoPath
from custody.runs.model import CommandKind, CommandRun, RunResult, RunScope, TestEvidence, TestState

STEM_CHARACTERS_MIN = 3
_STRENGTH = {RunResult.FAILED: 2, RunResult.PASSED: 1, RunResult.UNKNOWN: 0}


def merge_runs(runs: Iterable[CommandRun]) -> list[CommandRun]:
    """Return one run per call and place in it, oldest first: several records may report one call.

    A known result wins over an unknown one, and a failure over anything.
    """
    merged: dict[tuple[str, str, str, int], CommandRun] = {}
    for run in sorted(runs, key=lambda run: (run.ended_ns, run.n, repr(run.record))):
        key = (run.agent, run.session, run.call, run.n)
        known = merged.get(key)
        if known is None or _STRENGTH[run.result] > _STRENGTH[known.result]:
            merged[key] = run
    return sorted(merged.values(), key=lambda run: (run.ended_ns, run.session, run.call, run.n))


def judge_tests(
    path: RepoPath, edits_ns: Sequence[int], runs: Iterable[CommandRun], until_ns: int | None = None
) -> TestEvidence:
    """Return whether a file was tested after its last edit.

    ``edits_ns`` are all recorded edits of the file. Later edits than ``until_ns`` belong to another change: runs after
    them do not count.
    """
    tests = sorted((run for run in runs if run.kind is CommandKind.TEST), key=lambda run: run.ended_ns)
    edited = max((at for at in edits_ns if until_ns is None or at <= until_ns), default=None)
    following = min((at for at in edits_ns if until_ns is not None and at > until_ns), default=None)
    if following is not None:
        tests = [run for run in tests if run.ended_ns < following]
    if not tests:
        return TestEvidence(TestState.NONE, None, edited)
    if edited is None:
        return TestEvidence(TestState.UNKNOWN, tests[-1], None)
    decided = [run for run in tests if run.result is not RunResult.UNKNOWN and covers_path(run, path)]
    last = decided[-1] if decided else None
    if last is not None and last.result is RunResult.FAILED:
        return TestEvidence(TestState.FAILED, last, edited)
    if last is not None and _start_ns(last) > edited:
        return TestEvidence(TestState.AFTER_EDIT, last, edited)
    if _start_ns(tests[-1]) > edited:
        return TestEvidence(TestState.UNKNOWN, tests[-1], edited)
    if last is not None:
        return TestEvidence(TestState.STALE, last, edited)
    return TestEvidence(TestState.UNKNOWN, tests[-1], edited)


def _start_ns(run: CommandRun) -> int:
    return run.ended_ns if run.started_ns is None else run.started_ns


def covers_path(run: CommandRun, path: RepoPath) -> bool:
    """Return whether a run was for a file, by its command: its folder's suite, or a name that belongs to the file."""
    coverage, name = run.coverage, path.display
    if coverage.folder is None or coverage.scope is RunScope.UNKNOWN:
        return False
    if coverage.scope is RunScope.SUITE:
        return _is_inside(name, coverage.folder)
    return any(_names_file(each, name, run.runner) for each in coverage.names)


def _is_inside(path: str, folder: str) -> bool:
    return folder in ("", ".") or path == folder or path.startswith(folder.rstrip("/") + "/")


def _names_file(named: str, path: str, runner: str) -> bool:
    """Return whether a path or filter on a command line belongs to a file: its own, its folder, or its test's name.

    >>> [_names_file(name, "src/fees.py", "pytest") for name in ("tests/test_fees.py", "tests", "src", "fees")]
    [True, False, True, True]
    """
    named = named.partition("::")[0]
    if named.endswith("/..."):
        return _is_inside(path, named.removesuffix("/...").removesuffix("."))
    if runner == "go" and ("/" in named or named == "."):
        return posixpath.dirname(path) == named.removeprefix("./").removesuffix("/").removesuffix(".")
    if _is_inside(path, named) and named not in ("", "."):
        return True
    stem, other = _stem(path), _stem(named)
    if len(stem) < STEM_CHARACTERS_MIN:
        return False
    return stem == other or ("/" not in named and "." not in named and stem in _squeeze(named))


def _stem(path: str) -> str:
    """Return a file's name without what marks it as a test or as code."""
    name = posixpath.basename(path).split(".")[0]
    name = re.sub(r"(?:^(?:test|spec)[_-]|[_-](?:test|tests|spec)$|(?:Test|Tests|Spec|IT)$)", "", name)
    return _squeeze(name)


def _squeeze(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
