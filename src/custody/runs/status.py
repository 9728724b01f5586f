"""The runs in one recorded command: its classified steps, with the result of each where it can be told.

A step passed if the exit status of the whole command shows it, or the summary of the step's own runner. Neither
``|| true`` nor a pipe, ``;``, ``&``, ``!``, ``if`` or a redirect lets an exit status or a summary count that it hides.
"""

import posixpath
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.shell import ShellStep, parse_shell_steps
from custody.core.run_summary import NO_TESTS, PACKAGES, RunCounts, RunnerSummary, parse_run_summaries
from custody.core.views import CommandExit, CommandRecord
from custody.runs.classify import OTHER, ClassifiedCommand, WordList, classify_command
from custody.runs.model import CommandKind, CommandRun, RunCoverage, RunResult, RunScope
from custody.runs.rules import ReviewRules
from custody.runs.tables import ANY

DEPTH_MAX = 6
RUNS_MAX = 40
"""Maximum number of runs in one command."""
SHOWN_MAX = 500

HARMLESS = frozenset(
    "cd pushd popd export source . echo printf mkdir sleep set true : pwd ls cat touch unset date which type ulimit"
    " shopt umask nvm wait head tail".split()
)
"""Commands that practically never fail, so that a failure of the whole is another step's."""
PASSING_ON = frozenset("tail tee cat".split())
"""Programs that show the end of their input, where runners print their summaries."""
SELECTING = frozenset(
    "grep egrep rg head sed awk cut less more sort uniq tr wc perl python3 python jq gotestfmt".split()
)
"""Programs that may show a part of a summary only."""
PRINTING = frozenset("cat tail head less more bat sed awk grep rg jq curl gh".split())
"""Programs that may print the summary of an earlier run."""
WHOLE = frozenset("pytest jest vitest gotestsum rspec minitest phpunit pest nextest deno exunit".split())
"""Runners that print one line with all counts: a part of the output cannot hide a failure."""
KEYWORDS = frozenset("if elif while until !".split())
BODIES = frozenset("then do else { time".split())
ENDS = frozenset("fi done esac }".split())
TEST_FOLDERS = frozenset("tests test spec specs __tests__ t".split())
"""Names of folders with the tests of the folder that holds them: naming one names the suite."""
HIDING = frozenset(("alias", "trap", "function"))
UNRUN_CODES = frozenset((124, 126, 127))
"""Exit statuses of a command that was not found, not started, or stopped by ``timeout``."""
SIGNAL_CODE = 128
RUNNERS_IN: dict[str, frozenset[str]] = {
    "go": frozenset(("go", PACKAGES, "gotestsum")),
    "gotestsum": frozenset(("gotestsum", "go", PACKAGES)),
    "mocha": frozenset(("mocha", "jest")),
    "phpunit": frozenset(("phpunit", "pest")),
    "pest": frozenset(("pest", "phpunit")),
    "rspec": frozenset(("rspec", "minitest")),
    "unittest": frozenset(("unittest", "pytest")),
    "pytest": frozenset(("pytest", "unittest")),
}
"""The summaries that a runner prints, if others than its own name."""


class _StepRun(Struct, frozen=True):
    """A simple command with what its place in the shell says.

    ``kept``: if the whole command returned 0, this one did. ``blamed``: if the whole failed, this one did. ``readable``
    are the runners whose summary can be trusted, None for all.
    """

    words: WordList
    folder: str | None
    kept: bool
    blamed: bool
    hidden: bool
    readable: frozenset[str] | None
    found: ClassifiedCommand = OTHER
    fed: bool = False
    """Whether its input is another step's output."""


class _Place(Struct, frozen=True):
    """What the surroundings of a list of steps say, as in ``_StepRun``."""

    folder: str | None = ""
    kept: bool = True
    blamed: bool = True
    depth: int = 0


def read_command_runs(record: CommandRecord, rules: ReviewRules, started_ns: int | None = None) -> list[CommandRun]:
    """Return the runs in a recorded command, in order; one run of kind ``other`` if nothing in it is known."""
    steps = _classify_steps(record, rules)
    known = [step for step in steps if step.found.kind is not CommandKind.OTHER][:RUNS_MAX]
    if not known:
        known = [replace(_first_step(record, steps), found=OTHER)]
    known = _drop_repeated_kinds(known)
    doubtful = any(_may_print_summary(step) for step in steps)
    return [
        _to_command_run(record, step, n, started_ns, () if doubtful else _own_summaries(record, step, known))
        for n, step in enumerate(known)
    ]


def _may_print_summary(step: _StepRun) -> bool:
    """Return whether a step that is not a test run may print a summary: of a file, of a program, or its own words."""
    if step.hidden or step.fed or not step.words:
        return False
    name = step.words[0] or ""
    if name in PRINTING or step.found.kind is CommandKind.PROGRAM:
        return True
    return name in ("echo", "printf") and parse_run_summaries(" ".join(word or "" for word in step.words[1:])) != ()


def _drop_repeated_kinds(known: Sequence[_StepRun]) -> list[_StepRun]:
    """Return the steps with one step of git and one program: only checks and builds count one by one."""
    listed, shown = [], set[CommandKind]()
    for step in known:
        if step.found.kind in (CommandKind.GIT, CommandKind.PROGRAM):
            if step.found.kind in shown:
                continue
            shown.add(step.found.kind)
        listed.append(step)
    return listed


def _first_step(record: CommandRecord, steps: Sequence[_StepRun]) -> _StepRun:
    return steps[0] if steps else _StepRun((record.command,), None, False, False, True, frozenset())


# --- the shell --------------------------------------------------------------------------------------------------------


def _classify_steps(record: CommandRecord, rules: ReviewRules) -> list[_StepRun]:
    steps = parse_shell_steps(record.command)
    if steps is None:
        return list(_classify_unreadable(record.command, rules))
    return list(_walk_list(steps, _Place(_record_folder(record)), rules))[: RUNS_MAX * 5]


def _classify_unreadable(command: str, rules: ReviewRules) -> Iterator[_StepRun]:
    """Yield what the lines of an unreadable command do; nothing shows how they ended."""
    for line in command.splitlines()[: RUNS_MAX * 5]:
        steps = parse_shell_steps(line)
        for step in steps or ():
            found = classify_command(step.words, rules)
            yield _StepRun(step.words, None, False, False, True, frozenset(), found)


def _walk_list(steps: Sequence[ShellStep], place: _Place, rules: ReviewRules) -> Iterator[_StepRun]:
    """Yield the simple commands of a list with what its operators say about each."""
    if place.depth > DEPTH_MAX:
        return
    pipelines = _split_pipelines(steps)
    names = [_first_word(pipeline[0].words) for pipeline in pipelines]
    plain = [_plain_words(step) for step in steps]
    stops = any(words[:1] == ("set",) and _sets(words, "e", "errexit") for words in plain)
    pipefail = any(words[:1] == ("set",) and "pipefail" in words for words in plain)
    lost = any(words[:1] == ("set",) and words[1:2] == ("+e",) for words in plain) or bool(HIDING & set(names))
    inside = 0
    for n, pipeline in enumerate(pipelines):
        inside += (names[n] in KEYWORDS - {"!"} or names[n] in ("for", "case", "select")) - (names[n] in ENDS)
        kept = place.kept and not lost and not inside and _is_kept(pipelines, n, stops=stops)
        blamed = place.blamed and not inside and _is_blamed(pipelines, n, stops=stops)
        here = replace(place, kept=kept, blamed=blamed)
        yield from _walk_pipeline(pipeline, here, rules, pipefail=pipefail)
        place = replace(place, folder=_enter_folder(pipeline, place.folder))


def _sets(words: WordList, letter: str, name: str) -> bool:
    return any(
        word == name or (word is not None and word[:1] == "-" and word[1:2] != "-" and letter in word[1:])
        for word in words[1:]
    )


def _split_pipelines(steps: Sequence[ShellStep]) -> list[list[ShellStep]]:
    pipelines: list[list[ShellStep]] = []
    for step in steps:
        if pipelines and step.before == "|":
            pipelines[-1].append(step)
        else:
            pipelines.append([step])
    return pipelines


def _first_word(words: WordList) -> str:
    return (words[0] or "") if words else ""


def _plain_words(step: ShellStep) -> WordList:
    """Return a step's words after the keywords of a block."""
    words = step.words
    while words and words[0] in (BODIES | KEYWORDS):
        words = words[1:]
    return words


def _is_kept(pipelines: Sequence[Sequence[ShellStep]], n: int, *, stops: bool) -> bool:
    """Return whether status 0 of the list shows that its ``n``-th pipeline ran and returned 0."""
    before, after = pipelines[n][0].before, pipelines[n][-1].after
    if before == "||" or after == "&" or _first_word(pipelines[n][0].words) in KEYWORDS:
        return False
    for later in pipelines[n + 1 :]:
        joined = later[0].before
        if joined == "&&" or (joined == "||" and _gives_up(later)):
            continue
        if joined in ("||", "&") or not stops or after in ("&&", "||"):
            return False
    return True


def _gives_up(pipeline: Sequence[ShellStep]) -> bool:
    """Return whether a pipeline always fails: ``exit 1`` or ``false``."""
    words = pipeline[-1].words
    return words == ("false",) or (words[:1] in (("exit",), ("return",)) and words[1:] not in ((), ("0",)))


def _is_blamed(pipelines: Sequence[Sequence[ShellStep]], n: int, *, stops: bool) -> bool:
    """Return whether failure of the list shows that its ``n``-th pipeline failed."""
    if pipelines[n][-1].after == "&" or _first_word(pipelines[n][0].words) in KEYWORDS:
        return False
    for m, other in enumerate(pipelines):
        harmless = all(_first_word(_plain_words(step)) in HARMLESS for step in other)
        if m == n or (harmless and not (m > n and other[0].before in (";", "||"))):
            continue
        if m < n and other[-1].after == ";" and not stops:
            continue
        if m > n and other[0].before == "||" and _gives_up(other):
            continue
        return False
    return True


def _walk_pipeline(
    pipeline: Sequence[ShellStep], place: _Place, rules: ReviewRules, *, pipefail: bool
) -> Iterator[_StepRun]:
    for n, step in enumerate(pipeline):
        rest = [_first_word(_plain_words(later)) for later in pipeline[n + 1 :]]
        certain = not rest or (pipefail and set(rest) <= PASSING_ON)
        hidden = step.hidden or any(later.hidden for later in pipeline[n + 1 :])
        readable: frozenset[str] | None = None
        if hidden or not set(rest) <= PASSING_ON | SELECTING:
            readable = frozenset()
        elif not set(rest) <= PASSING_ON:
            readable = WHOLE
        here = replace(place, kept=place.kept and certain, blamed=place.blamed and certain, depth=place.depth + 1)
        if step.inner:
            for inner in _walk_list(step.inner, here, rules):
                yield inner if readable is None else replace(inner, readable=readable)
            continue
        words = _plain_words(step)
        run = _StepRun(words, here.folder, here.kept, here.blamed, hidden, readable, fed=n > 0)
        yield from _walk_simple(run, here, rules)


def _walk_simple(run: _StepRun, place: _Place, rules: ReviewRules) -> Iterator[_StepRun]:
    """Yield a simple command, or the commands in the text of its ``bash -c``."""
    found = classify_command(run.words, rules)
    inner = None if found.inner is None else parse_shell_steps(found.inner)
    if inner is None:
        yield replace(run, found=found, blamed=run.blamed and not found.mixed)
        return
    for step in _walk_list(inner, place, rules):
        yield step if run.readable is None else replace(step, readable=run.readable)


def _enter_folder(pipeline: Sequence[ShellStep], folder: str | None) -> str | None:
    """Return the working folder after a pipeline; None if unknown."""
    words = _plain_words(pipeline[0])
    if words[:1] not in (("cd",), ("pushd",), ("popd",)):
        return folder
    targets = [word for word in words[1:] if word != "--"]
    if words[0] != "popd" and len(targets) == 1 and targets[0] is not None and folder is not None:
        return None if targets[0].startswith(("-", "~")) else posixpath.normpath(posixpath.join(folder, targets[0]))
    return None


def _record_folder(record: CommandRecord) -> str | None:
    return record.folder if record.folder is not None else ""


# --- results ----------------------------------------------------------------------------------------------------------


def _own_summaries(record: CommandRecord, step: _StepRun, known: Sequence[_StepRun]) -> tuple[RunnerSummary, ...]:
    """Return the summaries in the output that this step alone can have printed."""
    if step.found.kind is not CommandKind.TEST or step.readable == frozenset():
        return ()
    tests = [other for other in known if other.found.kind is CommandKind.TEST and other is not step]
    if any(_runners_of(other) is None or _shares_runner(step, other) for other in tests):
        return ()
    own = _runners_of(step)
    return tuple(each for each in record.summaries if own is None or each.runner in own or each.runner == NO_TESTS)


def _runners_of(step: _StepRun) -> frozenset[str] | None:
    runner = step.found.runner
    return None if runner == ANY else RUNNERS_IN.get(runner, frozenset((runner,)))


def _shares_runner(step: _StepRun, other: _StepRun) -> bool:
    own, others = _runners_of(step), _runners_of(other)
    return own is None or others is None or bool(own & others)


def _to_command_run(
    record: CommandRecord, step: _StepRun, n: int, started_ns: int | None, summaries: tuple[RunnerSummary, ...]
) -> CommandRun:
    result, from_output = _judge_step(record, step, summaries)
    counted = [each for each in summaries if each.runner not in (PACKAGES, NO_TESTS)]
    sums = [sum(getattr(each.counts, name) for each in counted) for name in ("passed", "failed", "skipped")]
    return CommandRun(
        agent=record.agent,
        session=record.session,
        call=record.call,
        n=n,
        command=" ".join(word if word is not None else "…" for word in step.words)[:SHOWN_MAX],
        kind=step.found.kind,
        runner=step.found.runner,
        result=result,
        ended_ns=record.at_ns,
        started_ns=started_ns,
        exit_code=record.code,
        counts=RunCounts(*sums) if counted and any(sums) else None,
        from_output=from_output,
        coverage=_read_coverage(record, step),
    )


def _judge_step(record: CommandRecord, step: _StepRun, summaries: tuple[RunnerSummary, ...]) -> tuple[RunResult, bool]:
    """Return the result of a step, and whether it rests on the output."""
    if record.end is not CommandExit.EXITED:
        return RunResult.UNKNOWN, False
    passed = sum(each.counts.passed for each in summaries)
    failed = sum(each.counts.failed for each in summaries)
    if record.code == 0 and step.kept:
        empty = bool(summaries) and not passed and not failed
        silent = step.found.runner == "go" and not passed and "-json" not in step.words
        absent = not passed and "--if-present" in step.words  # succeeds where the project has no such script
        doubted = step.found.kind is CommandKind.TEST and (step.hidden or empty or failed or silent or absent)
        return (RunResult.UNKNOWN if doubted else RunResult.PASSED), False
    if failed:
        return RunResult.FAILED, True
    if record.code is not None and 0 < record.code < SIGNAL_CODE and record.code not in UNRUN_CODES and step.blamed:
        unrun = step.found.runner == "pytest" and record.code in (2, 3, 4, 5)
        return (RunResult.UNKNOWN if unrun else RunResult.FAILED), False
    killed = record.code is not None and record.code >= SIGNAL_CODE
    readable = passed and all(step.readable is None or each.runner in step.readable for each in summaries)
    return (RunResult.PASSED, True) if readable and not killed else (RunResult.UNKNOWN, False)


def _read_coverage(record: CommandRecord, step: _StepRun) -> RunCoverage:
    """Return what a step was for, with its folder and paths relative to the repository's root."""
    folder = None if step.folder is None else _relativize(record, posixpath.join(step.folder, step.found.folder))
    if step.found.partial and not step.found.names:
        return RunCoverage(RunScope.UNKNOWN, folder)
    if not step.found.names:
        return RunCoverage(RunScope.SUITE, folder)
    names = tuple(_relativize_name(record, step, name) for name in step.found.names)
    suites = {posixpath.dirname(name) for name in names if posixpath.basename(name) in TEST_FOLDERS}
    if len(suites) == 1 and all(posixpath.basename(name) in TEST_FOLDERS for name in names):
        return RunCoverage(RunScope.SUITE, suites.pop())
    return RunCoverage(RunScope.NAMED, folder, names)


def _relativize(record: CommandRecord, folder: str) -> str | None:
    """Return a folder relative to the repository's root; None if it is outside, or the root is unknown."""
    folder = posixpath.normpath(folder) if folder else "."
    if not folder.startswith("/"):
        inside = record.root is None or record.folder is None
        return None if folder.startswith("..") or not inside else "" if folder == "." else folder
    root = posixpath.normpath(record.root or "/nowhere")
    if folder == root:
        return ""
    return folder[len(root) + 1 :] if folder.startswith(root + "/") else None


def _relativize_name(record: CommandRecord, step: _StepRun, name: str) -> str:
    """Return a path relative to the root; a filter as it is."""
    path = name.partition("::")[0]
    below = "/..." if path.endswith("/...") else ""
    path = path.removesuffix("/...")
    if ("/" not in path and "." not in path and path not in TEST_FOLDERS) or step.folder is None:
        return name
    found = _relativize(record, posixpath.join(step.folder, step.found.folder, path))
    return f"{path if found is None else found or '.'}{below}"
