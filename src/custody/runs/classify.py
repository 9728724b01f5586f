"""What a command does: its kind, its runner and the part of the project that it names.

Wrappers are skipped: ``env``, ``timeout``, ``sudo``, ``npx``, ``uv run``, ``docker compose exec``, ``bash -c``.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from custody.runs.model import CommandKind
from custody.runs.rules import ReviewRules
from custody.runs.tables import (
    ANY,
    BUILDS_BY_DEFAULT,
    CHECKS_ARE_TESTS,
    ECOSYSTEMS,
    GIT,
    GOAL_KINDS,
    GOAL_WORDS,
    GOALS,
    NOT_GOALS,
    PROGRAMS,
    SCRIPTS,
)

WordList = tuple[str | None, ...]
NO_RULES = ReviewRules()
LAYERS_MAX = 12
"""Maximum number of wrappers around a command."""

ASIDE = frozenset(
    "--help -h --version -V --collect-only --co --list --listTests --list-tests --dry-run --no-run --notest"
    " --showConfig --show-config --fixtures --markers --setup-plan --list-sessions --listenvs --watchAll --ui".split()
)
"""Options with which a command runs nothing that it would report, or never ends."""
ASIDE_BY_PROGRAM: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "make": frozenset(("-n", "--just-print", "--recon", "-q", "--question", "-p", "-t", "--touch")),
        "ctest": frozenset(("-N", "--show-only")),
        "go": frozenset(("-c", "-list", "-n")),
        "tox": frozenset(("-l", "-a", "list", "config", "devenv")),
        "nox": frozenset(("-l",)),
        "gradle": frozenset(("-m", "tasks")),
        "gradlew": frozenset(("-m", "tasks")),
        "jest": frozenset(("--watch", "--clearCache", "--init")),
        "vitest": frozenset(("--watch", "-w", "watch", "list", "bench")),
        "mvn": frozenset(("-DskipTests", "-DskipTests=true", "-Dmaven.test.skip=true", "-Dmaven.test.skip")),
        "cargo": frozenset(("list",)),
        "swift": frozenset(("list",)),
        "bazel": frozenset(("--nobuild",)),
    }
)
VALUES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "pytest": frozenset(
            "-n -p -o -c -W -r --tb --maxfail --timeout --cov --cov-report --cov-config --durations --junitxml"
            " --color --rootdir --confcutdir --basetemp --log-level --log-cli-level --dist --numprocesses --capture"
            " --junit-xml --import-mode --ignore --ignore-glob --reruns --randomly-seed --count -q=1".split()
        ),
        "go": frozenset(
            "-timeout -count -p -parallel -cpu -tags -coverprofile -covermode -coverpkg -v=1 -json=1 -ldflags -gcflags"
            " -mod -o -shuffle -vet -exec -benchtime -memprofile -cpuprofile".split()
        ),
        "cargo": frozenset("--features -F --target --target-dir --profile -j --jobs --color --message-format".split()),
        "jest": frozenset("--config -c --maxWorkers -w --reporters --testTimeout --coverageDirectory --env".split()),
        "vitest": frozenset("--config -c --reporter --pool --root -r --environment --testTimeout".split()),
        "mocha": frozenset("--config --reporter -R --require -r --timeout -t --ui -u --spec".split()),
        "make": frozenset("-j -f --file -l --jobs".split()),
        "gmake": frozenset("-j -f --file -l --jobs".split()),
        "npm": frozenset("--loglevel".split()),
        "rspec": frozenset("--format -f --require -r --out -o --seed --order".split()),
        "mvn": frozenset("-f -T -P -s --file --threads --activate-profiles".split()),
        "dotnet": frozenset("-c --configuration --logger -l --verbosity -v -f --framework --results-directory".split()),
        "ctest": frozenset("--test-dir -j --parallel -C --timeout --build-config".split()),
        "phpunit": frozenset("-c --configuration --bootstrap --coverage-html --log-junit".split()),
        "mix": frozenset("--seed --max-failures --cover-dir".split()),
    }
)
"""Options with a value that says nothing of what runs; such a value is not a path."""
FILTERS = frozenset(
    "-k -m -run --run -t --testNamePattern --test-name-pattern -g --grep -e -E --filter --filter-expr --tests -p"
    " --package --test --example --bin --only -R -L --tests-regex --label-regex --focus --only-testing --testsuite"
    " --group --name --findRelatedTests --testPathPattern --testPathPatterns --project --selectProjects --spec"
    " --changed -w --workspace -s --session --suite --example-matches --tags --test-regex -pl --projects --pattern"
    " -skip --skip --exclude --deselect -D".split()
)
"""Options that name a part of the tests, with a value."""
FOLDER_OPTIONS = frozenset("-C --prefix --cwd --dir --directory -d".split())
PARTIAL = frozenset(
    "--lf --last-failed --lastFailed --onlyChanged -o --onlyFailures --changedSince --only-failures --stale --failed"
    " --lib --bins --doc --sw --stepwise --nf".split()
)
"""Options that leave out tests, without naming the part."""


class ClassifiedCommand(Struct, frozen=True):
    """A command without its wrappers: what it does, and what it names.

    ``names`` are paths and filters as written; ``partial``: it leaves out tests without naming which. ``folder`` is the
    folder that its options name. ``inner`` is the text that ``bash -c`` runs instead. ``mixed``: it does other things
    too, which may be what failed.
    """

    kind: CommandKind
    runner: str = ""
    names: tuple[str, ...] = ()
    partial: bool = False
    folder: str = ""
    inner: str | None = None
    mixed: bool = False


OTHER = ClassifiedCommand(CommandKind.OTHER)


@cache
def _known_commands() -> Mapping[tuple[str, ...], tuple[CommandKind, str]]:
    known: dict[tuple[str, ...], tuple[CommandKind, str]] = {}
    for table in ECOSYSTEMS.values():
        for line in table.strip().replace("\n    ", " ").splitlines():
            head, _, commands = line.partition(": ")
            kind, runner = head.split()
            for command in commands.split("; "):
                known[tuple(command.split())] = CommandKind(kind), runner
    return known


def classify_command(words: WordList, rules: ReviewRules = NO_RULES) -> ClassifiedCommand:
    """Return what a command does, by its words after assignments.

    >>> found = classify_command(("uv", "run", "pytest", "-q", "tests/a.py"))
    >>> found.kind.value, found.runner, found.names
    ('test', 'pytest', ('tests/a.py',))
    """
    if (own := _match_own_command(words, rules)) is not None:
        return own
    stripped, folder = unwrap_command(words)
    if stripped and stripped[0] == "":
        return ClassifiedCommand(CommandKind.OTHER, inner=stripped[1])
    found = _match_own_command(stripped, rules) or _classify_unwrapped(stripped)
    return replace(found, folder=folder or found.folder)


def _match_own_command(words: WordList, rules: ReviewRules) -> ClassifiedCommand | None:
    """Return the kind of a command that the project's rules list, by its first words."""
    for kind in (CommandKind.TEST, CommandKind.BUILD, CommandKind.LINT, CommandKind.TYPES, CommandKind.FORMAT):
        for command in getattr(rules, f"{kind.value}_commands"):
            listed = tuple(command.split())
            if words[: len(listed)] == listed and not ASIDE.intersection(words):
                rest = [word for word in words[len(listed) :] if word is not None and not word.startswith("-")]
                return ClassifiedCommand(kind, ANY, tuple(rest), partial=None in words[len(listed) :])
    return None


# --- wrappers ---------------------------------------------------------------------------------------------------------

PLAIN = frozenset(
    "env time sudo command exec nohup nice ionice stdbuf unbuffer xvfb-run chronic caffeinate doas builtin then do else"
    " dotenv cross-env cross-env-shell winpty arch catchsegv linux32 setarch retry gotestfmt".split()
)
WITH_VALUE = frozenset(
    "-n -u -k -s -g --signal --kill-after -C --chdir -S -i -o -e --name --env -w --workdir --user --directory --project"
    " --with --extra --group --python -p --package --from -f --file --env-file --profile --index -E --prefix"
    " --with-requirements --no-group --only-group --volume -v --network --service --platform --entrypoint".split()
)
"""Options of wrappers that have a value."""
FLAGS = frozenset("-i -E -S".split())
"""Options that have a value for some wrappers only."""
FLAG_WRAPPERS = frozenset("sudo env docker docker-compose podman kubectl".split())
PACKAGE_RUNNERS = frozenset("pnpm yarn bun".split())
"""Programs that run an installed tool by its name."""
RUNNERS = frozenset(
    tuple(runner.split())
    for runner in """
    npx; bunx; pnpx; uvx; pipx run; yarn dlx; yarn exec; pnpm exec; pnpm dlx; npm exec; uv run; uv tool run; poetry run;
    pipenv run; rye run; conda run; mamba run; micromamba run; bundle exec; mise exec; mise x; direnv exec .;
    nix develop -c; nix develop --command; devbox run --; asdf exec; op run; doppler run; docker run; docker exec;
    docker compose exec; docker compose run; docker-compose exec; docker-compose run; podman run; podman exec;
    kubectl exec; coverage run; nyc; c8; rtx exec; go tool; dotnet tool run; pixi run --; artisan; bun --bun; bun x;
    rtk; rtk proxy; rtk err; rtk test
    """.split(";")
)
"""Programs that run another command, with their first words."""
IN_CONTAINER = frozenset("docker docker-compose podman kubectl".split())
SHELLS = frozenset("bash sh zsh dash ksh fish".split())


def unwrap_command(words: WordList) -> tuple[WordList, str]:
    """Return a command without its wrappers, and the folder that they name.

    For ``bash -c TEXT`` the words are an empty one and the text.
    """
    folder = ""
    for _ in range(LAYERS_MAX):
        if not words or words[0] is None:
            return words, folder
        name = posixpath.basename(words[0])
        after, inside = _unwrap_once(name, words)
        if after is None:
            return (name, *words[1:]), folder
        folder = posixpath.join(folder, inside)
        words = after
    return words, folder


def _unwrap_once(name: str, words: WordList) -> tuple[WordList | None, str]:
    if name in SHELLS:
        return _unwrap_shell(words), ""
    if name == "timeout" or name == "gtimeout":
        rest = _skip_options(words[1:], name)[0]
        return rest[1:], ""
    if name in PLAIN:
        rest, folder = _skip_options(words[1:], name)
        return _drop_assignments(rest), folder
    if name in ("python", "python3") or name.startswith("python3."):
        return _unwrap_python(words), ""
    for length in (3, 2, 1):
        head = tuple(word or "" for word in (name, *words[1:length]))
        if len(head) == length and head in RUNNERS:
            rest, folder = _skip_options(words[length:], name)
            if name in IN_CONTAINER and rest:
                rest = rest[2:] if rest[1:2] == ("--",) else rest[1:]
            return (_drop_assignments(rest), folder) if rest else (None, "")
    if name == "go" and words[1:2] == ("run",) and len(words) > 2 and "@" in (words[2] or ""):
        tool = posixpath.basename((words[2] or "").partition("@")[0])
        return ((tool, *words[3:]), "") if (tool,) in _known_commands() else (None, "")
    if name in ("php", "ruby", "bun") and len(words) > 1 and _is_tool_path(words[1]):
        return words[1:], ""
    return None, ""


def _is_tool_path(word: str | None) -> bool:
    name = posixpath.basename(word or "")
    return name in ("artisan", "phpunit", "pest", "rspec", "rails", "rake") and "." not in name


def _unwrap_shell(words: WordList) -> WordList | None:
    """Return the text of ``bash -c``, marked; the script of ``bash run.sh`` is a command."""
    for place, word in enumerate(words[1:], start=1):
        if word is None:
            return None
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            text = words[place + 1] if place + 1 < len(words) else None
            return None if text is None else ("", text)
        if not word.startswith(("-", "+")):
            return words[place:]
    return None


def _unwrap_python(words: WordList) -> WordList | None:
    """Return the module of ``python -m``, or the script with its name."""
    for place, word in enumerate(words[1:], start=1):
        if word is None or word in ("-c", "-"):
            return None
        if word == "-m":
            return words[place + 1 :] or None
        if words[place - 1] not in ("-W", "-X") and not word.startswith("-"):
            is_tool = posixpath.basename(word) in ("manage.py", "setup.py", "runtests.py", "run_tests.py", "pytest")
            return words[place:] if is_tool else None
    return None


def _skip_options(words: WordList, name: str) -> tuple[WordList, str]:
    """Return the words after a wrapper's options, and the folder that an option names."""
    place, folder = 0, ""
    while place < len(words):
        word = words[place]
        if word == "--":
            return words[place + 1 :], folder
        if word is None or not word.startswith("-"):
            break
        takes = word in WITH_VALUE and "=" not in word and not (word in FLAGS and name in FLAG_WRAPPERS)
        if word in ("--directory", "--chdir", "-C") and place + 1 < len(words):
            folder = words[place + 1] or folder
        place += 2 if takes else 1
    return words[place:], folder


def _drop_assignments(words: WordList) -> WordList:
    place = 0
    while place < len(words) and "=" in (words[place] or "") and (words[place] or "").split("=")[0].isidentifier():
        place += 1
    return words[place:]


# --- the command itself -----------------------------------------------------------------------------------------------


def _classify_unwrapped(words: WordList) -> ClassifiedCommand:
    if not words or words[0] is None:
        return OTHER
    name = words[0].removesuffix(".cmd").removesuffix(".exe").removesuffix(".bat")
    name = name.partition("@")[0] if not name.startswith("@") else posixpath.basename(name).partition("@")[0]
    if name in GIT:
        return ClassifiedCommand(CommandKind.GIT, name)
    if _runs_nothing(name, words):
        return OTHER
    found = _match_known(name, words)
    if found is not None:
        kind, runner, rest = found
        kind, runner = _adjust_known(name, kind, runner, words)
        if kind is CommandKind.OTHER:
            return OTHER
        names, partial, folder = _read_scope(name, runner, rest)
        return ClassifiedCommand(kind, runner, names, partial, folder)
    if name in PACKAGE_RUNNERS and len(words) > 1 and _match_known(words[1] or "", words[1:]) is not None:
        return _classify_unwrapped(words[1:])
    if name in GOALS:
        return _classify_goals(name, words)
    is_script = "/" in (words[0] or "") or name.endswith(SCRIPTS)
    return ClassifiedCommand(CommandKind.PROGRAM, name) if name in PROGRAMS or is_script else OTHER


def _runs_nothing(name: str, words: WordList) -> bool:
    own = ASIDE_BY_PROGRAM.get(name, frozenset())
    return any(word in ASIDE or word in own for word in words[1:] if word is not None and word != "-V")


def _match_known(name: str, words: WordList) -> tuple[CommandKind, str, WordList] | None:
    """Return the row whose words start the command, the longest first, and the words after it."""
    known = _known_commands()
    plain = [(place, word) for place, word in enumerate(words[1:], start=1) if _is_plain(word)]
    for length in (3, 2, 1):
        key = (name, *(word or "" for _, word in plain[: length - 1]))
        if len(key) == length and key in known:
            kind, runner = known[key]
            used = {place for place, _ in plain[: length - 1]}
            return kind, runner, tuple(word for place, word in enumerate(words) if place and place not in used)
    return None


def _is_plain(word: str | None) -> bool:
    return word is not None and not word.startswith(("-", "+"))


def _adjust_known(name: str, kind: CommandKind, runner: str, words: WordList) -> tuple[CommandKind, str]:
    """Return the kind with the options that change it."""
    texts = [word for word in words if word is not None]
    if name in ("tox", "nox"):
        named = [part for text in texts[1:] for part in text.split(",") if not part.startswith("-")]
        kinds = [shown for part in named if (shown := _goal_kind(part)) is not None]
        return (kinds[0], runner) if kinds and CommandKind.TEST not in kinds else (kind, runner)
    if name == "ruff" and texts[1:2] not in (["check"], ["format"], []) and not texts[1].startswith(("-", ".", "/")):
        return CommandKind.OTHER, runner
    if name == "node" and "--test" not in texts:
        return CommandKind.PROGRAM, runner
    if name == "go" and texts[1:2] == ["list"]:
        return CommandKind.OTHER, runner
    return kind, runner


def _classify_goals(name: str, words: WordList) -> ClassifiedCommand:
    """Return what the goals of ``make``, ``npm run`` and the like do, by their names."""
    before, after = _split_at_dashes(words[1:])
    goals, rest, folder = list[str](), [word or "?" for word in after], ""
    takes = VALUES.get(name, frozenset()) | FOLDER_OPTIONS | FILTERS
    place = 0
    while place < len(before):
        word = before[place] or "?"
        option, has_value, value = word.partition("=")
        is_option = word.startswith("-")
        if is_option and not has_value and option in takes:
            place += 1
            value = (before[place] or "?") if place < len(before) else "?"
        if option in FOLDER_OPTIONS:
            folder = value
        elif is_option and (option in FILTERS or word.startswith("-Dtest=")):
            rest.append(value)
        elif not is_option and not has_value and (word not in GOAL_WORDS or goals):
            goals.append(word)
        place += 1
    return _classify_goal_names(name, goals, rest, folder)


def _split_at_dashes(words: WordList) -> tuple[WordList, WordList]:
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def _classify_goal_names(name: str, goals: list[str], rest: Sequence[str], folder: str) -> ClassifiedCommand:
    if not goals:
        return ClassifiedCommand(CommandKind.BUILD, ANY, folder=folder) if name in BUILDS_BY_DEFAULT else OTHER
    # After the script of npm and the like come its arguments; make and Gradle take several goals.
    several = name in ("make", "gmake", "mvn", "mvnw", "gradle", "gradlew", "rake", "ant", "just")
    named = goals if several else goals[:1]
    extra = [] if several else goals[1:]
    if name in ("npm", "yarn", "pnpm", "bun", "composer") and named[0] in NOT_SCRIPTS:
        return OTHER
    kinds = [kind for goal in named if (kind := _goal_kind(goal, name)) is not None]
    kind = CommandKind.TEST if CommandKind.TEST in kinds else kinds[0] if kinds else None
    if kind is None:
        kind = CommandKind.PROGRAM if name in PROGRAMS and named[0] in ("start", "exec") else CommandKind.OTHER
    if kind is not CommandKind.TEST:
        return ClassifiedCommand(kind, ANY, folder=folder)
    names = tuple(part for part in (*rest, *extra) if not part.startswith("-"))
    return ClassifiedCommand(kind, ANY, names, folder=folder, mixed=len(set(kinds)) > 1 or len(named) > len(kinds))


NOT_SCRIPTS = frozenset(
    "install i ci add remove update upgrade outdated publish link init create view info pack dlx why".split()
)


def _goal_kind(goal: str, name: str = "") -> CommandKind | None:
    """Return the kind that a goal's name shows; tests only if nothing else in the name says otherwise.

    >>> [kind and kind.value for kind in map(_goal_kind, ("test:ci", "test-data", "lint", "test:types", "deploy"))]
    ['test', None, 'lint', 'types', None]
    """
    parts = _split_goal(goal)
    if NOT_GOALS.intersection(parts):
        return None
    if "check" in parts and name in CHECKS_ARE_TESTS and len(parts) == 1:
        return CommandKind.TEST
    shown = [GOAL_KINDS[part] for part in parts if part in GOAL_KINDS]
    kinds = [kind for kind in ("lint", "types", "format", "build", "test", "program") if kind in shown]
    if kinds:
        return CommandKind(kinds[0])
    return CommandKind.LINT if "check" in parts else None


def _split_goal(goal: str) -> list[str]:
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in goal)
    for mark in ":-_./":
        spaced = spaced.replace(mark, " ")
    return spaced.split()


# --- scope ------------------------------------------------------------------------------------------------------------


def _read_scope(name: str, runner: str, rest: WordList) -> tuple[tuple[str, ...], bool, str]:
    """Return the paths and filters that a command names, whether it leaves out tests, and the folder of its options."""
    names, partial, folder = list[str](), False, ""
    key = "pytest" if runner == "pytest" else name
    takes = VALUES.get(key, frozenset())
    for word, value in _pair_options(rest, takes):
        if word is None:
            partial = True
        elif not word.startswith("-"):
            names += [word] if word and word != "discover" else []
        elif word.split("=")[0] in FILTERS and not (key == "pytest" and word == "-p"):
            names.append(value or word.partition("=")[2] or "?")
        elif word in PARTIAL or word.startswith(("-only-testing", "-skip-testing")):
            partial = True
        elif word in ("--root", "--manifest-path", "--package-path", "-C", "--rootDir") and value:
            folder = posixpath.dirname(value) if value.endswith(".toml") else value
    if runner in ("go", "gotestsum") and not names and name == "go":
        names = ["."]
    if (runner in ("go", "gotestsum") and names == ["./..."]) or (runner == "bazel" and names in (["//..."], ["..."])):
        names = []
    if set(names) <= {".", "./"} and runner != "go":
        names = []
    return tuple(names), partial, folder


def _pair_options(words: WordList, takes: frozenset[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield words without options that say nothing; an option that names a part comes with its value."""
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word is None or not word.startswith("-") or word == "--":
            if word != "--":
                yield word, None
        elif word in takes:
            place += 1
        elif word in FILTERS or word in ("--root", "--manifest-path", "--package-path", "-C", "--rootDir"):
            yield word, words[place] if place < len(words) else None
            place += 1
        else:
            yield word, None
