"""The kind, result and scope of recorded commands."""

import pytest

from custody.core.errors import RulesError
from custody.core.ids import AgentName, CallId, SessionId
from custody.core.run_summary import parse_run_summaries
from custody.core.views import CommandExit, CommandRecord
from custody.runs.model import CommandKind, CommandRun, RunResult
from custody.runs.rules import ReviewRules
from custody.runs.status import read_command_runs
from tests.builders.table import table

PASS, FAIL, GO = "5 passed in 0.1s\n", "1 failed, 4 passed in 0.1s\n", "ok  \tgithub.com/a/b\t0.1s\n"


def runs(command: str, code: int | None = 0, output: str = "", **fields: object) -> list[CommandRun]:
    given = {"folder": "/r", "root": "/r", "summaries": parse_run_summaries(output)} | fields
    record = CommandRecord(AgentName("robot"), SessionId("s"), CallId("c"), 9, command, code=code, **given)  # type: ignore[arg-type]
    return read_command_runs(record, ReviewRules(test_commands=("./ci/all.sh",)))


@table(
    "command, kinds",
    [
        ("cd x && FOO=1 uv run pytest -q tests/a.py | tail -5", "test"),
        ("npm run test -- --watch=false", "test"),
        ("pnpm vitest run", "test"),
        ("docker compose exec -T web pytest", "test"),
        ("bash -c 'cd api && timeout 60 npx jest'", "test"),
        ("sudo -u x env A=b bundle exec rspec", "test"),
        ("cargo +nightly nextest run", "test"),
        ("./gradlew check", "test"),
        ("mvn -q test", "test"),
        ("mise run test:ci", "test"),
        ("xvfb-run -a npm test", "test"),
        ("go run gotest.tools/gotestsum@latest ./...", "test"),
        ("node_modules/.bin/mocha", "test"),
        ("python -W error -m unittest discover", "test"),
        ("./ci/all.sh -v", "test"),
        ("tox -e lint", "lint"),
        ("pre-commit run --all-files", "lint"),
        ("npm run test:types", "types"),
        ("npx tsc --noEmit", "types"),
        ("prettier --check .", "format"),
        ("make", "build"),
        ("mvn -DskipTests package", "other"),
        ("pytest --co", "other"),
        ("pytest --help", "other"),
        ("make -n test", "other"),
        ("npm run test:watch", "other"),
        ('echo "5 passed in 0.1s"', "other"),
        ("true", "other"),
        ("cat tests/test_a.py", "other"),
        ("go vet ./...", "lint"),
        ("./scripts/run.sh", "program"),
        ("ruff check . && mypy src && pytest -q && git commit -m x", "lint types test git"),
    ],
)
def test_a_command_has_the_kinds_of_its_parts(command: str, kinds: str) -> None:
    assert " ".join(run.kind.value for run in runs(command)) == kinds


@table(
    "command, code, output",
    [
        ("pytest", 0, ""),
        ("pytest && git commit -m x", 0, ""),
        ("pytest || exit 1", 0, ""),
        ("set -e\npytest\necho done", 0, ""),
        ("set -o pipefail; pytest | tail -5", 0, ""),
        ("pytest 2>&1 | tail -5", 0, PASS),
        ("pytest | grep passed", 0, PASS),
        ("pytest; echo done", 0, PASS),
        ("pytest", None, PASS),
        ("go test ./...", 0, GO),
        ("go test ./... | tail -3", 0, GO),
        ("(cd web && npm test)", 0, ""),
    ],
)
def test_a_run_passes_if_its_status_or_its_summary_shows_it(command: str, code: int | None, output: str) -> None:
    assert runs(command, code, output)[0].result is RunResult.PASSED


@table(
    "command, code, output",
    [
        ("pytest || true", 0, ""),
        ("npm test --if-present", 0, ""),
        ("pytest; true", 0, ""),
        ("pytest; echo done", 0, ""),
        ("pytest | tail", 0, ""),
        ("pytest &", 0, ""),
        ("set +e; pytest", 0, ""),
        ("pytest > /dev/null", 0, ""),
        ("pytest > log; tail log", 0, PASS),
        ("if pytest; then echo ok; fi", 0, ""),
        ("! pytest", 0, ""),
        ("while ! pytest; do sleep 1; done", 0, ""),
        ("for i in 1 2; do pytest; done", 0, ""),
        ("pytest; echo '5 passed in 0.1s'", 0, PASS),
        ("pytest | tail; cat yesterday.log", 0, PASS),
        ("pytest | tail; python report.py", 0, PASS),
        ("pytest() { true; }; pytest", 0, ""),
        ("alias pytest=true; pytest", 0, ""),
        ("true || pytest", 0, ""),
        ("pytest", 0, "no tests ran in 0.1s"),
        ("pytest", 5, "no tests ran in 0.1s"),
        ("pytest", 0, FAIL),
        ("pytest", None, ""),
        ("timeout 9 pytest", 124, ""),
        ("pytest", 137, PASS),
        ("pytest", 127, ""),
        ("go test ./...", 0, "ok  \ta/b\t0.1s [no tests to run]\n"),
        ("go test ./... | grep ok", 0, GO),
        ("cargo test | grep ok", 0, "test result: ok. 5 passed; 0 failed; 0 ignored\n"),
        ("make lint test", 2, ""),
        ("npm run build && npm test", 2, ""),
        ("pytest tests/a | tail; pytest tests/b | tail", 0, PASS),
    ],
)
def test_a_result_that_the_command_hides_is_unknown(command: str, code: int | None, output: str) -> None:
    tests = [run for run in runs(command, code, output) if run.kind is CommandKind.TEST]
    assert {run.result for run in tests} <= {RunResult.UNKNOWN}
    assert tests or "()" in command


@table(
    "command, code, output",
    [
        ("pytest", 1, ""),
        ("cd web && npm test", 1, ""),
        ("pytest | tail", 0, FAIL),
        ("pytest || true", 0, FAIL),
        ("ruff check . && pytest", 1, FAIL),
        ("go test ./... | tail -3", 0, f"{GO}FAIL\n"),
    ],
)
def test_a_run_fails_if_its_status_or_its_summary_shows_it(command: str, code: int, output: str) -> None:
    assert runs(command, code, output)[-1].result is RunResult.FAILED


def test_a_refused_or_running_command_has_no_result() -> None:
    for end in (CommandExit.REFUSED, CommandExit.RUNNING):
        assert runs("pytest", 0, PASS, end=end)[0].result is RunResult.UNKNOWN


@table(
    "command, scope, folder, names",
    [
        ("pytest", "suite", "", ()),
        ("pytest tests", "suite", "", ()),
        ("pytest tests/a.py::test_b -x", "named", "", ("tests/a.py",)),
        ("pytest -n 4 -k fees", "named", "", ("fees",)),
        ("pytest --lf", "unknown", "", ()),
        ("pytest $FILES", "unknown", "", ()),
        ("cd web && npm test", "suite", "web", ()),
        ("npm --prefix web test", "suite", "web", ()),
        ("cd /r/web && npm test", "suite", "web", ()),
        ("cd /elsewhere && npm test", "suite", None, ()),
        ("cd $DIR && npm test", "suite", None, ()),
        ("go test ./...", "suite", "", ()),
        ("go test", "named", "", (".",)),
        ("cd cmd && go test ./api/...", "named", "cmd", ("cmd/api/...",)),
        ("cargo test -p core", "named", "", ("core",)),
    ],
)
def test_a_run_is_for_what_its_command_names(
    command: str, scope: str, folder: str | None, names: tuple[str, ...]
) -> None:
    (run,) = runs(command)
    found = run.coverage
    assert (found.scope.value, found.folder, found.names) == (scope, folder, names)


def test_counts_are_those_of_the_run_and_not_of_another_one() -> None:
    (run,) = runs("pytest", 1, FAIL)
    assert run.counts is not None
    assert (run.counts.passed, run.counts.failed) == (4, 1)
    assert [run.counts for run in runs("pytest a && pytest b", 0, PASS)] == [None, None]


def test_a_command_without_known_parts_is_one_run() -> None:
    (run,) = runs("ls -la | wc -l")
    assert run.kind is CommandKind.OTHER


@table("command", ["true", ": all", "echo ok", "  "])
def test_a_command_that_always_passes_is_not_a_test_command(command: str) -> None:
    with pytest.raises(RulesError):
        ReviewRules(test_commands=(command,))
